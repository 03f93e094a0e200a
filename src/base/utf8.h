/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks UTF-8 of any origin: is it well-formed, may it be printed, how wide is it? */
#ifndef UPTO_BASE_UTF8_H
#define UPTO_BASE_UTF8_H

#include <stdbool.h>

#include "buf.h"

/* Decode the character that begins here into *ret. Returns its length in bytes; 0: it is not well-formed. */
unsigned utf8_decode(const char *text, uint32_t *ret);

/* Does the character control a terminal, or the direction of the text behind it? */
bool utf8_is_control(uint32_t character);

/* Width in columns of a text without control characters. */
size_t utf8_width(const char *text);

/* Append the text's beginning. If it is wider than `width`, … replaces its end. */
void utf8_put_start(struct buf *out, const char *text, size_t width);

/* Append the text. If it is wider than `width`, … replaces its middle. */
void utf8_put_cut(struct buf *out, const char *text, size_t width);

#endif
