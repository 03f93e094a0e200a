/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is between blanks in a line of a log or a configuration, and the numbers there. The text need not end with NUL.
 */
#ifndef UPTO_KFI_WORDS_H
#define UPTO_KFI_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct word {
	const char *p;
	size_t len;
};

static inline bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* For messages: printf("%.*s", WORD_SHOWN(w)), not more than is worth reading. */
enum { WORD_SHOWN_MAX = 60 };
#define WORD_SHOWN(w) (int)((w).len < WORD_SHOWN_MAX ? (w).len : WORD_SHOWN_MAX), (w).p

/* Split a line; what comes behind `max` words is left out. Returns their number. */
size_t words_split(const char *line, size_t len, struct word *words, size_t max);

bool word_is(struct word w, const char *text);

/* Only digits, and not above `max`. */
bool word_number(struct word w, uint64_t max, uint64_t *ret);

/* 0x and up to 16 hexadecimal digits. */
bool word_hex(struct word w, uint64_t *ret);

/* An address as in logs: with 0x, or exactly 8 or 16 hexadecimal digits. */
bool word_address(struct word w, uint64_t *ret);

#endif
