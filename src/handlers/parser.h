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
	bool too_high; /* a tree has got higher than what goes through it can go, or there are too many */
	const struct loop_variable {
		const struct loop_variable *outer;
		const char *name;
		unsigned number; /* of all loops */
	} * loop;            /* the variables of loops that this is in; NULL: none */
	unsigned n_loops;    /* so far */
	const struct macro_use *use; /* the macro whose body this is; NULL: none */
	unsigned uses;               /* of macros so far */
	size_t bodies;               /* bytes of their bodies, as often as these were read */
};

/* Go to the next word. */
int parser_next(struct parser *s);
/* Go past that sign, or say that it was expected. */
int parser_expect(struct parser *s, int sign, const char *text);
/* True: it was there, and is passed. Fails where the word behind it is none. */
int parser_accept(struct parser *s, int sign, bool *ret);
/* An error at the word that comes next. */
int parser_unexpected(struct parser *s, const char *expected);

/* "unsigned long *", "struct sock *" */
int parse_type(struct parser *s, struct type *ret);
/* The variable or map that comes next, not passed yet. */
struct node *parser_place(struct parser *s);
/* A map with its key, if it has one; that may have several parts. */
struct node *parse_map(struct parser *s);

/* It has all its parts: what is too high is an error at the next word. */
void parser_set_height(struct parser *s, struct node *node);

/* NULL: *s->err is set. */
struct node *parse_expression(struct parser *s);
struct node *parse_block(struct parser *s);
/* { statements; value }: without a value at its end, a block. */
struct node *parse_value_block(struct parser *s);

/* parse_macros.c: a macro from its name on, and what has that name; NULL: none. */
int parse_macro(struct parser *s);
const struct macro *macro_find(const struct script *p, const char *name);
/* Its body in the place of a call. */
struct node *macro_use(struct parser *s, const struct node *call, const struct macro *m);
/* In a macro's body: what the parameter of that name was given; NULL: there is none of that name. */
struct node *macro_parameter(struct parser *s, const struct word *w);
bool is_loop_variable(const struct parser *s, const struct word *w);
/* The variable's name here: one of a loop, or of a macro's body, is that one's own. The caller frees it. */
char *variable_name(const struct parser *s, const struct word *w);

/* The places of a handler, up to its predicate or body: "kprobe:vfs_read, kprobe:vfs_write". */
int parse_places(struct parser *s, struct handler *h);

#endif
