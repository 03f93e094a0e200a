/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "totals.h"

#include "base/alloc.h"
#include "function_sums.h"
#include "shown_sums.h"
#include "replay/shapes.h"
#include "ticks.h"

/*
 * Is a function on a stack already? A counter for all with the same low bits of
 * their numbers mostly says no at once; else the stack is looked through.
 */
enum { COUNTERS = 2048 };

/* A stack's data. */
struct presence {
	bool ignored;             /* it is of a thread that the trace is not of */
	/* the thread's own clocks when this was set up; time before that is counted already */
	uint64_t insns, ns;
	uint32_t counters[COUNTERS];
};

struct totals_run {
	const struct span *span;
	struct function_sums *sums;
	struct shown_sums *shown;    /* instead of these, where the session has a fold; NULL */
	struct function_lane *lanes; /* by vCPU */
	bool *begun;
	struct function_total *totals;
	struct function_total *ignored; /* of threads that the trace is not of; NULL: there are none */
	bool counts_insns;           /* the trace has instructions */
};

struct setting {
	const struct session *session;
	const struct names *names;
	unsigned vcpus, ticks_shift;
	bool some_threads; /* the trace is not of all */
};

static struct presence *presence_of(const struct stacks *s, struct stack *stack)
{
	struct presence *p = stack->data;

	if (!p) {
		stack->data = p = xcalloc(1, sizeof *p);
		p->ignored = !threads_is_chosen(s->threads, stack->thread);
	}
	return p;
}

static inline struct function_total *totals_for(const struct totals_run *st, const struct presence *p)
{
	return __builtin_expect(p->ignored, 0) ? st->ignored : st->totals;
}

static bool on_stack(const struct stack *stack, size_t depth, uint32_t function)
{
	while (depth-- > 0)
		if (stack->frames[depth].function == function)
			return true;
	return false;
}

static void count_frame(struct presence *p, const struct stack *stack, struct frame *frame, size_t depth)
{
	frame->outermost = !p->counters[frame->function % COUNTERS]++ || !on_stack(stack, depth, frame->function);
}

static void enter(void *state, struct stacks *s, struct stack *stack, struct frame *frame)
{
	const struct totals_run *st = state;
	struct presence *p = presence_of(s, stack);

	/* a thread of what is no Linux begins where one that is over was: its clocks begin anew */
	if (__builtin_expect(stack->insns < p->insns || stack->ns < p->ns, 0)) {
		p->insns = stack->insns;
		p->ns = stack->ns;
	}
	count_frame(p, stack, frame, stack->depth - 1);
	if (st->shown)
		shown_sums_enter(st->shown, s, stack, frame);
}

/*
 * What passed in a frame; it was the outermost one of its function, or not, and began at its start, or not: masks,
 * since nothing could foretell branches.
 */
static inline void add_frame(struct function_total *t, uint64_t insns, uint64_t ns, bool outermost)
{
	uint64_t mask = -(uint64_t)outermost;

	t->insns += insns & mask;
	t->ns += ns & mask;
}

static inline void add_call(struct function_total *t, uint64_t ns, bool counts)
{
	ns &= -(uint64_t)counts;
	t->finished += counts;
	t->finished_ns += ns;
	t->longest_ns = ns > t->longest_ns ? ns : t->longest_ns;
}

static inline void add_time(struct function_total *t, const struct presence *p, const struct stack *stack,
			    const struct frame *frame)
{
	add_frame(t, stack->insns - (frame->insns > p->insns ? frame->insns : p->insns),
		  stack->ns - (frame->ns > p->ns ? frame->ns : p->ns), frame->outermost);
}

/* Its end is known, and that it came to it: else how long it took says nothing. */
static inline bool has_ended(const struct stacks *s)
{
	return s->end == FRAME_RETURNED || s->end == FRAME_JUMPED;
}

/*
 * A new task's stack begins with copies of its parent's frames. No event enters those: no instruction had run on it
 * yet. What was imported has no instructions, and no such copies.
 */
static inline bool was_there(const struct totals_run *st, const struct frame *frame)
{
	return st->counts_insns && !frame->insns && !frame->ns;
}

static void leave(void *state, struct stacks *s, struct stack *stack, const struct frame *frame)
{
	struct totals_run *st = state;
	struct presence *p = stack->data;
	struct function_total *t = &totals_for(st, p)[frame->function];

	if (st->shown)
		shown_sums_leave(st->shown, s, frame);
	p->counters[frame->function % COUNTERS]--;
	add_time(t, p, stack, frame);
	add_call(t, stack->ns - frame->ns, frame->at_start && has_ended(s) && !was_there(st, frame));
}

/*
 * Add what leaving this frame would have added. The call's own frame is on top of the stack, and is not counted any
 * more.
 */
static inline void add_shape(struct totals_run *st, const struct stack *stack, const struct stacks_phrase *p,
			     const struct shape_frame *f)
{
	const struct presence *presence = stack->data;
	struct function_total *t = &totals_for(st, presence)[f->function];
	uint64_t ns = timebase_ns(p->timebase, p->insns + f->left) - timebase_ns(p->timebase, p->insns + f->entered);
	bool outermost = f->outermost;

	if (__builtin_expect(presence->counters[f->function % COUNTERS] & -(uint32_t)outermost, 0))
		outermost = !on_stack(stack, stack->depth - 1, f->function);
	add_frame(t, (uint64_t)f->left - f->entered, ns, outermost);
	add_call(t, ns, f->own ? stack->frames[stack->depth - 1].at_start : f->at_start);
}

static void phrase(void *state, struct stacks *s, struct stack *stack, const struct stacks_phrase *p)
{
	const struct shape_frame *end = p->shape->frames + p->shape->count;
	struct presence *presence = stack->data;
	struct totals_run *st = state;

	presence->counters[p->shape->callee % COUNTERS]--;
	for (const struct shape_frame *f = p->shape->frames; f < end; f++)
		if (__builtin_expect(!(p->folded >> (f - p->shape->frames) & 1), 1))
			add_shape(st, stack, p, f);
	if (st->shown)
		shown_sums_phrase(st->shown, s, stack, p);
}

/* Only where the session has a fold. */
static void spend(void *state, struct stacks *s, struct stack *stack, const struct spent *spent)
{
	struct totals_run *st = state;

	shown_sums_spend(st->shown, s, stack, spent);
}

/* Add what the frames of a stack have run so far. */
static void settle(struct totals_run *st, const struct stack *stack)
{
	const struct presence *p = stack->data;

	for (size_t i = 0; p && i < stack->depth; i++)
		add_time(&totals_for(st, p)[stack->frames[i].function], p, stack, &stack->frames[i]);
}

/* Begin to count from now on, and only the stack's frames from number `first` on. */
static void set_up(const struct stacks *s, struct stack *stack, size_t first)
{
	struct presence *p = presence_of(s, stack);
	struct stack rest = *stack;

	*p = (struct presence){ .insns = stack->insns, .ns = stack->ns, .ignored = p->ignored };
	rest.frames += first;
	for (size_t i = first; i < stack->depth; i++)
		count_frame(p, &rest, &stack->frames[i], i - first);
}

static void forget(void *state, struct stacks *s, struct stack *stack, size_t n)
{
	settle(state, stack);
	set_up(s, stack, n);
}

/* What was a vCPU's is a thread's from here on, and that may be another that is asked for. */
static void move(void *state, struct stacks *s, const struct stack *from, const struct stack *to)
{
	struct stack *both[] = { &s->list[from - s->list], &s->list[to - s->list] };

	settle(state, to);
	for (size_t i = 0; i < 2; i++) {
		struct presence *p = both[i]->data;

		if (!p)
			continue;
		p->ignored = !threads_is_chosen(s->threads, both[i]->thread);
		set_up(s, both[i], 0);
	}
}

/* Before the first event: set up a checkpoint's frames, which were entered in an earlier part. */
static void due(void *state, struct stacks *s)
{
	(void)state;
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].depth)
			set_up(s, &s->list[i], 0);
	s->due_ns = UINT64_MAX;
}

/* What interrupts under way have cut into. */
static void know_interrupts(struct function_lane *lane, const struct stacks *s)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct stack *stack = &s->list[i];

		for (size_t k = 1; k < stack->depth; k++)
			if (stack->frames[k].kind == FRAME_INTERRUPT && stack->frames[k].from >> 63)
				function_lane_cut_in(lane, &(struct cut_in){
					.task = stack->thread == THREAD_NONE ? 0 : s->threads->list[stack->thread].task,
					.from = stack->frames[k].from, .function = stack->frames[k - 1].function });
	}
}

/* Whose the time of a vCPU is that is in a thunk. */
static void know_caller(struct function_lane *lane, const struct stacks *s, int cpu)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].cpu == cpu && s->list[i].depth)
			lane->function = s->list[i].frames[s->list[i].depth - 1].function;
}

static void run(void *state, struct stacks *s, const struct stacks_run *run)
{
	struct totals_run *st = state;
	struct function_lane *lane = &st->lanes[run->cpu];

	if (!st->begun[run->cpu] || run->events->kind == EVENT_GAP) {
		function_lane_begin(lane, st->sums, run->cache, run->cpu, run->task, run->place, run->meter,
				    run->timebase);
		know_interrupts(lane, s);
		if (names_is_thunk(s->names, lane->function))
			know_caller(lane, s, (int)run->cpu);
	}
	st->begun[run->cpu] = true;
	if (run->batch)
		function_sums_count_batch(st->sums, lane, run->batch);
	else
		function_sums_count(st->sums, lane, run->timebase, run->events, run->n);
}

/* All parts of a host thread share one state: it is large, and only added to. */
static void *begin(void *setting, void *before, size_t part)
{
	const struct setting *c = setting;
	struct totals_run *st = before;

	(void)part;
	if (st) {
		memset(st->begun, 0, c->vcpus * sizeof *st->begun);
		return st;
	}
	st = xcalloc(1, sizeof *st);
	st->sums = function_sums_new(c->session, c->ticks_shift);
	st->counts_insns = !reader_lacks(c->session->reader, "instructions");
	if (c->session->fold) {
		st->shown = xmalloc(sizeof *st->shown);
		shown_sums_init(st->shown, c->session);
	}
	st->lanes = xcalloc(c->vcpus, sizeof *st->lanes);
	st->begun = xcalloc(c->vcpus, sizeof *st->begun);
	st->totals = xcalloc_aligned(sizeof *st->totals, names_count(c->names), sizeof *st->totals);
	if (c->some_threads)
		st->ignored = xcalloc_aligned(sizeof *st->ignored, names_count(c->names), sizeof *st->ignored);
	return st;
}

static void end(void *state, struct stacks *s)
{
	struct totals_run *st = state;

	function_sums_settle(st->sums);
	for (size_t i = 0; i < s->count; i++) {
		settle(state, &s->list[i]);
		free(s->list[i].data);
		s->list[i].data = NULL;
	}
}

static void add(struct function_total *sum, const struct function_total *part, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		sum[i].insns += part[i].insns;
		sum[i].ns += part[i].ns;
		sum[i].finished += part[i].finished;
		sum[i].finished_ns += part[i].finished_ns;
		if (part[i].longest_ns > sum[i].longest_ns)
			sum[i].longest_ns = part[i].longest_ns;
	}
}

static void state_free(struct totals_run *st)
{
	free(st->totals);
	free(st->ignored);
	free(st->lanes);
	free(st->begun);
	if (st->shown)
		shown_sums_deinit(st->shown);
	free(st->shown);
	function_sums_free(st->sums);
	free(st);
}

void totals_member(const struct session *session, struct parts_member *ret)
{
	struct setting *setting = xmalloc(sizeof *setting);

	*setting = (struct setting){
		.session = session, .names = session->names, .vcpus = reader_vcpus(session->reader),
		.ticks_shift = ticks_shift(session->reader),
		.some_threads = session->threads->chosen,
	};
	*ret = (struct parts_member){
		.analysis = {
			.visitor = {
				.enter = enter, .leave = leave, .forget = forget, .move = move, .due = due,
				.phrase = phrase,
				.run = session->fold ? NULL : run, .spend = session->fold ? spend : NULL,
			},
			.begin = begin, .end = end,
		},
		.context = setting,
	};
	/* sums know one decoder's phrases at a time, and each vCPU has one */
	if (setting->vcpus > 1)
		ret->analysis.visitor.phrase = NULL;
}

void totals_collect(struct parts_member *member, bool failed, struct functions *ret, struct function_total **ret_totals)
{
	struct setting *setting = member->context;
	size_t count = names_count(setting->names);

	*ret = functions_new(count);
	*ret_totals = xcalloc_aligned(sizeof **ret_totals, count, sizeof **ret_totals);
	for (size_t i = 0; i < PARTS_MAX && member->states[i]; i++) {
		struct totals_run *st = member->states[i];

		if (st->shown)
			shown_sums_add(ret, st->shown);
		else
			function_sums_add(st->sums, ret);
		add(*ret_totals, st->totals, count);
		state_free(st);
	}
	functions_round(ret, setting->session->fold ? 0 : setting->ticks_shift);
	if (failed) {
		functions_deinit(ret);
		free(*ret_totals);
		*ret_totals = NULL;
	}
	free(setting);
}

int totals_analyse(const struct session *session, bool make_index, struct functions *ret,
		   struct function_total **ret_totals, struct error *err)
{
	struct parts_member member;
	int result;

	totals_member(session, &member);
	result = parts_replay(session, make_index, NULL, &member, 1, err);
	totals_collect(&member, result < 0, ret, ret_totals);
	return result;
}
