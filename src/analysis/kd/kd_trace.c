/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kd_trace.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "kd_nest.h"

struct waiting {
	struct kd_row row;
	bool whole;            /* its local time is known */
};

struct bracket {
	struct kd_row row;
	uint64_t before;       /* comes before the call of this number */
};

struct kd_trace {
	struct kd_trace_options options;
	struct kd_nest *nest;
	struct waiting *calls; /* a queue; the first `told` are done */
	size_t told, n_calls, calls_cap;
	uint64_t dropped;      /* number of the queue's first call */
	struct bracket *brackets; /* the same */
	size_t brackets_told, n_brackets, brackets_cap;
};

/* Where no call is waited for, the queue's memory is used again. */
static void drop_told(struct kd_trace *t)
{
	if (t->told >= 4096 && t->told >= t->n_calls / 2) {
		t->n_calls -= t->told;
		memmove(t->calls, t->calls + t->told, t->n_calls * sizeof *t->calls);
		t->dropped += t->told;
		t->told = 0;
	}
	if (t->brackets_told == t->n_brackets)
		t->brackets_told = t->n_brackets = 0;
}

static bool is_bracket_next(const struct kd_trace *t)
{
	return t->brackets_told < t->n_brackets && t->brackets[t->brackets_told].before == t->dropped + t->told;
}

static void tell(struct kd_trace *t)
{
	for (;;) {
		if (is_bracket_next(t))
			t->options.row(t->options.data, &t->brackets[t->brackets_told++].row);
		else if (t->told < t->n_calls && t->calls[t->told].whole)
			t->options.row(t->options.data, &t->calls[t->told++].row);
		else
			break;
	}
	drop_told(t);
}

static void put_bracket(struct kd_trace *t, enum kd_row_kind kind, uint64_t tree)
{
	t->brackets = array_grow(t->brackets, t->n_brackets, &t->brackets_cap, sizeof *t->brackets);
	t->brackets[t->n_brackets++] = (struct bracket){
		.row = { .kind = kind, .tree = tree, .cuts_in = true }, .before = t->dropped + t->n_calls,
	};
}

static void enter(void *data, const struct kd_frame *f, const struct kd_frame *parent)
{
	struct kd_trace *t = data;

	(void)parent;
	if (!f->depth && f->cuts_in)
		put_bracket(t, KD_TREE_STARTS, f->tree);
	assert(f->number == t->dropped + t->n_calls);
	t->calls = array_grow(t->calls, t->n_calls, &t->calls_cap, sizeof *t->calls);
	t->calls[t->n_calls++] = (struct waiting){
		.row = { .kind = KD_CALL, .tree = f->tree, .call = f->call, .depth = f->depth, .cuts_in = f->cuts_in },
		.whole = t->options.no_local || f->call.no_exit,
	};
	tell(t);
}

static void leave(void *data, const struct kd_frame *f)
{
	struct kd_trace *t = data;

	if (!f->depth && f->cuts_in)
		put_bracket(t, KD_TREE_ENDS, f->tree);
	if (!f->call.no_exit && !t->options.no_local) {
		struct waiting *w = &t->calls[f->number - t->dropped];

		w->row.local_ns = t->options.as_kd ? f->call.duration_ns - (int64_t)f->called_ns : (int64_t)f->local_ns;
		w->whole = true;
	}
	tell(t);
}

struct kd_trace *kd_trace_new(const struct kfi_log *log, const struct kd_trace_options *options)
{
	struct kd_trace *t = xcalloc(1, sizeof *t);

	t->options = *options;
	t->nest = kd_nest_new(log, (struct kd_nest_user){ enter, leave, t });
	return t;
}

void kd_trace_free(struct kd_trace *t)
{
	if (!t)
		return;
	kd_nest_free(t->nest);
	free(t->calls);
	free(t->brackets);
	free(t);
}

void kd_trace_add(struct kd_trace *t, const struct kfi_call *call)
{
	kd_nest_add(t->nest, call);
}

void kd_trace_finish(struct kd_trace *t)
{
	kd_nest_finish(t->nest);
}
