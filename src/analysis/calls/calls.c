/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "calls.h"

#include "base/alloc.h"
#include "base/spill.h"
#include "replay/story.h"

enum { IN_MEMORY = 1 << 16 }; /* records of a call; the rest is in a file */

/* A call in progress that has a record. */
struct called {
	struct call_record record;
	uint64_t number;          /* of the record */
	struct callees sum;       /* of the callees, so far */
	struct left_out left_out; /* those of the callees that have no record */
	bool has_events;          /* trace events within it have records */
};

struct call_records {
	struct spill records;
	struct spill left_out; /* struct left_out_sum, of the records in the order in which they were finished */
};

/* The calls in progress of a thread, which are not reported yet. */
struct pending {
	struct call_records list;
	struct called *called; /* those in progress, the call that was asked for first */
	size_t open, n_called, cap; /* how many are in progress, and how many were initialised */
	size_t bottom;         /* frames below the call that was asked for; set if any is in progress */
	uint32_t hidden;       /* frames of interrupts that are left out */
};

struct calls_run {
	const struct calls_options *options;
	calls_taker take;
	void *taker_state;
	size_t open;             /* calls that were asked for and have not returned */
	size_t entry;            /* number of the index's entry that replay is in */
	bool resumes;            /* it begins within the calls that are open … */
	int *cpus;               /* … that were entered on these, by stack … */
	const struct fact **args; /* … and were given these */
	bool enough;
	bool damaged;            /* the index lacks something that it must have */
	bool failed;             /* a temporary file could not be written or read: *err says it */
	struct error *err;
	struct pending **pending; /* of each thread, by the story's number */
	size_t cap_pending;
	bool *has_record;        /* by the story's number of a call */
	size_t cap_calls;
	const struct session *session;
};

/* Do calls that are asked for begin between this entry of the index and the next? */
static bool is_worth(const struct calls_run *st, size_t entry)
{
	const struct index *x = st->session->index;

	if (x->entries[entry].ns >= st->options->to_ns ||
	    (entry + 1 < x->count && x->entries[entry + 1].ns < st->options->from_ns))
		return false;
	return index_has(x, entry, st->options->functions);
}

static struct pending *pending_of(struct calls_run *st, uint32_t thread)
{
	struct pending *p;

	st->pending = array_reach(st->pending, thread, &st->cap_pending, sizeof *st->pending);
	if (!st->pending[thread]) {
		p = st->pending[thread] = xcalloc(1, sizeof *p);
		spill_init(&p->list.records, sizeof(struct call_record), IN_MEMORY);
		spill_init(&p->list.left_out, sizeof(struct left_out_sum), IN_MEMORY);
	}
	return st->pending[thread];
}

static void pending_free(struct pending *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n_called; i++)
		left_out_deinit(&p->called[i].left_out);
	spill_deinit(&p->list.records);
	spill_deinit(&p->list.left_out);
	free(p->called);
	free(p);
}

uint64_t call_records_count(const struct call_records *r)
{
	return r->records.count;
}

const struct call_record *call_records_get(struct call_records *r, uint64_t i)
{
	return spill_get(&r->records, i);
}

void call_records_left_out(struct call_records *r, const struct call_record *record, struct left_out *ret)
{
	uint64_t from = record->left_out, n = record->n_left_out;

	left_out_clear(ret);
	for (uint64_t i = 0; i < n; i++) {
		const struct left_out_sum *sum = spill_get(&r->left_out, from + i);

		if (!sum)
			break;
		ret->list = array_grow(ret->list, ret->count, &ret->cap, sizeof *ret->list);
		ret->list[ret->count++] = *sum;
	}
}

static const struct thread *thread_of(const struct stacks *s, const struct stack *stack)
{
	return stack->thread == THREAD_NONE ? NULL : &s->threads->list[stack->thread];
}

static bool is_asked(const struct calls_run *st, const struct stack *stack, const struct frame *f)
{
	const struct calls_options *o = st->options;

	return !st->enough && o->functions[f->function] && f->at_start && f->entry_ns >= o->from_ns &&
	       f->entry_ns < o->to_ns && (o->cpu < 0 || stack->cpu == o->cpu) &&
	       (!o->threads || (stack->thread != THREAD_NONE && o->threads[stack->thread]));
}

/* Interrupts that the user left out do not count as callees of the function that they interrupt. */
static bool is_interrupt_hidden(const struct calls_run *st, const struct frame *frame)
{
	return st->options->no_interrupts && frame->kind == FRAME_INTERRUPT;
}

static bool has_record(const struct calls_run *st, uint32_t call)
{
	return call < st->cap_calls && st->has_record[call];
}

static void set_record(struct calls_run *st, uint32_t call, bool has)
{
	st->has_record = array_reach(st->has_record, call, &st->cap_calls, sizeof *st->has_record);
	st->has_record[call] = has;
}

/* Calls that have records lie in each other, so the depth tells which of those in progress a frame's is. */
static struct called *called_at(struct pending *p, size_t depth)
{
	return &p->called[depth - p->bottom];
}

static void add_record(struct calls_run *st, struct pending *p, const struct stack *stack, const struct frame *frame,
		       size_t depth, const struct callees *callees)
{
	struct called *c;

	if (p->open == p->n_called) {
		p->called = array_grow(p->called, p->n_called, &p->cap, sizeof *p->called);
		p->called[p->n_called++] = (struct called){ 0 };
	}
	c = &p->called[p->open++];
	c->record = (struct call_record){
		.function = frame->function, .depth = (uint32_t)(depth - p->bottom), .kind = frame->kind,
		.from = frame->from, .entry_ns = frame->entry_ns, .cpu = stack->cpu,
	};
	c->number = p->list.records.count;
	c->sum = *callees;
	c->has_events = false;
	left_out_clear(&c->left_out);
	spill_add(&p->list.records, &c->record);
	set_record(st, story_call(frame), true);
}

static uint64_t task_of(const struct story_moment *m)
{
	return m->stack->thread == THREAD_NONE ? 0 : m->stacks->threads->list[m->stack->thread].task;
}

static void enter(struct calls_run *st, const struct story_moment *m)
{
	struct pending *p = pending_of(st, m->thread);

	set_record(st, m->call, false);
	if (p->hidden || (st->options->no_interrupts && p->open && m->frame->kind == FRAME_INTERRUPT)) {
		p->hidden++;
		return;
	}
	if (!p->open) {
		if (!is_asked(st, m->stack, m->frame))
			return;
		p->bottom = m->depth;
		st->open++;
	}
	if (st->options->max_depth && m->depth - p->bottom >= st->options->max_depth)
		return;
	add_record(st, p, m->stack, m->frame, m->depth, &(struct callees){ 0 });
	if (st->options->values)
		p->called[p->open - 1].record.args =
			call_values_args(st->options->values, m->frame, task_of(m), m->cpu, m->insns);
}

static void report_call(struct calls_run *st, const struct stacks *s, const struct stack *stack, struct pending *p)
{
	const struct call_record *first = call_records_get(&p->list, 0);

	if (first && !st->enough && first->duration_ns >= st->options->min_duration_ns)
		st->enough = st->take(st->taker_state, thread_of(s, stack), &p->list) < 0;
	if (spill_result(&p->list.records, "calls", st->err) < 0 || spill_result(&p->list.left_out, "calls", st->err) < 0)
		st->failed = st->enough = true;
	spill_truncate(&p->list.records, 0);
	spill_truncate(&p->list.left_out, 0);
	p->open = 0;
	p->hidden = 0;
	st->open--;
}

/* Add what a frame ran to the callees of its caller. `left_out`: the frame has no record. */
static void add_to_caller(const struct calls_run *st, const struct story_moment *m, struct pending *p, bool left_out)
{
	struct called *caller;
	const struct frame *frame = m->frame;
	const struct left_out_sum sum = {
		.function = frame->function, .calls = 1, .duration_ns = m->ns - frame->entry_ns,
		.ns = m->stack->ns - frame->ns, .insns = m->stack->insns - frame->insns,
	};

	if (m->depth == p->bottom || !has_record(st, m->caller))
		return;
	caller = called_at(p, m->depth - 1);
	caller->sum.ns += sum.ns;
	caller->sum.insns += sum.insns;
	if (left_out)
		left_out_add(&caller->left_out, &sum);
}

static void fill_record(const struct calls_run *st, const struct story_moment *m, struct called *c)
{
	struct call_record *r = &c->record;

	r->duration_ns = m->ns - m->frame->entry_ns;
	r->ns = m->stack->ns - m->frame->ns;
	r->insns = m->stack->insns - m->frame->insns;
	r->self_ns = r->ns - c->sum.ns;
	r->self_insns = r->insns - c->sum.insns;
	r->unfinished = m->kind == STORY_END;
	r->end = m->end;
	if (r->args && r->args->ns > m->ns) /* a later call's, where this one's were not recorded */
		r->args = NULL;
	if (st->options->values && m->kind == STORY_LEAVE && m->end == FRAME_RETURNED)
		r->result = call_values_result(st->options->values, m->frame, m->cpu, m->insns);
}

/* What it left out goes behind what others did. */
static void keep_record(struct pending *p, struct called *c)
{
	left_out_sort(&c->left_out);
	c->record.left_out = p->list.left_out.count;
	c->record.n_left_out = (uint32_t)c->left_out.count;
	for (size_t i = 0; i < c->left_out.count; i++)
		spill_add(&p->list.left_out, &c->left_out.list[i]);
	spill_set(&p->list.records, c->number, &c->record);
}

static void hear_event(struct calls_run *st, const struct story_moment *m)
{
	struct pending *p;
	struct call_record record = { .event = m->fact, .entry_ns = m->ns, .cpu = (int)m->cpu };

	if (m->fact->kind != FACT_EVENT || !m->stack)
		return;
	p = pending_of(st, m->thread);
	record.depth = (uint32_t)(m->stack->depth - p->bottom);
	if (!p->open || p->hidden || m->stack->depth <= p->bottom ||
	    (st->options->max_depth && record.depth >= st->options->max_depth))
		return;
	spill_add(&p->list.records, &record);
	for (size_t i = 0; i < p->open; i++)
		p->called[i].has_events = true;
}

/* Drop a call's record, with those of its callees; events that were passed in it remain, as its caller's. */
static void drop_record(struct pending *p, const struct called *c)
{
	struct call_record *events = NULL;
	size_t n = 0, cap = 0;

	for (uint64_t i = c->number + 1; c->has_events && i < p->list.records.count; i++) {
		const struct call_record *r = call_records_get(&p->list, i);

		if (!r)
			break;
		if (!r->event)
			continue;
		events = array_grow(events, n, &cap, sizeof *events);
		events[n] = *r;
		events[n++].depth = c->record.depth;
	}
	spill_truncate(&p->list.records, c->number);
	for (size_t i = 0; i < n; i++)
		spill_add(&p->list.records, &events[i]);
	free(events);
}

/* A frame is left, or the trace ends in it: complete its record, and add it to its caller's callees. */
static void finish_frame(const struct calls_run *st, const struct story_moment *m, struct pending *p)
{
	struct called *c;

	if (p->hidden)
		p->hidden--;
	if (!has_record(st, m->call)) {
		if (!p->hidden)
			add_to_caller(st, m, p, st->options->max_depth != 1 && !is_interrupt_hidden(st, m->frame));
		return;
	}
	c = called_at(p, m->depth);
	fill_record(st, m, c);
	if (m->depth != p->bottom && c->record.duration_ns < st->options->min_callee_ns) {
		/* its callees were shorter still, so their records are dropped already */
		drop_record(p, c);
		add_to_caller(st, m, p, true);
	} else {
		keep_record(p, c);
		add_to_caller(st, m, p, false);
	}
	p->open--;
}

static void leave(struct calls_run *st, const struct story_moment *m)
{
	struct pending *p = pending_of(st, m->thread);

	if (!p->open || m->depth < p->bottom)
		return;
	finish_frame(st, m, p);
	if (m->depth == p->bottom)
		report_call(st, m->stacks, m->stack, p);
	m->stacks->stop = st->enough;
}

/* Calls that are still in progress at the trace's end are reported, too. */
static void hear(void *state, const struct story_moment *m)
{
	if (m->kind == STORY_ENTER)
		enter(state, m);
	else if (m->kind == STORY_FACT)
		hear_event(state, m);
	else
		leave(state, m);
}

/* A call that is forgotten is reported as it is, with those in progress within it: its end is never seen. */
static void forget(void *state, struct stacks *s, const struct stack *stack, size_t n)
{
	struct calls_run *st = state;
	struct pending *p = pending_of(st, story_thread(stack));

	if (p->open && p->bottom >= n) {
		p->bottom -= n;
		return;
	}
	for (size_t depth = stack->depth; p->open && depth-- > p->bottom;)
		leave(st, &(struct story_moment){
			.kind = STORY_END, .ns = s->ns, .insns = s->insns, .stacks = s, .stack = stack,
			.frame = &stack->frames[depth], .depth = depth, .call = story_call(&stack->frames[depth]),
			.caller = depth ? story_call(&stack->frames[depth - 1]) : STORY_NO_CALL,
			.thread = story_thread(stack),
		});
}

/* If calls are shown without callees, their beginning and end are enough: the index has what the callees ran. */
static bool may_skip(const struct calls_run *st)
{
	const struct calls_options *o = st->options;

	return o->max_depth == 1 && !o->no_interrupts && o->cpu < 0 && !st->session->fold;
}

/* Is the call in progress at the moment of this entry? */
static bool is_open_at(const struct calls_run *st, size_t entry, size_t number, size_t depth, const struct frame *call)
{
	struct checkpoint at;
	struct stacks stacks;
	struct error ignored;
	bool open = false;

	if (!index_checkpoint(st->session->index, entry, &at))
		return false;
	if (stacks_at(&stacks, st->session, &at, &ignored) == 0) {
		const struct stack *stack = &stacks.list[number];
		const struct frame *f = depth < stack->depth ? &stack->frames[depth] : NULL;

		open = f && f->entry_ns == call->entry_ns && f->slot == call->slot && f->function == call->function;
	}
	stacks_deinit(&stacks);
	return open;
}

/*
 * The last entry up to `limit` at whose moment the call is in progress. If there is none, the entry that replay is in.
 */
static size_t last_open(const struct calls_run *st, size_t limit, size_t number, size_t depth, const struct frame *call)
{
	size_t low = st->entry, high = limit;

	while (low < high) {
		size_t middle = high - (high - low) / 2;

		if (is_open_at(st, middle, number, depth, call))
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* The next entry to replay: the first one in which an open call ends, or another call may begin. */
static size_t next_entry(struct calls_run *st, const struct stacks *s)
{
	size_t next = st->entry;

	while (next + 1 < st->session->index->count && !is_worth(st, next))
		next++;
	for (size_t i = 0; i < s->count && next > st->entry; i++) {
		const struct pending *p = pending_of(st, story_thread(&s->list[i]));

		if (p->open)
			next = last_open(st, next, i, p->bottom, &s->list[i].frames[p->bottom]);
	}
	return next;
}

/* Make records for the calls that are in progress where replay resumes. */
static void add_open_calls(struct calls_run *st, struct stacks *s)
{
	for (size_t i = 0; i < s->count; i++) {
		struct stack *stack = &s->list[i];
		struct pending *p = pending_of(st, story_thread(stack));
		struct callees callees;
		size_t depth = 0;

		while (depth < stack->depth && !is_asked(st, stack, &stack->frames[depth]))
			depth++;
		if (depth == stack->depth)
			continue;
		if (!index_callees(st->session->index, i, depth, &callees)) {
			st->damaged = true;
			return;
		}
		st->open++;
		p->bottom = depth;
		add_record(st, p, stack, &stack->frames[depth], depth, &callees);
		p->called[0].record.cpu = st->cpus[i];
		p->called[0].record.args = st->args[i];
	}
}

/* A checkpoint does not tell where the open calls were entered, and what they were given. */
static void keep_entries(struct calls_run *st, const struct stacks *s)
{
	if (!st->cpus) {
		st->cpus = xcalloc(s->count, sizeof *st->cpus);
		st->args = xcalloc(s->count, sizeof *st->args);
	}
	for (size_t i = 0; i < s->count; i++) {
		const struct pending *p = pending_of(st, story_thread(&s->list[i]));

		st->cpus[i] = p->open ? p->called[0].record.cpu : -1;
		st->args[i] = p->open ? p->called[0].record.args : NULL;
	}
}

/* At each moment of the index: go on, skip entries, or stop until a later entry. */
static uint64_t due(void *state, struct stacks *s)
{
	struct calls_run *st = state;
	size_t next;

	if (!st->session->index)
		return UINT64_MAX;
	if (st->resumes)
		add_open_calls(st, s);
	st->resumes = false;
	if (st->damaged) {
		s->stop = true;
		return UINT64_MAX;
	}
	while (st->entry + 1 < st->session->index->count && st->session->index->entries[st->entry + 1].ns <= s->ns)
		st->entry++;
	next = st->open && may_skip(st) ? next_entry(st, s) : st->entry;
	if (next > st->entry) {
		keep_entries(st, s);
		st->entry = next;
		st->resumes = s->stop = true;
	} else if (!st->open && !is_worth(st, st->entry)) {
		s->stop = true;
	}
	return st->entry + 1 < st->session->index->count ? st->session->index->entries[st->entry + 1].ns : UINT64_MAX;
}

/* Replay from an entry on, until the next entries have nothing to report. */
static int replay(struct calls_run *st, const struct checkpoint *from, struct error *err)
{
	static const struct story_listener listener = {
		.hear = hear, .due = due, .forget = forget,
		.kinds = 1u << STORY_ENTER | 1u << STORY_LEAVE | 1u << STORY_FACT | 1u << STORY_END,
	};
	const struct story_part part = { .from = from, .to_ns = UINT64_MAX };
	void *states[] = { st };
	int more = story_tell(st->session, &part, st->options->events, &listener, states, 1, err);

	for (size_t i = 0; i < st->cap_pending; i++)
		pending_free(st->pending[i]);
	free(st->pending);
	free(st->has_record); /* the next story has other numbers */
	st->pending = NULL;
	st->has_record = NULL;
	st->cap_pending = st->cap_calls = 0;
	st->enough = st->enough || more == 0;
	return more < 0 || st->failed ? -1 : 0;
}

static int replay_by_index(struct calls_run *st, struct error *err)
{
	struct checkpoint from;
	int result = 0;

	while (result == 0 && !st->enough && st->entry < st->session->index->count) {
		if (!st->resumes && !is_worth(st, st->entry)) {
			st->entry++;
			continue;
		}
		if (!index_checkpoint(st->session->index, st->entry, &from))
			return error_set(err, "%s.index: damaged: remove it", st->session->reader->path);
		st->open = 0;
		result = replay(st, &from, err);
		if (st->damaged)
			return error_set(err, "%s.index: damaged: remove it", st->session->reader->path);
		st->entry += !st->resumes;
	}
	return result;
}

int calls_analyse(const struct session *session, const struct calls_options *options, calls_taker take,
		  void *taker_state, struct error *err)
{
	struct calls_run st = {
		.options = options, .take = take, .taker_state = taker_state, .session = session, .err = err,
	};
	int result = session->index ? replay_by_index(&st, err) : replay(&st, NULL, err);

	free(st.cpus);
	free(st.args);
	return result;
}
