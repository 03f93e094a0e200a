/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between the two replays of thin.h. The first (thin_choose.c) finds the spans, and decides of each frame whether it
 * remains; frames are numbered in the order in which they are entered, which is the same in both. The second
 * (thin_write.c) writes.
 */
#ifndef UPTO_ANALYSIS_THIN_MAKE_H
#define UPTO_ANALYSIS_THIN_MAKE_H

#include "analysis/sums/left_functions.h"
#include "base/map.h"
#include "replay/stacks.h"
#include "thin_options.h"
#include "trace/builder.h"

struct thin_span {
	uint64_t from, to;       /* numbers of events, in the order of replay: from <= n < to … */
	uint64_t from_ns;        /* … or, with before_ns, from this time on */
	uint64_t start_ns, stop_ns;
	uint64_t trigger_ns;     /* when what starts it happened: before_ns or not, cut or not */
	uint32_t start_function, stop_function; /* whose entries or exits these are; UINT32_MAX: none */
	uint64_t first_frame;    /* number of the first frame that is entered in it */
};

/* What is known of a frame. */
enum thin_mark {
	THIN_KEEP = 1,
	THIN_BELOW = 2,     /* it is, or was called by, one of filter.below */
	THIN_IN_INTERRUPT = 4,
	THIN_HELD = 8,      /* not chosen, but another one remains that needs it */
};

struct thinning {
	const struct session *session;
	const struct thin_options *options;
	bool by_frame;           /* frames are chosen, not only spans */
	/* what threads are in the middle of where a span begins is told: of a flight recorder's, with all its calls */
	bool finds;
	struct thin_span *spans;
	size_t n_spans, cap_spans;
	uint8_t *marks;          /* of each frame; only by_frame */
	size_t cap_marks;
	uint64_t n_frames;
	uint8_t *unchosen;       /* bits, in the order in which frames are left; only with options->held */
	size_t cap_unchosen;
	uint64_t n_left;
	uint64_t n_events;
	struct map pairs;        /* caller << 32 | function → number of the pair in options->left_out, from 1 on */
	/* by function: what the self sums of the remaining events lack of those of the threads that were chosen */
	int64_t *insns, *ns;
	struct thin_counts counts;
};

/* What a vCPU did in a span, by its counter. */
struct thin_range {
	unsigned cpu;
	uint64_t from, to;
};

struct thin_ranges {
	struct thin_range *list;
	size_t count, cap;
};

/*
 * Put META of the trace that is made: thin_meta.c. Of END, too, what the whole trace told goes over, but what is told
 * anew.
 */
void thin_put_meta(struct thinning *t, struct builder *b);
void thin_copy_meta(const struct meta *m, struct buf *lines);

/* Put the facts and texts of what was written of the spans: thin_facts.c. Sorts the ranges. */
int thin_put_facts(const struct thinning *t, struct thin_ranges *ranges, struct builder *b, struct error *err);

/*
 * META of a trace that is made so: what the header of a log of KFI would say of it, behind what that of the other trace
 * said.
 */
void thin_put_kfi(const struct thinning *t, struct buf *lines);

int thin_choose(struct thinning *t, struct error *err);

/* What is within the cut remains of the spans. */
void thin_cut_spans(struct thinning *t, const struct thin_cut *cut);

int thin_write(struct thinning *t, const struct builder_sink *sink, struct error *err);

/*
 * Before how many events that remain a moment is wanted: the last one behind no more than so many, or the first one
 * behind so many at least.
 */
struct thin_search {
	uint64_t events;
	bool first;
	bool beyond;             /* there are more than so many */
	struct thin_moment found;
};

/* How many events remain, up to where the search is over. */
int thin_count(struct thinning *t, struct thin_search *search, uint64_t *ret, struct error *err);

/*
 * Does the event that is replayed enter the frame? Not one that was there before, and is seen only now: below what the
 * event enters.
 */
static inline bool thin_is_entered(const struct stacks *s, const struct frame *frame)
{
	return s->event && (frame->kind != FRAME_BASE || frame->addr == s->event->target);
}

static inline bool thin_remains(const struct thinning *t, uint32_t data)
{
	return !t->by_frame || t->marks[data - 1] & (THIN_KEEP | THIN_HELD);
}

static inline bool thin_has_thread(const struct thinning *t, const struct stack *stack)
{
	const bool *threads = t->options->filter.threads;

	return !threads || (stack->thread != THREAD_NONE && threads[stack->thread]);
}

#endif
