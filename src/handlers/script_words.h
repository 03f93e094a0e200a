/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of a program in handlers. */
#ifndef UPTO_HANDLERS_SCRIPT_WORDS_H
#define UPTO_HANDLERS_SCRIPT_WORDS_H

#include "script.h"

struct word {
	enum { WORD_END, WORD_NAME, WORD_NUMBER, WORD_TEXT, WORD_VARIABLE, WORD_MAP, WORD_PARAMETER, WORD_SIGN } kind;
	const char *at; /* with its first sign; TEXT: with its quotes */
	size_t len;
	int sign;        /* SIGN: a character, or OP_… */
	uint64_t number; /* NUMBER, PARAMETER */
};

/* What is behind blanks and comments. */
const char *words_skip(const char *at);

/* The word there. An error: it is none. */
int word_at(const struct script *p, const char *at, struct word *ret, struct error *err);

/* What a text in quotes says, without them; it may have NULs. The caller frees it. */
char *word_text(const struct word *w, size_t *ret_len);

static inline bool word_is(const struct word *w, int sign)
{
	return w->kind == WORD_SIGN && w->sign == sign;
}

bool word_is_name(const struct word *w, const char *name);

#endif
