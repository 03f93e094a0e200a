/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists each call of some functions, from entry to exit, with all calls made within it. */
#ifndef UPTO_ANALYSIS_CALLS_H
#define UPTO_ANALYSIS_CALLS_H

#include "analysis/sums/left_out.h"
#include "replay/call_values.h"
#include "replay/index.h"

struct call_record {
	uint32_t function;
	uint32_t depth;        /* the call that was asked for has 0 */
	enum frame_kind kind;
	bool unfinished;       /* the trace ended first */
	enum frame_end end;    /* how it ended; not set if it did not */
	uint64_t from;         /* where it returns to; 0: not known */
	uint64_t entry_ns;     /* guest time */
	uint64_t duration_ns;  /* from entry to exit, including the time in which other threads ran */
	uint64_t ns, insns;    /* what the thread itself ran in it, callees included */
	uint64_t self_ns, self_insns; /* without callees */
	int cpu;               /* the vCPU that it was entered on */
	/* what it was given, and gave back (replay/call_values.h); NULL: not recorded, or nobody asks */
	const struct fact *args, *result;
	/* its calls that have no record, since they are too short or too deep: for call_records_left_out() */
	uint64_t left_out;
	uint32_t n_left_out;   /* so many functions */
	/*
	 * Not NULL: it is no call, but a trace event or a probe that its thread passed, a fact EVENT. It has only depth
	 * (of what is called where it was passed), entry_ns and cpu.
	 */
	const struct fact *event;
};

struct calls_options {
	const bool *functions;    /* a mark for each function by number: list its calls */
	uint64_t from_ns, to_ns;  /* calls that begin in this span */
	int cpu;                  /* calls that begin on this vCPU; negative: on any */
	uint64_t min_duration_ns;
	uint64_t min_callee_ns;   /* only callees that took at least so long have a record */
	uint32_t max_depth;       /* levels that have records; 0: all. With 1, nothing is told of what is left out */
	const bool *threads;      /* marks by number: only these; NULL: all */
	bool no_interrupts;       /* leave out interrupts and what they call */
	const struct call_values *values; /* NULL: nobody asks what was given */
	const struct facts *events; /* those of trace events have records, too; NULL: they have none */
};

/* The records of a finished call and of the calls within it, in the order of entry. Not all need be in memory. */
struct call_records;
uint64_t call_records_count(const struct call_records *r);
/* Number `i`, valid until the next call. NULL: it could not be read again, which calls_analyse() then says. */
const struct call_record *call_records_get(struct call_records *r, uint64_t i);
/* Replace what is in *ret: the longest come first. */
void call_records_left_out(struct call_records *r, const struct call_record *record, struct left_out *ret);

/*
 * Called with a finished call. `records` are valid until it returns. A negative result ends the analysis. The self
 * times of all records and the times of what they left out add up to the time of the first record, but for interrupts,
 * where these are not to be shown.
 */
typedef int (*calls_taker)(void *state, const struct thread *thread, struct call_records *records);

/*
 * Call `take` for each call found. `thread` is NULL for what ran before a vCPU's
 * first task switch. `index` may be NULL; with an index only those parts of the trace
 * are replayed that may have such calls.
 */
int calls_analyse(const struct session *session, const struct calls_options *options, calls_taker take, void *state,
		  struct error *err);

#endif
