/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe_btf.h"

#include <bpf/btf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/near.h"

enum {
	WORD = 8, TYPE_DEPTH = 32, REGISTERS_FOR_PARAMETERS = 6,
	STRUCTURES_MAX = 512, /* are looked into for a member: a hostile one has itself as a member, many times */
};

/* Something that has a type: its value, or where it is, is what the code gives. */
struct typed {
	const struct btf *btf;
	const struct probe_definition *d;
	struct error *err;
	struct probe_code code;
	uint32_t type;
	bool is_place;
	bool is_raw;          /* … of which nothing else is known */
	unsigned bits, shift; /* of a bit field; bits 0: it is none */
};

static const char *name_at(const struct btf *btf, uint32_t offset)
{
	const char *name = btf__name_by_offset(btf, offset);

	return name ? name : "";
}

/* Without typedefs and qualifiers; NULL: void, or none. */
static const struct btf_type *plain(const struct btf *btf, uint32_t *id)
{
	for (int i = 0; i < TYPE_DEPTH && *id; i++) {
		const struct btf_type *t = btf__type_by_id(btf, *id);

		if (!t || !(btf_is_mod(t) || btf_is_typedef(t) || btf_is_type_tag(t)))
			return t;
		*id = t->type;
	}
	return NULL;
}

/* A pointer: go to what it points to. */
static void follow(struct typed *t, const struct btf_type *pointer)
{
	if (t->is_place)
		probe_code_add(&t->code, PROBE_OP_READ, WORD);
	t->is_place = true;
	t->type = pointer->type;
}

/* Where a member is, in bits; -1: there is none of that name. Those of anonymous ones are its own. */
static int64_t find_member(const struct btf *btf, const struct btf_type *type, const char *name, unsigned *left,
			   uint32_t *ret_type, unsigned *ret_bits)
{
	const struct btf_member *members = btf_members(type);

	for (unsigned i = 0; i < btf_vlen(type); i++) {
		const char *own = name_at(btf, members[i].name_off);
		uint32_t id = members[i].type;
		const struct btf_type *inner;
		int64_t at;

		if (!strcmp(own, name)) {
			*ret_type = members[i].type;
			*ret_bits = btf_member_bitfield_size(type, i);
			return btf_member_bit_offset(type, i);
		}
		inner = *own ? NULL : plain(btf, &id);
		if (!inner || !btf_is_composite(inner) || !*left)
			continue;
		--*left;
		at = find_member(btf, inner, name, left, ret_type, ret_bits);
		if (at >= 0)
			return at + btf_member_bit_offset(type, i);
	}
	return -1;
}

static int no_member(const struct typed *t, const struct btf_type *type, const char *name)
{
	const struct btf_member *members = btf_members(type);
	const char **names = xcalloc(btf_vlen(type) + 1u, sizeof *names), *near;

	for (unsigned i = 0; i < btf_vlen(type); i++)
		names[i] = name_at(t->btf, members[i].name_off);
	near = near_best(name, strlen(name), names);
	free(names);
	return error_set(t->err, "%s: %s %s has no member '%s'%s%s", t->d->text,
			 btf_is_union(type) ? "union" : "struct", name_at(t->btf, type->name_off), name,
			 near ? ": did you mean " : "", near ? near : "");
}

static int to_member(struct typed *t, const char *name)
{
	uint32_t id = t->type;
	const struct btf_type *type = plain(t->btf, &id);
	unsigned bits = 0, left = STRUCTURES_MAX;
	int64_t at, size;

	if (type && btf_is_ptr(type)) {
		follow(t, type);
		id = t->type;
		type = plain(t->btf, &id);
	}
	if (!type || !btf_is_composite(type))
		return error_set(t->err, "%s: what '%s' is asked of is no structure that the kernel's types describe",
				 t->d->text, name);
	if (!t->is_place)
		return error_set(t->err, "%s: the structure with '%s' is in registers", t->d->text, name);
	at = find_member(t->btf, type, name, &left, &t->type, &bits);
	if (at < 0)
		return no_member(t, type, name);
	t->bits = bits;
	size = btf__resolve_size(t->btf, t->type);
	if (bits && (size == 1 || size == 2 || size == 4 || size == 8)) {
		t->shift = (unsigned)(at % (8 * size));
		at -= t->shift;
	}
	probe_code_add_behind(&t->code, at / 8);
	return 0;
}

static int to_element(struct typed *t, int64_t number)
{
	uint32_t id = t->type;
	const struct btf_type *type = plain(t->btf, &id);
	int64_t size;

	if (type && btf_is_ptr(type))
		follow(t, type);
	else if (type && btf_is_array(type) && t->is_place)
		t->type = btf_array(type)->type;
	else if (!type || !btf_is_composite(type) || !t->is_place) /* of what was cast, elements are as large as it */
		return error_set(t->err, "%s: [%lld] is asked of what is no array", t->d->text, (long long)number);
	size = btf__resolve_size(t->btf, t->type);
	if (size <= 0)
		return error_set(t->err, "%s: elements of no known size", t->d->text);
	probe_code_add_behind(&t->code, number * size);
	return 0;
}

/* What it is points to such a structure. */
static int to_structure(struct typed *t, const char *name)
{
	int id = btf__find_by_name_kind(t->btf, name, BTF_KIND_STRUCT);

	if (id < 0)
		id = btf__find_by_name_kind(t->btf, name, BTF_KIND_UNION);
	if (id < 0)
		return error_set(t->err, "%s: the kernel's types have no struct %s", t->d->text, name);
	if (t->is_place)
		probe_code_add(&t->code, PROBE_OP_READ, WORD);
	t->is_place = true;
	t->is_raw = false;
	t->type = (uint32_t)id;
	return 0;
}

/* So many bytes behind the address that it is; what is there has no type. */
static int to_read(struct typed *t, int64_t offset)
{
	uint32_t id = t->type;
	const struct btf_type *type = plain(t->btf, &id);

	if (t->is_place && !(type && btf_is_composite(type)))
		probe_code_add(&t->code, PROBE_OP_READ, WORD);
	probe_code_add_behind(&t->code, offset);
	t->is_place = t->is_raw = true;
	t->type = 0;
	return 0;
}

static int go_step(struct typed *t, const struct probe_step *s)
{
	switch (s->kind) {
	case STEP_MEMBER:
		return to_member(t, s->name);
	case STEP_INDEX:
		return to_element(t, s->number);
	case STEP_CAST:
		return to_structure(t, s->name);
	default:
		return to_read(t, s->number);
	}
}

static int go_steps(struct typed *t, const struct probe_arg *a)
{
	for (size_t i = 0; i < a->n_steps; i++) {
		t->bits = 0;
		if (go_step(t, &a->steps[i]) < 0)
			return -1;
	}
	return 0;
}

static bool is_char(const struct btf *btf, uint32_t id)
{
	const struct btf_type *type = plain(btf, &id);

	return type && btf_is_int(type) && type->size == 1 && !strcmp(name_at(btf, type->name_off), "char");
}

/* What a number is printed as. False: it is none. */
static bool type_of_number(const struct btf *btf, uint32_t id, struct probe_type *ret)
{
	const struct btf_type *type = plain(btf, &id);
	int64_t size = type ? btf__resolve_size(btf, id) : 0;

	if (!type || (size != 1 && size != 2 && size != 4 && size != 8))
		return false;
	ret->bytes = (unsigned)size;
	if (btf_is_ptr(type))
		ret->format = PROBE_HEX;
	else if (btf_is_any_enum(type))
		ret->format = btf_kflag(type) ? PROBE_SIGNED : PROBE_UNSIGNED;
	else if (btf_is_int(type))
		ret->format = btf_int_encoding(type) & BTF_INT_SIGNED ? PROBE_SIGNED
			      : btf_int_encoding(type) & BTF_INT_BOOL ? PROBE_UNSIGNED
								      : PROBE_HEX;
	else
		return false;
	return true;
}

/* An array's elements. `string`: of its characters */
static int finish_array(struct typed *t, const struct btf_type *type, struct probe_type *out)
{
	const struct btf_array *array = btf_array(type);

	if (is_char(t->btf, array->type) ? !out->format || out->format == PROBE_STRING : out->format == PROBE_STRING) {
		*out = (struct probe_type){ .format = PROBE_STRING };
		return 0;
	}
	if (!type_of_number(t->btf, array->type, out) || !array->nelems)
		return error_set(t->err, "%s: an array of what is no number: say which element", t->d->text);
	out->count = array->nelems < PROBE_ARRAY ? array->nelems : PROBE_ARRAY;
	return 0;
}

/* What is asked for of it in the end. */
static int finish(struct typed *t, const struct probe_type *asked, struct probe_type *ret)
{
	uint32_t id = t->type;
	const struct btf_type *type = plain(t->btf, &id);
	struct probe_type own = { 0 };

	*ret = *asked;
	ret->is_auto = false;
	if (asked->is_auto && t->is_place && type && btf_is_composite(type)) { /* where the structure is */
		*ret = (struct probe_type){ .format = PROBE_HEX, .bytes = WORD };
		return 0;
	}
	if (type && btf_is_array(type) && t->is_place && !asked->count)
		return finish_array(t, type, ret);
	if (t->is_raw && asked->format != PROBE_STRING && !asked->count) {
		ret->format = asked->format ? asked->format : PROBE_HEX;
		ret->bytes = asked->bytes ? asked->bytes : WORD;
		probe_code_add(&t->code, PROBE_OP_READ, ret->bytes);
		return 0;
	}
	if (asked->format == PROBE_STRING && !asked->count) {
		if (t->is_place && !t->is_raw && !(type && btf_is_array(type)))
			probe_code_add(&t->code, PROBE_OP_READ, WORD);
		return 0;
	}
	if (asked->count) { /* of what a pointer leads to, or of what is there */
		if (t->is_place && type && btf_is_ptr(type))
			probe_code_add(&t->code, PROBE_OP_READ, WORD);
		ret->bytes = asked->bytes || asked->format == PROBE_STRING ? asked->bytes : WORD;
		return 0;
	}
	if (!type_of_number(t->btf, t->type, &own) && (!asked->bytes || !t->is_place))
		return error_set(t->err, "%s: a structure has no one value: say which member", t->d->text);
	if (!ret->format)
		ret->format = own.format;
	if (!ret->bytes)
		ret->bytes = own.bytes;
	if (t->is_place)
		probe_code_add(&t->code, PROBE_OP_READ, own.bytes ? own.bytes : ret->bytes);
	if (t->bits && !asked->bits) {
		ret->bytes = own.bytes;
		ret->bits = t->bits;
		ret->shift = t->shift;
	}
	return 0;
}

static int add_parameter(struct typed *t, const struct prototype *p, unsigned i)
{
	int reg = prototype_register(p, i), place = prototype_stack(p, i);

	t->is_place = reg < 0;
	if (reg >= 0) {
		probe_code_add_entry(&t->code, t->d->returns, probe_register_of_parameter((unsigned)reg));
		return 0;
	}
	if (place < 0)
		return error_set(t->err, "%s: where on the stack %s is, is not known", t->d->text, p->parameters[i].name);
	probe_code_add(&t->code, PROBE_OP_REGISTER, PROBE_RSP);
	probe_code_add_behind(&t->code, WORD + place * WORD); /* behind the return address */
	return 0;
}

/* "file, buf, count, pos" */
static const char *names_of(const struct prototype *p, char *text, size_t size)
{
	size_t n = 0;

	*text = '\0';
	for (unsigned i = 0; i < p->count && n < size; i++) {
		size_t len = strlen(p->parameters[i].name);

		if (n + len + 3 > size)
			break;
		n += (size_t)(stpcpy(stpcpy(text + n, i ? ", " : ""), p->parameters[i].name) - (text + n));
	}
	return text;
}

static int find_parameter(const struct probe_definition *d, const struct probe_arg *a, const struct prototype *p,
			  struct error *err)
{
	char text[256];

	if (a->base == PROBE_ARGUMENT && a->number <= p->count)
		return (int)a->number - 1;
	for (unsigned i = 0; a->base == PROBE_VARIABLE && i < p->count; i++)
		if (!strcmp(p->parameters[i].name, a->text))
			return (int)i;
	return error_set(err, "%s: %s() has no parameter %s; it has %s", d->text, p->function,
			 a->text ? a->text : "of that number", *names_of(p, text, sizeof text) ? text : "none");
}

static int add_value(struct probe_values *v, struct typed *t, const struct probe_arg *a, const char *name)
{
	struct probe_type type;
	int ret = go_steps(t, a) < 0 || finish(t, &a->type, &type) < 0 ? -1 : 0;

	if (ret == 0)
		probe_values_add(v, name, type, &t->code);
	probe_code_deinit(&t->code);
	return ret;
}

static int add_all(struct probe_values *v, struct typed *t, const struct prototype *p, const struct btf_param *params)
{
	for (unsigned i = 0; i < p->count; i++) {
		if (p->parameters[i].kind == VALUE_STRUCT) /* it has no one value */
			continue;
		if (add_parameter(t, p, i) < 0)
			return -1;
		t->type = params[i].type;
		if (add_value(v, t, &(struct probe_arg){ 0 }, p->parameters[i].name) < 0)
			return -1;
	}
	return 0;
}

/* What needs no function: the running thread, and a number that was cast. */
static bool is_of_no_function(const struct probe_arg *a)
{
	return a->base == PROBE_CURRENT ||
	       (a->base == PROBE_CODE && a->n_steps && a->steps[0].kind == STEP_CAST);
}

static int add_of_no_function(struct probe_values *v, struct typed *t, const struct probe_arg *a, const char *name)
{
	if (a->base == PROBE_CODE) {
		probe_code_add_all(&t->code, &a->code);
		return add_value(v, t, a, name);
	}
	probe_code_add(&t->code, PROBE_OP_CURRENT, 0);
	if (a->steps[0].kind != STEP_CAST && to_structure(t, "task_struct") < 0)
		return -1;
	return add_value(v, t, a, name);
}

static int add(struct probe_values *v, struct typed *t, const struct probe_arg *a, const char *name, uint32_t proto_id,
	       const struct prototype *p)
{
	const struct btf_type *proto = btf__type_by_id(t->btf, proto_id);
	const struct btf_param *params = btf_params(proto);
	int i;

	if (a->base == PROBE_PARAMETERS)
		return add_all(v, t, p, params);
	if (a->base == PROBE_RESULT) {
		probe_code_add(&t->code, PROBE_OP_REGISTER, PROBE_RAX);
		t->type = proto->type;
		return add_value(v, t, a, name);
	}
	if (a->base != PROBE_VARIABLE && a->base != PROBE_ARGUMENT)
		return error_set(t->err, "%s: members are of parameters and of $retval", t->d->text);
	i = find_parameter(t->d, a, p, t->err);
	if (i < 0)
		return i;
	if (add_parameter(t, p, (unsigned)i) < 0)
		return -1;
	t->type = params[i].type;
	return add_value(v, t, a, name);
}

int probe_btf_add(struct probe_values *v, const struct probe_definition *d, const struct probe_arg *a, const char *name,
		  const char *function, const struct btf_prototypes *types, struct error *err)
{
	bool no_function = is_of_no_function(a);
	uint32_t proto = types && !no_function ? btf_prototypes_type(types, function) : 0;
	struct typed t = { .d = d, .err = err };
	struct prototype p;
	int ret;

	if (no_function && !types)
		return error_set(err, "%s: the kernel has no types (BTF), which tell what %s leads to", d->text, name);
	if (no_function) {
		t.btf = btf_prototypes_types(types);
		ret = add_of_no_function(v, &t, a, name);
		probe_code_deinit(&t.code);
		return ret;
	}
	if (!*function)
		return error_set(err, "%s: no function of the kernel's begins there: %s is not known", d->text, name);
	if (!proto)
		return error_set(
			err,
			"%s: the kernel's types (BTF) do not describe %s; %%REGISTER, $argN and $retval can be had",
			d->text, function);
	t.btf = btf_prototypes_types(types);
	btf_prototypes_find(types, function, &p);
	ret = add(v, &t, a, name, proto, &p);
	probe_code_deinit(&t.code);
	prototype_deinit(&p);
	return ret;
}
