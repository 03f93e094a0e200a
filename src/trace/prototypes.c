/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "prototypes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { REGISTER_BYTES = 8, STRUCT_REGISTERS = 2, VECTORS = 8 };

static void parameter_deinit(struct parameter *p)
{
	free(p->name);
	free(p->type);
}

void prototype_deinit(struct prototype *p)
{
	free(p->function);
	parameter_deinit(&p->result);
	for (unsigned i = 0; i < p->count; i++)
		parameter_deinit(&p->parameters[i]);
	*p = (struct prototype){ 0 };
}

void prototype_of_registers(struct prototype *ret)
{
	static const char *const names[PROTOTYPE_REGISTERS] = { "rdi", "rsi", "rdx", "rcx", "r8", "r9" };

	ret->result = (struct parameter){ VALUE_REGISTER, REGISTER_BYTES, xstrdup(""), xstrdup("") };
	for (; ret->count < PROTOTYPE_REGISTERS; ret->count++)
		ret->parameters[ret->count] =
			(struct parameter){ VALUE_REGISTER, REGISTER_BYTES, xstrdup(names[ret->count]), xstrdup("") };
}

bool value_is_named(enum value_kind kind)
{
	static const char named[] = {
		VALUE_STRING, VALUE_FILE, VALUE_PATH, VALUE_DENTRY, VALUE_TASK, VALUE_DEVICE, VALUE_FILENAME,
	};

	return memchr(named, (int)kind, sizeof named);
}

/* How many registers it is in, if there are so many left. */
static unsigned registers_of(const struct parameter *p)
{
	if (p->kind != VALUE_STRUCT)
		return p->kind != VALUE_FLOAT;
	return (p->bytes + REGISTER_BYTES - 1) / REGISTER_BYTES;
}

int prototype_register(const struct prototype *p, unsigned i)
{
	unsigned used = 0;

	for (unsigned k = 0; k <= i; k++) {
		unsigned n = registers_of(&p->parameters[k]);
		bool fits = n <= STRUCT_REGISTERS && used + n <= PROTOTYPE_REGISTERS;

		if (k == i)
			return fits && n ? (int)used : -1;
		used += fits ? n : 0;
	}
	return -1;
}

static bool is_in_vector(const struct parameter *p)
{
	return p->kind == VALUE_FLOAT && p->bytes <= REGISTER_BYTES;
}

/* Of all that are used for arguments; negative: none. */
static int vector_of(const struct prototype *p, unsigned i)
{
	unsigned used = 0;

	for (unsigned k = 0; k < i; k++)
		used += is_in_vector(&p->parameters[k]);
	return is_in_vector(&p->parameters[i]) && used < VECTORS ? (int)used : -1;
}

int prototype_vector(const struct prototype *p, unsigned i)
{
	int vector = vector_of(p, i);

	return vector < PROTOTYPE_VECTORS ? vector : -1;
}

unsigned prototype_stack_words(const struct prototype *p, unsigned i)
{
	const struct parameter *q = &p->parameters[i];

	if (prototype_register(p, i) >= 0 || vector_of(p, i) >= 0)
		return 0;
	return q->kind == VALUE_STRUCT || q->kind == VALUE_FLOAT ? (q->bytes + REGISTER_BYTES - 1) / REGISTER_BYTES : 1;
}

int prototype_stack(const struct prototype *p, unsigned i)
{
	unsigned place = 0, words = 0;

	for (unsigned k = 0; k <= i; k++) {
		place += words;
		words = prototype_stack_words(p, k);
		if (words > 1 && place % 2)
			return -1;
	}
	return words ? (int)place : -1;
}

/* Is it of a kind with names, and recorded? */
static bool has_text(const struct prototype *p, unsigned i)
{
	int place = prototype_stack(p, i);

	return value_is_named(p->parameters[i].kind) &&
	       (prototype_register(p, i) >= 0 || (place >= 0 && place < PROTOTYPE_STACK));
}

int prototype_text(const struct prototype *p, unsigned i)
{
	unsigned texts = 0;

	for (unsigned k = 0; k < i; k++)
		texts += has_text(p, k);
	return has_text(p, i) && texts < PROTOTYPE_TEXTS ? (int)texts : -1;
}

static void put_parameter(const struct parameter *p, struct buf *out)
{
	buf_printf(out, "\t%c%u:%s:%s", (char)p->kind, p->bytes, p->name, p->type);
}

void prototype_put(const struct prototype *p, struct buf *out)
{
	buf_printf(out, "0x%" PRIx64 "\t%s", p->addr, p->function);
	put_parameter(&p->result, out);
	for (unsigned i = 0; i < p->count; i++)
		put_parameter(&p->parameters[i], out);
}

/* Up to the next tab, which is passed; NULL: there is nothing more. */
static char *next_field(const char **text)
{
	const char *begin = *text;
	size_t n = strcspn(begin, "\t");

	if (!*begin)
		return NULL;
	*text += n + (begin[n] == '\t');
	return xstrndup(begin, n);
}

static int parse_parameter(const char *text, struct parameter *ret)
{
	static const char kinds[] = "vdubpsfaetDnorFA";
	char *end;
	const char *type;
	unsigned long bytes;

	if (!*text || !strchr(kinds, *text))
		return -1;
	bytes = strtoul(text + 1, &end, 10);
	type = *end == ':' ? strchr(end + 1, ':') : NULL;
	if (end == text + 1 || !type || bytes > UINT32_MAX || 
	    (*text != VALUE_STRUCT && bytes > (*text == VALUE_FLOAT ? 2u : 1u) * REGISTER_BYTES))
		return -1;
	*ret = (struct parameter){
		.kind = (enum value_kind)*text, .bytes = (unsigned)bytes,
		.name = xstrndup(end + 1, (size_t)(type - end - 1)), .type = xstrdup(type + 1),
	};
	return 0;
}

static int parse_fields(const char *text, struct prototype *ret)
{
	cleanup_free char *addr = next_field(&text);
	char *end = NULL;

	ret->addr = addr ? strtoull(addr, &end, 16) : 0;
	if (!addr || *end || !*addr)
		return -1;
	ret->function = next_field(&text);
	for (int i = -1; *text || i < 0; i++) {
		cleanup_free char *field = next_field(&text);
		struct parameter *p = i < 0 ? &ret->result : &ret->parameters[i];

		if (!field || i == PROTOTYPE_PARAMETERS || parse_parameter(field, p) < 0)
			return -1;
		ret->count = (unsigned)(i + 1);
	}
	return ret->function ? 0 : -1;
}

int prototype_parse(const char *text, struct prototype *ret, struct error *err)
{
	*ret = (struct prototype){ 0 };
	if (parse_fields(text, ret) == 0)
		return 0;
	prototype_deinit(ret);
	return error_set(err, "a damaged prototype");
}
