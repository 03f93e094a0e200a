/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf_values.h"

#include <ctype.h>
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "dwarf_code.h"
#include "dwarf_type.h"
#include "probe_compile.h"

enum { WORD = 8 };

/* The entries of DWARF that hold an instruction, the innermost one first. */
struct scopes {
	Dwarf_Die *list;
	int first, last; /* of the place's own function; last: that itself */
	int count;
	Dwarf_Die *body; /* what stands by itself and holds all of that; NULL: none */
};

static bool is_function(Dwarf_Die *die)
{
	return dwarf_tag(die) == DW_TAG_inlined_subroutine || dwarf_tag(die) == DW_TAG_subprogram;
}

/* Is that the function, or code that was made of it? */
static bool is_of(Dwarf_Die *scope, Dwarf_Die *function)
{
	Dwarf_Attribute attr;
	Dwarf_Die origin;

	if (!is_function(scope))
		return false;
	if (!function->addr || dwarf_dieoffset(scope) == dwarf_dieoffset(function))
		return true;
	return dwarf_attr(scope, DW_AT_abstract_origin, &attr) && dwarf_formref_die(&attr, &origin) &&
	       dwarf_dieoffset(&origin) == dwarf_dieoffset(function);
}

static void scopes_init(struct scopes *ret, const struct dwarf_file *f, const struct dwarf_place *place)
{
	Dwarf_Die unit = place->unit, function = place->function;

	*ret = (struct scopes){ .last = -1 };
	if (!unit.addr)
		return;
	ret->count = dwarf_scopes(&unit, place->address - f->bias, &ret->list);
	for (int i = 0; i < ret->count && ret->last < 0; i++) {
		if (is_of(&ret->list[i], &function))
			ret->last = i;
		else if (is_function(&ret->list[i]))
			ret->first = i + 1;
	}
	if (ret->last < 0 && place->scope.addr) { /* its code does not reach to where it says that it begins */
		Dwarf_Die scope = place->scope;

		free(ret->list);
		ret->list = NULL;
		ret->count = dwarf_getscopes_die(&scope, &ret->list);
		ret->first = 0;
		ret->last = ret->count > 0 ? 0 : -1;
	}
	for (int i = 0; i < ret->count && !ret->body; i++)
		if (dwarf_tag(&ret->list[i]) == DW_TAG_subprogram)
			ret->body = &ret->list[i];
}

static void scopes_deinit(struct scopes *s)
{
	free(s->list);
}

static bool is_variable(Dwarf_Die *die)
{
	return dwarf_tag(die) == DW_TAG_variable || dwarf_tag(die) == DW_TAG_formal_parameter;
}

/* Call `each` for what a scope declares, until it returns false. False: it did. */
static bool go_through(Dwarf_Die *scope, bool (*each)(void *context, Dwarf_Die *variable), void *context)
{
	Dwarf_Die child;

	if (dwarf_child(scope, &child))
		return true;
	do
		if (is_variable(&child) && dwarf_diename(&child) && !each(context, &child))
			return false;
	while (dwarf_siblingof(&child, &child) == 0);
	return true;
}

struct naming {
	const char *name;
	Dwarf_Die *ret;
	bool found;
};

static bool has_name(void *context, Dwarf_Die *variable)
{
	struct naming *n = context;

	n->found = !strcmp(dwarf_diename(variable), n->name);
	if (n->found)
		*n->ret = *variable;
	return !n->found;
}

static bool find_variable(const struct scopes *s, const struct dwarf_place *place, const char *name, Dwarf_Die *ret)
{
	struct naming n = { .name = name, .ret = ret };
	Dwarf_Die unit = place->unit;

	for (int i = s->first; i <= s->last; i++)
		if (!go_through(&s->list[i], has_name, &n))
			return true;
	return unit.addr && !go_through(&unit, has_name, &n);
}

/* Something that has a type: parts of a variable, or else what the code gives. */
struct typed {
	const char *what; /* the definition */
	struct error *err;
	const struct dwarf_location *pieces; /* NULL: the code counts */
	uint64_t at;                         /* bytes from the variable's begin */
	struct probe_code code;
	bool is_place;
	Dwarf_Die type;
	bool has_type;
	unsigned dimensions;        /* it is an element of an array of that type, so many dimensions down */
	struct dwarf_member member; /* the last one: of a bit field */
};

static void add_behind(struct typed *t, int64_t bytes)
{
	if (t->pieces) {
		t->at += (uint64_t)bytes;
		return;
	}
	probe_code_add_behind(&t->code, bytes);
}

static bool is_size(uint64_t n)
{
	return n == 1 || n == 2 || n == 4 || n == 8;
}

/* Bytes from `from` on of a piece, as a number. */
static bool add_part(struct probe_code *c, const struct dwarf_piece *piece, uint64_t from, uint64_t bytes)
{
	if (piece->is_lost || !is_size(bytes))
		return false;
	probe_code_add_all(c, &piece->code);
	if (from) {
		probe_code_add(c, PROBE_OP_NUMBER, (int64_t)(piece->is_place ? from : 8 * from));
		probe_code_add(c, piece->is_place ? PROBE_OP_ADD : PROBE_OP_RIGHT, 0);
	}
	if (piece->is_place) {
		probe_code_add(c, PROBE_OP_READ, (int64_t)bytes);
	} else if (bytes < WORD) {
		probe_code_add(c, PROBE_OP_NUMBER, (int64_t)((UINT64_C(1) << (8 * bytes)) - 1));
		probe_code_add(c, PROBE_OP_AND, 0);
	}
	return true;
}

/* The number at t->at, put together from all parts that it is in. */
static bool join_parts(struct typed *t, uint64_t bytes)
{
	uint64_t begin = 0, done = 0;

	for (size_t i = 0; i < t->pieces->count; begin += t->pieces->pieces[i++].bytes) {
		const struct dwarf_piece *p = &t->pieces->pieces[i];
		uint64_t from = t->at > begin ? t->at : begin, end = begin + p->bytes, to = t->at + bytes;

		to = to < end ? to : end;
		if (from >= to)
			continue;
		if (!add_part(&t->code, p, from - begin, to - from))
			return false;
		if (from > t->at) {
			probe_code_add(&t->code, PROBE_OP_NUMBER, (int64_t)(8 * (from - t->at)));
			probe_code_add(&t->code, PROBE_OP_LEFT, 0);
		}
		if (done)
			probe_code_add(&t->code, PROBE_OP_OR, 0);
		done += to - from;
	}
	return done == bytes;
}

/* From a variable's parts to code. `bytes`: that are asked for, from t->at on; 0: any number of them. */
static int flatten(struct typed *t, uint64_t bytes)
{
	const struct dwarf_location *all = t->pieces;
	const struct dwarf_piece *first;

	if (!all)
		return 0;
	first = all->pieces;
	if (all->count == 1 && !first->bytes && first->is_place) {
		probe_code_add_all(&t->code, &first->code);
		t->pieces = NULL;
		t->is_place = true;
		add_behind(t, (int64_t)t->at);
		return 0;
	}
	if (!bytes)
		return error_set(t->err, "%s: it is in registers, where it has no address", t->what);
	if (all->count == 1 && !first->bytes && !t->at) {
		probe_code_add_all(&t->code, &first->code);
	} else if (all->count == 1 && !first->bytes) {
		if (!add_part(&t->code, first, t->at, bytes))
			return error_set(t->err, "%s: a part of it is optimized out at this place", t->what);
	} else if (!join_parts(t, bytes)) {
		return error_set(t->err, "%s: a part of it is optimized out at this place", t->what);
	}
	t->pieces = NULL;
	t->is_place = false;
	return 0;
}

/* A pointer: go to what it points to. */
static int follow(struct typed *t)
{
	if (flatten(t, WORD) < 0)
		return -1;
	if (t->is_place)
		probe_code_add(&t->code, PROBE_OP_READ, WORD);
	t->is_place = true;
	t->has_type = dwarf_type_of(&t->type, &t->type);
	t->dimensions = 0;
	return 0;
}

static int to_member(struct typed *t, const char *name)
{
	if (t->has_type && dwarf_tag(&t->type) == DW_TAG_pointer_type && follow(t) < 0)
		return -1;
	if (!t->has_type || !dwarf_is_structure(&t->type))
		return error_set(t->err, "%s: what '%s' is asked of is no structure", t->what, name);
	if (!dwarf_find_member(&t->type, name, &t->member)) {
		const char *own = dwarf_diename(&t->type);

		return error_set(t->err, "%s: struct %s has no member '%s'", t->what, own ? own : "{…}", name);
	}
	add_behind(t, (int64_t)t->member.bytes);
	t->has_type = dwarf_type_of(&t->member.die, &t->type);
	t->dimensions = 0;
	return 0;
}

static int to_element(struct typed *t, int64_t number)
{
	int64_t size;

	if (t->has_type && dwarf_tag(&t->type) == DW_TAG_pointer_type) {
		if (follow(t) < 0)
			return -1;
	} else if (t->has_type && dwarf_tag(&t->type) == DW_TAG_array_type) {
		if (++t->dimensions >= dwarf_array_dimensions(&t->type)) {
			t->has_type = dwarf_type_of(&t->type, &t->type);
			t->dimensions = 0;
		}
	} else {
		return error_set(t->err, "%s: [%lld] is asked of what is no array", t->what, (long long)number);
	}
	size = t->has_type ? dwarf_size_of(&t->type, t->dimensions) : 0;
	if (size <= 0)
		return error_set(t->err, "%s: elements of no known size", t->what);
	add_behind(t, number * size);
	return 0;
}

static int go_steps(struct typed *t, const struct probe_arg *a)
{
	for (size_t i = 0; i < a->n_steps; i++) {
		const struct probe_step *s = &a->steps[i];

		t->member.bits = 0;
		if (s->kind == STEP_READ)
			return error_set(t->err, "%s: +OFFSET(…) is of registers, not of what has a name", t->what);
		if ((s->kind == STEP_MEMBER ? to_member(t, s->name) : to_element(t, s->number)) < 0)
			return -1;
	}
	return 0;
}

static int finish_array(struct typed *t, struct probe_type *out)
{
	Dwarf_Die element;
	struct probe_type own = { 0 };
	bool is_number = dwarf_type_of(&t->type, &element) && dwarf_type_of_number(&element, &own);
	uint64_t count = is_number ? (uint64_t)dwarf_size_of(&t->type, t->dimensions) / own.bytes : 0;

	if (flatten(t, 0) < 0)
		return -1;
	if (out->format == PROBE_STRING || (!out->format && own.bytes == 1 && own.format == PROBE_SIGNED)) {
		*out = (struct probe_type){ .format = PROBE_STRING };
		return 0;
	}
	if (!is_number || !count)
		return error_set(t->err, "%s: an array of what is no number: say which element", t->what);
	out->count = count < PROBE_ARRAY ? (unsigned)count : PROBE_ARRAY;
	out->format = out->format ? out->format : own.format;
	out->bytes = own.bytes;
	return 0;
}

/* What a pointer leads to: a string, or some elements. */
static int finish_pointed(struct typed *t, const struct probe_type *asked, struct probe_type *ret)
{
	bool points = t->has_type && dwarf_tag(&t->type) == DW_TAG_pointer_type;

	points = points || (asked->format == PROBE_STRING && !asked->count);
	if (flatten(t, points ? WORD : 0) < 0)
		return -1;
	if (t->is_place && points)
		probe_code_add(&t->code, PROBE_OP_READ, WORD);
	if (asked->count && !asked->bytes && asked->format != PROBE_STRING)
		ret->bytes = WORD;
	return 0;
}

/* A bit field with a sign: definitions have only some without, so that the code takes it out. */
static void add_bits(struct typed *t, struct probe_type *type)
{
	enum { ALL = 64 };

	probe_code_add(&t->code, PROBE_OP_NUMBER, ALL - type->bits - type->shift);
	probe_code_add(&t->code, PROBE_OP_LEFT, 0);
	probe_code_add(&t->code, PROBE_OP_NUMBER, ALL - type->bits);
	probe_code_add(&t->code, PROBE_OP_RIGHT_SIGNED, 0);
	type->bits = type->shift = 0;
}

static int finish_number(struct typed *t, const struct probe_type *asked, struct probe_type *ret)
{
	struct probe_type own = { 0 };
	bool is_number = t->has_type && dwarf_type_of_number(&t->type, &own);

	if (!is_number && !asked->bytes)
		return error_set(t->err, "%s: it has no one value: say which member", t->what);
	ret->format = asked->format ? asked->format : own.format;
	ret->bytes = asked->bytes ? asked->bytes : own.bytes;
	own.bytes = own.bytes ? own.bytes : ret->bytes;
	if (t->member.bits && !asked->bits) {
		ret->bytes = own.bytes = t->member.width;
		ret->bits = t->member.bits;
		ret->shift = t->member.shift;
	}
	if (flatten(t, own.bytes) < 0)
		return -1;
	if (t->is_place)
		probe_code_add(&t->code, PROBE_OP_READ, own.bytes);
	if (ret->bits && ret->format == PROBE_SIGNED)
		add_bits(t, ret);
	return 0;
}

static int finish(struct typed *t, const struct probe_type *asked, struct probe_type *ret)
{
	*ret = *asked;
	if (t->has_type && dwarf_tag(&t->type) == DW_TAG_array_type && !asked->count)
		return finish_array(t, ret);
	if (asked->format == PROBE_STRING || asked->count)
		return finish_pointed(t, asked, ret);
	return finish_number(t, asked, ret);
}

struct reading {
	const struct dwarf_file *file;
	const struct probe_definition *d;
	const struct dwarf_place *place;
	struct scopes scopes;
	struct probe_values *values;
	struct error *err;
};

static struct dwarf_context context_of(const struct reading *r)
{
	return (struct dwarf_context){
		.file = r->file,
		.body = r->scopes.body,
		.address = r->place->address,
		.begins = r->place->begins,
	};
}

/* Where a function returns, what registers were at its entry counts. The stack is where it was then. */
static void ask_entry(struct dwarf_location *l)
{
	for (size_t i = 0; i < l->count; i++) {
		struct probe_code now = l->pieces[i].code, entry = { 0 };

		for (size_t k = 0; k < now.count; k++) {
			const struct probe_step_code *s = &now.steps[k];

			if (s->op == PROBE_OP_REGISTER && s->operand != PROBE_RSP)
				probe_code_add_entry(&entry, true, (int)s->operand);
			else
				probe_code_add_all(&entry, &(struct probe_code){ .steps = &now.steps[k], .count = 1 });
		}
		probe_code_deinit(&now);
		l->pieces[i].code = entry;
	}
}

static int add_variable(struct reading *r, Dwarf_Die *variable, const struct probe_arg *a, const char *name)
{
	struct dwarf_context c = context_of(r);
	struct dwarf_location location;
	struct typed t = { .what = r->d->text, .err = r->err, .pieces = &location };
	struct probe_type type;
	struct error why;
	int ret = 0;

	if (dwarf_location_init(&location, &c, variable, &why) < 0)
		ret = error_set(r->err, "%s: %s: %s", r->d->text, dwarf_diename(variable), why.text);
	if (r->d->returns)
		ask_entry(&location);
	t.has_type = dwarf_type_of(variable, &t.type);
	if (ret == 0 && (go_steps(&t, a) < 0 || finish(&t, &a->type, &type) < 0))
		ret = -1;
	if (ret == 0)
		probe_values_add(r->values, name, type, &t.code);
	probe_code_deinit(&t.code);
	dwarf_location_deinit(&location);
	return ret;
}

/* $vars, $params: what can be had. */
static bool add_if_any(void *context, Dwarf_Die *variable)
{
	struct reading *r = context;
	struct error *err = r->err, none;
	const char *name = dwarf_diename(variable);

	if (dwarf_hasattr_integrate(variable, DW_AT_artificial)) /* __func__, this */
		return true;
	for (size_t i = 0; i < r->values->count; i++)
		if (!strcmp(r->values->list[i].name, name)) /* an inner one hides it */
			return true;
	r->err = &none;
	if (r->values->count < PROBE_ARGS)
		add_variable(r, variable, &(struct probe_arg){ 0 }, name);
	r->err = err;
	return true;
}

static bool add_parameter(void *context, Dwarf_Die *variable)
{
	return dwarf_tag(variable) != DW_TAG_formal_parameter || add_if_any(context, variable);
}

/* $argN: the parameter of that number. */
static bool find_parameter(const struct reading *r, int64_t number, Dwarf_Die *ret)
{
	Dwarf_Die function = r->place->function, child;

	if (!function.addr || dwarf_child(&function, &child))
		return false;
	do
		if (dwarf_tag(&child) == DW_TAG_formal_parameter && !--number)
			return dwarf_diename(&child) && find_variable(&r->scopes, r->place, dwarf_diename(&child), ret);
	while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

/* Members of $argN and $retval: debug information tells their types. */
static int add_typed(struct reading *r, const struct probe_arg *a, const char *name)
{
	struct typed t = { .what = r->d->text, .err = r->err };
	struct probe_type type;
	Dwarf_Die function = r->place->function, variable;
	int ret;

	if (a->base == PROBE_ARGUMENT && find_parameter(r, a->number, &variable))
		return add_variable(r, &variable, a, name);
	if (a->base == PROBE_ARGUMENT || !function.addr)
		return error_set(r->err, "%s: no debug information tells what %s is", r->d->text, a->word);
	probe_code_add(&t.code, PROBE_OP_REGISTER, PROBE_RAX);
	t.has_type = dwarf_type_of(&function, &t.type);
	ret = go_steps(&t, a) < 0 || finish(&t, &a->type, &type) < 0 ? -1 : 0;
	if (ret == 0)
		probe_values_add(r->values, name, type, &t.code);
	probe_code_deinit(&t.code);
	return ret;
}

/* The kernel's types know no place by its address: registers stand there for what has a name at a function's begin. */
static char *words_of(const struct reading *r, const struct probe_arg *a)
{
	struct buf out = { 0 };

	for (const char *at = a->word; *at;) {
		bool argument = !strncmp(at, "$arg", 4) && isdigit((unsigned char)at[4]);
		struct probe_code code = { 0 };
		char *end = (char *)at + strlen("$retval");

		if (!argument && strncmp(at, "$retval", strlen("$retval"))) {
			buf_put_u8(&out, (uint8_t)*at++);
			continue;
		}
		if (argument)
			probe_code_add_argument(&code, r->d->returns, (unsigned)strtoul(at + 4, &end, 10) - 1);
		else
			probe_code_add(&code, PROBE_OP_REGISTER, PROBE_RAX);
		probe_code_put(&code, &out);
		probe_code_deinit(&code);
		at = end;
	}
	buf_put_u8(&out, 0);
	return (char *)out.data;
}

static bool has_step(const struct probe_arg *a, enum probe_step_kind kind)
{
	for (size_t i = 0; i < a->n_steps; i++)
		if (a->steps[i].kind == kind)
			return true;
	return false;
}

/* What is no variable. The recorder finds what takes the kernel's own types. */
static int add_other(struct reading *r, size_t i)
{
	const struct probe_arg *a = &r->d->args[i];
	cleanup_free char *name = probe_arg_name(a, i);
	bool members = has_step(a, STEP_MEMBER) || has_step(a, STEP_INDEX);
	bool of_function = a->base == PROBE_ARGUMENT || a->base == PROBE_RESULT;
	bool kept = a->base == PROBE_KEEP || a->base == PROBE_KEPT;

	if (probe_arg_asks_argument(a) && (!r->place->begins || dwarf_file_is_narrow(r->file)))
		return error_set(r->err, "%s: $argN is known only where a function of 64 bits begins, or returns",
				 r->d->text);
	if (a->base == PROBE_RESULT && !r->d->returns)
		return error_set(r->err, "%s: $retval is known only where a function returns: FUNCTION%%return",
				 r->d->text);
	if (members && of_function && !has_step(a, STEP_CAST))
		return add_typed(r, a, name);
	if (!members && !kept && !has_step(a, STEP_CAST) && !a->type.is_auto)
		return probe_compile_one(r->values, r->d, i, "", NULL, r->err);
	probe_values_add(r->values, name, (struct probe_type){ 0 }, &(struct probe_code){ 0 });
	r->values->list[r->values->count - 1].words = words_of(r, a);
	return 0;
}

/* What registers were at a function's entry is kept of the kernel's alone. */
static int refuse_entry(const struct reading *r)
{
	return error_set(r->err,
			 "%s: where a program's function returns, $retval is known; what it was given, where it begins",
			 r->d->text);
}

static int add_arg(struct reading *r, size_t i)
{
	const struct probe_arg *a = &r->d->args[i];
	cleanup_free char *name = probe_arg_name(a, i);
	bool is_variable = a->base == PROBE_VARIABLES || a->base == PROBE_PARAMETERS || a->base == PROBE_VARIABLE;
	bool of_entry = is_variable || probe_arg_asks_argument(a);
	Dwarf_Die variable;

	if (r->d->returns && r->file->kind == DWARF_PROGRAM && of_entry)
		return refuse_entry(r);
	if (!is_variable)
		return add_other(r, i);
	if (a->base == PROBE_VARIABLES || a->base == PROBE_PARAMETERS) {
		for (int k = r->scopes.first; k <= r->scopes.last; k++)
			go_through(&r->scopes.list[k], a->base == PROBE_VARIABLES ? add_if_any : add_parameter, r);
		return 0;
	}
	if (find_variable(&r->scopes, r->place, a->text, &variable))
		return add_variable(r, &variable, a, name);
	return error_set(r->err, "%s: there is no variable %s; 'upto probe --vars' with that place shows those there",
			 r->d->text, a->text);
}

int dwarf_values_init(struct probe_values *ret, const struct dwarf_file *f, const struct probe_definition *d,
		      const struct dwarf_place *place, struct error *err)
{
	struct reading r = { .file = f, .d = d, .place = place, .values = ret, .err = err };
	int result = 0;

	*ret = (struct probe_values){ 0 };
	scopes_init(&r.scopes, f, place);
	for (size_t i = 0; i < d->n_args && result == 0; i++)
		result = add_arg(&r, i);
	if (result == 0 && ret->count > PROBE_ARGS)
		result = error_set(err, "%s: these are more values than a probe may have", d->text);
	scopes_deinit(&r.scopes);
	return result;
}

struct listing {
	struct reading r;
	void (*each)(void *context, const char *type, const char *name, const char *why);
	void *context;
};

static bool list_one(void *context, Dwarf_Die *variable)
{
	struct listing *l = context;
	struct dwarf_context c = context_of(&l->r);
	struct dwarf_location location;
	struct buf type = { 0 };
	struct error why;
	bool is = dwarf_location_init(&location, &c, variable, &why) == 0;

	dwarf_location_deinit(&location);
	dwarf_type_put(variable, &type);
	buf_put_u8(&type, 0);
	l->each(l->context, (char *)type.data, dwarf_diename(variable), is ? NULL : why.text);
	buf_free(&type);
	return true;
}

void dwarf_each_variable(const struct dwarf_file *f, const struct dwarf_place *place,
			 void (*each)(void *context, const char *type, const char *name, const char *why),
			 void *context)
{
	struct listing l = { .r = { .file = f, .place = place }, .each = each, .context = context };

	scopes_init(&l.r.scopes, f, place);
	for (int i = l.r.scopes.first; i <= l.r.scopes.last; i++)
		go_through(&l.r.scopes.list[i], list_one, &l);
	scopes_deinit(&l.r.scopes);
}
