/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe_compile.h"

#include "base/alloc.h"
#include "base/map.h"
#include "probe_btf.h"

enum { WORD = 8 };

/* $argN, where the function begins or returns. */
static int add_argument(const struct probe_definition *d, unsigned i, struct probe_code *c, struct error *err)
{
	if (d->offset || d->place != PROBE_FUNCTION)
		return error_set(err, "%s: $arg%u is known only where a function begins, or returns", d->text, i + 1);
	probe_code_add_argument(c, d->returns, i);
	return 0;
}

/* `*ret_place`: what the code gives is an address at which the value is. */
static int add_base(const struct probe_definition *d, const struct probe_arg *a, struct probe_code *c, bool *ret_place,
		    struct error *err)
{
	*ret_place = false;
	switch (a->base) {
	case PROBE_REGISTER:
		probe_code_add(c, PROBE_OP_REGISTER, a->number);
		return 0;
	case PROBE_ARGUMENT:
		return add_argument(d, (unsigned)a->number - 1, c, err);
	case PROBE_RESULT:
		if (!d->returns)
			return error_set(err, "%s: $retval is known only where a function returns: FUNCTION%%return",
					 d->text);
		probe_code_add(c, PROBE_OP_REGISTER, PROBE_RAX);
		return 0;
	case PROBE_STACK:
	case PROBE_STACK_AT:
		probe_code_add(c, PROBE_OP_REGISTER, PROBE_RSP);
		if (a->base == PROBE_STACK)
			probe_code_add_behind(c, WORD * a->number);
		*ret_place = a->base == PROBE_STACK;
		return 0;
	case PROBE_AT:
		if (a->text)
			probe_code_add_symbol(c, a->text, a->number);
		else
			probe_code_add(c, PROBE_OP_NUMBER, a->number);
		*ret_place = true;
		return 0;
	case PROBE_CURRENT:
		probe_code_add(c, PROBE_OP_CURRENT, 0);
		return 0;
	case PROBE_CONSTANT:
		probe_code_add(c, PROBE_OP_NUMBER, a->number);
		return 0;
	default:
		probe_code_add_all(c, &a->code);
		return 0;
	}
}

static int add_plain(struct probe_values *v, const struct probe_definition *d, const struct probe_arg *a,
		     const char *name, struct error *err)
{
	struct probe_code c = { 0 };
	struct probe_type type = a->type;
	bool place;

	if (add_base(d, a, &c, &place, err) < 0) {
		probe_code_deinit(&c);
		return -1;
	}
	for (size_t i = 0; i < a->n_steps; i++) {
		if (place)
			probe_code_add(&c, PROBE_OP_READ, WORD);
		probe_code_add_behind(&c, a->steps[i].number);
		place = true;
	}
	if (!type.format)
		type.format = PROBE_HEX;
	if (!type.bytes && type.format != PROBE_STRING)
		type.bytes = WORD;
	if (place && type.format != PROBE_STRING && !type.count)
		probe_code_add(&c, PROBE_OP_READ, type.bytes);
	probe_values_add(v, name, type, &c);
	return 0;
}

/* Does it take the kernel's types to know what it is? */
static bool needs_types(const struct probe_arg *a)
{
	if (a->base == PROBE_VARIABLE || a->base == PROBE_PARAMETERS || a->base == PROBE_VARIABLES)
		return true;
	for (size_t i = 0; i < a->n_steps; i++)
		if (a->steps[i].kind != STEP_READ)
			return true;
	return false;
}

static int compile(struct probe_values *v, const struct probe_definition *d, const struct probe_arg *a,
		   const char *name, const char *function, const struct btf_prototypes *types, struct error *err);

static bool is_number(const struct probe_values *v)
{
	const struct probe_type *type = &v->list->type;

	return v->count == 1 && !type->count && !type->bits && type->format != PROBE_STRING;
}

/* Of a register, what is above an int's bytes is not the int's. */
static void add_width(struct probe_code *c, const struct probe_type *type)
{
	if (!type->bytes || type->bytes >= WORD)
		return;
	if (type->format == PROBE_SIGNED) {
		probe_code_add(c, PROBE_OP_EXTEND, type->bytes);
		return;
	}
	probe_code_add(c, PROBE_OP_NUMBER, (INT64_C(1) << (8 * type->bytes)) - 1);
	probe_code_add(c, PROBE_OP_AND, 0);
}

/* A number that is kept, or a key. */
static int add_number(struct probe_code *c, const struct probe_definition *d, const struct probe_arg *a,
		      const char *function, const struct btf_prototypes *types, struct error *err)
{
	struct probe_values v = { 0 };
	int ret = a->base == PROBE_COMM ? -1 : compile(&v, d, a, "", function, types, err);

	if (a->base == PROBE_COMM || (ret == 0 && !is_number(&v)))
		ret = error_set(err, "%s: what $keep() and $kept() are given are numbers", d->text);
	if (ret == 0) {
		probe_code_add_all(c, &v.list->code);
		add_width(c, &v.list->type);
	}
	probe_values_deinit(&v);
	return ret;
}

/* The name, mixed with one key after the other, is the key. */
static int add_kept(struct probe_code *c, const struct probe_definition *d, const struct probe_arg *a,
		    const char *function, const struct btf_prototypes *types, struct error *err)
{
	size_t keys = a->n_of - (a->base == PROBE_KEEP);

	probe_code_add(c, PROBE_OP_NUMBER, (int64_t)hash_text(0, a->text));
	for (size_t i = 0; i < a->n_of; i++) {
		if (add_number(c, d, &a->of[i], function, types, err) < 0)
			return -1;
		if (i < keys)
			probe_code_add(c, PROBE_OP_MIX, 0);
	}
	probe_code_add(c, a->base == PROBE_KEEP ? PROBE_OP_KEEP : PROBE_OP_KEPT, 0);
	return 0;
}

/* A register, as the kernel's types have it; where these do not tell, as it is. */
static int add_auto(struct probe_values *v, const struct probe_definition *d, struct probe_arg *a, const char *name,
		    const char *function, const struct btf_prototypes *types, struct error *err)
{
	struct error untold;

	if (types && probe_btf_add(v, d, a, name, function, types, &untold) == 0)
		return 0;
	a->type = (struct probe_type){ .format = PROBE_UNSIGNED, .bytes = WORD };
	return add_plain(v, d, a, name, err);
}

static int compile(struct probe_values *v, const struct probe_definition *d, const struct probe_arg *a,
		   const char *name, const char *function, const struct btf_prototypes *types, struct error *err)
{
	struct probe_code code = { 0 };
	struct probe_arg plain = *a;
	int ret;

	if (a->base == PROBE_COMM) {
		probe_values_add(v, name, (struct probe_type){ .format = PROBE_STRING }, &code);
		v->list[v->count - 1].is_comm = true;
		return 0;
	}
	if (a->base == PROBE_KEEP || a->base == PROBE_KEPT) {
		if (add_kept(&code, d, a, function, types, err) < 0) {
			probe_code_deinit(&code);
			return -1;
		}
		plain.base = PROBE_CODE;
		plain.code = code;
	}
	ret = needs_types(&plain) ? probe_btf_add(v, d, &plain, name, function, types, err)
	      : plain.type.is_auto ? add_auto(v, d, &plain, name, function, types, err)
				   : add_plain(v, d, &plain, name, err);
	probe_code_deinit(&code);
	return ret;
}

static bool any_needs_types(const struct probe_arg *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (needs_types(&list[i]) || any_needs_types(list[i].of, list[i].n_of))
			return true;
	return false;
}

bool probe_compile_needs_types(const struct probe_definition *d)
{
	return any_needs_types(d->args, d->n_args);
}

int probe_compile_one(struct probe_values *v, const struct probe_definition *d, size_t i, const char *function,
		      const struct btf_prototypes *types, struct error *err)
{
	cleanup_free char *name = probe_arg_name(&d->args[i], i);

	return compile(v, d, &d->args[i], name, function, types, err);
}

int probe_compile(struct probe_values *ret, const struct probe_definition *d, const char *function,
		  const struct btf_prototypes *types, struct error *err)
{
	*ret = (struct probe_values){ 0 };
	for (size_t i = 0; i < d->n_args; i++)
		if (probe_compile_one(ret, d, i, function, types, err) < 0)
			return -1;
	return ret->count > PROBE_ARGS ? error_set(err, "%s: these are more values than a probe may have", d->text) : 0;
}
