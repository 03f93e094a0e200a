/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which types are one, and what a place that holds values is when it gets another. */
#include <string.h>

#include "typing.h"

const char *typing_kind_name(const struct type *type)
{
	static const char *const names[] = {
		[TYPE_NONE] = "nothing",      [TYPE_NUMBER] = "a number",
		[TYPE_TEXT] = "a text",       [TYPE_NAME] = "a text",
		[TYPE_KSTACK] = "a stack",    [TYPE_USTACK] = "a stack",
		[TYPE_TUPLE] = "a tuple",     [TYPE_RECORD] = "all arguments",
		[TYPE_POINTER] = "a pointer", [TYPE_AGGREGATE] = "count(), hist() or the like",
	};

	return type->names ? "a record" : names[type->kind];
}

static bool has_same_names(const struct type *a, const struct type *b)
{
	if (!a->names != !b->names)
		return false;
	for (size_t i = 0; a->names && i < a->n_fields; i++)
		if (strcmp(a->names[i], b->names[i]))
			return false;
	return true;
}

bool typing_is_same(const struct type *a, const struct type *b)
{
	if (a->unsure || b->unsure)
		return true;
	if (type_is_number(a) && type_is_number(b))
		return true;
	if (type_has_text(a) && type_has_text(b))
		return a->kind == b->kind;
	if (a->kind != b->kind || a->n_fields != b->n_fields || a->aggregate != b->aggregate ||
	    !has_same_names(a, b))
		return false;
	for (size_t i = 0; i < a->n_fields; i++)
		if (!typing_is_same(&a->fields[i], &b->fields[i]))
			return false;
	return a->min == b->min && a->max == b->max && a->step == b->step && a->bits == b->bits && a->of == b->of;
}

bool typing_is_known(const struct type *type)
{
	for (size_t i = 0; i < type->n_fields; i++)
		if (!typing_is_known(&type->fields[i]))
			return false;
	return type->kind != TYPE_NONE;
}

void typing_as_text(struct type *type)
{
	if (type->kind == TYPE_NAME)
		type->kind = TYPE_TEXT;
}

int typing_unify(struct typing *t, struct type *place, const struct type *value, const struct node *at,
		 const char *what)
{
	if (!typing_is_known(value))
		return 0;
	if (place->kind == TYPE_NONE ||
	    (place->kind == TYPE_NUMBER && value->kind == TYPE_POINTER) || /* @p[tid] = 0 */
	    (place->unsure && !value->unsure) ||
	    (place->kind == TYPE_POINTER && value->kind == TYPE_POINTER && !place->structure && value->structure)) {
		*place = *value;
		t->changed = true;
		return 0;
	}
	/* of several sizes it has none; a literal has any */
	if (place->size && value->size && place->size != value->size) {
		place->size = 0;
		t->changed = true;
	}
	if (type_has_text(place) && type_has_text(value) && place->kind != value->kind) {
		t->changed |= place->kind == TYPE_NAME;
		typing_as_text(place);
		return 0;
	}
	if (t->guesses || value->unsure)
		return 0;
	if (place->kind == TYPE_POINTER && value->kind == TYPE_NUMBER) /* @p[tid] = 0 */
		return 0;
	if (typing_is_same(place, value))
		return 0;
	if (value->kind == TYPE_TUPLE && place->kind == TYPE_TUPLE && !value->names == !place->names)
		return script_error(t->p, at->at, at->len, t->err, "%s is %s of other parts than before", what,
				    typing_kind_name(value));
	if (value->kind == TYPE_AGGREGATE && place->kind == TYPE_AGGREGATE)
		return script_error(t->p, at->at, at->len, t->err, "%s is kept in another way than before", what);
	return script_error(t->p, at->at, at->len, t->err, "%s is %s, and was %s before", what, typing_kind_name(value),
			    typing_kind_name(place));
}

/* How many parts it has, in all of its tuples, up to a bound; those of `own` are endless. */
static size_t count_parts(const struct type *type, const struct type *own, size_t bound)
{
	size_t n = 1;

	if (type->n_fields && type->fields == own)
		return bound;
	for (size_t i = 0; i < type->n_fields && n < bound; i++)
		n += count_parts(&type->fields[i], own, bound - n);
	return n;
}

int typing_set_part(const struct typing *t, const struct node *at, const struct type *tuple, size_t part,
		    const struct type *type)
{
	enum { PARTS_MAX = 1000 };

	if (count_parts(type, tuple->fields, PARTS_MAX) >= PARTS_MAX)
		return script_error(t->p, at->at, at->len, t->err,
				    "the tuple would have itself in it, or more than 1000 parts");
	tuple->fields[part] = *type;
	return 0;
}

int typing_expected(const struct typing *t, const struct node *node, const char *kind)
{
	return script_error(t->p, node->at, node->len, t->err, "expected %s; this is %s", kind,
			    typing_kind_name(&node->type));
}
