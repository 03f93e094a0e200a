/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An interpreter from within: for x86_interpreter.c, which has code, x86_interpreter_memory.c, and x86_execute.c, which
 * has what instructions do.
 */
#ifndef UPTO_ARCH_X86_INTERPRETER_STATE_H
#define UPTO_ARCH_X86_INTERPRETER_STATE_H

#include "x86_interpreter.h"
#include "x86_operation.h"

#ifdef UPTO_SMALL_TABLES
enum { STEPS_MAX = 400, PIECES = 64, CACHED = 256 };
#else
enum { STEPS_MAX = 20000, PIECES = 1024, CACHED = 8192 };
#endif

/* PIECES: of memory that was touched; CACHED: decoded instructions; powers of two, as are LINES. */
enum {
	PIECES_MAX = PIECES / 4 * 3,
	PIECE = 64, /* bytes */
	LINES = 16, /* of code that was read */
	LINE = 256,
};

/* Some bytes of memory, aligned. */
struct piece {
	uint64_t addr;
	uint32_t run; /* in which it is known */
	uint8_t bytes[PIECE];
};

struct line {
	uint64_t addr;
	uint32_t run;
	uint8_t bytes[LINE];
};

struct x86_interpreter {
	const struct x86_interpreter_calls *calls;
	void *context;
	struct x86_state state;
	uint32_t run;
	unsigned pieces_used, steps;
	bool guessed;
	uint64_t top;     /* the stack pointer where it began */
	uint64_t back;    /* where it ends with that stack pointer; 0: nowhere */
	enum x86_end end; /* X86_GOES_ON: none yet */
	struct piece pieces[PIECES];
	struct piece *last; /* that was touched */
	struct line lines[LINES];
	struct x86_operation operations[CACHED];
};

/* The first end counts. */
void x86_interpreter_end(struct x86_interpreter *x, enum x86_end end);

/* Do what the instruction does; rip is behind it. */
void x86_execute(struct x86_interpreter *x, const struct x86_operation *in);

#endif
