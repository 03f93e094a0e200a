/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each call of some functions, from entry to exit, with all that was called within. */
#ifndef UPTO_ANALYSIS_CALLS_H
#define UPTO_ANALYSIS_CALLS_H

#include "replay/index.h"

struct call_record {
	uint32_t function;
	uint32_t depth;        /* below the call that was asked for: 0 */
	enum frame_kind kind;
	bool unfinished;       /* the trace ended first */
	uint64_t from;         /* where it returns to; 0: not known */
	uint64_t entry_ns;     /* guest time */
	uint64_t duration_ns;  /* from entry to exit, also while others ran */
	uint64_t ns, insns;    /* that the thread itself ran in it, callees too */
	uint64_t self_ns, self_insns; /* without callees */
};

struct calls_options {
	const bool *functions;    /* marks by number: whose calls */
	uint64_t from_ns, to_ns;  /* calls that begin in here */
	int cpu;                  /* and on this vCPU; negative: on any */
	uint64_t min_duration_ns;
	uint32_t max_depth;       /* 0: all */
	bool has_pid;
	int32_t pid;
	bool no_interrupts;       /* leave out interrupts and what they call */
};

/* A finished call and what it called, in the order of entry. Negative: enough. `records` last until it returns. */
typedef int (*calls_taker)(void *state, const struct thread *thread, const struct call_record *records, size_t count);

/*
 * `thread` is NULL for what ran before the first switch of a vCPU. With an index
 * only what it says is worth it is replayed; it may be NULL.
 */
int calls_analyse(const struct reader *r, const struct names *names, const struct threads *threads, struct index *index,
		  const struct calls_options *options, calls_taker take, void *state, struct error *err);

#endif
