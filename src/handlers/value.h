/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A value while a program runs. Its type is known beforehand: of numbers, names, stacks and symbols `n` is all; of
 * texts and tuples, `p` has n bytes, which live up to the end of the handler, or, in maps, until they are changed. The
 * parts of a tuple stand one behind the other: a number as 8 bytes, what has bytes as how many (4 bytes) and these.
 */
#ifndef UPTO_HANDLERS_VALUE_H
#define UPTO_HANDLERS_VALUE_H

#include "script.h"

struct value {
	uint64_t n;
	const uint8_t *p;
};

/* Has it bytes? */
static inline bool type_has_bytes(const struct type *t)
{
	return t->kind == TYPE_TEXT || t->kind == TYPE_TUPLE;
}

/* Part i of a tuple of that type. One that is cut short has zeros. */
struct value tuple_part(const struct type *type, const struct value *tuple, size_t i);

#endif
