/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What threads are in the middle of where a gap ends, if the trace tells: a flight recorder's does
 * (trace/stack_records.h).
 */
#include "stacks_frames.h"

#include "base/search.h"

static const enum frame_kind frame_kinds[STACK_CALL_KINDS] = {
	[STACK_BASE] = FRAME_BASE,           [STACK_CALL] = FRAME_CALL,       [STACK_TAIL] = FRAME_TAIL,
	[STACK_INTERRUPT] = FRAME_INTERRUPT, [STACK_SYSCALL] = FRAME_SYSCALL, [STACK_SIGNAL] = FRAME_SIGNAL,
};

/*
 * Thunks are folded as in calls that are replayed (stacks_calls.c): what was called by a thunk is told as if that had
 * jumped to it. *thunk is the call before, if it is one of a thunk; NULL: it is none.
 */
static void push_found(struct replay *r, struct stack *stack, const struct stack_call *c,
		       const struct stack_call **thunk)
{
	struct place place = place_of(r, c->target);
	enum frame_kind kind = frame_kinds[c->kind];
	const struct stack_call *by = kind == FRAME_TAIL ? *thunk : NULL;

	*thunk = kind == FRAME_CALL && place.at & IN_THUNK ? c : NULL;
	if (place.at & IN_THUNK)
		return;
	if (by)
		kind = FRAME_CALL;
	if (kind == FRAME_TAIL && (!stack->depth || !frame_is_called(top(stack)) || place.at & IN_GROUP ||
				   place.function == top(stack)->function))
		return;
	if (!stack->depth && kind != FRAME_BASE)
		push_place(r, stack, FRAME_BASE, 0, 0, SYSCALL_PLAIN, c->from, (struct place){
			.function = place_of(r, c->from).function,
		});
	push_place(r, stack, kind, c->slot, c->from, (uint32_t)c->number, c->target,
		   (struct place){ .function = place.function });
	top(stack)->found_at_start = is_start(place);
}

static uint64_t born(const struct threads *threads, long thread)
{
	const struct thread *t = threads_at(threads, thread);

	return t && !t->seen ? t->start_ns : 0;
}

/* The time of the trace's last event. */
static uint64_t trace_end(const struct reader *reader)
{
	uint64_t last_ns = 0;

	for (size_t i = 0; i < reader->n_chunks; i++)
		if (reader->chunks[i].header.type == CHUNK_EVENTS && reader->chunks[i].header.last_ns > last_ns)
			last_ns = reader->chunks[i].header.last_ns;
	return last_ns;
}

/* When the thread was there: as it left its vCPU; of one that runs, as it made its last call. */
static uint64_t last_time(const struct stack_record *record, uint64_t end_ns, uint64_t now)
{
	uint64_t ns = record->n_calls ? record->calls[record->n_calls - 1].ns : now;

	if (record->since_ns <= end_ns)
		return record->since_ns;
	return ns <= end_ns ? ns : now;
}

/*
 * Where a thread is told to have begun, is the function that its first call is from; of a flight recorder's, which
 * knows no functions, it may be another place.
 */
static bool leads_on(struct replay *r, const struct stack_record *record, size_t i)
{
	const struct stack_call *base = &record->calls[i], *call = base + 1;

	return base->kind != STACK_BASE || i + 1 == record->n_calls || call->kind != STACK_CALL ||
	       place_of(r, base->target).function == place_of(r, call->from).function;
}

/*
 * The thread's frames, as if they had been there before the gap. They are not entered here: at no function's start, and
 * by no event.
 */
static void find(struct replay *r, const struct stack_record *record, unsigned cpu, uint64_t end_ns)
{
	struct stacks *s = r->stacks;
	uint64_t then = last_time(record, end_ns, s->ns), later = then > s->ns ? then : s->ns;
	struct stack *stack = replay_stack_of(s, record->task, cpu, then);
	uint64_t now = s->ns, task = r->task, birth = born(s->threads, stack->thread);
	struct space_view view = { 0 }, *before = r->view;
	const struct stack_call *thunk = NULL;

	/* a later task may have the task_struct by now */
	if (stack->thread == THREAD_NONE || stack != replay_stack_of(s, record->task, cpu, later))
		return;
	r->task = record->task;
	r->view = &view;
	replay_take_from_others(r, stack, cpu); /* a damaged trace may tell twice of it */
	stack->cpu = (int)cpu;
	while (stack->depth)
		pop_without_return(r, stack, FRAME_LOST);
	for (size_t i = 0; i < record->n_calls; i++) {
		s->ns = record->calls[i].ns;
		/*
		 * another task had the task_struct, or the record is damaged. The gap of a vCPU that was halted may end
		 * earlier than others'
		 */
		if (s->ns >= birth && s->ns <= end_ns && (!stack->depth || s->ns >= top(stack)->entry_ns) &&
		    leads_on(r, record, i))
			push_found(r, stack, &record->calls[i], &thunk);
	}
	s->ns = now;
	stack->place = record->place;
	stack->cpu = -1;
	if (record->since_ns == UINT64_MAX && record->on < r->n_lanes && record->on != cpu) {
		/* what that vCPU does now comes behind its own gap */
		r->lanes[record->on].stack->cpu = -1;
		r->lanes[record->on].stack = stack;
		stack->cpu = (int)record->on;
	}
	r->task = task;
	r->view = before;
	if (record->since_ns <= end_ns && !replay_finish_dead(r, stack) && stack->depth && r->visitor->found)
		r->visitor->found(r->state, s, stack, record->since_ns);
}

/* The first record of that gap, or of a later one; they are in the order of gaps. */
static size_t first_of(const struct stack_records *records, uint64_t gap)
{
	return first_not(i, 0, records->count, records->records[i].gap < gap);
}

void replay_find_stacks(struct replay *r, uint64_t gap, unsigned cpu)
{
	const struct stack_records *records = &r->reader->stacks;
	uint64_t end_ns;

	if (!r->finds || !records->count)
		return;
	end_ns = trace_end(r->reader);
	for (size_t i = first_of(records, gap); i < records->count && records->records[i].gap == gap; i++)
		find(r, &records->records[i], cpu, end_ns);
}

static enum stack_call_kind call_kind(enum frame_kind kind)
{
	enum stack_call_kind k = STACK_BASE;

	while (frame_kinds[k] != kind)
		k++;
	return k;
}

void stacks_put(const struct stacks *s, size_t number, uint64_t gap, uint64_t since_ns, struct buf *out)
{
	const struct stack *stack = &s->list[number];

	stack_record_put(out, &(struct stack_record){
		.gap = gap, .task = s->threads->list[stack->thread].task,
		.since_ns = stack->cpu < 0 ? since_ns : UINT64_MAX,
		.on = stack->cpu < 0 ? 0 : (unsigned)stack->cpu,
		.place = stack->place, .n_calls = stack->depth,
	});
	for (size_t i = 0; i < stack->depth; i++) {
		const struct frame *f = &stack->frames[i];

		stack_call_put(out, &(struct stack_call){
			.kind = call_kind(f->kind), .slot = f->slot, .from = f->from, .target = f->addr,
			.ns = f->entry_ns, .number = f->role,
		});
	}
}
