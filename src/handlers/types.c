/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "typing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"

#define NO_NUMBER "of a histogram, or what has several numbers, only the key is here: print(@map[$kv.0])"

size_t types_map(const struct types *t, const char *name)
{
	size_t i = 0;

	while (i < t->n_maps && strcmp(t->maps[i].name, name))
		i++;
	return i;
}

size_t types_variable(const struct types *t, size_t handler, const char *name)
{
	size_t i = 0;

	while (i < t->n_variables && (t->variables[i].handler != handler || strcmp(t->variables[i].name, name)))
		i++;
	return i;
}

struct map_asked *typing_map(struct typing *t, const struct node *node)
{
	struct types *all = t->t;
	size_t i = types_map(all, node->text);

	if (i == all->n_maps) {
		all->maps = array_grow(all->maps, all->n_maps, &all->maps_cap, sizeof *all->maps);
		all->maps[all->n_maps++] = (struct map_asked){ .name = node->text, .at = node };
	}
	return &all->maps[i];
}

struct variable_asked *typing_variable(struct typing *t, const char *name)
{
	struct types *all = t->t;
	size_t i = types_variable(all, t->handler, name);

	if (i == all->n_variables) {
		all->variables =
			array_grow(all->variables, all->n_variables, &all->variables_cap, sizeof *all->variables);
		all->variables[all->n_variables++] = (struct variable_asked){ .name = name, .handler = t->handler };
	}
	return &all->variables[i];
}

int typing_wrong(const struct typing *t, const struct node *node, const char *what)
{
	return script_error(t->p, node->at, node->len, t->err, "%s", what);
}

static bool is_of_return(enum place_kind kind)
{
	return kind == PLACE_RETURN || kind == PLACE_CALL_END || kind == PLACE_URETPROBE;
}

/* Has the place such a thing at all? */
static int check_builtin(struct typing *t, const struct node *node)
{
	enum place_kind kind = typing_place(t)->kind;
	/* what stands for a tracepoint has args, as that has */
	bool own = !typing_place(t)->call;
	bool calls = (kind == PLACE_ENTRY && own) || kind == PLACE_CALL || kind == PLACE_UPROBE ||
		     kind == PLACE_STATIC;

	if (node->number == BUILTIN_RETVAL && !(is_of_return(kind) && own))
		return typing_wrong(t, node,
				    "a result is where a function returns: kretprobe, fexit, return, uretprobe");
	if (node->number >= BUILTIN_ARG0 && node->number <= BUILTIN_SARG5 && !calls)
		return typing_wrong(
			t, node,
			"arguments are where a function is called: kprobe, call, uprobe; a tracepoint has args.NAME");
	if ((node->number == BUILTIN_DURATION || node->number == BUILTIN_SELF_NS ||
	     node->number == BUILTIN_SELF_INSNS) &&
	    !is_of_return(kind) && kind != PLACE_SPAN && kind != PLACE_WAIT)
		return typing_wrong(t, node,
				    "it is known where something ends: return:FUNCTION, kretprobe, span:KIND, wait");
	return 0;
}

static int find_builtin(struct typing *t, struct node *node)
{
	int r;

	if (check_builtin(t, node) < 0)
		return -1;
	node->type = (struct type){ .kind = TYPE_NUMBER };
	switch (node->number) {
	case BUILTIN_COMM:
	case BUILTIN_PCOMM:
	case BUILTIN_PROBE_TYPE:
		node->type.kind = TYPE_TEXT;
		return 0;
	case BUILTIN_FUNC:
	case BUILTIN_PROBE:
		node->type.kind = TYPE_NAME;
		return 0;
	case BUILTIN_KSTACK:
		node->type.kind = TYPE_KSTACK;
		return 0;
	case BUILTIN_USTACK:
		node->type.kind = TYPE_USTACK;
		return 0;
	case BUILTIN_ARGS:
		node->type.kind = TYPE_RECORD;
		return 0;
	case BUILTIN_CURTASK: /* every trace has it; what it leads to is read */
		return 0;
	default:
		r = typing_field(t, node, node, "");
		return r < 0 ? -1 : 0;
	}
}

int typing_number(struct typing *t, struct node *node)
{
	if (typing_find(t, node) < 0)
		return -1;
	if (t->last && !type_has_number(&node->type))
		return typing_expected(t, node, "a number");
	return 0;
}

/* A number that is not 0, or a text that is not empty: of a map that keeps one, that it does. */
static bool is_asked(const struct type *type)
{
	return type_has_number(type) || type->kind == TYPE_TEXT;
}

static int find_condition(struct typing *t, struct node *node)
{
	if (typing_find(t, node) < 0)
		return -1;
	return t->last && !is_asked(&node->type) ? typing_expected(t, node, "a number") : 0;
}

int typing_parts(const struct typing *t, const struct node *node)
{
	for (size_t i = 0; node->type.kind == TYPE_TUPLE && i < node->type.n_fields; i++)
		if (node->type.fields[i].kind == TYPE_AGGREGATE)
			return typing_wrong(t, node, NO_NUMBER);
	return 0;
}

int typing_single(const struct typing *t, const struct node *node)
{
	if (node->type.kind != TYPE_AGGREGATE || type_has_number(&node->type) || node->kind == NODE_CALL)
		return 0;
	return typing_wrong(t, node, "a histogram, or what has several numbers, is no value: print(@map) shows it");
}

/* Something that can be kept. */
int typing_value(const struct typing *t, const struct node *node)
{
	if (t->last && (node->type.kind == TYPE_NONE || node->type.kind == TYPE_RECORD))
		return typing_wrong(t, node, "that has no value");
	return t->last && node->type.kind == TYPE_TUPLE ? typing_parts(t, node) : 0;
}

static int find_variable(struct typing *t, struct node *node)
{
	const struct variable_asked *v = typing_variable(t, node->text);

	node->type = v->type;
	if (t->last && !v->sets)
		return script_error(t->p, node->at, node->len, t->err,
				    "$%.*s is not set here: variables are their handler's own; "
				    "what others are to know is kept in a @map",
				    (int)strcspn(node->text, " "), node->text);
	return t->last && !typing_is_known(&v->type) ? typing_wrong(t, node, "it is not known what this is") : 0;
}

/* `sets`: it gets a value. */
int typing_map_used(struct typing *t, struct node *node, bool sets)
{
	struct map_asked *m = typing_map(t, node);

	if (!m->key_known) {
		m->has_key = node->n;
		m->key_known = true;
	}
	if (m->has_key != (node->n > 0))
		return script_error(t->p, node->at, node->len, t->err, "@%s has %s here, and %s before", node->text,
				    node->n ? "a key" : "no key", node->n ? "none" : "one");
	if (node->n) {
		if (typing_find(t, node->list[0]) < 0 || typing_value(t, node->list[0]) < 0)
			return -1;
		if (t->last && node->list[0]->type.kind == TYPE_AGGREGATE)
			return typing_expected(t, node->list[0], "a key");
		m = typing_map(t, node);
		if (typing_unify(t, &m->key, &node->list[0]->type, node->list[0], "the key") < 0)
			return -1;
	}
	node->type = m->value;
	if (t->last && !sets && m->value.kind == TYPE_NONE)
		return script_error(t->p, node->at, node->len, t->err, "@%s is never set", node->text);
	return 0;
}

static int find_binary(struct typing *t, struct node *node)
{
	struct type *a = &node->list[0]->type, *b = &node->list[1]->type;

	if (typing_find(t, node->list[0]) < 0 || typing_find(t, node->list[1]) < 0)
		return -1;
	node->type = (struct type){ .kind = TYPE_NUMBER, .is_signed = type_signs(node->op, a, b) };
	if (!t->last)
		return 0;
	if (((node->op == OP_AND || node->op == OP_OR) && is_asked(a) && is_asked(b)) || a->unsure || b->unsure)
		return 0;
	if (type_has_text(a) && type_has_text(b) && (node->op == OP_EQUAL || node->op == OP_UNEQUAL))
		return 0;
	if (a->kind == TYPE_TUPLE && typing_is_same(a, b) && (node->op == OP_EQUAL || node->op == OP_UNEQUAL))
		return 0;
	if (a->kind == TYPE_TUPLE && b->kind == TYPE_TUPLE && (node->op == OP_EQUAL || node->op == OP_UNEQUAL))
		return typing_wrong(t, node, "their parts are not of the same kinds and names");
	if (type_has_text(a) != type_has_text(b) && (node->op == OP_EQUAL || node->op == OP_UNEQUAL))
		return script_error(t->p, node->at, node->len, t->err, "%s is compared with %s", typing_kind_name(a),
				    typing_kind_name(b));
	for (int i = 0; i < 2; i++)
		if (!type_has_number(&node->list[i]->type))
			return typing_expected(t, node->list[i], "a number");
	return 0;
}

static int find_tuple(struct typing *t, struct node *node)
{
	if (node->type.n_fields != node->n)
		node->type = (struct type){
			.kind = TYPE_TUPLE,
			.n_fields = node->n,
			.names = node->names,
			.fields = script_alloc(t->p, node->n, sizeof(struct type)),
		};
	for (size_t i = 0; i < node->n; i++) {
		if (typing_find(t, node->list[i]) < 0)
			return -1;
		if (typing_set_part(t, node, &node->type, i, &node->list[i]->type) < 0)
			return -1;
		if (t->last && (!typing_is_known(&node->type.fields[i]) || node->type.fields[i].kind == TYPE_RECORD ||
				node->type.fields[i].kind == TYPE_AGGREGATE))
			return typing_wrong(t, node->list[i], "that cannot be a part of a tuple or a key");
	}
	return 0;
}

/* Of a tuple by its number, of a record also by its name. */
static int find_part(struct typing *t, struct node *node, const struct type *of)
{
	if (node->text)
		for (node->number = 0; node->number < of->n_fields; node->number++)
			if (!strcmp(of->names[node->number], node->text))
				break;
	if (node->number < of->n_fields) {
		node->type = of->fields[node->number];
		return t->last && node->type.kind == TYPE_AGGREGATE ? typing_wrong(t, node, NO_NUMBER) : 0;
	}
	if (node->text)
		return script_error(t->p, node->at, node->len, t->err, "the record has no %s: it begins with %s",
				    node->text, of->names[0]);
	return script_error(t->p, node->at, node->len, t->err, "the %s has %zu parts, from .0 on",
			    of->names ? "record" : "tuple", of->n_fields);
}

static int find_member(struct typing *t, struct node *node)
{
	struct node *of = node->list[0];
	int r;

	if (typing_find(t, of) < 0)
		return -1;
	if (of->type.kind == TYPE_TUPLE && (!node->text || of->type.names))
		return find_part(t, node, &of->type);
	if (!t->last && of->type.kind == TYPE_NONE)
		return 0;
	r = node->text ? typing_field(t, node, node, "") : 0;
	if (r)
		return r < 0 ? -1 : 0;
	if (typing_leads(t, node))
		return t->last ? typing_wrong_lead(t, node) : 0;
	if (type_is_number(&of->type))
		return typing_wrong(
			t, node,
			"memory is read where the probe is: this address is not its argument, nor what that leads to");
	if (of->type.kind == TYPE_TUPLE)
		return typing_wrong(t, node, "a tuple's parts are .0, .1 …: only records, (name=1, other=2), have names");
	return typing_wrong(t, node, "only args, pointers to structures, tuples and records have parts");
}

static int find_index(struct typing *t, struct node *node)
{
	int r;

	if (typing_find(t, node->list[0]) < 0 || typing_find(t, node->list[1]) < 0)
		return -1;
	r = typing_field(t, node, node, "");
	if (r || !t->last)
		return r < 0 ? -1 : 0;
	if (typing_leads(t, node))
		return typing_wrong_lead(t, node);
	return typing_wrong(t, node,
			    "elements are read where the probe is: expected an argument, and a number in the brackets");
}

static int find_unary(struct typing *t, struct node *node)
{
	int r;

	if (typing_find(t, node->list[0]) < 0)
		return -1;
	node->type = (struct type){ .kind = TYPE_NUMBER, .is_signed = node->list[0]->type.is_signed };
	if (node->op == '&')
		return typing_wrong(t, node, "& is not there: addresses of what is in the guest are values already");
	if (node->op == '*') {
		r = typing_field(t, node, node, "");
		if (r || !t->last)
			return r < 0 ? -1 : 0;
		return typing_leads(t, node)
			       ? typing_wrong_lead(t, node)
			       : typing_wrong(t, node, "memory is read where the probe is: this is not its argument");
	}
	if (t->last && !(node->op == '!' ? is_asked(&node->list[0]->type) : type_has_number(&node->list[0]->type)))
		return typing_expected(t, node->list[0], "a number");
	return 0;
}

static int find_ternary(struct typing *t, struct node *node)
{
	if (find_condition(t, node->list[0]) < 0 || typing_find(t, node->list[1]) < 0 ||
	    typing_find(t, node->list[2]) < 0)
		return -1;
	node->type = node->list[1]->type;
	typing_as_text(&node->type);
	if (t->last && (typing_single(t, node->list[1]) < 0 || typing_single(t, node->list[2]) < 0))
		return -1;
	if (!t->last || (type_has_text(&node->type) && type_has_text(&node->list[2]->type)))
		return 0;
	return typing_is_same(&node->type, &node->list[2]->type)
		       ? 0
		       : typing_wrong(t, node->list[2], "both answers of a ? must be of one kind");
}

/* += and the like calculate. */
static int check_compound(const struct typing *t, const struct node *node, const struct type *place)
{
	if (!t->last || !node->op)
		return 0;
	if (!type_has_number(&node->list[1]->type))
		return typing_expected(t, node->list[1], "a number");
	if (!type_is_number(place))
		return script_error(t->p, node->list[0]->at, node->list[0]->len, t->err,
				    "expected a number; this is %s", typing_kind_name(place));
	return 0;
}

int typing_kept(struct typing *t, const struct node *right, struct type *ret)
{
	*ret = right->type;
	if (typing_value(t, right) < 0)
		return -1;
	if (ret->kind != TYPE_AGGREGATE || right->kind == NODE_CALL)
		return 0;
	if (!type_has_number(ret) && t->last)
		return typing_wrong(t, right, "a histogram, or what has several numbers, is not copied");
	*ret = (struct type){ .kind = TYPE_NUMBER, .is_signed = true };
	return 0;
}

static int find_assignment(struct typing *t, struct node *node)
{
	struct type kept;
	struct node *left = node->list[0], *right = node->list[1];
	struct variable_asked *v;
	struct map_asked *m;

	if (left->kind == NODE_VARIABLE) {
		if (typing_find(t, right) < 0)
			return -1;
		v = typing_variable(t, left->text);
		if (right->type.kind == TYPE_AGGREGATE && right->kind == NODE_CALL)
			return typing_wrong(t, right, "count(), hist() and the like are kept in @maps");
		if (right->type.kind == TYPE_RECORD)
			return typing_wrong(t, right, "args is no value: expected args.NAME");
		if (typing_kept(t, right, &kept) < 0)
			return -1;
		left->type = kept;
		return check_compound(t, node, &v->type) < 0 ? -1
							     : typing_unify(t, &v->type, &kept, right, "the value");
	}
	if (typing_map_used(t, left, true) < 0)
		return -1;
	m = typing_map(t, left);
	/* the text is where the address leads, whatever that is cast to */
	while (m->holds_text && right->kind == NODE_CAST && right->type.kind == TYPE_POINTER)
		right = node->list[1] = right->list[0];
	if (m->holds_text && right->kind != NODE_TEXT && !node->op) {
		int r = typing_field(t, right, right, ":string");

		if (r < 0 || (r == 0 && typing_find(t, right) < 0))
			return -1;
	} else if (typing_find(t, right) < 0) {
		return -1;
	}
	m = typing_map(t, left);
	if (m->holds_text && right->kind == NODE_NUMBER && !right->number) /* @name[tid] = 0 */
		return 0;
	if (typing_kept(t, right, &kept) < 0)
		return -1;
	if (type_is_number(&kept) && !node->op && typing_keep(t, left, right, &kept) < 0)
		return -1;
	m = typing_map(t, left);
	return check_compound(t, node, &m->value) < 0 ? -1 : typing_unify(t, &m->value, &kept, right, "the value");
}

static int find_step(struct typing *t, struct node *node)
{
	const struct type number = { .kind = TYPE_NUMBER, .is_signed = true };
	struct node *of = node->list[0];

	node->type = number;
	if (of->kind == NODE_VARIABLE)
		return typing_unify(t, &typing_variable(t, of->text)->type, &number, of, "the value");
	if (typing_map_used(t, of, true) < 0)
		return -1;
	of->type = number;
	return typing_unify(t, &typing_map(t, of)->value, &number, of, "the value");
}

/* The variable of a loop over a map is a key with its value. Their types may become others until all are known. */
static int set_entry(struct typing *t, struct node *node, struct variable_asked *v, const struct map_asked *m)
{
	struct type fields[2] = { m->key, m->value };

	if (type_has_number(&m->value) && m->value.kind == TYPE_AGGREGATE)
		fields[1] = (struct type){ .kind = TYPE_NUMBER, .is_signed = true };
	if (t->last) {
		bool same = v->type.kind == TYPE_TUPLE && v->type.n_fields == 2 &&
			    typing_is_same(&v->type.fields[0], &fields[0]) &&
			    typing_is_same(&v->type.fields[1], &fields[1]);

		return same ? 0
			    : typing_wrong(t, node,
					   "the variable is of another kind elsewhere: expected one of its own");
	}
	if (v->type.kind == TYPE_NONE) {
		v->type = (struct type){ .kind = TYPE_TUPLE,
					 .n_fields = 2,
					 .fields = script_alloc(t->p, 2, sizeof *fields) };
		t->changed = true;
	}
	for (size_t i = 0; v->type.kind == TYPE_TUPLE && i < 2 && v->type.n_fields == 2; i++)
		if (typing_set_part(t, node, &v->type, i, &fields[i]) < 0)
			return -1;
	return 0;
}

static int find_loop(struct typing *t, struct node *node)
{
	struct variable_asked *v = typing_variable(t, node->text);
	struct type type = { .kind = TYPE_NUMBER, .is_signed = true };
	const struct map_asked *m;

	if (node->kind == NODE_FOR_RANGE) {
		typing_variable(t, node->names[0])->type = type;
		v = typing_variable(t, node->text);
		if (typing_unify(t, &v->type, &type, node, "the variable") < 0 || typing_number(t, node->list[0]) < 0 ||
		    typing_number(t, node->list[1]) < 0)
			return -1;
		return typing_find(t, node->list[2]);
	}
	m = typing_map(t, node->list[0]);
	if (t->last && m->value.kind == TYPE_NONE)
		return script_error(t->p, node->list[0]->at, node->list[0]->len, t->err, "@%s is never set",
				    node->list[0]->text);
	if (m->value.kind != TYPE_NONE && m->key.kind != TYPE_NONE && set_entry(t, node, v, m) < 0)
		return -1;
	return typing_find(t, node->list[1]);
}

static int find_all(struct typing *t, struct node *node)
{
	for (size_t i = 0; i < node->n; i++)
		if (typing_find(t, node->list[i]) < 0)
			return -1;
	return 0;
}

static int find_conditional(struct typing *t, struct node *node)
{
	if (find_condition(t, node->list[0]) < 0)
		return -1;
	for (size_t i = 1; i < node->n; i++)
		if (typing_find(t, node->list[i]) < 0)
			return -1;
	return 0;
}

int typing_find(struct typing *t, struct node *node)
{
	switch (node->kind) {
	case NODE_NUMBER:
		node->type = (struct type){ .kind = TYPE_NUMBER, .is_signed = true };
		return 0;
	case NODE_PARAMETER:
		node->type = (struct type){ .kind = TYPE_NUMBER, .is_signed = true };
		return 0;
	case NODE_TEXT:
		node->type = (struct type){ .kind = TYPE_TEXT };
		return 0;
	case NODE_BUILTIN:
		return find_builtin(t, node);
	case NODE_VARIABLE:
		return find_variable(t, node);
	case NODE_MAP:
		return typing_map_used(t, node, false);
	case NODE_CALL:
		return typing_call(t, node);
	case NODE_UNARY:
		return find_unary(t, node);
	case NODE_BINARY:
		return find_binary(t, node);
	case NODE_TERNARY:
		return find_ternary(t, node);
	case NODE_CAST:
		return typing_number(t, node->list[0]);
	case NODE_MEMBER:
		return find_member(t, node);
	case NODE_INDEX:
		return find_index(t, node);
	case NODE_TUPLE:
		return find_tuple(t, node);
	case NODE_STEP:
		return find_step(t, node);
	case NODE_ASSIGN:
		return find_assignment(t, node);
	case NODE_FOR_MAP:
	case NODE_FOR_RANGE:
		return find_loop(t, node);
	case NODE_IF:
	case NODE_WHILE:
		return find_conditional(t, node);
	case NODE_VALUE:
		if (find_all(t, node) < 0)
			return -1;
		node->type = node->list[node->n - 1]->type;
		return 0;
	default:
		return find_all(t, node);
	}
}

/* It gets values that are not known beforehand. */
static void sets_often(struct typing *t, const char *name)
{
	struct variable_asked *v = typing_variable(t, name);

	v->sets += 2;
	v->value = NULL;
}

/* Which variables are set once, and which maps hold what is read as text later. */
static void look_ahead(struct typing *t, struct node *node)
{
	if (node->kind == NODE_ASSIGN && node->list[0]->kind == NODE_VARIABLE) {
		struct variable_asked *v = typing_variable(t, node->list[0]->text);

		v->value = v->sets++ || node->op ? NULL : node->list[1];
	}
	if (node->kind == NODE_FOR_MAP || node->kind == NODE_FOR_RANGE ||
	    (node->kind == NODE_STEP && node->list[0]->kind == NODE_VARIABLE))
		sets_often(t, node->kind == NODE_STEP ? node->list[0]->text : node->text);
	if (node->kind == NODE_CALL && !strcmp(node->text, "str") && node->n && node->list[0]->kind == NODE_MAP)
		typing_map(t, node->list[0])->holds_text = true;
	if (node->kind == NODE_CALL && !strcmp(node->text, "find") && node->n == 3 &&
	    node->list[2]->kind == NODE_VARIABLE)
		sets_often(t, node->list[2]->text);
	for (size_t i = 0; i < node->n; i++)
		look_ahead(t, node->list[i]);
}

static int find_handlers(struct typing *t)
{
	for (t->handler = 0; t->handler < t->p->n_handlers; t->handler++) {
		struct handler *h = &t->p->handlers[t->handler];

		if ((h->predicate && find_condition(t, h->predicate) < 0) || typing_find(t, h->body) < 0)
			return -1;
	}
	return 0;
}

static int find_rounds(struct typing *t)
{
	enum { ROUNDS_MAX = 32 };

	t->changed = true;
	for (int i = 0; i < ROUNDS_MAX && t->changed; i++) {
		t->changed = false;
		if (find_handlers(t) < 0)
			return -1;
	}
	return 0;
}

static void set_bounds(const struct typing *t)
{
	for (size_t i = 0; i < t->p->n_bounds; i++) {
		size_t m = types_map(t->t, t->p->bounds[i].map);

		if (m == t->t->n_maps)
			continue;
		t->t->maps[m].keys_max = t->p->bounds[i].keys;
		t->t->maps[m].forgets = t->p->bounds[i].forgets;
	}
}

int types_find(struct script *p, const struct field_types *known, struct types *ret, struct error *err)
{
	struct typing t = { .p = p, .known = known, .t = ret, .err = err };

	*ret = (struct types){ 0 };
	t.guesses = known && known->guesses;
	for (t.handler = 0; t.handler < p->n_handlers; t.handler++) {
		if (p->handlers[t.handler].predicate)
			look_ahead(&t, p->handlers[t.handler].predicate);
		look_ahead(&t, p->handlers[t.handler].body);
	}
	if (typing_move_places(&t) < 0 || find_rounds(&t) < 0)
		return -1;
	t.settled = true;
	if (find_rounds(&t) < 0 || typing_check_maps(&t) < 0)
		return -1;
	set_bounds(&t);
	t.last = !t.guesses;
	if (t.last && find_handlers(&t) < 0)
		return -1;
	typing_drop_unused(&t);
	return 0;
}

void types_deinit(struct types *t)
{
	for (size_t i = 0; i < t->n_fields; i++)
		free(t->fields[i].text);
	free(t->fields);
	for (size_t i = 0; i < t->n_keeps; i++)
		free(t->keeps[i].text);
	free(t->keeps);
	free(t->maps);
	free(t->variables);
	*t = (struct types){ 0 };
}
