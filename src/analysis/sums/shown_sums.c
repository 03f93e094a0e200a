/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "shown_sums.h"

#include "base/alloc.h"
#include "left_functions.h"
#include "replay/fold.h"
#include "replay/index.h"
#include "replay/parts.h"
#include "replay/shapes.h"

void shown_sums_init(struct shown_sums *s, const struct session *session)
{
	*s = (struct shown_sums){ .sums = functions_new(names_count(session->names)) };
}

void shown_sums_deinit(struct shown_sums *s)
{
	functions_deinit(&s->sums);
}

void shown_sums_add(struct functions *sum, const struct shown_sums *part)
{
	functions_add(sum, &part->sums);
}

/* Has the event that is being replayed left a frame? Another one may have been where it is, in a batch before. */
static bool is_left_by(const struct shown_sums *sums, const struct stacks *s)
{
	return sums->left_by == s->event && sums->left_ns == s->ns && sums->left_insns == s->insns;
}

/*
 * The function that control came from. A frame that was left by a jump is not there any more; what calls the lowest one
 * is not shown.
 */
static uint32_t caller_of(const struct shown_sums *sums, const struct stacks *s, const struct stack *stack)
{
	const struct frame *lowest = &stack->frames[0];
	uint64_t from = s->event->from;

	if (is_left_by(sums, s))
		return sums->left;
	if (stack->depth > 1 || lowest->kind == FRAME_BASE || !from)
		return stack->frames[stack->depth > 1 ? stack->depth - 2 : 0].function;
	return stacks_function_at(s, stack, lowest->kind == FRAME_CALL ? from - 1 : from);
}

void shown_sums_enter(struct shown_sums *sums, const struct stacks *s, const struct stack *stack,
		      const struct frame *frame)
{
	struct function_stat *stat = &sums->sums.stats[frame->function];
	const struct threads *threads = s->threads;

	/* no event enters what was there before, or a copy of it */
	if (!frame->at_start || !s->event || (frame->kind == FRAME_BASE && s->event->target != frame->addr) ||
	     !threads_is_chosen(threads, stack->thread))
		return;
	stat->calls++;
	if (__builtin_expect(s->ns < stat->first_ns, 0))
		function_take_first(stat, &sums->sums.firsts[frame->function], s->ns, &(struct function_first){
			.insns = s->insns, .caller = caller_of(sums, s, stack), .cpu = (uint16_t)stack->cpu,
			.task = stack->thread == THREAD_NONE ? 0 : threads->list[stack->thread].task,
		});
}

void shown_sums_leave(struct shown_sums *sums, const struct stacks *s, const struct frame *frame)
{
	if (s->end == FRAME_JUMPED) {
		sums->left_by = s->event;
		sums->left_ns = s->ns;
		sums->left_insns = s->insns;
		sums->left = frame->function;
	}
}

void shown_sums_spend(struct shown_sums *sums, const struct stacks *s, const struct stack *stack,
		      const struct spent *spent)
{
	struct function_stat *stat;

	if (!threads_is_chosen(s->threads, stack->thread))
		return;
	sums->sums.halted_ns += spent->halted_ns;
	stat = &sums->sums.stats[stacks_function(s, stack)];
	stat->self_insns += spent->insns;
	stat->self_ns += spent->ns;
}

/* Whom the frame of a phrase seems to be called by: what is folded is not shown. */
static uint32_t caller_in_phrase(const struct stacks *s, const struct stack *stack, const struct stacks_phrase *p,
				 unsigned i)
{
	do
		i = shape_caller(p->shape, i);
	while (i < p->shape->count && p->folded >> i & 1);
	return i < p->shape->count ? p->shape->frames[i].function : stacks_function(s, stack);
}

/* It may have become known where it was folded, or not asked for: then no use of it was told call by call. */
static void take_first_in_phrase(struct shown_sums *sums, const struct stacks *s, const struct stack *stack,
				 const struct stacks_phrase *p, unsigned i, uint64_t ns)
{
	const struct shape_frame *f = &p->shape->frames[i];

	function_take_first(&sums->sums.stats[f->function], &sums->sums.firsts[f->function], ns,
			    &(struct function_first){
				    .insns = p->insns + f->entered, .caller = caller_in_phrase(s, stack, p, i),
				    .cpu = (uint16_t)stack->cpu,
				    .task = stack->thread == THREAD_NONE ? 0 : s->threads->list[stack->thread].task,
			    });
}

/* A frame of a phrase that was called in one which is yet to come. */
struct called {
	uint64_t insns, ns;
	uint16_t entered;
};

void shown_sums_phrase(struct shown_sums *sums, const struct stacks *s, const struct stack *stack,
		       const struct stacks_phrase *p)
{
	struct called called[SHAPE_FRAMES];
	size_t n = 0;

	if (!threads_is_chosen(s->threads, stack->thread))
		return;
	for (unsigned i = 0; i < p->shape->count; i++) {
		const struct shape_frame *f = &p->shape->frames[i];
		struct function_stat *stat = &sums->sums.stats[f->function];
		struct called all = { .insns = (uint64_t)f->left - f->entered, .entered = f->entered };
		uint64_t insns = all.insns, ns, entered_ns;

		if (p->folded >> i & 1)
			continue;
		entered_ns = timebase_ns(p->timebase, p->insns + f->entered);
		ns = all.ns = timebase_ns(p->timebase, p->insns + f->left) - entered_ns;
		for (; n && called[n - 1].entered >= f->entered; n--) {
			insns -= called[n - 1].insns;
			ns -= called[n - 1].ns;
		}
		called[n++] = all;
		stat->self_insns += insns;
		stat->self_ns += ns;
		if (!f->at_start || f->own)
			continue;
		stat->calls++;
		if (__builtin_expect(entered_ns < stat->first_ns, 0))
			take_first_in_phrase(sums, s, stack, p, i, entered_ns);
	}
}

static void enter(void *state, struct stacks *s, struct stack *stack, struct frame *frame)
{
	shown_sums_enter(state, s, stack, frame);
}

static void leave(void *state, struct stacks *s, struct stack *stack, const struct frame *frame)
{
	(void)stack;
	shown_sums_leave(state, s, frame);
}

static void spend(void *state, struct stacks *s, struct stack *stack, const struct spent *spent)
{
	shown_sums_spend(state, s, stack, spent);
}

static void phrase(void *state, struct stacks *s, struct stack *stack, const struct stacks_phrase *p)
{
	shown_sums_phrase(state, s, stack, p);
}

static void *begin(void *context, void *before, size_t part)
{
	struct shown_sums *sums = before;

	(void)part;
	if (sums)
		return sums;
	sums = xmalloc(sizeof *sums);
	shown_sums_init(sums, context);
	return sums;
}

static int of_all(const struct session *session, struct functions *ret, struct error *err)
{
	struct session copy = *session;
	struct parts_member member = {
		.analysis = {
			.visitor = { .enter = enter, .leave = leave, .spend = spend, .phrase = phrase }, .begin = begin,
		},
		.context = &copy,
	};
	int result;

	/* what phrases do first is seen where they are replayed, which may be in a thread that is not asked for */
	if (session->of_chosen)
		member.analysis.visitor.phrase = NULL;
	result = parts_replay(session, false, NULL, &member, 1, err);
	for (size_t i = 0; i < PARTS_MAX && member.states[i]; i++) {
		shown_sums_add(ret, member.states[i]);
		shown_sums_deinit(member.states[i]);
		free(member.states[i]);
	}
	return result;
}

/* In a span: what an event tells of, which came before it, is clipped. */
struct in_span {
	struct shown_sums sums;
	const struct span *span;
	unsigned vcpus;
	bool below; /* what passes where nothing is shown is not asked for (fold.h) */
};

static bool is_within(const struct in_span *in, const struct stacks *s, const struct stack *stack)
{
	return s->ns >= in->span->from_ns && s->ns < in->span->to_ns &&
	       (in->span->cpu < 0 || in->span->cpu == stack->cpu);
}

static void enter_within(void *state, struct stacks *s, struct stack *stack, struct frame *frame)
{
	struct in_span *in = state;

	if (is_within(in, s, stack))
		shown_sums_enter(&in->sums, s, stack, frame);
}

static void spend_within(void *state, struct stacks *s, struct stack *stack, const struct spent *spent)
{
	struct in_span *in = state;
	uint64_t ns = spent->ns + spent->halted_ns, from_ns = s->ns - ns;
	struct spent clipped = {
		.insns = meter_clip(in->span, from_ns, s->ns, spent->insns),
		.ns = meter_clip(in->span, from_ns, s->ns, spent->ns),
		.halted_ns = meter_clip(in->span, from_ns, s->ns, spent->halted_ns),
	};

	if (in->span->cpu < 0 || in->span->cpu == stack->cpu)
		shown_sums_spend(&in->sums, s, stack, &clipped);
}

/* What halted vCPUs have waited up to the span's end: what ends that comes later. */
static void add_halted(struct in_span *in, const struct stacks *s, const struct stacks_run *run)
{
	const struct span *span = in->span;
	uint64_t since_ns;
	size_t stack;

	for (unsigned i = 0; i < in->vcpus; i++) {
		struct spent spent = { 0 };

		if ((span->cpu >= 0 && span->cpu != (int)i) || !stacks_is_halted(run, i, &stack, &since_ns) ||
		    since_ns >= span->to_ns || (in->below && !s->list[stack].depth))
			continue;
		spent.halted_ns = span->to_ns - (since_ns > span->from_ns ? since_ns : span->from_ns);
		shown_sums_spend(&in->sums, s, &s->list[stack], &spent);
	}
}

/* Behind the span, the replay goes on for as long as some vCPU's time in it is not known. */
static void run(void *state, struct stacks *s, const struct stacks_run *run)
{
	struct in_span *in = state;

	if (s->stop || run->events->ns < in->span->to_ns || !stacks_are_past(run, in->span->to_ns))
		return;
	add_halted(in, s, run);
	s->stop = true;
}

static int of_span(const struct session *session, const struct span *span, struct functions *ret, struct error *err)
{
	static const struct stacks_visitor visitor = {
		.enter = enter_within, .leave = leave, .spend = spend_within, .run = run,
	};
	struct in_span in = {
		.span = span, .vcpus = reader_vcpus(session->reader), .below = session->fold->below,
	};
	struct checkpoint from;
	struct stacks stacks;
	bool begun = session->index && index_checkpoint(session->index, index_at(session->index, span->from_ns), &from);
	int result;

	shown_sums_init(&in.sums, session);
	result = stacks_replay(&stacks, session, begun ? &from : NULL, UINT64_MAX, &visitor, &in, err);
	stacks_deinit(&stacks);
	shown_sums_add(ret, &in.sums);
	shown_sums_deinit(&in.sums);
	return result;
}

int shown_functions_analyse(const struct session *session, const struct span *span, struct functions *ret,
			    struct error *err)
{
	bool all = span_is_all(span);
	int result;

	*ret = functions_new(names_count(session->names));
	result = all ? of_all(session, ret, err) : of_span(session, span, ret, err);
	functions_round(ret, 0);
	if (result < 0)
		functions_deinit(ret);
	else if (all)
		result = left_functions_add(session->reader, session->names, ret, err);
	return result;
}
