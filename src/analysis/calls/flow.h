/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists calls and returns of all threads in the order in which they happened, without waiting for a call's return. */
#ifndef UPTO_ANALYSIS_FLOW_H
#define UPTO_ANALYSIS_FLOW_H

#include "replay/call_values.h"
#include "replay/index.h"

enum flow_kind {
	FLOW_CALL,   /* a call that was entered and left, with nothing shown in between */
	FLOW_ENTER,
	FLOW_LEAVE,
	FLOW_LOG,    /* a line of the kernel's log was stored */
	FLOW_EVENT,  /* a trace event, or a probe */
};

struct flow_step {
	enum flow_kind kind;
	enum frame_kind frame;
	uint32_t function;
	uint64_t addr;           /* the address that it was entered at */
	uint64_t from;           /* where it returns to; 0: not known */
	uint32_t depth;          /* 0: the outermost frame in which the thread was seen since from_ns */
	int cpu;
	uint64_t entry_ns;       /* guest time */
	/* from entry to exit, including the time in which other threads ran; not set for ENTER */
	uint64_t duration_ns;
	uint64_t ns, insns;      /* what the thread itself ran in it, callees included; not set for ENTER */
	enum frame_end end;      /* how it ended; not set for ENTER */
	const struct thread *thread; /* NULL: before the vCPU's first task switch */
	/* what it was given, and gave back (replay/call_values.h); NULL: not recorded, or nobody asks */
	const struct fact *args, *result;
	bool cuts_in;            /* it is an interrupt, or called by one */
	/*
	 * LOG, EVENT: it. Of the others, they have only cpu, entry_ns, thread, cuts_in, and depth: LOG that of the step
	 * before, EVENT the number of frames that are seen
	 */
	const struct fact *fact;
};

struct flow_options {
	uint64_t from_ns, to_ns;
	uint64_t min_duration_ns; /* not 0: only calls that took at least so long, shown when they return */
	uint32_t max_depth;       /* 0: all */
	const bool *threads;      /* marks by number: only these; NULL: all */
	bool no_interrupts;       /* leave out interrupts and what they call */
	bool one_thread;          /* only the thread that is shown first */
	/* the first step is a call of `caller`; an interrupt that this call is part of does not cut in */
	bool from_call;
	const struct thread *caller;
	int cpu;                  /* negative: all */
	const struct call_values *values; /* NULL: nobody asks what was given */
	const struct facts *facts; /* NULL: none are shown */
	bool log, events;          /* the facts that are shown, too: lines of the log, trace events */
};

/* Called with each step. A negative result ends the analysis. */
typedef int (*flow_taker)(void *state, const struct flow_step *step);

int flow_analyse(const struct session *session, const struct flow_options *options, flow_taker take, void *state,
		 struct error *err);

#endif
