/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe_code.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"

enum { DEPTH = 32, STEPS_MAX = 256, REGISTER_NUMBERS = 17 };

static const struct {
	const char *word; /* begins with it, if an operand follows */
	unsigned takes;   /* values that it takes from the stack */
} words[PROBE_OPS] = {
	[PROBE_OP_REGISTER] = { "%", 0 },    [PROBE_OP_NUMBER] = { "", 0 },    [PROBE_OP_SYMBOL] = { "&", 0 },
	[PROBE_OP_ENTRY] = { "entry%", 1 },  [PROBE_OP_READ] = { "@", 1 },     [PROBE_OP_EXTEND] = { "sign", 1 },
	[PROBE_OP_PICK] = { "pick", 0 },     [PROBE_OP_CURRENT] = { "current", 0 }, [PROBE_OP_DROP] = { "drop", 1 },  [PROBE_OP_SWAP] = { "swap", 2 },
	[PROBE_OP_ROTATE] = { "rot", 3 },    [PROBE_OP_ADD] = { "+", 2 },      [PROBE_OP_SUBTRACT] = { "-", 2 },
	[PROBE_OP_MULTIPLY] = { "*", 2 },    [PROBE_OP_DIVIDE] = { "/", 2 },   [PROBE_OP_MODULO] = { "mod", 2 },
	[PROBE_OP_AND] = { "and", 2 },       [PROBE_OP_OR] = { "or", 2 },      [PROBE_OP_XOR] = { "xor", 2 },
	[PROBE_OP_LEFT] = { "<<", 2 },       [PROBE_OP_RIGHT] = { ">>", 2 },   [PROBE_OP_RIGHT_SIGNED] = { "sar", 2 },
	[PROBE_OP_NEGATE] = { "neg", 1 },    [PROBE_OP_NOT] = { "not", 1 },    [PROBE_OP_ABSOLUTE] = { "abs", 1 },
	[PROBE_OP_EQUAL] = { "==", 2 },      [PROBE_OP_UNEQUAL] = { "!=", 2 }, [PROBE_OP_LESS] = { "<", 2 },
	[PROBE_OP_LESS_EQUAL] = { "<=", 2 }, [PROBE_OP_MORE] = { ">", 2 },     [PROBE_OP_MORE_EQUAL] = { ">=", 2 },
	[PROBE_OP_KEEP] = { "keep", 2 },     [PROBE_OP_KEPT] = { "kept", 1 },  [PROBE_OP_MIX] = { "mix", 2 },
};

static const char *const registers[REGISTER_NUMBERS] = {
	"ax", "cx", "dx", "bx", "sp", "bp", "si", "di", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "ip",
};

int probe_register(const char *name, size_t len)
{
	bool wide = len == 3 && *name == 'r' && !isdigit((unsigned char)name[1]);

	for (int i = 0; i < REGISTER_NUMBERS; i++) {
		const char *r = registers[i];

		if ((strlen(r) == len && !memcmp(r, name, len)) || (wide && strlen(r) == 2 && !memcmp(r, name + 1, 2)))
			return i;
	}
	return -1;
}

const char *probe_register_name(unsigned number)
{
	return number < REGISTER_NUMBERS ? registers[number] : "?";
}

int probe_register_of_dwarf(unsigned number)
{
	static const int8_t of[] = { 0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15, 16 };

	return number < sizeof of ? of[number] : -1;
}

int probe_register_of_parameter(unsigned i)
{
	static const int8_t of[] = { 7, 6, 2, 1, 8, 9 };

	return i < sizeof of ? of[i] : -1;
}

void probe_code_add(struct probe_code *c, enum probe_op op, int64_t operand)
{
	c->steps = array_grow(c->steps, c->count, &c->room, sizeof *c->steps);
	c->steps[c->count++] = (struct probe_step_code){ .op = op, .operand = operand };
}

void probe_code_add_symbol(struct probe_code *c, const char *symbol, int64_t behind)
{
	probe_code_add(c, PROBE_OP_SYMBOL, behind);
	c->steps[c->count - 1].symbol = xstrdup(symbol);
}

void probe_code_add_behind(struct probe_code *c, int64_t bytes)
{
	struct probe_step_code *last = c->count >= 2 ? &c->steps[c->count - 2] : NULL;

	if (last && last->op == PROBE_OP_NUMBER && last[1].op == PROBE_OP_ADD) {
		last->operand = (int64_t)((uint64_t)last->operand + (uint64_t)bytes);
		return;
	}
	if (!bytes)
		return;
	probe_code_add(c, PROBE_OP_NUMBER, bytes);
	probe_code_add(c, PROBE_OP_ADD, 0);
}

void probe_code_add_all(struct probe_code *c, const struct probe_code *more)
{
	for (size_t i = 0; i < more->count; i++) {
		const struct probe_step_code *s = &more->steps[i];

		if (s->symbol)
			probe_code_add_symbol(c, s->symbol, s->operand);
		else
			probe_code_add(c, s->op, s->operand);
	}
}

void probe_code_deinit(struct probe_code *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->steps[i].symbol);
	free(c->steps);
	*c = (struct probe_code){ 0 };
}

bool probe_code_asks_entry(const struct probe_code *c)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->steps[i].op == PROBE_OP_ENTRY)
			return true;
	return false;
}

static bool has_operand(enum probe_op op)
{
	return op <= PROBE_OP_PICK;
}

static bool is_size(int64_t n)
{
	return n == 1 || n == 2 || n == 4 || n == 8;
}

static bool parse_number(const char *text, int64_t *ret)
{
	char *end;

	if (!isdigit((unsigned char)text[*text == '-']))
		return false;
	*ret = *text == '-' ? strtoll(text, &end, 0) : (int64_t)strtoull(text, &end, 0);
	return !*end;
}

/* "name+16" */
static bool parse_symbol(char *text, struct probe_code *c)
{
	char *sign = text + strcspn(text, "+-");
	int64_t behind = 0;

	if (*sign && (!parse_number(sign + (*sign == '+'), &behind) || sign == text))
		return false;
	*sign = '\0';
	if (!*text)
		return false;
	probe_code_add_symbol(c, text, behind);
	return true;
}

static bool parse_operand(enum probe_op op, char *text, struct probe_code *c)
{
	int64_t operand;

	if (op == PROBE_OP_SYMBOL)
		return parse_symbol(text, c);
	if (op == PROBE_OP_REGISTER || op == PROBE_OP_ENTRY) {
		operand = probe_register(text, strlen(text));
		if (operand < 0)
			return false;
	} else if (!parse_number(text, &operand)) {
		return false;
	} else if (((op == PROBE_OP_READ || op == PROBE_OP_EXTEND) && !is_size(operand)) ||
		   (op == PROBE_OP_PICK && (operand < 0 || operand >= DEPTH))) {
		return false;
	}
	probe_code_add(c, op, operand);
	return true;
}

static bool parse_step(char *text, struct probe_code *c)
{
	for (int op = 0; op < PROBE_OPS; op++) {
		size_t n = strlen(words[op].word);

		if (!has_operand((enum probe_op)op) && !strcmp(text, words[op].word)) {
			probe_code_add(c, (enum probe_op)op, 0);
			return true;
		}
		if (has_operand((enum probe_op)op) && n && !strncmp(text, words[op].word, n))
			return parse_operand((enum probe_op)op, text + n, c);
	}
	return parse_operand(PROBE_OP_NUMBER, text, c);
}

int probe_code_parse(const char *text, size_t len, struct probe_code *ret, struct error *err)
{
	cleanup_free char *copy = xstrndup(text, len);
	char *rest = copy, *word;

	*ret = (struct probe_code){ 0 };
	while ((word = strsep(&rest, ",")))
		if (ret->count == STEPS_MAX || !parse_step(word, ret))
			return error_set(err, "{%.*s}: no step of such code: '%s'", (int)len, text, word);
	return 0;
}

void probe_code_put(const struct probe_code *c, struct buf *out)
{
	buf_printf(out, "{");
	for (size_t i = 0; i < c->count; i++) {
		const struct probe_step_code *s = &c->steps[i];

		buf_printf(out, "%s%s", i ? "," : "", words[s->op].word);
		if (s->op == PROBE_OP_REGISTER || s->op == PROBE_OP_ENTRY)
			buf_printf(out, "%s", probe_register_name((unsigned)s->operand));
		else if (s->symbol)
			buf_printf(out, s->operand ? "%s%+" PRId64 : "%s", s->symbol, s->operand);
		else if (has_operand(s->op))
			buf_printf(out, "%" PRId64, s->operand);
	}
	buf_printf(out, "}");
}

static int64_t extend(uint64_t value, int64_t bytes)
{
	unsigned shift = 64 - 8 * (unsigned)bytes;

	return (int64_t)(value << shift) >> shift;
}

static uint64_t of_two(enum probe_op op, uint64_t a, uint64_t b)
{
	int64_t x = (int64_t)a, y = (int64_t)b;

	switch (op) {
	case PROBE_OP_ADD:
		return a + b;
	case PROBE_OP_SUBTRACT:
		return a - b;
	case PROBE_OP_MULTIPLY:
		return a * b;
	case PROBE_OP_DIVIDE: /* DWARF's is signed, but for the one that no machine can do */
		return y == -1 ? -a : (uint64_t)(x / y);
	case PROBE_OP_MODULO:
		return a % b;
	case PROBE_OP_AND:
		return a & b;
	case PROBE_OP_OR:
		return a | b;
	case PROBE_OP_XOR:
		return a ^ b;
	case PROBE_OP_LEFT:
		return b < 64 ? a << b : 0;
	case PROBE_OP_RIGHT:
		return b < 64 ? a >> b : 0;
	case PROBE_OP_RIGHT_SIGNED:
		return (uint64_t)(x >> (b < 64 ? b : 63));
	case PROBE_OP_EQUAL:
		return x == y;
	case PROBE_OP_UNEQUAL:
		return x != y;
	case PROBE_OP_LESS:
		return x < y;
	case PROBE_OP_LESS_EQUAL:
		return x <= y;
	case PROBE_OP_MORE:
		return x > y;
	case PROBE_OP_MIX:
		return hash64(a) ^ b;
	default:
		return x >= y;
	}
}

/* The step's effect on the values that it takes, the last of which is at `top`. */
static bool change(const struct probe_step_code *s, const struct probe_guest *guest, uint64_t *top)
{
	uint64_t value = *top, third;

	switch (s->op) {
	case PROBE_OP_READ:
		*top = 0;
		return guest->read(guest->context, value, top, (size_t)s->operand);
	case PROBE_OP_ENTRY:
		return guest->entry(guest->context, value, (unsigned)s->operand, top);
	case PROBE_OP_KEPT:
		return guest->kept && guest->kept(guest->context, value, top);
	case PROBE_OP_EXTEND:
		*top = (uint64_t)extend(value, s->operand);
		return true;
	case PROBE_OP_NEGATE:
		*top = -value;
		return true;
	case PROBE_OP_NOT:
		*top = ~value;
		return true;
	case PROBE_OP_ABSOLUTE:
		*top = (int64_t)value < 0 ? -value : value;
		return true;
	case PROBE_OP_SWAP:
		*top = top[-1];
		top[-1] = value;
		return true;
	case PROBE_OP_ROTATE: /* DW_OP_rot: the last one becomes the third */
		third = top[-2];
		*top = top[-1];
		top[-1] = third;
		top[-2] = value;
		return true;
	default:
		return false;
	}
}

/* What the step pushes. */
static bool pushed(const struct probe_step_code *s, const struct probe_guest *guest, const uint64_t *values,
		   size_t count, uint64_t *ret)
{
	switch (s->op) {
	case PROBE_OP_REGISTER:
		*ret = guest->reg(guest->context, (unsigned)s->operand);
		return true;
	case PROBE_OP_NUMBER:
		*ret = (uint64_t)s->operand;
		return true;
	case PROBE_OP_CURRENT:
		*ret = guest->current;
		return guest->current;
	case PROBE_OP_PICK:
		if ((uint64_t)s->operand >= count)
			return false;
		*ret = values[count - 1 - (size_t)s->operand];
		return true;
	default: /* a symbol that nobody found */
		return false;
	}
}

bool probe_code_run(const struct probe_code *c, const struct probe_guest *guest, uint64_t *ret)
{
	uint64_t values[DEPTH];
	size_t count = 0;

	for (size_t i = 0; i < c->count; i++) {
		const struct probe_step_code *s = &c->steps[i];

		if (count < words[s->op].takes)
			return false;
		if (!words[s->op].takes) {
			if (count == DEPTH || !pushed(s, guest, values, count, &values[count]))
				return false;
			count++;
		} else if (s->op == PROBE_OP_DROP) {
			count--;
		} else if (s->op == PROBE_OP_KEEP) {
			if (guest->keep)
				guest->keep(guest->context, values[count - 2], values[count - 1]);
			values[count - 2] = values[count - 1];
			count--;
		} else if (s->op >= PROBE_OP_ADD && words[s->op].takes == 2) {
			if ((s->op == PROBE_OP_DIVIDE || s->op == PROBE_OP_MODULO) && !values[count - 1])
				return false;
			values[count - 2] = of_two(s->op, values[count - 2], values[count - 1]);
			count--;
		} else if (!change(s, guest, &values[count - 1])) {
			return false;
		}
	}
	if (count)
		*ret = values[count - 1];
	return count;
}
