/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "compiling.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "reads.h"

enum { STEPS_MAX = 1 << 20 };

static int put(struct compiling *c, const struct node *node);

/* A value as its place has it: a NAME may be kept as text. */
static int put_as(struct compiling *c, const struct node *node, const struct type *place)
{
	if (put(c, node) < 0)
		return -1;
	if (place->kind == TYPE_TEXT && node->type.kind == TYPE_NAME)
		code_add(c, STEP_NAME_TEXT, 0, 0, 0, 0);
	return 0;
}

/* The parts of a key, each as the map has it. */
static int put_key(struct compiling *c, const struct node *key, const struct type *type)
{
	if (key->kind == NODE_TUPLE && type->kind == TYPE_TUPLE && key->n == type->n_fields) {
		for (size_t i = 0; i < key->n; i++)
			if (put_key(c, key->list[i], &type->fields[i]) < 0)
				return -1;
		code_add(c, STEP_TUPLE, 0, code_add_type(c, type), 0, 1 - (int)key->n);
		return 0;
	}
	return put_as(c, key, type);
}

/* The key of a map; a map without one has 0 for it. */
static int put_map_key(struct compiling *c, const struct node *map)
{
	if (map->n)
		return put_key(c, map->list[0], &code_map(c, map)->key);
	code_add(c, STEP_NUMBER, 0, 0, 0, 1);
	return 0;
}

static int put_text(struct compiling *c, const char *text, size_t len)
{
	code_add(c, STEP_TEXT, 0, code_add_text(c, text, len), 0, 1);
	return 0;
}

/* Once, however often it stands in what is unrolled. */
static int put_literal(struct compiling *c, struct node *node)
{
	if (!node->number)
		node->number = code_add_text(c, node->text, node->text_len) + 1;
	code_add(c, STEP_TEXT, 0, node->number - 1, 0, 1);
	return 0;
}

static int put_parameter(struct compiling *c, const struct node *node)
{
	uint64_t n;

	if (script_parameter(c->p, node, &n, c->err) < 0)
		return -1;
	code_add(c, STEP_NUMBER, 0, 0, n, 1);
	return 0;
}

static int put_shortcut(struct compiling *c, const struct node *node)
{
	bool is_or = node->op == OP_OR;
	size_t first, out;

	if (put(c, node->list[0]) < 0)
		return -1;
	if (is_or)
		code_add(c, STEP_NOT, 0, 0, 0, 0);
	first = code_add(c, STEP_JUMP_FALSE, 0, 0, 0, -1);
	if (put(c, node->list[1]) < 0)
		return -1;
	code_add(c, STEP_TRUTH, 0, 0, 0, 0);
	out = code_add(c, STEP_JUMP, 0, 0, 0, -1);
	code_land(c, first);
	code_add(c, STEP_NUMBER, 0, 0, is_or, 1);
	code_land(c, out);
	return 0;
}

static int put_binary(struct compiling *c, const struct node *node)
{
	static const struct type text = { .kind = TYPE_TEXT };
	bool texts = type_has_text(&node->list[0]->type), bytes = texts || node->list[0]->type.kind == TYPE_TUPLE;

	if (node->op == OP_OR || node->op == OP_AND)
		return put_shortcut(c, node);
	for (int i = 0; i < 2; i++)
		if ((texts ? put_as(c, node->list[i], &text) : put(c, node->list[i])) < 0)
			return -1;
	/* what is compared as signed: only if both are, so that addresses are not negative */
	code_add(c, bytes ? STEP_TEXTS : STEP_ARITHMETIC,
		 type_signs(node->op, &node->list[0]->type, &node->list[1]->type),
	    (size_t)node->op, 0, -1);
	return 0;
}

static int put_unary(struct compiling *c, const struct node *node)
{
	if (put(c, node->list[0]) < 0)
		return -1;
	code_add(c, node->op == '-' ? STEP_NEGATE : node->op == '!' ? STEP_NOT : STEP_COMPLEMENT, 0, 0, 0, 0);
	return 0;
}

static int put_ternary(struct compiling *c, const struct node *node)
{
	size_t other, out;

	if (put(c, node->list[0]) < 0)
		return -1;
	other = code_add(c, STEP_JUMP_FALSE, 0, 0, 0, -1);
	if (put_as(c, node->list[1], &node->type) < 0)
		return -1;
	out = code_add(c, STEP_JUMP, 0, 0, 0, node->type.kind == TYPE_NONE ? 0 : -1);
	code_land(c, other);
	if (put_as(c, node->list[2], &node->type) < 0)
		return -1;
	code_land(c, out);
	return 0;
}

static int put_step(struct compiling *c, const struct node *node)
{
	const struct node *of = node->list[0];
	size_t i;
	bool plus = node->op == OP_PLUS_PLUS;

	if (of->kind == NODE_VARIABLE) {
		i = types_variable(&c->c->types, c->handler, of->text);
		code_add(c, STEP_LOAD, 0, i, 0, 1);
		code_add(c, STEP_NUMBER, 0, 0, 1, 1);
		code_add(c, STEP_ARITHMETIC, true, plus ? '+' : '-', 0, -1);
		code_add(c, STEP_STORE, 0, i, 0, -1);
		code_add(c, STEP_LOAD, 0, i, 0, 1);
	} else {
		i = code_map_number(c, of);
		if (put_map_key(c, of) < 0)
			return -1;
		code_add(c, STEP_GIVE_BACK, 0, i, 0, 1);
		code_add(c, STEP_NUMBER, 0, 0, 1, 1);
		code_add(c, STEP_ARITHMETIC, true, plus ? '+' : '-', 0, -1);
		code_add(c, STEP_SET_UNDER, 0, i, 0, -1);
	}
	if (!node->number) { /* what it was before */
		code_add(c, STEP_NUMBER, 0, 0, 1, 1);
		code_add(c, STEP_ARITHMETIC, true, plus ? '-' : '+', 0, -1);
	}
	return 0;
}

/* printf()'s format is read once, however often it stands in what is unrolled. */
static int find_format(struct compiling *c, struct node *node)
{
	struct script_code *code = c->c;
	size_t i = code->n_formats;

	if (node->number)
		return 0;
	code->formats = array_grow(code->formats, i, &code->formats_cap, sizeof *code->formats);
	code->formats[code->n_formats++] = (struct text_format){ 0 };
	node->number = code->n_formats;
	return format_parse(c->p, node->list[0], node->list + 1, node->n - 1, &code->formats[i], c->err);
}

static int put_printf(struct compiling *c, struct node *node)
{
	if (find_format(c, node) < 0)
		return -1;
	for (size_t k = 1; k < node->n; k++)
		if (put(c, node->list[k]) < 0)
			return -1;
	code_add(c, STEP_PRINTF, 0, node->number - 1, node->n - 1, -(int)(node->n - 1));
	return 0;
}

/* It is printed as other values are; of histograms and the like all that they have. */
static bool has_one_value(const struct type *type)
{
	return type->kind != TYPE_AGGREGATE || type_has_number(type);
}

static int put_print(struct compiling *c, const struct node *node)
{
	const struct node *of = node->list[0];

	if (of->kind != NODE_MAP) {
		if (put(c, of) < 0)
			return -1;
		code_add(c, STEP_PRINT, 0, code_add_type(c, &of->type), 0, -1);
	} else if (of->n && has_one_value(&code_map(c, of)->value)) {
		if (put(c, of) < 0)
			return -1;
		code_add(c, STEP_PRINT, 0, code_add_type(c, &code_map(c, of)->value), 0, -1);
	} else if (of->n) {
		if (put_map_key(c, of) < 0)
			return -1;
		code_add(c, STEP_PRINT_ENTRY, 0, code_map_number(c, of), 0, -1);
	} else {
		for (size_t i = 1; i < 3; i++) {
			if (i < node->n && put(c, node->list[i]) < 0)
				return -1;
			if (i >= node->n)
				code_add(c, STEP_NUMBER, 0, 0, 0, 1);
		}
		code_add(c, STEP_PRINT_MAP, 0, code_map_number(c, of), 0, -2);
	}
	return 0;
}

/* delete(@x[key]), delete(@x, key), delete(@x); has_key(@x, key) */
static int put_of_map(struct compiling *c, const struct node *node, const struct function *f)
{
	const struct node *map = node->list[0];
	size_t i = code_map_number(c, map);

	if (f->id == FUNCTION_CLEAR || f->id == FUNCTION_ZERO || f->id == FUNCTION_LEN) {
		code_add(c,
		    f->id == FUNCTION_CLEAR  ? STEP_CLEAR
		    : f->id == FUNCTION_ZERO ? STEP_ZERO
					     : STEP_LEN,
		    0, i, 0, f->id == FUNCTION_LEN);
		return 0;
	}
	if ((node->n > 1 ? put_key(c, node->list[1], &code_map(c, map)->key) : put_map_key(c, map)) < 0)
		return -1;
	code_add(c, f->id == FUNCTION_HAS_KEY ? STEP_HAS : STEP_DELETE, 0, i, 0, f->id == FUNCTION_HAS_KEY ? 0 : -1);
	return 0;
}

/* find(@map, key, $value): the variable is set where the key is there, and else stays as it is */
static int put_find(struct compiling *c, const struct node *node)
{
	const struct map_asked *m = code_map(c, node->list[0]);
	size_t variable = types_variable(&c->c->types, c->handler, node->list[2]->text), none, out;

	if (put_key(c, node->list[1], &m->key) < 0)
		return -1;
	code_add(c, STEP_FIND, 0, code_map_number(c, node->list[0]), 0, 1);
	none = code_add(c, STEP_JUMP_FALSE, 0, 0, 0, -1);
	if (m->value.kind == TYPE_NAME && c->c->types.variables[variable].type.kind == TYPE_TEXT)
		code_add(c, STEP_NAME_TEXT, 0, 0, 0, 0);
	code_add(c, STEP_STORE, 0, variable, 0, -1);
	code_add(c, STEP_NUMBER, 0, 0, 1, 1);
	out = code_add(c, STEP_JUMP, 0, 0, 0, 0);
	code_land(c, none);
	code_add(c, STEP_POP, 0, 0, 0, -1);
	code_add(c, STEP_NUMBER, 0, 0, 0, 1);
	code_land(c, out);
	return 0;
}

/* The kernel's own limit: kernel/events/core.c, sysctl_perf_event_max_stack */
enum { FRAMES_MAX = 127 };

static bool is_stack_mode(const char *text)
{
	return !strcmp(text, "perf") || !strcmp(text, "bpftrace") || !strcmp(text, "raw") || !strcmp(text, "build_id");
}

/* kstack(perf, 3), ustack(5): all modes print the same */
static int put_stack(struct compiling *c, const struct node *node, bool user)
{
	uint64_t frames = FRAMES_MAX;

	for (size_t i = 0; i < node->n; i++) {
		if (node->list[i]->kind == NODE_TEXT && is_stack_mode(node->list[i]->text))
			continue;
		frames = node->list[i]->number;
		if (node->list[i]->kind == NODE_PARAMETER && script_parameter(c->p, node->list[i], &frames, c->err) < 0)
			return -1;
		if ((node->list[i]->kind != NODE_NUMBER && node->list[i]->kind != NODE_PARAMETER) || !frames ||
		    frames > FRAMES_MAX)
			return script_error(c->p, node->list[i]->at, node->list[i]->len, c->err,
					    "expected how many frames, up to %d", FRAMES_MAX);
	}
	code_add(c, STEP_STACK, user, 0, frames, 1);
	return 0;
}

static int put_plain_call(struct compiling *c, const struct node *node, const struct function *f)
{
	static const struct type text = { .kind = TYPE_TEXT };

	for (size_t i = 0; i < node->n; i++)
		if ((type_has_text(&node->list[i]->type) ? put_as(c, node->list[i], &text) : put(c, node->list[i])) < 0)
			return -1;
	code_add(c, STEP_CALL, node->n && node->list[0]->type.size ? (unsigned)node->list[0]->type.size : 8, f->id,
		 node->n,
	    1 - (int)node->n);
	return 0;
}

static int put_kind(struct compiling *c, const struct node *node);

/* The program's own: what a map or a variable has, and not what is read by that. */
static int put_address(struct compiling *c, const struct node *node)
{
	return node->kind == NODE_MAP || node->kind == NODE_VARIABLE ? put_kind(c, node) : put(c, node);
}

/* What the probe has read; by another's address, if that is the one that the program has. */
static int put_field(struct compiling *c, const struct node *node, const struct node *of)
{
	if (node->kept >= 0) {
		if (put_address(c, reads_begin(of)) < 0)
			return -1;
		code_add(c, STEP_FIELD, 0, (size_t)node->kept, 0, 1);
	}
	code_add(c, STEP_FIELD, 0, (size_t)node->field, 0, 1);
	if (node->kept >= 0)
		code_add(c, STEP_LED, c->c->types.fields[node->field].type.kind == TYPE_TEXT, 0, 0, -2);
	return 0;
}

/* Of what the probe has read: the address family comes first, a length behind it. */
static int put_of_bytes(struct compiling *c, const struct node *node, const struct function *f)
{
	bool family = f->id == FUNCTION_NTOP && node->n > 1, length = f->id == FUNCTION_BUF && node->n > 1;

	if (family && put(c, node->list[0]) < 0)
		return -1;
	if (put_field(c, node, node->list[f->id == FUNCTION_NTOP ? node->n - 1 : 0]) < 0)
		return -1;
	if (length && put(c, node->list[1]) < 0)
		return -1;
	code_add(c, STEP_CALL, CALL_OF_BYTES, f->id, node->n, 1 - (int)node->n);
	return 0;
}

static int put_str(struct compiling *c, const struct node *node)
{
	const struct node *of = node->list[0];
	size_t parameter = of->kind == NODE_PARAMETER ? of->number : 0;

	if (node->field >= 0) {
		if (put_field(c, node, of) < 0)
			return -1;
	} else if (of->kind == NODE_PARAMETER) {
		const char *text = parameter && parameter <= c->p->n_parameters ? c->p->parameters[parameter - 1] : "";

		put_text(c, text, strlen(text));
	} else if (put_as(c, of, &node->type) < 0) {
		return -1;
	}
	if (node->n < 2)
		return 0;
	if (put(c, node->list[1]) < 0)
		return -1;
	code_add(c, STEP_CALL, 0, FUNCTION_STR, 2, -1);
	return 0;
}

static int put_call(struct compiling *c, const struct node *node)
{
	const struct function *f = function_find(node->text);

	switch (f->id) {
	case FUNCTION_PRINTF:
		return put_printf(c, (struct node *)node);
	case FUNCTION_PRINT:
		return put_print(c, node);
	case FUNCTION_CLEAR:
	case FUNCTION_ZERO:
	case FUNCTION_DELETE:
	case FUNCTION_HAS_KEY:
	case FUNCTION_LEN:
		return put_of_map(c, node, f);
	case FUNCTION_EXIT:
		if (node->n && put(c, node->list[0]) < 0)
			return -1;
		if (!node->n)
			code_add(c, STEP_NUMBER, 0, 0, 0, 1);
		code_add(c, STEP_EXIT, 0, 0, 0, -1);
		return 0;
	case FUNCTION_FIND:
		return put_find(c, node);
	case FUNCTION_TIME:
		code_add(c, STEP_TIME, 0,
		    node->n ? code_add_text(c, node->list[0]->text, node->list[0]->text_len)
			    : code_add_text(c, "%H:%M:%S\n", 9),
		    0, 0);
		return 0;
	case FUNCTION_STRFTIME:
		if (put(c, node->list[1]) < 0)
			return -1;
		code_add(c, STEP_STRFTIME, 0, code_add_text(c, node->list[0]->text, node->list[0]->text_len), 0, 0);
		return 0;
	case FUNCTION_STR:
		return put_str(c, node);
	case FUNCTION_BUF:
	case FUNCTION_MACADDR:
		return put_of_bytes(c, node, f);
	case FUNCTION_NTOP:
		return node->field >= 0 ? put_of_bytes(c, node, f) : put_plain_call(c, node, f);
	case FUNCTION_JOIN:
		code_add(c, STEP_FIELD, 0, (size_t)node->field, 0, 1);
		code_add(c, STEP_JOIN, 0,
		    node->n > 1 ? code_add_text(c, node->list[1]->text, node->list[1]->text_len)
				: code_add_text(c, " ", 1), 0,
		    -1);
		return 0;
	case FUNCTION_KSTACK:
	case FUNCTION_USTACK:
		return put_stack(c, node, f->id == FUNCTION_USTACK);
	case FUNCTION_POINTER:
		return put(c, node->list[0]);
	case FUNCTION_REG:
		return put_field(c, node, node);
	case FUNCTION_NSECS:
		code_add(c, STEP_BUILTIN, 0, BUILTIN_NSECS, 0, 1);
		return 0;
	default:
		if (f->gives == TYPE_AGGREGATE)
			return script_error(c->p, node->at, node->len, c->err, "%s() is kept in a map: @x = %s(…)",
					    f->name, f->name);
		return put_plain_call(c, node, f);
	}
}

static int put_builtin(struct compiling *c, const struct node *node)
{
	if (node->number == BUILTIN_KSTACK || node->number == BUILTIN_USTACK)
		code_add(c, STEP_STACK, node->number == BUILTIN_USTACK, 0, FRAMES_MAX, 1);
	else
		code_add(c, STEP_BUILTIN, 0, node->number, 0, 1);
	return 0;
}

static int put_aggregate(struct compiling *c, const struct node *map, const struct node *call)
{
	size_t i = code_map_number(c, map);

	if (put_map_key(c, map) < 0)
		return -1;
	if (call->type.aggregate == COUNT) {
		code_add(c, STEP_COUNT, 0, i, 0, -1);
		return 0;
	}
	if (put(c, call->list[0]) < 0)
		return -1;
	code_add(c, STEP_ADD, call->list[0]->type.is_signed, i, 0, -2);
	return 0;
}

/* Is it itself what the probe has read? What functions make of that is no field. */
static bool is_read(const struct node *node)
{
	const struct function *f = node->kind == NODE_CALL ? function_find(node->text) : NULL;

	return node->field >= 0 &&
	       (!f || f->id == FUNCTION_POINTER || f->id == FUNCTION_REG || f->id == FUNCTION_KADDR);
}

static int put_assignment(struct compiling *c, const struct node *node)
{
	const struct node *left = node->list[0], *right = node->list[1];
	const struct type *type;
	size_t i;

	if (left->kind == NODE_VARIABLE) {
		i = types_variable(&c->c->types, c->handler, left->text);
		if (node->op)
			code_add(c, STEP_LOAD, 0, i, 0, 1);
		if (put_as(c, right, &c->c->types.variables[i].type) < 0)
			return -1;
		if (node->op)
			code_add(c, STEP_ARITHMETIC,
				 type_signs(node->op, &c->c->types.variables[i].type, &right->type),
				 (size_t)node->op, 0, -1);
		code_add(c, STEP_STORE, 0, i, 0, -1);
		return 0;
	}
	if (right->type.kind == TYPE_AGGREGATE && right->kind == NODE_CALL)
		return put_aggregate(c, left, right);
	i = code_map_number(c, left);
	type = &c->c->types.maps[i].value;
	if (put_map_key(c, left) < 0)
		return -1;
	if (node->op)
		code_add(c, STEP_GIVE_BACK, 0, i, 0, 1);
	if (type->kind == TYPE_TEXT && right->kind == NODE_NUMBER)
		put_text(c, "", 0);
	else if ((is_read(right) ? put_field(c, right, right) : put_key(c, right, type)) < 0)
		return -1;
	if (node->op)
		code_add(c, STEP_ARITHMETIC, type_signs(node->op, type, &right->type), (size_t)node->op, 0, -1);
	code_add(c, STEP_SET, 0, i, 0, -2);
	return 0;
}

/* Something is asked, in loops again and again: what that makes is forgotten in both branches. */
struct asked {
	size_t jump; /* where it is not so */
	bool forgets;
};

static int put_asked(struct compiling *c, const struct node *node, struct asked *ret)
{
	ret->forgets = code_makes_bytes(node) && !code_keeps_bytes(c, node);
	if (ret->forgets)
		code_add(c, STEP_MARK, 0, 0, 0, 1);
	if (put(c, node) < 0)
		return -1;
	ret->jump = code_add(c, STEP_JUMP_FALSE, 0, 0, 0, -1);
	if (ret->forgets)
		code_add(c, STEP_RELEASE, 0, 0, 0, -1);
	return 0;
}

/* What is done where it is not so comes next. */
static void land_asked(struct compiling *c, const struct asked *asked)
{
	code_land(c, asked->jump);
	if (!asked->forgets)
		return;
	c->depth++;
	code_add(c, STEP_RELEASE, 0, 0, 0, -1);
}

static int put_if(struct compiling *c, const struct node *node)
{
	struct asked asked;
	size_t out;

	if (put_asked(c, node->list[0], &asked) < 0 || put(c, node->list[1]) < 0)
		return -1;
	if (node->n < 3 && !asked.forgets) {
		land_asked(c, &asked);
		return 0;
	}
	out = code_add(c, STEP_JUMP, 0, 0, 0, 0);
	land_asked(c, &asked);
	if (node->n > 2 && put(c, node->list[2]) < 0)
		return -1;
	code_land(c, out);
	return 0;
}

static int begin_loop(struct compiling *c, const struct node *node, struct loop *loop)
{
	loop->n_leaves = loop->n_again = 0;
	if (c->n_loops == LOOPS_MAX)
		return script_error(c->p, node->at, node->len, c->err, "more than 16 loops within each other");
	c->loops[c->n_loops++] = loop;
	return 0;
}

static void land_again(struct compiling *c, struct loop *loop)
{
	for (size_t i = 0; i < loop->n_again; i++)
		code_land(c, loop->again[i]);
}

static void end_loop(struct compiling *c, struct loop *loop)
{
	for (size_t i = 0; i < loop->n_leaves; i++)
		code_land(c, loop->leaves[i]);
	c->n_loops--;
}

static int put_while(struct compiling *c, const struct node *node)
{
	struct loop loop;
	struct asked asked;
	size_t begin = c->c->n_steps;

	if (begin_loop(c, node, &loop) < 0 || put_asked(c, node->list[0], &asked) < 0 || put(c, node->list[1]) < 0)
		return -1;
	land_again(c, &loop);
	code_add(c, STEP_BACK, 0, 0, begin, 0);
	land_asked(c, &asked);
	end_loop(c, &loop);
	return 0;
}

static int put_for_range(struct compiling *c, const struct node *node)
{
	size_t i = types_variable(&c->c->types, c->handler, node->text);
	size_t end = types_variable(&c->c->types, c->handler, node->names[0]), begin, out;
	struct loop loop;

	if (put(c, node->list[0]) < 0)
		return -1;
	code_add(c, STEP_STORE, 0, i, 0, -1);
	if (put(c, node->list[1]) < 0) /* once, whatever becomes of it */
		return -1;
	code_add(c, STEP_STORE, 0, end, 0, -1);
	begin = c->c->n_steps;
	code_add(c, STEP_LOAD, 0, i, 0, 1);
	code_add(c, STEP_LOAD, 0, end, 0, 1);
	if (begin_loop(c, node, &loop) < 0)
		return -1;
	code_add(c, STEP_ARITHMETIC, true, '<', 0, -1);
	out = code_add(c, STEP_JUMP_FALSE, 0, 0, 0, -1);
	if (put(c, node->list[2]) < 0)
		return -1;
	land_again(c, &loop);
	code_add(c, STEP_LOAD, 0, i, 0, 1);
	code_add(c, STEP_NUMBER, 0, 0, 1, 1);
	code_add(c, STEP_ARITHMETIC, true, '+', 0, -1);
	code_add(c, STEP_STORE, 0, i, 0, -1);
	code_add(c, STEP_BACK, 0, 0, begin, 0);
	code_land(c, out);
	end_loop(c, &loop);
	return 0;
}

/* Does nothing of a statement live on? */
static bool is_passing(const struct compiling *c, const struct node *node)
{
	return (node->kind == NODE_DO || node->kind == NODE_ASSIGN) && !code_keeps_bytes(c, node);
}

static int put_for_map(struct compiling *c, const struct node *node)
{
	size_t variable = types_variable(&c->c->types, c->handler, node->text), begin, out;
	struct loop loop;

	if (variable > UINT8_MAX)
		return script_error(c->p, node->at, node->len, c->err, "more than 255 variables");
	code_add(c, STEP_FOR, 0, code_map_number(c, node->list[0]), 0, 1);
	begin = c->c->n_steps;
	out = code_add(c, STEP_NEXT, (unsigned)variable, code_map_number(c, node->list[0]), 0, 0);
	c->c->steps[out].line = !code_keeps_bytes(c, node->list[1]);
	if (begin_loop(c, node, &loop) < 0 || put(c, node->list[1]) < 0)
		return -1;
	land_again(c, &loop);
	code_add(c, STEP_BACK, 0, 0, begin, 0);
	code_land(c, out);
	end_loop(c, &loop);
	code_add(c, STEP_POP, 0, 0, 0, -1);
	return 0;
}

static int put_leave(struct compiling *c, const struct node *node)
{
	struct loop *loop;
	bool leaves = node->kind == NODE_BREAK;

	if (node->kind == NODE_RETURN) {
		code_add(c, STEP_END, 0, 0, 0, 0);
		return 0;
	}
	loop = c->n_loops ? c->loops[c->n_loops - 1] : NULL;
	if (!loop || loop->n_leaves == LEAVES_MAX || loop->n_again == LEAVES_MAX)
		return script_error(c->p, node->at, node->len, c->err, "more than 64 of these in one loop");
	if (leaves)
		loop->leaves[loop->n_leaves++] = code_add(c, STEP_JUMP, 0, 0, 0, 0);
	else
		loop->again[loop->n_again++] = code_add(c, STEP_JUMP, 0, 0, 0, 0);
	return 0;
}

/* What it gives is not used. */
static int put_do(struct compiling *c, const struct node *node)
{
	unsigned before = c->depth;

	if (put(c, node->list[0]) < 0)
		return -1;
	while (c->depth > before)
		code_add(c, STEP_POP, 0, 0, 0, -1);
	return 0;
}

static int put_statement(struct compiling *c, const struct node *node)
{
	if (!is_passing(c, node))
		return put(c, node);
	code_add(c, STEP_MARK, 0, 0, 0, 1);
	if (put(c, node) < 0)
		return -1;
	code_add(c, STEP_RELEASE, 0, 0, 0, -1);
	return 0;
}

static int put_list(struct compiling *c, const struct node *node, uint64_t times)
{
	size_t before = c->c->n_steps;

	/* what is nothing once is so a hundred times: empty loops in loops have an end */
	for (uint64_t k = 0; k < times && (!k || c->c->n_steps > before); k++)
		for (size_t i = 0; i < node->n; i++)
			if (put_statement(c, node->list[i]) < 0)
				return -1;
	return 0;
}

/* Statements, and what comes of them. */
static int put_value(struct compiling *c, const struct node *node)
{
	for (size_t i = 0; i + 1 < node->n; i++)
		if (put_statement(c, node->list[i]) < 0)
			return -1;
	return put(c, node->list[node->n - 1]);
}

static int put_part(struct compiling *c, const struct node *node)
{
	if (put(c, node->list[0]) < 0)
		return -1;
	code_add(c, STEP_PART, 0, code_add_type(c, &node->list[0]->type), node->number, 0);
	return 0;
}

static int put_cast(struct compiling *c, const struct node *node)
{
	if (put(c, node->list[0]) < 0)
		return -1;
	if (node->type.is_bool)
		code_add(c, STEP_TRUTH, 0, 0, 0, 0);
	else if (node->type.kind == TYPE_NUMBER && node->type.size && node->type.size < 8)
		code_add(c, STEP_CAST, node->type.is_signed, node->type.size, 0, 0);
	return 0;
}

static int put_kind(struct compiling *c, const struct node *node)
{
	switch (node->kind) {
	case NODE_NUMBER:
		code_add(c, STEP_NUMBER, 0, 0, node->number, 1);
		return 0;
	case NODE_PARAMETER:
		return put_parameter(c, node);
	case NODE_TEXT:
		return put_literal(c, (struct node *)node);
	case NODE_BUILTIN:
		return put_builtin(c, node);
	case NODE_VARIABLE:
		code_add(c, STEP_LOAD, 0, types_variable(&c->c->types, c->handler, node->text), 0, 1);
		return 0;
	case NODE_MAP:
		if (put_map_key(c, node) < 0)
			return -1;
		code_add(c, STEP_GET, 0, code_map_number(c, node), 0, 0);
		return 0;
	case NODE_CALL:
		return put_call(c, node);
	case NODE_UNARY:
		return put_unary(c, node);
	case NODE_BINARY:
		return put_binary(c, node);
	case NODE_TERNARY:
		return put_ternary(c, node);
	case NODE_CAST:
		return put_cast(c, node);
	case NODE_MEMBER:
		return put_part(c, node);
	case NODE_TUPLE:
		return put_key(c, node, &node->type);
	case NODE_STEP:
		return put_step(c, node);
	case NODE_ASSIGN:
		return put_assignment(c, node);
	case NODE_DO:
		return put_do(c, node);
	case NODE_IF:
		return put_if(c, node);
	case NODE_WHILE:
		return put_while(c, node);
	case NODE_FOR_MAP:
		return put_for_map(c, node);
	case NODE_FOR_RANGE:
		return put_for_range(c, node);
	case NODE_UNROLL:
		return put_list(c, node, node->number);
	case NODE_BLOCK:
		return put_list(c, node, 1);
	case NODE_VALUE:
		return put_value(c, node);
	case NODE_BREAK:
	case NODE_CONTINUE:
	case NODE_RETURN:
		return put_leave(c, node);
	default:
		return script_error(c->p, node->at, node->len, c->err, "that is not there");
	}
}

static int put(struct compiling *c, const struct node *node)
{
	if (c->c->n_steps > STEPS_MAX || c->c->n_texts > UINT16_MAX - 1 || c->c->n_formats > UINT16_MAX - 1 ||
	    c->c->n_list > UINT16_MAX - 1)
		return script_error(c->p, node->at, node->len, c->err, "the program is too long");
	if (node->field >= 0 && node->kind != NODE_CALL && node->kind != NODE_ASSIGN)
		return put_field(c, node, node);
	return put_kind(c, node);
}

static int put_handler(struct compiling *c, const struct handler *h)
{
	size_t out = 0;

	c->depth = 0;
	c->c->begins[c->handler] = c->c->n_steps;
	if (h->predicate) {
		if (put(c, h->predicate) < 0)
			return -1;
		out = code_add(c, STEP_JUMP_FALSE, 0, 0, 0, -1);
	}
	if (put(c, h->body) < 0)
		return -1;
	if (h->predicate)
		code_land(c, out);
	code_add(c, STEP_END, 0, 0, 0, 0);
	return 0;
}

int script_compile(struct script *p, const struct field_types *known, struct script_code *ret, struct error *err)
{
	struct compiling c = { .p = p, .c = ret, .err = err };

	*ret = (struct script_code){ 0 };
	if (types_find(p, known, &ret->types, err) < 0)
		return -1;
	if (ret->types.n_maps > UINT16_MAX || ret->types.n_variables > UINT16_MAX || ret->types.n_fields > UINT16_MAX)
		return error_set(err, "%s: too many names", p->name);
	ret->keeps_maps = p->keeps_maps;
	ret->begins = xcalloc(p->n_handlers, sizeof *ret->begins);
	for (c.handler = 0; c.handler < p->n_handlers; c.handler++)
		if (put_handler(&c, &p->handlers[c.handler]) < 0)
			return -1;
	return 0;
}

void script_code_deinit(struct script_code *c)
{
	for (size_t i = 0; i < c->n_texts; i++)
		free(c->texts[i].text);
	for (size_t i = 0; i < c->n_formats; i++)
		format_deinit(&c->formats[i]);
	free(c->texts);
	free(c->formats);
	free(c->steps);
	free(c->list);
	free(c->begins);
	types_deinit(&c->types);
	*c = (struct script_code){ 0 };
}
