/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A log as a trace of calls: its rows in the order of time, each with its depth in the tree of calls that it is in, and
 * where trees that cut into another one begin and end. kd_nest.h says which calls are a tree.
 */
#ifndef UPTO_ANALYSIS_KD_TRACE_H
#define UPTO_ANALYSIS_KD_TRACE_H

#include "kfi/log.h"

enum kd_row_kind { KD_CALL, KD_TREE_STARTS, KD_TREE_ENDS };

struct kd_row {
	enum kd_row_kind kind; /* a tree that does not cut in has only calls */
	uint64_t tree;         /* trees are counted from 0 on */
	/* of a call: */
	struct kfi_call call;
	int64_t local_ns;      /* 0 if its exit was not seen. As kd has it, it can be negative. */
	uint32_t depth;        /* in its tree; the tree's first call has 0 */
	bool cuts_in;          /* its tree began while another one had not ended */
};

struct kd_trace_options {
	/* local time is the duration without those of the calls within that it is the caller of */
	bool as_kd;
	bool no_local;         /* local times are not needed: each row is told at once, not when its call has ended */
	void (*row)(void *data, const struct kd_row *row);
	void *data;
};

struct kd_trace;

/* As kd_nest_new(), kd_nest_add() and kd_nest_finish() have it. */
struct kd_trace *kd_trace_new(const struct kfi_log *log, const struct kd_trace_options *options);
void kd_trace_free(struct kd_trace *t);
void kd_trace_add(struct kd_trace *t, const struct kfi_call *call);
void kd_trace_finish(struct kd_trace *t);

#endif
