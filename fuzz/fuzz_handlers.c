/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program in handlers, compiled, and run with values that follow from the input: each handler some times. What it
 * prints has an end, whatever it does.
 */
#include "fuzz.h"

#include "handlers/machine.h"

struct guest {
	uint64_t next;
	size_t printed;
};

static uint64_t draw(struct guest *g)
{
	g->next = g->next * 6364136223846793005u + 1442695040888963407u;
	return g->next >> 60 ? g->next >> 56 : g->next;
}

static struct value builtin(void *guest, enum builtin b)
{
	struct guest *g = guest;

	bool is_text = b == BUILTIN_COMM || b == BUILTIN_PCOMM || b == BUILTIN_PROBE_TYPE;

	return is_text ? (struct value){ .n = 4, .p = (const uint8_t *)"init" } : (struct value){ .n = draw(g) };
}

static const struct script_code *code_now;

static struct value field(void *guest, size_t number)
{
	struct guest *g = guest;

	must(number < code_now->types.n_fields);
	if (code_now->types.fields[number].type.unsure) /* no probe that fires has it */
		return (struct value){ 0 };
	if (code_now->types.fields[number].type.kind == TYPE_TEXT)
		return (struct value){ .n = draw(g) % 8, .p = (const uint8_t *)"a\033[31mtext" };
	return (struct value){ .n = draw(g) };
}

static uint64_t stack(void *guest, bool user, uint64_t frames)
{
	(void)user, (void)frames;
	return draw(guest) % 4;
}

static void put_name(void *guest, uint64_t number, struct buf *out)
{
	(void)guest;
	buf_printf(out, "name%u", (unsigned)number & 3);
}

static void put_stack(void *guest, uint64_t number, unsigned indent, struct buf *out)
{
	must(indent <= 8);
	put_name(guest, number, out);
}

static void put_symbol(void *guest, uint64_t number, bool user, struct buf *out)
{
	(void)user;
	put_name(guest, number, out);
}

static uint64_t address(void *guest, const char *function)
{
	(void)function;
	return draw(guest);
}

static int take(void *guest, const void *data, size_t n, struct error *err)
{
	enum { ENOUGH = 1 << 22 };
	struct guest *g = guest;

	(void)data;
	g->printed += n;
	return g->printed > ENOUGH ? error_set(err, "enough") : 0;
}

static void run(const struct script *p, const struct script_code *code, bool json)
{
	struct guest guest = { .next = 1 };
	const struct machine_options options = {
		.host = { builtin, field, stack, put_name, put_stack, put_symbol, address, NULL, 0, &guest },
		.out = { take, &guest },
		.json = json,
	};
	struct machine *m = machine_new(code, &options);
	struct error err;
	bool goes_on = true;

	for (int i = 0; i < 3 && goes_on; i++)
		for (size_t h = 0; h < p->n_handlers && goes_on; h++)
			goes_on = machine_fire(m, h);
	machine_end(m, &err);
	machine_free(m);
}

/* There are all fields; what they are follows from their names. */
static bool find_field(void *context, const struct place_asked *place, const char *text, struct type *ret,
		       struct error *err)
{
	size_t n = strlen(text);

	(void)context, (void)place;
	if (strchr(text, '?'))
		return error_set(err, "no such field"), false;
	ret->unsure = ret->kind == TYPE_NUMBER && n % 2;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *const parameters[] = { "7", "text" };
	struct script p;
	struct script_code code = { 0 };
	struct error err = { .text = "" };
	const struct field_types known = { .find = find_field, .guesses = size % 8 >= 4 };
	int r = script_parse("-e", (const char *)data, size, parameters, 2, &p, &err);

	if (r == 0 && size & 2 && known.guesses) { /* as before a guest is recorded */
		r = types_find(&p, &known, &code.types, &err);
	} else if (r == 0) {
		r = script_compile(&p, size & 2 ? &known : NULL, &code, &err);
		code_now = &code;
		if (r == 0)
			run(&p, &code, size & 1);
	}
	/* it says where */
	must(r == 0 || !strncmp(err.text, "-e:", 3));
	script_code_deinit(&code);
	script_free(&p);
	return 0;
}
