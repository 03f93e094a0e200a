/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What runs beside a guest that is being recorded, in a process of its own: a program in handlers. */
#ifndef UPTO_CLI_RECORD_BESIDE_H
#define UPTO_CLI_RECORD_BESIDE_H

#include <stdbool.h>
#include <sys/types.h>

struct beside {
	/*
	 * In the process: returns its exit status, or -1 if it could not do what it is for, which it has said.
	 * `guest_has_ended`: nothing more will come into the trace.
	 */
	int (*run)(void *context, const char *trace, bool (*guest_has_ended)(void));
	void *context;
	pid_t pid; /* 0: it does not run, or no more */
	bool started, ended;
	int status;  /* once it has ended: its exit status … */
	bool failed; /* … and it could not do what it is for */
	bool *done;  /* shared with the process: it could */
};

/* Once; with a message if it cannot be. */
void beside_start(struct beside *b, const char *trace);

/* Has it ended, well or not? That is told once. */
bool beside_has_ended(struct beside *b);

/* The guest has ended: tell it, and wait until it has said all. */
void beside_finish(struct beside *b);

#endif
