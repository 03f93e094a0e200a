/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "story.h"

#include "base/alloc.h"

/* Records beside the events, in the order of time. */
enum { BESIDE_FACTS, BESIDE_TASKS, BESIDE_CODE, BESIDE };

struct story {
	const struct story_listener *listeners;
	void **states;
	uint64_t *due_ns;     /* of each listener */
	size_t n;
	uint32_t kinds;       /* that anybody hears */
	const struct facts *facts;
	const struct reader *reader;
	uint64_t from_ns, to_ns;
	size_t next[BESIDE];  /* number of the record to be told next */
	uint32_t *free;       /* numbers of calls to be used again */
	size_t n_free, cap_free;
	uint32_t calls;       /* numbers given */
	bool begun, ended;
	bool past; /* what comes behind the part is not needed any more */
	struct story_moment of_frame;
};

static inline void tell(const struct story *st, const struct story_moment *m)
{
	for (size_t i = 0; i < st->n; i++)
		if (st->listeners[i].kinds & 1u << m->kind)
			st->listeners[i].hear(st->states[i], m);
}

static bool is_heard(const struct story *st, enum story_kind kind)
{
	return !st->ended && st->kinds & 1u << kind;
}

static uint32_t new_number(struct story *st)
{
	if (st->n_free)
		return st->free[--st->n_free];
	st->free = array_reach(st->free, st->calls, &st->cap_free, sizeof *st->free); /* for all numbers */
	return ++st->calls;
}

static void free_number(struct story *st, uint32_t number)
{
	st->free[st->n_free++] = number;
}

/*
 * Sets what a moment says of a frame, which is on top of its stack, or below others at the begin and the end. There are
 * many such moments, so one is filled in where it is, and only with what they have.
 */
static inline struct story_moment *frame_moment(struct story *st, struct stacks *s, struct stack *stack, size_t depth,
						enum story_kind kind)
{
	struct story_moment *m = &st->of_frame;

	m->kind = kind;
	m->cpu = (unsigned)stack->cpu;
	m->ns = s->ns;
	m->insns = s->insns;
	m->stacks = s;
	m->stack = stack;
	m->frame = &stack->frames[depth];
	m->depth = depth;
	m->call = m->frame->data;
	m->caller = depth ? stack->frames[depth - 1].data : STORY_NO_CALL;
	m->thread = story_thread(stack);
	m->args = NULL;
	return m;
}

static void end_part(struct story *st, struct stacks *s);

/* What leaves stacks all at once, as another boot does, comes before any event of its time. */
static inline void end_in_time(struct story *st, struct stacks *s)
{
	if (__builtin_expect(!st->ended && s->ns >= st->to_ns, 0))
		end_part(st, s);
}

static void enter(void *state, struct stacks *s, struct stack *stack, struct frame *frame)
{
	struct story *st = state;
	struct story_moment *m;

	end_in_time(st, s);
	frame->data = new_number(st);
	if (!is_heard(st, STORY_ENTER))
		return;
	m = frame_moment(st, s, stack, stack->depth - 1, STORY_ENTER);
	if (frame->kind == FRAME_SYSCALL && s->event && s->event->kind == EVENT_SYSCALL)
		m->args = s->event->args;
	tell(st, m);
}

/* A system call's result; NULL: it has none. */
static const uint64_t *result_of(const struct event *e)
{
	if (e->kind == EVENT_SYSCALL_RETURN)
		return e->args;
	return e->kind == EVENT_INTERRUPT_RETURN && !(e->args[0] & IRET_ELSEWHERE) ? e->args + 1 : NULL;
}

static void leave(void *state, struct stacks *s, struct stack *stack, const struct frame *frame)
{
	struct story *st = state;
	struct story_moment *m;

	end_in_time(st, s);
	if (is_heard(st, STORY_LEAVE)) {
		m = frame_moment(st, s, stack, stack->depth - 1, STORY_LEAVE);
		m->end = s->end;
		if (frame->kind == FRAME_SYSCALL && s->event)
			m->args = result_of(s->event);
		tell(st, m);
	}
	free_number(st, frame->data);
}

static void forget(void *state, struct stacks *s, struct stack *stack, size_t n)
{
	struct story *st = state;

	for (size_t i = 0; i < st->n; i++)
		if (st->listeners[i].forget && !st->ended)
			st->listeners[i].forget(st->states[i], s, stack, n);
	for (size_t i = 0; i < n; i++)
		free_number(st, stack->frames[i].data);
}

static void halt(void *state, struct stacks *s, struct stack *stack, bool goes_on)
{
	struct story *st = state;

	if (st->ended)
		return;
	tell(st, &(struct story_moment){
		.kind = goes_on ? STORY_RESUME : STORY_HALT, .cpu = (unsigned)stack->cpu, .ns = s->ns,
		.insns = s->insns, .stacks = s,
		.stack = stack, .thread = story_thread(stack),
	});
}

static void switched(void *state, struct stacks *s, const struct stack *from, const struct stack *to, unsigned cpu)
{
	struct story *st = state;

	if (st->ended)
		return;
	tell(st, &(struct story_moment){
		.kind = STORY_SWITCH, .cpu = cpu, .ns = s->ns, .insns = s->insns, .stacks = s, .stack = from,
		.thread = story_thread(from), .next = to,
	});
}

static void spend(void *state, struct stacks *s, struct stack *stack, const struct spent *spent)
{
	const struct story *st = state;

	for (size_t i = 0; i < st->n; i++)
		if (st->listeners[i].spend)
			st->listeners[i].spend(st->states[i], s, stack, spent);
}

/* The time of the record that is to be told next; UINT64_MAX: there is none. */
static uint64_t time_beside(const struct story *st, unsigned i)
{
	const struct reader *r = st->reader;
	size_t next = st->next[i];

	switch (i) {
	case BESIDE_FACTS:
		return st->facts && is_heard(st, STORY_FACT) && next < st->facts->count ? st->facts->list[next].ns
											: UINT64_MAX;
	case BESIDE_TASKS:
		return is_heard(st, STORY_TASK) && next < r->tasks.count ? r->tasks.records[next].ns : UINT64_MAX;
	default:
		return is_heard(st, STORY_CODE) && next < r->code.count ? r->code.records[next].ns : UINT64_MAX;
	}
}

static void tell_beside(struct story *st, struct stacks *s, unsigned i)
{
	size_t next = st->next[i]++;
	struct story_moment m = { .stacks = s };

	if (i == BESIDE_FACTS) {
		m.kind = STORY_FACT;
		m.fact = &st->facts->list[next];
		m.cpu = m.fact->cpu, m.ns = m.fact->ns, m.insns = m.fact->insns;
		if (m.fact->kind == FACT_EVENT && m.ns >= st->from_ns) {
			m.stack = stacks_running(s, m.fact->task, m.cpu, m.ns);
			m.thread = m.stack ? story_thread(m.stack) : 0;
		}
	} else if (i == BESIDE_TASKS) {
		m.kind = STORY_TASK;
		m.task = &st->reader->tasks.records[next];
		m.cpu = m.task->cpu, m.ns = m.task->ns, m.insns = m.task->insns;
	} else {
		m.kind = STORY_CODE;
		m.code = &st->reader->code.records[next];
		m.cpu = m.code->cpu, m.ns = m.code->ns, m.insns = m.code->insns;
	}
	if (m.ns >= st->from_ns)
		tell(st, &m);
}

static unsigned first_beside(const struct story *st)
{
	unsigned first = 0;

	for (unsigned i = 1; i < BESIDE; i++)
		if (time_beside(st, i) < time_beside(st, first))
			first = i;
	return first;
}

/* Tell the records from before that time. Returns the time of the next one. */
static uint64_t tell_all_beside(struct story *st, struct stacks *s, uint64_t ns)
{
	unsigned i = first_beside(st);

	for (; time_beside(st, i) < ns && !s->stop; i = first_beside(st))
		tell_beside(st, s, i);
	return time_beside(st, i);
}

static void tell_frames(struct story *st, struct stacks *s, enum story_kind kind)
{
	for (size_t i = 0; i < s->count; i++) {
		struct stack *stack = &s->list[i];

		for (size_t k = 0; k < stack->depth && !s->stop; k++)
			tell(st, frame_moment(st, s, stack, kind == STORY_END ? stack->depth - 1 - k : k, kind));
	}
}

static void begin(struct story *st, struct stacks *s)
{
	for (size_t i = 0; i < s->count; i++) {
		/* its data is its number + 1, since what a stack has may move to another one, with its data */
		s->list[i].data = (void *)(i + 1);
		for (size_t k = 0; k < s->list[i].depth; k++)
			s->list[i].frames[k].data = new_number(st);
	}
	if (is_heard(st, STORY_OPEN))
		tell_frames(st, s, STORY_OPEN);
	st->begun = true;
}

static void end_part(struct story *st, struct stacks *s)
{
	tell_all_beside(st, s, st->to_ns);
	if (is_heard(st, STORY_END))
		tell_frames(st, s, STORY_END);
	st->ended = true;
}

/* Behind the part, a replay goes on for as long as some vCPU's time in it is not known. */
static void run(void *state, struct stacks *s, const struct stacks_run *run)
{
	struct story *st = state;

	if (s->stop || run->events->ns < st->to_ns || !stacks_are_past(run, st->to_ns))
		return;
	if (!st->ended)
		end_part(st, s);
	st->past = !s->stop;
	s->stop = true;
}

static void due(void *state, struct stacks *s)
{
	struct story *st = state;
	uint64_t beside_ns, next = st->to_ns;

	if (!st->begun)
		begin(st, s);
	end_in_time(st, s);
	if (st->ended) {
		s->due_ns = UINT64_MAX;
		return;
	}
	beside_ns = tell_all_beside(st, s, s->ns);
	for (size_t i = 0; i < st->n; i++) {
		if (st->listeners[i].due && s->ns >= st->due_ns[i])
			st->due_ns[i] = st->listeners[i].due(st->states[i], s);
		if (st->listeners[i].due && st->due_ns[i] < next)
			next = st->due_ns[i];
	}
	/* what is beside the events comes behind those of its own time */
	s->due_ns = beside_ns < next ? beside_ns + 1 : next;
}

int story_tell(const struct session *session, const struct story_part *part, const struct facts *facts,
	       const struct story_listener *listeners, void **states, size_t n, struct error *err)
{
	struct stacks_visitor visitor = {
		.enter = enter, .leave = leave, .forget = forget, .halt = halt, .switched = switched, .due = due
	};
	struct story st = {
		.listeners = listeners, .states = states, .n = n, .facts = facts, .reader = session->reader,
		.from_ns = part->from ? part->from->ns : 0, .to_ns = part->to_ns,
		.due_ns = xcalloc(n, sizeof *st.due_ns),
	};
	struct stacks stacks;
	int result;

	st.next[BESIDE_FACTS] = facts ? facts_at(facts, st.from_ns) : 0;
	for (size_t i = 0; i < n; i++) {
		st.kinds |= listeners[i].kinds;
		visitor.spend = listeners[i].spend ? spend : visitor.spend;
	}
	if (visitor.spend && part->to_ns != UINT64_MAX)
		visitor.run = run;
	result = stacks_replay(&stacks, session, part->from, visitor.run ? UINT64_MAX : part->to_ns, &visitor, &st,
			       err);
	if (result == 0 && stacks.stop && !st.past)
		result = 1;
	else if (result == 0 && !st.ended)
		end_part(&st, &stacks);
	stacks_deinit(&stacks);
	free(st.free);
	free(st.due_ns);
	return result;
}
