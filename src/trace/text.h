/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A string in a payload: a length, then as many bytes. */
#ifndef UPTO_TRACE_TEXT_H
#define UPTO_TRACE_TEXT_H

#include "base/alloc.h"
#include "base/cursor.h"

enum { STRING_MAX = 4096 };

/* A copy of the next one, to be freed; empty, and the cursor bad, when there is none or it is too long. */
static inline char *take_string(struct cursor *in)
{
	uint64_t n = cursor_varint(in);
	const char *p = n <= STRING_MAX ? cursor_take(in, n) : NULL;

	if (!p && n)
		in->bad = true;
	return p ? xstrndup(p, n) : xstrdup("");
}

#endif
