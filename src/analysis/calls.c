/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "calls.h"

#include "base/alloc.h"

enum { RECORDS_MAX = 1 << 22 }; /* of one call; what is called beyond is not told apart */

/* What a thread has under way: its stack's data. */
struct pending {
	struct call_record *records;
	struct callees *callees; /* of each record */
	size_t count, cap, cap_callees;
	size_t bottom;         /* frames below the call that was asked for; only with records */
	uint32_t hidden;       /* frames of interrupts that are left out */
};

struct state {
	const struct calls_options *options;
	calls_taker take;
	void *taker_state;
	size_t open;             /* calls that were asked for and have not returned */
	struct index *index;     /* NULL: none */
	size_t entry;            /* that replay is in */
	bool resumes;            /* it begins within the calls that are open */
	bool enough;
	bool damaged;            /* the index: it lacks what it has to have */

	/* to look into checkpoints: */
	const struct reader *reader;
	const struct names *names;
	const struct threads *threads;
};

/* Do calls that are asked for begin between that entry and the next? */
static bool is_worth(const struct state *st, size_t entry)
{
	const struct index *x = st->index;

	if (x->entries[entry].ns >= st->options->to_ns ||
	    (entry + 1 < x->count && x->entries[entry + 1].ns < st->options->from_ns))
		return false;
	return index_has(x, entry, st->options->functions);
}

static struct pending *pending_of(struct stack *stack)
{
	if (!stack->data)
		stack->data = xcalloc(1, sizeof(struct pending));
	return stack->data;
}

static void pending_free(struct pending *p)
{
	if (!p)
		return;
	free(p->records);
	free(p->callees);
	free(p);
}

static const struct thread *thread_of(const struct stacks *s, const struct stack *stack)
{
	return stack->thread == THREAD_NONE ? NULL : &s->threads->list[stack->thread];
}

static bool is_asked(const struct state *st, const struct stacks *s, const struct stack *stack, const struct frame *f)
{
	const struct calls_options *o = st->options;
	const struct thread *t = thread_of(s, stack);

	return !st->enough && o->functions[f->function] && f->at_start && f->entry_ns >= o->from_ns &&
	       f->entry_ns < o->to_ns && (o->cpu < 0 || stack->cpu == o->cpu) && (!o->has_pid || (t && t->pid == o->pid));
}

static void add_record(struct pending *p, struct frame *frame, size_t depth, const struct callees *callees)
{
	p->records = array_grow(p->records, p->count, &p->cap, sizeof *p->records);
	p->callees = array_grow(p->callees, p->count, &p->cap_callees, sizeof *p->callees);
	p->records[p->count] = (struct call_record){
		.function = frame->function, .depth = (uint32_t)(depth - p->bottom), .kind = frame->kind,
		.from = frame->from, .entry_ns = frame->entry_ns,
	};
	p->callees[p->count] = *callees;
	frame->data = (uint32_t)++p->count;
}

static void enter(void *state, struct stacks *s, struct stack *stack, struct frame *frame)
{
	struct state *st = state;
	struct pending *p = pending_of(stack);
	size_t depth = stack->depth - 1;

	frame->data = 0;
	if (p->hidden || (st->options->no_interrupts && p->count && frame->kind == FRAME_INTERRUPT)) {
		p->hidden++;
		return;
	}
	if (!p->count) {
		if (!is_asked(st, s, stack, frame))
			return;
		p->bottom = depth;
		st->open++;
	}
	if (p->count == RECORDS_MAX || (st->options->max_depth && depth - p->bottom >= st->options->max_depth))
		return;
	add_record(p, frame, depth, &(struct callees){ 0 });
}

static void give(struct state *st, const struct stacks *s, const struct stack *stack, struct pending *p)
{
	if (!st->enough && p->records[0].duration_ns >= st->options->min_duration_ns)
		st->enough = st->take(st->taker_state, thread_of(s, stack), p->records, p->count) < 0;
	p->count = p->hidden = 0;
	st->open--;
}

/* What a frame ran is not its caller's own. */
static void credit(const struct stack *stack, const struct frame *frame, struct pending *p)
{
	size_t depth = (size_t)(frame - stack->frames);
	uint32_t caller = depth > p->bottom ? stack->frames[depth - 1].data : 0;

	if (!caller)
		return;
	p->callees[caller - 1].ns += stack->ns - frame->ns;
	p->callees[caller - 1].insns += stack->insns - frame->insns;
}

/* Complete the frame's record, and tell the one that called it. */
static void finish(const struct stacks *s, const struct stack *stack, const struct frame *frame, struct pending *p)
{
	size_t i = frame->data - 1u;
	struct call_record *r = &p->records[i];

	r->duration_ns = s->ns - frame->entry_ns;
	r->ns = stack->ns - frame->ns;
	r->insns = stack->insns - frame->insns;
	r->self_ns = r->ns - p->callees[i].ns;
	r->self_insns = r->insns - p->callees[i].insns;
	credit(stack, frame, p);
}

static void leave(void *state, struct stacks *s, struct stack *stack, const struct frame *frame)
{
	struct state *st = state;
	struct pending *p = pending_of(stack);

	if (!p->count)
		return;
	if (p->hidden)
		p->hidden--;
	if (!frame->data) {
		if (!p->hidden)
			credit(stack, frame, p);
		return;
	}
	finish(s, stack, frame, p);
	if (stack->depth - 1 == p->bottom)
		give(st, s, stack, p);
	s->stop = st->enough;
}

/* What the end of the trace found under way. */
static void give_rest(struct state *st, struct stacks *s)
{
	for (size_t i = 0; i < s->count; i++) {
		struct stack *stack = &s->list[i];
		struct pending *p = stack->data;

		for (size_t k = stack->depth; p && p->count && k-- > p->bottom;)
			if (stack->frames[k].data && stack->frames[k].data <= p->count) {
				finish(s, stack, &stack->frames[k], p);
				p->records[stack->frames[k].data - 1].unfinished = true;
			}
		if (p && p->count)
			give(st, s, stack, p);
	}
}

/* Of calls that are shown without what they called, beginning and end are enough: the index tells what the callees ran. */
static bool may_skip(const struct state *st)
{
	const struct calls_options *o = st->options;

	return o->max_depth == 1 && !o->no_interrupts && o->cpu < 0;
}

/* Is the call under way at that entry's moment? */
static bool is_open_at(const struct state *st, size_t entry, size_t number, size_t depth, const struct frame *call)
{
	struct checkpoint at;
	struct stacks stacks;
	struct error ignored;
	bool open = false;

	if (!index_checkpoint(st->index, entry, &at))
		return false;
	if (stacks_at(&stacks, st->reader, st->names, st->threads, &at, &ignored) == 0) {
		const struct stack *stack = &stacks.list[number];
		const struct frame *f = depth < stack->depth ? &stack->frames[depth] : NULL;

		open = f && f->entry_ns == call->entry_ns && f->slot == call->slot && f->function == call->function;
	}
	stacks_deinit(&stacks);
	return open;
}

/* The last entry up to `limit` at whose moment the call is under way; the one that replay is in, if it is at none. */
static size_t last_open(const struct state *st, size_t limit, size_t number, size_t depth, const struct frame *call)
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

/* The entry to go on from: the first from here on in which one of the open calls ends, or others may begin. */
static size_t next_entry(const struct state *st, const struct stacks *s)
{
	size_t next = st->entry;

	while (next + 1 < st->index->count && !is_worth(st, next))
		next++;
	for (size_t i = 0; i < s->count && next > st->entry; i++) {
		const struct pending *p = s->list[i].data;

		if (p && p->count)
			next = last_open(st, next, i, p->bottom, &s->list[i].frames[p->bottom]);
	}
	return next;
}

/* The calls that are open where replay resumes. */
static void resume(struct state *st, struct stacks *s)
{
	for (size_t i = 0; i < s->count; i++) {
		struct stack *stack = &s->list[i];
		struct callees callees;
		size_t depth = 0;

		while (depth < stack->depth && !is_asked(st, s, stack, &stack->frames[depth]))
			depth++;
		if (depth == stack->depth)
			continue;
		if (!index_callees(st->index, i, depth, &callees)) {
			st->damaged = true;
			return;
		}
		st->open++;
		pending_of(stack)->bottom = depth;
		add_record(pending_of(stack), &stack->frames[depth], depth, &callees);
	}
}

/* At each of the index's moments: is there anything to come before the next? */
static void due(void *state, struct stacks *s)
{
	struct state *st = state;
	size_t next;

	if (!st->index) {
		s->due_ns = UINT64_MAX;
		return;
	}
	if (st->resumes)
		resume(st, s);
	st->resumes = false;
	if (st->damaged) {
		s->stop = true;
		return;
	}
	while (st->entry + 1 < st->index->count && st->index->entries[st->entry + 1].ns <= s->ns)
		st->entry++;
	next = st->open && may_skip(st) ? next_entry(st, s) : st->entry;
	if (next > st->entry) {
		st->entry = next;
		st->resumes = s->stop = true;
	} else if (!st->open && !is_worth(st, st->entry)) {
		s->stop = true;
	}
	s->due_ns = st->entry + 1 < st->index->count ? st->index->entries[st->entry + 1].ns : UINT64_MAX;
}

/* Replay from an entry on, as long as there is something to come. */
static int replay(struct state *st, const struct reader *r, const struct names *names, const struct threads *threads,
		  const struct checkpoint *from, struct error *err)
{
	static const struct stacks_visitor visitor = { .enter = enter, .leave = leave, .due = due };
	struct stacks stacks;
	int result = stacks_replay(&stacks, r, names, threads, from, UINT64_MAX, &visitor, st, err);

	if (result == 0 && !stacks.stop) {
		give_rest(st, &stacks);
		st->enough = true;
	}
	for (size_t i = 0; i < stacks.count; i++)
		pending_free(stacks.list[i].data);
	stacks_deinit(&stacks);
	return result;
}

static int replay_by_index(struct state *st, const struct reader *r, const struct names *names,
			   const struct threads *threads, struct error *err)
{
	struct checkpoint from;
	int result = 0;

	while (result == 0 && !st->enough && st->entry < st->index->count) {
		if (!st->resumes && !is_worth(st, st->entry)) {
			st->entry++;
			continue;
		}
		if (!index_checkpoint(st->index, st->entry, &from))
			return error_set(err, "%s.index: damaged: remove it", r->path);
		st->open = 0;
		result = replay(st, r, names, threads, &from, err);
		if (st->damaged)
			return error_set(err, "%s.index: damaged: remove it", r->path);
		st->entry += !st->resumes;
	}
	return result;
}

int calls_analyse(const struct reader *r, const struct names *names, const struct threads *threads, struct index *index,
		  const struct calls_options *options, calls_taker take, void *taker_state, struct error *err)
{
	struct state st = {
		.options = options, .take = take, .taker_state = taker_state, .index = index,
		.reader = r, .names = names, .threads = threads,
	};

	return index ? replay_by_index(&st, r, names, threads, err) : replay(&st, r, names, threads, NULL, err);
}
