/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Floating numbers with as many digits as tell them from their neighbours, and no more. */
#ifndef UPTO_BASE_FLOAT_TEXT_H
#define UPTO_BASE_FLOAT_TEXT_H

#include <stdio.h>
#include <stdlib.h>

#include "buf.h"

/* `single`: it came from one of 32 bits. */
static inline void float_put(struct buf *out, double n, bool single)
{
	enum { ROOM = 32 };
	char text[ROOM];
	int most = single ? 9 : 17;

	for (int digits = single ? 6 : 15; digits <= most; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, n);
		if (digits == most || (single ? (double)strtof(text, NULL) : strtod(text, NULL)) == n)
			break;
	}
	buf_printf(out, "%s", text);
}

#endif
