/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/alloc.h"
#include "printer.h"
#include "wall_time.h"

enum {
	ARENA = 1 << 18, /* bytes that one handler makes */
#ifdef UPTO_SMALL_TABLES /* as in trace/model.h */
	ROUNDS_MAX = 1 << 12,
#else
	ROUNDS_MAX = 1 << 20, /* of all loops in one handler */
#endif
	ROUNDS_LOOK = 1 << 8, /* so often a loop looks whether the user has had enough */
	TEXT_MAX = 1024,
};

struct machine {
	const struct script_code *code;
	struct machine_host host;
	struct sink sink;
	struct printer printer;
	struct script_map *maps;
	size_t maps_bytes;
	struct value *variables, *stack;
	uint8_t *arena;
	size_t used;
	struct buf out, scratch;
	struct error err;
	bool full;      /* the arena is */
	uint64_t times; /* that a count() counts */
	bool over, failed;
	bool ends;      /* what is done last: nobody has had enough of that */
	int exit_code;
	struct machine_losses losses;
};

/* What was printed, if it is enough for a write. */
static void pass_on(void *machine)
{
	struct machine *m = machine;

	if (sink_pass(&m->sink, &m->out, &m->err) < 0)
		m->failed = m->over = true;
}

struct machine *machine_new(const struct script_code *code, const struct machine_options *options)
{
	struct machine *m = xcalloc(1, sizeof *m);
	const struct types *t = &code->types;

	m->code = code;
	m->host = options->host;
	m->sink = options->out;
	m->printer = (struct printer){ &m->host, options->json, false, &m->out, pass_on, m };
	m->maps = xcalloc(t->n_maps + 1, sizeof *m->maps);
	for (size_t i = 0; i < t->n_maps; i++)
		m->maps[i] = (struct script_map){
			.name = t->maps[i].name,
			.key = t->maps[i].key,
			.value = t->maps[i].value,
			.has_key = t->maps[i].has_key,
			.keys_max = t->maps[i].keys_max,
			.forgets = t->maps[i].forgets,
		};
	m->variables = xcalloc(t->n_variables + 1, sizeof *m->variables);
	m->stack = xcalloc(code->depth + 4, sizeof *m->stack);
	m->arena = xmalloc(ARENA);
	m->times = 1;
	return m;
}

void machine_free(struct machine *m)
{
	for (size_t i = 0; i < m->code->types.n_maps; i++)
		script_map_deinit(&m->maps[i]);
	free(m->maps);
	free(m->variables);
	free(m->stack);
	free(m->arena);
	buf_free(&m->out);
	buf_free(&m->scratch);
	free(m);
}

/* Room in the arena. Where there is none the handler ends, and what it gets up to there is cut. */
static uint8_t *reserve(struct machine *m, size_t *n)
{
	uint8_t *ret = m->arena + m->used;

	if (*n > ARENA - m->used) {
		*n = ARENA - m->used;
		m->full = true;
	}
	m->used += *n;
	return ret;
}

static struct value new_text(struct machine *m, const void *text, size_t len)
{
	size_t n = len;
	uint8_t *at = reserve(m, &n);

	if (n)
		memcpy(at, text, n);
	return (struct value){ .n = n, .p = at };
}

static struct value make_tuple(struct machine *m, const struct type *type, const struct value *parts)
{
	uint8_t *begin = m->arena + m->used;
	size_t all = 0;

	for (size_t i = 0; i < type->n_fields; i++) {
		bool bytes = type_has_bytes(&type->fields[i]);
		uint32_t len = bytes ? (uint32_t)parts[i].n : 0;
		size_t n = bytes ? 4 + (size_t)len : 8;
		uint8_t *at;

		if (n > ARENA - m->used) {
			m->full = true;
			break;
		}
		at = reserve(m, &n);
		memcpy(at, bytes ? (const void *)&len : (const void *)&parts[i].n, bytes ? 4 : 8);
		if (len)
			memcpy(at + 4, parts[i].p, len);
		all += n;
	}
	return (struct value){ .n = all, .p = begin };
}

/* As the kernel's BPF has it: what is divided by 0 is 0, and a rest of that is the number itself. */
static uint64_t divide(uint64_t a, uint64_t b, bool is_signed, bool rest)
{
	if (!b)
		return rest ? a : 0;
	if (!is_signed)
		return rest ? a % b : a / b;
	if ((int64_t)b == -1)
		return rest ? 0 : -a;
	return (uint64_t)(rest ? (int64_t)a % (int64_t)b : (int64_t)a / (int64_t)b);
}

static bool is_less(uint64_t a, uint64_t b, bool is_signed)
{
	return is_signed ? (int64_t)a < (int64_t)b : a < b;
}

static uint64_t calculate(int op, uint64_t a, uint64_t b, bool is_signed)
{
	switch (op) {
	case '+':
		return a + b;
	case '-':
		return a - b;
	case '*':
		return a * b;
	case '/':
	case '%':
		return divide(a, b, is_signed, op == '%');
	case '&':
		return a & b;
	case '|':
		return a | b;
	case '^':
		return a ^ b;
	case OP_SHIFT_LEFT:
		return a << (b & 63);
	case OP_SHIFT_RIGHT:
		return is_signed ? (uint64_t)((int64_t)a >> (b & 63)) : a >> (b & 63);
	case OP_EQUAL:
		return a == b;
	case OP_UNEQUAL:
		return a != b;
	case '<':
		return is_less(a, b, is_signed);
	case '>':
		return is_less(b, a, is_signed);
	case OP_LESS_EQUAL:
		return !is_less(b, a, is_signed);
	default: /* OP_MORE_EQUAL */
		return !is_less(a, b, is_signed);
	}
}

static bool is_same_text(const struct value *a, const struct value *b)
{
	return a->n == b->n && (!a->n || !memcmp(a->p, b->p, a->n));
}

static uint64_t cast(uint64_t n, unsigned bytes, bool is_signed)
{
	switch (bytes) {
	case 1:
		return is_signed ? (uint64_t)(int8_t)n : (uint8_t)n;
	case 2:
		return is_signed ? (uint64_t)(int16_t)n : (uint16_t)n;
	case 4:
		return is_signed ? (uint64_t)(int32_t)n : (uint32_t)n;
	default:
		return n;
	}
}

static uint64_t swap_bytes(uint64_t n, unsigned bytes)
{
	return bytes == 1   ? n
	       : bytes == 2 ? __builtin_bswap16((uint16_t)n)
	       : bytes == 4 ? __builtin_bswap32((uint32_t)n)
			    : __builtin_bswap64(n);
}

static struct value text_of(struct machine *m, const char *text)
{
	return new_text(m, text ? text : "", text ? strlen(text) : 0);
}

/* "127.0.0.1" of a number in the order of a network's bytes, as it is in memory */
static struct value ntop(struct machine *m, const struct step *s, const struct value *args)
{
	enum { BYTES_4 = 4, BYTES_6 = 16 };
	const struct value *of = &args[s->n - 1];
	uint32_t number = (uint32_t)of->n;
	bool is_bytes = s->flag == CALL_OF_BYTES;
	size_t n = is_bytes ? of->n : BYTES_4;
	uint64_t family = s->n > 1 ? args[0].n : n == BYTES_6 ? AF_INET6 : AF_INET;
	char text[INET6_ADDRSTRLEN];

	if ((family != AF_INET && family != AF_INET6) || n < (family == AF_INET ? BYTES_4 : BYTES_6) ||
	    !inet_ntop((int)family, is_bytes ? (const void *)of->p : &number, text, sizeof text))
		return text_of(m, "");
	return text_of(m, text);
}

/* "\x7fELF", as bpftrace prints bytes */
static struct value bytes_text(struct machine *m, const struct value *bytes, uint64_t n)
{
	m->scratch.len = 0;
	for (size_t i = 0; i < bytes->n && i < n; i++)
		buf_printf(&m->scratch, bytes->p[i] >= ' ' && bytes->p[i] < 0x7f ? "%c" : "\\x%02x", bytes->p[i]);
	return new_text(m, m->scratch.data, m->scratch.len);
}

/* "52:54:00:12:34:56" */
static struct value mac_text(struct machine *m, const struct value *bytes)
{
	m->scratch.len = 0;
	for (size_t i = 0; i < bytes->n; i++)
		buf_printf(&m->scratch, "%s%02X", i ? ":" : "", bytes->p[i]);
	return new_text(m, m->scratch.data, m->scratch.len);
}

static struct value symbol_text(struct machine *m, uint64_t address, bool user)
{
	m->scratch.len = 0;
	m->host.put_symbol(m->host.context, address, user, &m->scratch);
	return new_text(m, m->scratch.data, m->scratch.len);
}

/* As strsignal() has it, whatever the user's language and the signals that this machine's C library keeps. */
static struct value signal_text(struct machine *m, uint64_t number)
{
	enum { REAL_TIME = 34, SIGNALS = 65 };
	const char *text = number < REAL_TIME ? sigdescr_np((int)number) : NULL;

	m->scratch.len = 0;
	if (text)
		buf_printf(&m->scratch, "%s", text);
	else if (number < REAL_TIME)
		buf_printf(&m->scratch, "Unknown signal %d", (int)number);
	else if (number < SIGNALS)
		buf_printf(&m->scratch, "Real-time signal %d", (int)number - REAL_TIME);
	else
		buf_printf(&m->scratch, "N/A");
	return new_text(m, m->scratch.data, m->scratch.len);
}

static uint64_t contains(const struct value *text, const struct value *part)
{
	return !part->n || (text->n && memmem(text->p, text->n, part->p, part->n));
}

/* 0 if they are equal up to so many characters, else 1; an end counts as one. */
static uint64_t compare_up_to(const struct value *a, const struct value *b, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		int x = i < a->n ? a->p[i] : 0, y = i < b->n ? b->p[i] : 0;

		if (x != y)
			return 1;
		if (!x)
			break;
	}
	return 0;
}

static struct value call(struct machine *m, const struct step *s, const struct value *args)
{
	char name[TEXT_MAX];

	switch (s->a) {
	case FUNCTION_STR:
		return (struct value){ .n = args[1].n < args[0].n ? args[1].n : args[0].n, .p = args[0].p };
	case FUNCTION_STRNCMP:
		return (struct value){ .n = compare_up_to(&args[0], &args[1], args[2].n) };
	case FUNCTION_STRLEN:
		return (struct value){ .n = args[0].n };
	case FUNCTION_STRCONTAINS:
		return (struct value){ .n = contains(&args[0], &args[1]) };
	case FUNCTION_NTOP:
		return ntop(m, s, args);
	case FUNCTION_BUF:
		return bytes_text(m, &args[0], s->n > 1 ? args[1].n : UINT64_MAX);
	case FUNCTION_MACADDR:
		return mac_text(m, &args[0]);
	case FUNCTION_BSWAP:
		return (struct value){ .n = swap_bytes(args[0].n, s->flag) };
	case FUNCTION_STRERROR:
		return text_of(m, strerror((int)args[0].n));
	case FUNCTION_SIGNAL_NAME:
		return signal_text(m, args[0].n);
	case FUNCTION_SYSCALL_NAME:
		return text_of(m, arch_x86_64.abis[0].call_name(args[0].n));
	case FUNCTION_KSYM:
	case FUNCTION_USYM:
		return symbol_text(m, args[0].n, s->a == FUNCTION_USYM);
	case FUNCTION_KADDR:
		snprintf(name, sizeof name, "%.*s", (int)(args[0].n < TEXT_MAX ? args[0].n : TEXT_MAX - 1),
			 (const char *)args[0].p);
		return (struct value){ .n = m->host.address(m->host.context, name) };
	default:
		return (struct value){ 0 };
	}
}

static void put_formatted(struct machine *m, const struct format_part *part, const struct value *v, struct buf *out)
{
	static const struct type text = { .kind = TYPE_TEXT };
	uint64_t number = part->bytes ? cast(v->n, part->bytes, part->is_signed) : v->n;

	m->scratch.len = 0;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* format_parse() has checked it */
	if (part->is_text) {
		printer_put_value(&m->printer, &part->type, v, &m->scratch);
	} else if (part->is_char) {
		uint8_t letter = (uint8_t)v->n;

		printer_put_value(&m->printer, &text, &(struct value){ .n = 1, .p = &letter }, &m->scratch);
	} else {
		if (part->is_pointer)
			buf_printf(out, part->spec, (void *)(uintptr_t)number);
		else
			buf_printf(out, part->spec, (unsigned long long)number);
		return;
	}
	if (!strcmp(part->spec, "%s")) {
		buf_put(out, m->scratch.data, m->scratch.len);
		return;
	}
	buf_put_u8(&m->scratch, 0);
	buf_printf(out, part->spec, (char *)m->scratch.data);
#pragma GCC diagnostic pop
}

static void print_format(struct machine *m, const struct text_format *f, const struct value *values)
{
	struct buf text = { 0 }, *out = m->printer.json ? &text : &m->out;
	size_t used = 0;

	for (size_t i = 0; i < f->count; i++) {
		buf_put(out, f->parts[i].text, f->parts[i].len);
		if (*f->parts[i].spec)
			put_formatted(m, &f->parts[i], &values[used++], out);
	}
	if (m->printer.json)
		printer_put_text(&m->printer, "printf", text.data, text.len);
	buf_free(&text);
	pass_on(m);
}

/* "a\0b\0" → "a b", and a line's end */
static void print_joined(struct machine *m, const struct value *v, const struct code_text *between)
{
	static const struct type text = { .kind = TYPE_TEXT };
	struct buf out = { 0 };

	for (size_t at = 0; at < v->n; at++) {
		struct value one = { .n = strnlen((const char *)v->p + at, v->n - at), .p = v->p + at };

		if (at)
			buf_put(&out, between->text, between->len);
		printer_put_value(&m->printer, &text, &one, &out);
		at += one.n;
	}
	buf_put_u8(&out, '\n');
	printer_put_text(&m->printer, "join", out.data, out.len - m->printer.json);
	buf_free(&out);
	pass_on(m);
}

static void print_time(struct machine *m, const char *format)
{
	char text[TEXT_MAX];
	uint64_t ns = m->host.builtin(m->host.context, BUILTIN_NSECS).n;

	printer_put_text(&m->printer, "time", text, wall_time(format, m->host.began_ns + ns, text, sizeof text));
	pass_on(m);
}

static struct value time_text(struct machine *m, const char *format, uint64_t ns)
{
	char text[TEXT_MAX];

	return new_text(m, text, wall_time(format, m->host.began_ns + ns, text, sizeof text));
}

static struct value value_of(struct machine *m, const struct script_map *map, const struct map_entry *e)
{
	if (map->value.kind == TYPE_AGGREGATE)
		return (struct value){ .n = map->value.aggregate >= HIST ? 0 : (uint64_t)script_map_number(map, e) };
	/* the map may change while the value is still used */
	return type_has_bytes(&map->value) ? new_text(m, e->value.p, e->value.n) : e->value;
}

static struct value get(struct machine *m, size_t map, const struct value *key)
{
	const struct map_entry *e = script_map_find(&m->maps[map], key);

	return e ? value_of(m, &m->maps[map], e) : (struct value){ 0 };
}

/* For find(): the value in the key's place, and whether there is one behind it. */
static void find(struct machine *m, size_t map, struct value *key)
{
	const struct map_entry *e = script_map_find(&m->maps[map], &key[0]);

	key[0] = e ? value_of(m, &m->maps[map], e) : (struct value){ 0 };
	key[1] = (struct value){ .n = e != NULL };
}

static void set(struct machine *m, size_t map, const struct value *key, const struct value *value)
{
	struct map_entry *e = script_map_reach(&m->maps[map], key, &m->maps_bytes);

	if (e)
		script_map_set(&m->maps[map], e, value, &m->maps_bytes);
}

static void add_to(struct machine *m, size_t map, const struct value *key, int64_t n)
{
	struct script_map *to = &m->maps[map];
	struct map_entry *e = script_map_reach(to, key, &m->maps_bytes);
	bool by_time = to->value.aggregate == TSERIES;

	if (e)
		script_map_add(to, e, n, by_time ? m->host.builtin(m->host.context, BUILTIN_NSECS).n : 0);
}

static void count(struct machine *m, size_t map, const struct value *key)
{
	struct map_entry *e = script_map_reach(&m->maps[map], key, &m->maps_bytes);

	if (e)
		e->sums.count += m->times;
}

static void print_entry(struct machine *m, size_t map, const struct value *key)
{
	const struct map_entry *e = script_map_find(&m->maps[map], key);

	if (e)
		printer_put_entry(&m->printer, &m->maps[map], e);
}

/* The next entry of a map, as a tuple of key and value. False: there are no more. */
static bool next_entry(struct machine *m, const struct step *s, struct value *place)
{
	const struct script_map *pm = &m->maps[s->a];

	if (s->line) /* nothing of the round before is kept */
		m->used = (size_t)(place->p - m->arena);
	while (place->n < pm->count) {
		const struct map_entry *e = &pm->entries[place->n++];
		struct value parts[2] = { e->key, e->value };

		if (!e->live)
			continue;
		if (pm->value.kind == TYPE_AGGREGATE)
			parts[1] =
				(struct value){ .n = pm->value.aggregate >= HIST ? 0
										 : (uint64_t)script_map_number(pm, e) };
		m->variables[s->flag] = make_tuple(m, &m->code->types.variables[s->flag].type, parts);
		return true;
	}
	return false;
}

static struct value name_text(struct machine *m, const struct value *v)
{
	m->scratch.len = 0;
	m->host.put_name(m->host.context, v->n, &m->scratch);
	return new_text(m, m->scratch.data, m->scratch.len);
}

/* `top`: behind the program's address; the recorder's, and what that one led to, follow. */
static struct value led(struct machine *m, const struct value *top, bool is_text)
{
	const struct value nothing = is_text ? new_text(m, "", 0) : (struct value){ 0 };

	if (top[-1].n && top[-1].n == top[0].n)
		return top[1];
	m->losses.led += top[-1].n != 0;
	return nothing;
}

/* What is no calculation: maps, and what is printed. `top`: behind the last value. Returns where that is then. */
static struct value *run_rare(struct machine *m, const struct step *s, struct value *top)
{
	switch (s->op) {
	case STEP_HAS:
		top[-1].n = script_map_find(&m->maps[s->a], &top[-1]) != NULL;
		return top;
	case STEP_FIND:
		find(m, s->a, &top[-1]);
		return top + 1;
	case STEP_DELETE:
		script_map_remove(&m->maps[s->a], &top[-1], &m->maps_bytes);
		return top - 1;
	case STEP_CLEAR:
		script_map_clear(&m->maps[s->a], &m->maps_bytes);
		return top;
	case STEP_ZERO:
		script_map_zero(&m->maps[s->a], &m->maps_bytes);
		return top;
	case STEP_LEN:
		*top = (struct value){ .n = m->maps[s->a].live };
		return top + 1;
	case STEP_PRINT_MAP:
		printer_put_map(&m->printer, &m->maps[s->a], top[-2].n, top[-1].n);
		pass_on(m);
		return top - 2;
	case STEP_PRINT_ENTRY:
		print_entry(m, s->a, &top[-1]);
		pass_on(m);
		return top - 1;
	case STEP_PRINT:
		printer_put_line(&m->printer, &m->code->list[s->a], &top[-1]);
		pass_on(m);
		return top - 1;
	case STEP_PRINTF:
		print_format(m, &m->code->formats[s->a], top - s->n);
		return top - s->n;
	case STEP_JOIN:
		print_joined(m, &top[-1], &m->code->texts[s->a]);
		return top - 1;
	case STEP_TIME:
		print_time(m, m->code->texts[s->a].text);
		return top;
	case STEP_STRFTIME:
		top[-1] = time_text(m, m->code->texts[s->a].text, top[-1].n);
		return top;
	case STEP_NAME_TEXT:
		top[-1] = name_text(m, &top[-1]);
		return top;
	case STEP_LED:
		top -= 2;
		top[-1] = led(m, top, s->flag);
		return top;
	case STEP_TUPLE: {
		const struct type *type = &m->code->list[s->a];

		top -= type->n_fields;
		*top = make_tuple(m, type, top);
		return top + 1;
	}
	case STEP_PART:
		top[-1] = tuple_part(&m->code->list[s->a], &top[-1], s->n);
		return top;
	default: /* STEP_CALL */
		top -= s->n;
		*top = call(m, s, top);
		return top + 1;
	}
}

/* Has the user had enough of the program, or nobody reads any more what it prints? */
static bool is_enough(struct machine *m)
{
	if (!m->ends)
		m->over |= m->host.is_enough && m->host.is_enough(m->host.context);
	return m->ends ? m->failed : m->over;
}

static void run(struct machine *m, size_t at)
{
	const struct script_code *code = m->code;
	struct value *top = m->stack; /* behind the last value */
	unsigned rounds = 0;

	for (;;) {
		const struct step *s = &code->steps[at++];

		if (__builtin_expect(m->full, 0)) {
			m->losses.cut++;
			return;
		}
		switch (s->op) {
		case STEP_NUMBER:
			*top++ = (struct value){ .n = s->n };
			break;
		case STEP_TEXT:
			*top++ = (struct value){ .n = code->texts[s->a].len,
						 .p = (const uint8_t *)code->texts[s->a].text };
			break;
		case STEP_BUILTIN:
			*top++ = m->host.builtin(m->host.context, (enum builtin)s->a);
			break;
		case STEP_FIELD:
			*top = m->host.field(m->host.context, s->a);
			/* the host's next text may be in the same place */
			if (code->types.fields[s->a].type.kind == TYPE_TEXT)
				*top = new_text(m, top->p, top->n);
			top++;
			break;
		case STEP_STACK:
			*top++ = (struct value){ .n = m->host.stack(m->host.context, s->flag, s->n) };
			break;
		case STEP_LOAD:
			*top++ = m->variables[s->a];
			break;
		case STEP_STORE:
			m->variables[s->a] = *--top;
			break;
		case STEP_POP:
			top--;
			break;
		case STEP_ARITHMETIC:
			top--;
			top[-1].n = calculate(s->a, top[-1].n, top[0].n, s->flag);
			break;
		case STEP_TEXTS:
			top--;
			top[-1].n = is_same_text(&top[-1], &top[0]) == (s->a == OP_EQUAL);
			break;
		case STEP_NEGATE:
			top[-1].n = -top[-1].n;
			break;
		case STEP_NOT:
			top[-1].n = !top[-1].n;
			break;
		case STEP_COMPLEMENT:
			top[-1].n = ~top[-1].n;
			break;
		case STEP_CAST:
			top[-1].n = cast(top[-1].n, s->a, s->flag);
			break;
		case STEP_TRUTH:
			top[-1].n = !!top[-1].n;
			break;
		case STEP_JUMP:
			at = s->n;
			break;
		case STEP_JUMP_FALSE:
			if (!(--top)->n)
				at = s->n;
			break;
		case STEP_BACK:
			if (++rounds > ROUNDS_MAX) {
				m->losses.loops++;
				return;
			}
			if (rounds % ROUNDS_LOOK == 0 && is_enough(m))
				return;
			at = s->n;
			break;
		case STEP_GET:
			top[-1] = get(m, s->a, &top[-1]);
			break;
		case STEP_GIVE_BACK:
			*top = get(m, s->a, &top[-1]);
			top++;
			break;
		case STEP_SET:
			top -= 2;
			set(m, s->a, &top[0], &top[1]);
			break;
		case STEP_SET_UNDER:
			top--;
			set(m, s->a, &top[-1], &top[0]);
			top[-1] = top[0];
			break;
		case STEP_COUNT:
			count(m, s->a, --top);
			break;
		case STEP_ADD:
			top -= 2;
			add_to(m, s->a, &top[0], (int64_t)top[1].n);
			break;
		case STEP_FOR:
			*top++ = (struct value){ .p = m->arena + m->used };
			break;
		case STEP_MARK:
			*top++ = (struct value){ .n = m->used };
			break;
		case STEP_RELEASE:
			m->used = (size_t)(--top)->n;
			break;
		case STEP_NEXT:
			if (!next_entry(m, s, &top[-1]))
				at = s->n;
			break;
		case STEP_EXIT:
			m->exit_code = (int)(--top)->n;
			m->over = true;
			return;
		case STEP_END:
			return;
		default:
			top = run_rare(m, s, top);
		}
	}
}

void machine_say_attached(struct machine *m, size_t probes)
{
	if (m->printer.json)
		buf_printf(&m->out, "{\"type\": \"attached_probes\", \"data\": {\"probes\": %zu}}\n", probes);
	else
		buf_printf(&m->out, "Attaching %zu probe%s...\n", probes, probes == 1 ? "" : "s");
}

bool machine_fire(struct machine *m, size_t handler)
{
	m->used = 0;
	m->full = false;
	if (m->code->types.n_variables)
		memset(m->variables, 0, m->code->types.n_variables * sizeof *m->variables);
	run(m, m->code->begins[handler]);
	pass_on(m);
	return !m->over;
}

void machine_begin_end(struct machine *m)
{
	m->ends = true;
}

void machine_fire_times(struct machine *m, size_t handler, uint64_t times)
{
	m->times = times;
	machine_fire(m, handler);
	m->times = 1;
}

static int by_name(const void *a, const void *b)
{
	const struct script_map *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static void print_maps(struct machine *m)
{
	size_t n = m->code->types.n_maps;
	const struct script_map **list = xcalloc(n + 1, sizeof *list);

	for (size_t i = 0; i < n; i++)
		list[i] = &m->maps[i];
	qsort(list, n, sizeof *list, by_name);
	for (size_t i = 0; i < n && !m->failed; i++) {
		printer_put_map(&m->printer, list[i], 0, 0);
		pass_on(m);
	}
	free(list);
}

int machine_pass_on(struct machine *m, struct error *err)
{
	if (!m->failed && m->out.len && m->sink.write(m->sink.context, m->out.data, m->out.len, &m->err) < 0)
		m->failed = m->over = true;
	m->out.len = 0;
	if (m->failed)
		*err = m->err;
	return m->failed ? -1 : 0;
}

int machine_end(struct machine *m, struct error *err)
{
	for (size_t i = 0; i < m->code->types.n_maps; i++)
		m->losses.keys += m->maps[i].left_out;
	if (!m->code->keeps_maps)
		print_maps(m);
	if (m->failed) {
		*err = m->err;
		return -1;
	}
	return sink_end(&m->sink, &m->out, 0, err);
}

struct machine_losses machine_losses(const struct machine *m)
{
	return m->losses;
}

int machine_exit_code(const struct machine *m)
{
	return m->exit_code;
}
