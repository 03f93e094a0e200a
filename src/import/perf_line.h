/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A line of the text that `perf script` prints of branches, as Intel PT's decoder makes them:
 *
 *     comm  tid [cpu] time:  1 branches:uH:  call   401136 main+0x4 (app) => 401126 f+0x0 (app)
 *
 * Fields that -F takes away or adds need not be there, but for the thread, the time, what kind of branch it is (flags),
 * and both addresses. With --call-ret-trace, which has no addresses, the line ends with the function, indented by its
 * depth.
 *
 * As perf 3.19 to 6.16 print it: their flags are in columns of different width, and have more in them since 6.14.
 */
#ifndef UPTO_IMPORT_PERF_LINE_H
#define UPTO_IMPORT_PERF_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum perf_line_is {
	PERF_LINE_OTHER,  /* of another event, or none at all: nothing is to be known of it */
	PERF_LINE_BRANCH, /* control goes on elsewhere, or its trace begins or ends */
	PERF_LINE_ERROR,  /* the decoder could not go on, or something was lost: what comes next need not follow */
	PERF_LINE_BAD,    /* it cannot be used: `why` */
};

enum perf_branch {
	PERF_NO_BRANCH, /* only the trace begins or ends there */
	PERF_CALL,
	PERF_RETURN,
	PERF_SYSCALL,
	PERF_SYSCALL_RETURN,
	PERF_INTERRUPT, /* from outside, or by an instruction */
	PERF_INTERRUPT_RETURN,
	PERF_JUMP,
	PERF_ASYNC, /* something led there that is not known */
	PERF_GUEST, /* a guest machine runs from then on */
	PERF_GUEST_EXIT,
};

enum { PERF_NO_CPU = -1, PERF_NO_DEPTH = -1 };

struct perf_place {
	uint64_t address;
	const char *name; /* "": not known */
	const char *file; /* "(/usr/bin/app)" without the brackets; "": not told */
	uint64_t offset;  /* in the function, if has_offset */
	bool has_offset;
};

struct perf_line {
	enum perf_line_is is;
	const char *comm; /* "": not told */
	int32_t tid;      /* negative: not known */
	int cpu;
	uint64_t ns;
	bool has_time, begins, ends; /* the trace does */
	enum perf_branch branch;
	struct perf_place from, to;
	int depth;      /* PERF_NO_DEPTH: places have addresses; else one has a name alone: the call's, the return's */
	uint64_t count; /* ERROR: so many records; 0: not known */
	const char *why;
};

/* The line's texts lie in `text`, which is changed. */
void perf_line_parse(char *text, struct perf_line *ret);

#endif
