/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When something is to begin or end: one grammar for --start and --stop while recording and while reading, and for
 * KFI's triggers.
 *
 * entry:FUNCTION   control enters the function; FUNCTION alone is the same. kernel:FUNCTION, MODULE:FUNCTION and
 * PROGRAM:FUNCTION tell whose;
 * else it is the kernel's, or anybody's if the kernel has none of that name. All of that name are meant
 *   exit:FUNCTION    a call of it ends
 * time:TIME        guest time; a time alone is the same: 1.5s, 20ms. time:+TIME: so long after the start, for what
 * stops
 *   exec:NAME        a task begins to run a program of that name, or the program gives itself that name
 *   log:TEXT         a line of the kernel's log that has the text
 *   test:SUITE.CASE  a case of KUnit begins, once for each of its parameters; * and ? stand for others; test:SUITE is
 *                    any of its cases
 *   … #N             the Nth time that it happens
 */
#ifndef UPTO_SELECT_CONDITION_H
#define UPTO_SELECT_CONDITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define CONDITION_KERNEL "kernel" /* as the object: the kernel's own functions */

enum condition_kind {
	CONDITION_NONE,
	CONDITION_ENTRY,
	CONDITION_EXIT,
	CONDITION_TIME,
	CONDITION_EXEC,
	CONDITION_LOG,
	CONDITION_TEST,
};

struct condition {
	enum condition_kind kind;
	char *object;     /* ENTRY, EXIT: whose function it is; NULL: it was not told */
	char *text;       /* the function, the program's name, the line's text, or the test's name */
	uint64_t ns;      /* TIME */
	bool relative;    /* TIME: since the start condition held */
	uint64_t nth;     /* from 1 on */
};

/* Parse what was given for `option`. Call condition_deinit() also after an error. */
int condition_parse(const char *option, const char *text, struct condition *ret, struct error *err);
void condition_deinit(struct condition *c);

/* Of several spans one after the other, the recorder's key for what `key` is of that one: "start", "start.1". */
enum { CONDITION_KEY = 32 };
const char *condition_key(const char *key, size_t span, char buffer[CONDITION_KEY]);

/* Does the guest tell that it holds, instead of control or time? */
bool condition_is_told(const struct condition *c);

/* Is it that the case of that name, "SUITE.CASE", begins? */
bool condition_is_test(const struct condition *c, const char *name);

/*
 * Is it that a program of that name begins to run? It may be told by its task's name, its path, or the last part of
 * that. `renamed`: it runs already, and has just given itself that name; so do those of busybox, and all that run by
 * /proc/self/exe.
 */
bool condition_is_program(const struct condition *c, const char *comm, const char *exe, bool renamed);

#endif
