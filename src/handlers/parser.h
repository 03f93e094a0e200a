/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the parser have in common: where it is in the program, and the word there. */
#ifndef UPTO_HANDLERS_PARSER_H
#define UPTO_HANDLERS_PARSER_H

#include "script_words.h"

struct parser {
	struct script *script;
	struct error *err;
	struct word word;   /* that comes next */
	const char *behind; /* of the one before: where that ended */
	bool in_predicate;  /* a / in front of a { ends it */
	unsigned depth, loops;
	bool too_high; /* a tree has got higher than what goes through it can go */
};

/* Go to the next word. */
int parser_next(struct parser *s);
/* Go past that sign, or say that it was expected. */
int parser_expect(struct parser *s, int sign, const char *text);
/* True: it was there, and is passed. Fails where the word behind it is none. */
int parser_accept(struct parser *s, int sign, bool *ret);
/* An error at the word that comes next. */
int parser_unexpected(struct parser *s, const char *expected);

/* NULL: *s->err is set. */
struct node *parse_expression(struct parser *s);
struct node *parse_block(struct parser *s);

/* The places of a handler, up to its predicate or body: "kprobe:vfs_read, kprobe:vfs_write". */
int parse_places(struct parser *s, struct handler *h);

#endif
