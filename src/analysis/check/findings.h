/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is found to be wrong in a trace. */
#ifndef UPTO_ANALYSIS_FINDINGS_H
#define UPTO_ANALYSIS_FINDINGS_H

#include <stddef.h>
#include <stdint.h>

#include "replay/stacks.h"

/* What can be wrong. Each has a name for programs: check_kind_name(). */
enum check_kind {
	CHECK_CONTAINER,    /* the file, its chunks, and what their headers say */
	CHECK_LOST,         /* events are missing: lost, or in a gap */
	CHECK_COUNTER,      /* events disagree with the vCPU's own counter of instructions, or with the clock */
	CHECK_CONSERVATION, /* sums that must be equal are not */
	CHECK_FRAMES,       /* a call does not lie within its caller's call */
	CHECK_UNMATCHED,    /* more returns match no call than in any correct trace */
	CHECK_SWITCH,       /* a task is switched out that does not run there, or switched in that runs elsewhere */
	CHECK_TASK,         /* a task runs that is dead, or that has no record */
	CHECK_HALT,         /* a halted vCPU runs */
	CHECK_EARLY,        /* kernel code before there is a kernel */
	CHECK_FLOW,         /* an event is not in the function that the event before led to */
	CHECK_UNNAMED,      /* more kernel code has no name than in any correct trace */
	CHECK_KINDS,
};

/* The name of a kind: "frames". */
const char *check_kind_name(enum check_kind kind);

struct finding {
	enum check_kind kind;
	int cpu;            /* -1: of no vCPU, then the next three are 0 */
	uint64_t ns;        /* the first time */
	uint64_t event;     /* the first time, too: index among the vCPU's events, from 0 */
	uint64_t count;     /* how often, or how many; at least 1 */
	char text[256];     /* what is wrong, and where */
};

struct check {
	uint64_t events, chunks, insns, ns, halted_ns; /* what was looked at */
	struct unmatched unmatched;      /* returns that matched no call … */
	uint64_t unmatched_kernel;       /* … and how many of `elsewhere` are in kernel code */
	struct finding *findings;        /* in no order; at most CHECK_FINDINGS_MAX are kept */
	size_t n_findings, cap;
};

enum { CHECK_FINDINGS_MAX = 1 << 12 };

void check_deinit(struct check *c);

/* Add a finding without a place. */
void check_found(struct check *c, enum check_kind kind, uint64_t count, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Where something was found. */
struct check_place {
	unsigned cpu;
	uint64_t ns, event;
};

/* Add a finding with a place. */
void check_found_at(struct check *c, enum check_kind kind, uint64_t count, const struct check_place *place,
		    const char *fmt, ...) __attribute__((format(printf, 5, 6)));

#endif
