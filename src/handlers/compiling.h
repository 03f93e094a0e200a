/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program's code while it is made: steps, and what they have in common. */
#ifndef UPTO_HANDLERS_COMPILING_H
#define UPTO_HANDLERS_COMPILING_H

#include "script_code.h"

enum { LOOPS_MAX = 16, LEAVES_MAX = 64 };

/* A loop whose ends are not known yet: jumps out of it, and to its next round. */
struct loop {
	size_t leaves[LEAVES_MAX], n_leaves;
	size_t again[LEAVES_MAX], n_again;
};

struct compiling {
	struct script *p;
	struct script_code *c;
	size_t handler;
	unsigned depth; /* values on the stack now */
	struct loop *loops[LOOPS_MAX];
	unsigned n_loops;
	struct error *err;
};

/* Append a step; effect: so many more values are on the stack behind it. Returns its number. */
size_t code_add(struct compiling *c, enum step_op op, unsigned flag, size_t a, uint64_t n, int effect);
/* Keep a copy of the text, or of the type. Returns its number. */
size_t code_add_text(struct compiling *c, const char *text, size_t len);
size_t code_add_type(struct compiling *c, const struct type *type);
/* The jump of that number goes to the step that comes next. */
void code_land(struct compiling *c, size_t jump);

size_t code_map_number(const struct compiling *c, const struct node *map);
const struct map_asked *code_map(const struct compiling *c, const struct node *map);

/* Does a variable get a text, or another value with bytes of its own? What maps keep is copied. */
bool code_keeps_bytes(const struct compiling *c, const struct node *node);
/* Does it make a text, a key or another value with bytes of its own? */
bool code_makes_bytes(const struct node *node);

#endif
