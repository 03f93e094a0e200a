/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words of a command line, as a list for exec(3). */
#ifndef UPTO_CLI_RECORD_SHELL_WORDS_H
#define UPTO_CLI_RECORD_SHELL_WORDS_H

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

struct shell_words {
	char **list;        /* its last word is followed by NULL; NULL: there are none */
	size_t count, cap;
};

void shell_words_add(struct shell_words *w, const char *word);
/* Split a text as a shell would that knows blanks, '…', "…" and \ only. */
int shell_words_split(struct shell_words *w, const char *text, struct error *err);
/* The other way: quote a word so that shell_words_split() gives it back. */
void shell_words_quote(const char *word, struct buf *out);
void shell_words_deinit(struct shell_words *w);

#endif
