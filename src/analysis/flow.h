/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls and returns of all threads as they happened, one after the other: nothing is waited for. */
#ifndef UPTO_ANALYSIS_FLOW_H
#define UPTO_ANALYSIS_FLOW_H

#include "replay/index.h"

enum flow_kind {
	FLOW_CALL,   /* entered and left, and nothing was shown between */
	FLOW_ENTER,
	FLOW_LEAVE,
};

struct flow_step {
	enum flow_kind kind;
	enum frame_kind frame;
	uint32_t function;
	uint64_t addr;           /* that it was entered at */
	uint64_t from;           /* where it returns to; 0: not known */
	uint32_t depth;          /* below the outermost that the thread was seen in, from from_ns on */
	int cpu;
	uint64_t entry_ns;       /* guest time */
	uint64_t duration_ns;    /* from entry to exit, also while others ran; not of ENTER */
	uint64_t ns, insns;      /* that the thread itself ran in it, callees too; not of ENTER */
	const struct thread *thread; /* NULL: before the vCPU's first switch */
	bool cuts_in;            /* an interrupt, or called by one */
};

struct flow_options {
	uint64_t from_ns, to_ns;
	uint64_t min_duration_ns; /* not 0: only calls that took so long, when they have returned */
	uint32_t max_depth;       /* 0: all */
	bool has_pid;
	int32_t pid;              /* a thread */
	bool no_interrupts;       /* leave out interrupts and what they call */
	bool one_thread;          /* only that which is the first to be shown */
	bool from_call;           /* what is shown begins with a call of this thread: an interrupt that it is part of does not cut in */
	const struct thread *caller;
	int cpu;                  /* negative: all */
};

/* Negative: enough. */
typedef int (*flow_taker)(void *state, const struct flow_step *step);

int flow_analyse(const struct reader *r, const struct names *names, const struct threads *threads, struct index *index,
		 const struct flow_options *options, flow_taker take, void *state, struct error *err);

#endif
