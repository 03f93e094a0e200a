/* SPDX-License-Identifier: GPL-2.0-or-later */
/* printf()'s format, read once. */
#ifndef UPTO_HANDLERS_TEXT_FORMAT_H
#define UPTO_HANDLERS_TEXT_FORMAT_H

#include "base/buf.h"
#include "script.h"

struct format_part {
	char *text; /* what is printed in front of the value, with all %% made plain */
	size_t len;
	char spec[16]; /* "%-16s", "%5llu": for one value of the C library's printf; "": none is behind the text */
	bool is_text;  /* it takes a text: whatever the value is, as people read it */
	bool is_char, is_pointer;
	unsigned bytes; /* of a number, by hh or h: so many of its bytes are printed; 0: all */
	bool is_signed; /* … with their sign */
	struct type type; /* of the value */
};

struct text_format {
	struct format_part *parts;
	size_t count; /* of which the last one may have no value */
	size_t values;
};

/* `node`: the text in the program. Call format_deinit() also after an error. */
int format_parse(const struct script *p, const struct node *node, struct node *const *values, size_t n,
		 struct text_format *ret, struct error *err);
void format_deinit(struct text_format *f);

#endif
