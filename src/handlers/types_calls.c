/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What calls of the language's functions are, and what they are given. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/probe_arg.h"
#include "typing.h"

/* join(args.argv): a program's arguments, as execve() is given them */
static int find_join(struct typing *t, struct node *node)
{
	int r = typing_field(t, node, node->list[0], ":string");

	if (r < 0 || (node->n > 1 && typing_find(t, node->list[1]) < 0))
		return -1;
	if (!r || strncmp(t->p->handlers[t->handler].places[0].text, "tracepoint:syscalls:sys_enter_exec", 34) ||
	    !strstr(t->t->fields[node->field].text, "argv"))
		return typing_wrong(
			t, node,
			"join() is there for args.argv of tracepoint:syscalls:sys_enter_execve alone; upto ps has all programs' arguments");
	if (t->p->handlers[t->handler].places[0].call)
		return typing_wrong(
			t, node,
			"join() goes without what is read of memory there (uid, curtask->…, str()): expected a probe of its own for it");
	if (t->last && node->n > 1 && node->list[1]->kind != NODE_TEXT)
		return typing_wrong(t, node->list[1], "expected a text in \"\"");
	node->type = (struct type){ .kind = TYPE_NONE };
	return 0;
}

static int find_str(struct typing *t, struct node *node)
{
	struct node *of = node->list[0];
	int r;

	node->type = (struct type){ .kind = TYPE_TEXT };
	if (node->n > 1 && typing_number(t, node->list[1]) < 0)
		return -1;
	if (of->kind == NODE_PARAMETER)
		return 0;
	/* what a map keeps is text itself: it was read where it was kept */
	r = of->kind == NODE_MAP ? 0 : typing_field(t, node, of, ":string");
	if (r)
		return r < 0 ? -1 : 0;
	if (typing_find(t, of) < 0)
		return -1;
	if (t->last && !type_has_text(&of->type))
		return typing_wrong(
			t, of,
			"a text is read where the probe is: this address is not its argument, nor what that leads to");
	return 0;
}

/* ntop() of a number that was not read is of four bytes. */
static int find_ntop(struct typing *t, struct node *node)
{
	struct node *of = node->list[node->n - 1];
	int r = typing_bytes(t, node, of, "");

	if (r < 0 || (node->n > 1 && typing_number(t, node->list[0]) < 0))
		return -1;
	return r ? 0 : typing_number(t, of);
}

/* buf(address, length), macaddr(address) */
static int find_bytes(struct typing *t, struct node *node, const struct function *f)
{
	enum { MAC_BYTES = 6 };
	const struct node *length = node->n > 1 ? node->list[1] : NULL;
	char more[24] = "";
	int r;

	if (f->id == FUNCTION_MACADDR)
		snprintf(more, sizeof more, ":x8[%d]", MAC_BYTES);
	else if (length)
		snprintf(more, sizeof more, ":x8[..%d]",
			 length->kind == NODE_NUMBER && length->number && length->number < PROBE_ARRAY
				 ? (int)length->number
				 : PROBE_ARRAY);
	r = typing_bytes(t, node, node->list[0], more);
	if (r < 0 || (length && typing_number(t, node->list[1]) < 0))
		return -1;
	if (!r && typing_find(t, node->list[0]) < 0)
		return -1;
	return r || !t->last ? 0
			     : typing_wrong(t, node->list[0],
					    "bytes are read where the probe is: this address is not its argument, nor "
					    "what that leads to");
}

static int find_literal(struct typing *t, struct node *node, int64_t *ret);

/* $# ? $1 : 5 */
static int find_chosen_literal(struct typing *t, struct node *node, int64_t *ret)
{
	int64_t which;

	if (typing_find(t, node) < 0 || find_literal(t, node->list[0], &which) < 0)
		return -1;
	return find_literal(t, node->list[which ? 1 : 2], ret);
}

/* What is known before anything runs: 5, -5, $1. */
static int find_literal(struct typing *t, struct node *node, int64_t *ret)
{
	bool minus = node->kind == NODE_UNARY && node->op == '-' && node->list[0]->kind == NODE_NUMBER;
	uint64_t number = minus ? node->list[0]->number : node->number;

	if (node->kind == NODE_TERNARY)
		return find_chosen_literal(t, node, ret);
	if (node->kind == NODE_PARAMETER && script_parameter(t->p, node, &number, t->err) < 0)
		return -1;
	if (node->kind != NODE_NUMBER && node->kind != NODE_PARAMETER && !minus)
		return typing_wrong(t, node, "expected a number that is known before anything runs");
	*ret = (int64_t)(minus ? -number : number);
	return 0;
}

/* print(@x, 5, 2): how many, and what they are divided by */
static int find_print_map(struct typing *t, struct node *node)
{
	int64_t ignored;

	for (size_t i = 1; i < node->n; i++) {
		if (node->list[0]->n)
			return typing_wrong(t, node->list[i], "of one entry there is no more to say");
		if (find_literal(t, node->list[i], &ignored) < 0)
			return -1;
	}
	return 0;
}

/* delete(@x[key]), delete(@x, key), delete(@x) of a map without keys; has_key(@x, key) */
static int find_map_key(struct typing *t, struct node *node)
{
	struct node *map = node->list[0];
	struct map_asked *m = typing_map(t, map);

	if (node->n < 2)
		return t->last && m->has_key ? typing_wrong(t, map, "expected a key; clear() is for all of them") : 0;
	if (t->last && !m->has_key)
		return typing_wrong(t, map, "it has no keys");
	if (typing_find(t, node->list[1]) < 0 || typing_value(t, node->list[1]) < 0)
		return -1;
	m = typing_map(t, map);
	return typing_unify(t, &m->key, &node->list[1]->type, node->list[1], "the key");
}

/* @map, or @map and a key */
static int find_map_argument(struct typing *t, struct node *node, const struct function *f)
{
	struct node *map = node->list[0];
	bool takes_key = f->id == FUNCTION_DELETE || f->id == FUNCTION_PRINT;
	const struct map_asked *m;

	if (map->kind != NODE_MAP)
		return typing_wrong(t, map, "expected an @map");
	if (map->n && (!takes_key || (f->id == FUNCTION_DELETE && node->n > 1)))
		return typing_wrong(t, map, "expected an @map without a key");
	if (map->n && typing_map_used(t, map, false) < 0)
		return -1;
	m = typing_map(t, map);
	map->type = m->value;
	if (t->last && m->value.kind == TYPE_NONE)
		return script_error(t->p, map->at, map->len, t->err, "@%s is never set", map->text);
	if (f->id == FUNCTION_PRINT)
		return find_print_map(t, node);
	return !map->n && (f->id == FUNCTION_DELETE || f->id == FUNCTION_HAS_KEY || f->id == FUNCTION_FIND)
		       ? find_map_key(t, node)
		       : 0;
}

/* find(@map, key, $value) */
static int find_found(struct typing *t, struct node *node, const struct function *f)
{
	struct node *to = node->list[2], *map = node->list[0];
	struct type kept;

	if (to->kind != NODE_VARIABLE)
		return typing_wrong(t, to, "expected a $variable, which gets the value");
	if (find_map_argument(t, node, f) < 0 || typing_kept(t, map, &kept) < 0)
		return -1;
	to->type = kept;
	return typing_unify(t, &typing_variable(t, to->text)->type, &kept, to, "the value");
}

/* reg("di"): as it is where a function is called, or returns */
static int find_register(struct typing *t, struct node *node)
{
	enum place_kind kind = typing_place(t)->kind;
	int r;

	if (kind != PLACE_ENTRY && kind != PLACE_RETURN && kind != PLACE_UPROBE && kind != PLACE_URETPROBE &&
	    kind != PLACE_CALL && kind != PLACE_CALL_END)
		return typing_wrong(t, node, "registers are read at functions: kprobe, kretprobe, uprobe, uretprobe");
	r = typing_field(t, node, node, "");
	return r ? (r < 0 ? -1 : 0)
		 : typing_wrong(t, node->list[0], "expected a register: \"ax\", \"di\", \"sp\", \"r8\", \"ip\" …");
}

/* tseries(value, 100ms, 20, "max"): the last 20 intervals */
static int find_series(struct typing *t, struct node *node)
{
	enum { INTERVALS_MAX = 10000 };
	static const char *const names[] = { "avg", "max", "min", "sum" };
	static const enum aggregate kinds[] = { AVG, MAX, MIN, SUM };
	size_t i = 0;

	if (find_literal(t, node->list[1], &node->type.step) < 0 || find_literal(t, node->list[2], &node->type.max) < 0)
		return -1;
	if (node->type.step <= 0 || node->type.max <= 0 || node->type.max > INTERVALS_MAX)
		return typing_wrong(t, node,
				    "expected tseries(value, interval, how many): an interval as 100ms, at most 10000");
	if (node->n < 4)
		return 0;
	while (i < 4 && (node->list[3]->kind != NODE_TEXT || strcmp(node->list[3]->text, names[i])))
		i++;
	if (i == 4)
		return typing_wrong(t, node->list[3], "expected \"avg\", \"max\", \"min\" or \"sum\"");
	node->type.of = kinds[i];
	return 0;
}

/* hist(value, 2) */
static int find_bits(struct typing *t, struct node *node)
{
	enum { BITS_MAX = 5 };
	int64_t bits;

	if (find_literal(t, node->list[1], &bits) < 0)
		return -1;
	if (bits < 0 || bits > BITS_MAX)
		return typing_wrong(t, node->list[1], "expected 0 to 5");
	node->type.bits = (unsigned)bits;
	return 0;
}

/* lhist(value, 0, 100, 10) */
static int find_buckets(struct typing *t, struct node *node)
{
	enum { BUCKETS_MAX = 1000 };
	struct type *type = &node->type;

	if (find_literal(t, node->list[1], &type->min) < 0 || find_literal(t, node->list[2], &type->max) < 0 ||
	    find_literal(t, node->list[3], &type->step) < 0)
		return -1;
	if (type->min >= 0 && type->max > type->min && type->step > 0 && type->step <= type->max - type->min &&
	    (type->max - type->min) / type->step <= BUCKETS_MAX)
		return 0;
	return typing_wrong(
		t, node,
		"expected lhist(value, from, to, step): from at least 0, to above it, one to 1000 steps between them");
}

static int find_aggregate(struct typing *t, struct node *node, const struct function *f)
{
	int r = 0;

	node->type = (struct type){ .kind = TYPE_AGGREGATE, .aggregate = f->aggregate };
	if (f->id == FUNCTION_HIST && node->n > 1)
		r = find_bits(t, node);
	else if (f->id == FUNCTION_LHIST)
		r = find_buckets(t, node);
	else if (f->id == FUNCTION_TSERIES)
		r = find_series(t, node);
	if (r < 0)
		return -1;
	if (!node->n)
		return 0;
	if (typing_number(t, node->list[0]) < 0)
		return -1;
	/* a sum of what may be negative is so, too */
	node->type.is_signed = node->list[0]->type.is_signed;
	return 0;
}

static int check_argument(const struct typing *t, const struct node *node, char takes)
{
	const struct type *type = &node->type;

	if (type->kind == TYPE_NONE || type->kind == TYPE_RECORD)
		return typing_wrong(t, node, "that has no value");
	if (type->unsure)
		return 0;
	if (typing_parts(t, node) < 0 || typing_single(t, node) < 0)
		return -1;
	if (takes == 't' && !type_has_text(type))
		return typing_expected(t, node, "a text");
	if (takes == 'n' && !type_has_number(type))
		return typing_expected(t, node, "a number");
	return 0;
}

static int find_arguments(struct typing *t, struct node *node, const struct function *f)
{
	size_t known = f->takes ? strlen(f->takes) : 0;

	for (size_t i = 0; i < node->n; i++) {
		if (typing_find(t, node->list[i]) < 0)
			return -1;
		if (t->last && check_argument(t, node->list[i], i < known ? f->takes[i] : ' ') < 0)
			return -1;
	}
	return 0;
}

/* Of a place that is nowhere in a trace no sizes are known, and nothing is swapped either. */
static int find_bswap(struct typing *t, struct node *node, const struct function *f)
{
	const struct node *of = node->list[0];
	bool is_read = of->kind == NODE_VARIABLE || of->kind == NODE_MAP || of->field >= 0;

	if (find_arguments(t, node, f) < 0)
		return -1;
	node->type.size = of->type.size;
	return t->last && !of->type.size && !is_read && !(t->known && t->known->no_sizes)
		       ? typing_wrong(t, of, "its size is not known: expected bswap((uint16)…) or the like")
		       : 0;
}

int typing_call(struct typing *t, struct node *node)
{
	const struct function *f = function_find(node->text);
	const char *near;

	if (!f) {
		near = function_nearest(node->text);
		return script_error(t->p, node->at, node->len, t->err, "no function %s()%s%s%s", node->text,
				    near ? ": did you mean " : "", near ? near : "", near ? "()?" : "");
	}
	if (f->id == FUNCTION_REFUSED)
		return script_error(t->p, node->at, node->len, t->err, "%s() is not there: %s", f->name, f->why);
	if (node->n < f->least || node->n > f->most)
		return script_error(t->p, node->at, node->len, t->err, "%s() has %u to %u arguments, here %zu", f->name,
				    f->least, f->most, node->n);
	if (f->gives == TYPE_AGGREGATE)
		return find_aggregate(t, node, f);
	node->type = (struct type){ .kind = f->gives };
	switch (f->id) {
	case FUNCTION_BSWAP:
		return find_bswap(t, node, f);
	case FUNCTION_STR:
		return find_str(t, node);
	case FUNCTION_NTOP:
		return find_ntop(t, node);
	case FUNCTION_BUF:
	case FUNCTION_MACADDR:
		return find_bytes(t, node, f);
	case FUNCTION_JOIN:
		return find_join(t, node);
	case FUNCTION_REG:
		return find_register(t, node);
	case FUNCTION_CLEAR:
	case FUNCTION_ZERO:
	case FUNCTION_DELETE:
	case FUNCTION_HAS_KEY:
	case FUNCTION_LEN:
		return find_map_argument(t, node, f);
	case FUNCTION_FIND:
		return find_found(t, node, f);
	case FUNCTION_PRINT:
		if (node->list[0]->kind == NODE_MAP)
			return find_map_argument(t, node, f);
		if (node->n > 1)
			return typing_wrong(t, node->list[1], "of what is no @map there is no more to say");
		return find_arguments(t, node, f);
	case FUNCTION_PRINTF:
	case FUNCTION_TIME:
	case FUNCTION_STRFTIME:
	case FUNCTION_KADDR:
		if (node->n && node->list[0]->kind != NODE_TEXT)
			return typing_wrong(t, node->list[0], "expected a text in \"\"");
		return find_arguments(t, node, f);
	default:
		return find_arguments(t, node, f);
	}
}
