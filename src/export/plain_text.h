/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's names in formats of plain text, where control characters, and some others, mean something. */
#ifndef UPTO_EXPORT_PLAIN_TEXT_H
#define UPTO_EXPORT_PLAIN_TEXT_H

#include "base/buf.h"

/* Append the text, with ? for each control character. */
static inline void plain_text_put(struct buf *out, const char *text)
{
	for (; *text; text++)
		buf_put_u8(out, (unsigned char)*text < ' ' || *text == 127 ? '?' : (uint8_t)*text);
}

/* Append it as one word: with _ for each control character, blank and quotation mark. */
static inline void plain_word_put(struct buf *out, const char *text)
{
	for (; *text; text++)
		buf_put_u8(out, (unsigned char)*text <= ' ' || *text == 127 || *text == '"' ? '_' : (uint8_t)*text);
}

#endif
