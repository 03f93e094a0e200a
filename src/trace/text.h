/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A string in a payload: a length, then as many bytes. */
#ifndef UPTO_TRACE_TEXT_H
#define UPTO_TRACE_TEXT_H

#include "base/alloc.h"
#include "base/cursor.h"

enum { STRING_MAX = 4096 };

/*
 * Read the next string. Returns a copy, which the caller frees. If it is missing or too long: "", and the cursor is
 * bad.
 */
static inline char *take_string(struct cursor *in)
{
	uint64_t n = cursor_varint(in);
	const char *p = n <= STRING_MAX ? cursor_take(in, n) : NULL;

	if (!p && n)
		in->bad = true;
	return p ? xstrndup(p, n) : xstrdup("");
}

#endif
