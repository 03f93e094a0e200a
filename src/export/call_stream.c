/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "call_stream.h"

#include <fnmatch.h>
#include <stdlib.h>

#include "analysis/calls/held_calls.h"
#include "base/alloc.h"
#include "base/search.h"
#include "replay/fold.h"
#include "replay/index.h"

/* A call in progress, as its thread has it. */
struct open_call {
	uint32_t function;
	enum frame_kind frame;
	bool listed;
	uint64_t entry_ns;
	uint64_t held; /* number of its BEGIN among the items that were held back; NOT_BEGUN */
};

enum { NOT_BEGUN = 0 };

struct of_thread {
	struct open_call *open;
	size_t depth, cap;
	uint32_t told; /* calls whose BEGIN was told, and not yet their END */
	uint32_t deep; /* … and those that are too deep, so that neither is told */
	uint32_t id;
	long number;     /* threads.h */
	unsigned cpu;    /* that it ran on last, if it `ran` */
	uint64_t own_ns; /* what it ran in the part so far */
	bool seen, met, ran;
	bool known; /* `who` is filled in */
	struct stream_thread who;
};

struct call_stream {
	const struct session *session;
	const struct stream_options *options;
	const struct stream_listener *to;
	struct stream_left left;
	struct error *err;
	int result;
	struct held_calls held_calls;
	struct of_thread *threads;
	size_t n_threads, cap_threads;
	struct map ids;    /* PID → whose it is: twice the thread's number, and 1 once it is told */
	bool *ready_marks; /* by function: who switches in it would run on; */
	bool *dead_marks;  /* … never runs again */
	/* Items that are held back: number n is at n % cap_items. Dead ones are BEGINs of calls that were too short. */
	struct stream_item *items;
	bool *dead;
	uint64_t first, next; /* numbers, from 1 on */
	size_t cap_items;
	struct kernel_log log;
	uint32_t *runs; /* by vCPU: the thread that it is known to run, by its number + 1; 0: none is known */
	unsigned n_cpus;
	size_t next_boot; /* number of the boot that begins next */
	bool begun;       /* the part's begin is behind */
	uint64_t last_ns; /* when something happened last */
};

static struct of_thread *thread_at(struct call_stream *st, uint32_t number)
{
	st->threads = array_reach(st->threads, number, &st->cap_threads, sizeof *st->threads);
	if (number >= st->n_threads)
		st->n_threads = number + 1;
	return &st->threads[number];
}

static struct of_thread *meet(struct call_stream *st, const struct stack *stack)
{
	struct of_thread *t = thread_at(st, story_thread(stack));

	if (!t->seen)
		t->number = THREAD_NONE;
	if (stack->cpu >= 0) {
		t->cpu = (unsigned)stack->cpu;
		t->ran = true;
	}
	t->seen = true;
	if (stack->thread != THREAD_NONE && stack->thread != t->number) {
		t->number = stack->thread;
		t->known = false;
	}
	return t;
}

bool call_stream_meets(struct call_stream *st, uint32_t thread)
{
	bool met = st->threads[thread].met;

	st->threads[thread].met = true;
	return !met;
}

/* A PID is that thread's for which it is asked first: its place in `ids`. NULL: another thread has it. */
static uint64_t *own_pid(struct call_stream *st, const struct thread *thread)
{
	uint64_t number = (uint64_t)(thread - st->session->threads->list);
	uint64_t *owner = map_put(&st->ids, (uint32_t)thread->pid, number << 1);

	return *owner >> 1 == number ? owner : NULL;
}

static uint32_t id_of(struct call_stream *st, uint32_t number, const struct thread *thread)
{
	struct of_thread *t = &st->threads[number];
	uint64_t *own = thread && thread->pid ? own_pid(st, thread) : NULL;

	if (t->id)
		return t->id;
	t->id = own && !(*own & 1) ? (uint32_t)thread->pid : STREAM_OWN_IDS + number;
	if (own)
		*own |= 1;
	return t->id;
}

/* The first thread of its process; itself, if that one is not known. */
static const struct thread *leader_of(const struct threads *all, const struct thread *thread)
{
	const struct thread *leader = thread;

	while (leader > all->list && leader->pid != thread->tgid)
		leader--;
	return leader->pid == thread->tgid ? leader : thread;
}

/* As its first thread's id. */
static uint32_t process_of(struct call_stream *st, const struct thread *thread, const struct thread *leader)
{
	if (leader->pid != thread->tgid || own_pid(st, leader))
		return (uint32_t)thread->tgid;
	return STREAM_OWN_IDS + (uint32_t)(leader - st->session->threads->list);
}

static struct stream_thread who_is(struct call_stream *st, uint32_t number)
{
	const struct threads *all = st->session->threads;
	const struct thread *thread = threads_at(all, st->threads[number].number);
	struct stream_thread ret = { .id = id_of(st, number, thread), .kernel = !thread || thread->kernel };
	const struct thread *leader;

	ret.number = st->threads[number].number;
	ret.pid = thread ? (uint32_t)thread->pid : 0;
	ret.name = threads_comm(all, thread, thread ? thread->end_ns : 0);
	ret.process_name = "idle and boot";
	ret.idle = thread && !thread->pid;
	if (!thread || !thread->pid)
		return ret;
	leader = leader_of(all, thread);
	ret.process = thread->kernel ? 2 : process_of(st, thread, leader);
	ret.process_name = thread->kernel ? "kernel threads" : threads_comm(all, leader, leader->end_ns);
	return ret;
}

const struct stream_thread *call_stream_thread(struct call_stream *st, uint32_t number)
{
	struct of_thread *t = thread_at(st, number);

	if (!t->known)
		t->who = who_is(st, number);
	t->known = true;
	return &t->who;
}

/* An item's turn has come. */
static void tell(struct call_stream *st, struct stream_item *item)
{
	struct of_thread *t;

	if (st->result < 0)
		return;
	if (item->kind == STREAM_BEGIN || item->kind == STREAM_END) {
		uint32_t max = st->options->max_depth;

		t = &st->threads[item->thread];
		if (item->kind == STREAM_BEGIN) {
			if (t->deep || (max && t->told >= max)) {
				t->deep++;
				st->left.deep_calls++;
				return;
			}
			item->depth = t->told++;
			st->left.told++;
		} else if (t->deep) {
			t->deep--;
			return;
		} else {
			item->depth = --t->told;
		}
	}
	st->result = st->to->take(st->to->state, st, item, st->err);
}

/* Tell what was held back for long enough at that time. */
static void pass_on(struct call_stream *st, uint64_t ns)
{
	while (st->first < st->next) {
		size_t i = st->first & (st->cap_items - 1);

		if (st->items[i].ns + st->options->min_ns > ns)
			return;
		st->first++;
		if (!st->dead[i])
			tell(st, &st->items[i]);
	}
}

static void enlarge(struct call_stream *st)
{
	size_t cap = st->cap_items ? st->cap_items * 2 : 1024;
	struct stream_item *items = xcalloc(cap, sizeof *items);
	bool *dead = xcalloc(cap, sizeof *dead);

	for (uint64_t n = st->first; n < st->next; n++) {
		items[n & (cap - 1)] = st->items[n & (st->cap_items - 1)];
		dead[n & (cap - 1)] = st->dead[n & (st->cap_items - 1)];
	}
	free(st->items);
	free(st->dead);
	st->items = items;
	st->dead = dead;
	st->cap_items = cap;
}

/* Tell it when its turn comes. Returns its number among the items. */
static uint64_t give(struct call_stream *st, struct stream_item *item)
{
	size_t i;

	if (!st->options->min_ns) {
		tell(st, item);
		return st->first++, st->next++;
	}
	pass_on(st, item->ns);
	if (st->next - st->first >= st->cap_items)
		enlarge(st);
	i = st->next & (st->cap_items - 1);
	st->items[i] = *item;
	st->dead[i] = false;
	return st->next++;
}

/*
 * What was held back last need not be, once it is known to be too short: so what is held back are mostly calls in
 * progress, however long the time is.
 */
static void drop_dead(struct call_stream *st)
{
	while (st->next > st->first && st->dead[(st->next - 1) & (st->cap_items - 1)])
		st->next--;
}

static void give_begin(struct call_stream *st, struct open_call *c, uint32_t thread, uint64_t ns)
{
	struct stream_item item = {
		.kind = STREAM_BEGIN,
		.cpu = st->threads[thread].cpu,
		.ns = ns,
		.thread = thread,
		.next = STREAM_NOBODY,
		.function = c->function,
		.frame = c->frame,
		.own_ns = st->threads[thread].own_ns,
	};

	c->held = give(st, &item);
}

static uint32_t asked(struct call_stream *st, const struct stack *stack);

/* Tell that a vCPU runs the stack's thread, if no switch did: where what is recorded begins, or goes on. */
static void tell_runs(struct call_stream *st, const struct stack *stack, uint64_t ns)
{
	struct stream_item item = { .kind = STREAM_RUNS, .ns = ns, .next = STREAM_NOBODY };
	uint32_t known = story_thread(stack) + 1;

	if (stack->cpu < 0 || (unsigned)stack->cpu >= st->n_cpus || stack->thread == THREAD_NONE ||
	    st->runs[stack->cpu] == known)
		return;
	st->runs[stack->cpu] = known;
	item.cpu = (unsigned)stack->cpu;
	item.thread = asked(st, stack);
	if (item.thread != STREAM_NOBODY)
		give(st, &item);
}

/* Events are missing from there on, or another boot begins: who runs is not known. */
static void tell_nobody_runs(struct call_stream *st, uint64_t ns)
{
	for (unsigned cpu = 0; cpu < st->n_cpus; cpu++) {
		if (!st->runs[cpu])
			continue;
		st->runs[cpu] = 0;
		give(st, &(struct stream_item){
			.kind = STREAM_RUNS, .cpu = cpu, .ns = ns, .thread = STREAM_NOBODY, .next = STREAM_NOBODY,
		});
	}
}

/* Whoever ran in one boot does not run in the next, whose other vCPUs may tell nothing for long. */
static void pass_boots(struct call_stream *st, uint64_t ns)
{
	const struct boots *boots = &st->session->reader->boots;

	for (; st->next_boot < boots->count && boots->list[st->next_boot].start_ns <= ns; st->next_boot++)
		tell_nobody_runs(st, boots->list[st->next_boot].start_ns);
}

static void tell_who_runs(struct call_stream *st, const struct stacks *s)
{
	for (size_t i = 0; i < s->count; i++)
		tell_runs(st, &s->list[i], st->options->from_ns);
}

/* The part begins: what is in progress is told of with its time, each thread's outermost call first. */
static void begin_part(struct call_stream *st, const struct stacks *s)
{
	st->begun = true;
	if (!st->options->calls_only)
		tell_who_runs(st, s);
	for (uint32_t i = 0; i < st->n_threads; i++)
		for (size_t k = 0; k < st->threads[i].depth; k++)
			if (st->threads[i].open[k].listed)
				give_begin(st, &st->threads[i].open[k], i, st->options->from_ns);
}

static bool is_listed(const struct call_stream *st, const struct story_moment *m)
{
	return threads_is_chosen(st->session->threads, m->stack->thread) &&
	       (m->frame->kind != FRAME_BASE || fold_chooses(st->session->fold, m->frame->function));
}

/* Code without names counts as one function, which does not call itself. */
static bool is_same_group(const struct call_stream *st, const struct of_thread *t, uint32_t function)
{
	return t->depth && t->open[t->depth - 1].function == function && names_is_group(st->session->names, function);
}

static void enter(struct call_stream *st, const struct story_moment *m)
{
	bool held = m->kind == STORY_ENTER && held_calls_enter(&st->held_calls);
	struct of_thread *t = meet(st, m->stack);
	bool again = is_same_group(st, t, m->frame->function);
	struct open_call *c;

	t->open = array_reach(t->open, t->depth, &t->cap, sizeof *t->open);
	c = &t->open[t->depth++];
	*c = (struct open_call){
		.function = m->frame->function,
		.frame = m->frame->kind,
		.listed = !st->options->no_calls && !held && is_listed(st, m) && !again,
		.entry_ns = m->frame->entry_ns,
	};
	if (st->begun && c->listed)
		give_begin(st, c, m->thread, m->ns);
}

/* The thread's innermost call ends. */
static void end_call(struct call_stream *st, uint32_t thread, uint64_t ns, bool unfinished)
{
	struct of_thread *t = &st->threads[thread];
	const struct open_call *c = &t->open[--t->depth];
	struct stream_item item = {
		.kind = STREAM_END,
		.cpu = t->cpu,
		.ns = ns,
		.thread = thread,
		.next = STREAM_NOBODY,
		.function = c->function,
		.frame = c->frame,
		.unfinished = unfinished,
		.entry_ns = c->entry_ns,
		.own_ns = t->own_ns,
	};

	if (c->held == NOT_BEGUN)
		return;
	if (ns - c->entry_ns < st->options->min_ns) {
		/* it is held back still: it began less than that ago */
		st->left.short_calls++;
		st->dead[c->held & (st->cap_items - 1)] = true;
		drop_dead(st);
		return;
	}
	give(st, &item);
}

/*
 * The part ends, and what each thread ran up to there is known. Among the calls that are in progress may be some that
 * the replay forgot, since they were too deep below others: how they ended is not known.
 */
static void end_part(struct call_stream *st)
{
	uint64_t ns = st->options->to_ns == UINT64_MAX ? st->last_ns : st->options->to_ns;

	for (uint32_t i = 0; i < st->n_threads; i++)
		while (st->threads[i].depth)
			end_call(st, i, ns, true);
}

static void leave(struct call_stream *st, const struct story_moment *m)
{
	if (meet(st, m->stack)->depth)
		end_call(st, m->thread, m->ns, m->end == FRAME_LOST);
	if (m->end == FRAME_LOST && st->begun && !st->options->calls_only)
		tell_nobody_runs(st, m->ns);
}

/* Does it switch in the midst of something that it would go on with? Of the functions that are around the switch. */
static enum stream_leaves leaves(const struct call_stream *st, const struct stack *stack)
{
	enum { LOOK_AT = 5 };

	for (size_t i = 1; i <= LOOK_AT && i <= stack->depth; i++) {
		uint32_t function = stack->frames[stack->depth - i].function;

		if (st->ready_marks[function])
			return LEAVES_READY;
		if (st->dead_marks[function])
			return LEAVES_DEAD;
	}
	return LEAVES_ASLEEP;
}

/* NOBODY: it is not asked for. */
static uint32_t asked(struct call_stream *st, const struct stack *stack)
{
	if (!stack || !threads_is_chosen(st->session->threads, stack->thread))
		return STREAM_NOBODY;
	meet(st, stack);
	return story_thread(stack);
}

static void tell_of_cpu(struct call_stream *st, const struct story_moment *m)
{
	static const enum stream_kind kinds[] = {
		[STORY_SWITCH] = STREAM_SWITCH,
		[STORY_HALT] = STREAM_HALT,
		[STORY_RESUME] = STREAM_RESUME,
	};
	struct stream_item item = {
		.kind = kinds[m->kind],
		.cpu = m->cpu,
		.ns = m->ns,
		.thread = asked(st, m->stack),
		.next = m->kind == STORY_SWITCH ? asked(st, m->next) : STREAM_NOBODY,
	};

	if (m->kind == STORY_SWITCH) {
		item.leaves = leaves(st, m->stack);
		if (m->next && m->cpu < st->n_cpus)
			st->runs[m->cpu] = story_thread(m->next) + 1;
	}
	if (item.thread != STREAM_NOBODY || item.next != STREAM_NOBODY)
		give(st, &item);
}

/* Lines that were added to have several facts; they are told once, as they became. NULL: it is not the first one. */
static const struct log_line *line_of(const struct call_stream *st, const struct fact *f)
{
	const struct log_line *lines = st->log.lines;
	size_t boot = boots_at(&st->session->reader->boots, f->ns);
	size_t i = first_not(k, 0, st->log.count,
			     lines[k].boot < boot || (lines[k].boot == boot && lines[k].number < f->numbers[0]));

	if (i == st->log.count || lines[i].boot != boot || lines[i].number != f->numbers[0])
		return NULL;
	return lines[i].cpu == f->cpu && lines[i].ns == f->ns && lines[i].insns == f->insns ? &lines[i] : NULL;
}

/* The CPU that a thread is woken up for: as far as is known, where it ran last. */
static unsigned cpu_of(const struct call_stream *st, uint32_t thread, const struct fact *f)
{
	return thread != STREAM_NOBODY && st->threads[thread].ran ? st->threads[thread].cpu : f->cpu;
}

static void tell_fact(struct call_stream *st, const struct story_moment *m)
{
	const struct fact *f = m->fact;
	struct stream_item item = {
		.cpu = m->cpu,
		.ns = m->ns,
		.fact = f,
		.next = STREAM_NOBODY,
		.thread = asked(st, stacks_running(m->stacks, f->task, m->cpu, m->ns)),
	};

	switch (f->kind) {
	case FACT_WAKE: {
		long woken = threads_find(m->stacks->threads, f->numbers[0], m->ns);

		item.kind = STREAM_WAKE;
		item.next = woken == THREAD_NONE ? STREAM_NOBODY : asked(st, &m->stacks->list[woken]);
		item.next_cpu = cpu_of(st, item.next, f);
		/* one that still runs, and was only about to sleep, goes on */
		if (item.next != STREAM_NOBODY && m->stacks->list[woken].cpu < 0)
			give(st, &item);
		return;
	}
	case FACT_LOG:
	case FACT_EVENT:
		item.kind = f->kind == FACT_LOG ? STREAM_LOG : STREAM_EVENT;
		item.line = f->kind == FACT_LOG ? line_of(st, f) : NULL;
		if (item.kind == STREAM_LOG && !item.line)
			return;
		if (item.thread != STREAM_NOBODY || !st->session->threads->chosen)
			give(st, &item);
		return;
	default:
		return;
	}
}

static void hear(void *state, const struct story_moment *m)
{
	struct call_stream *st = state;

	/* at its end it has begun, also if nothing happened in it */
	st->last_ns = m->ns > st->options->from_ns ? m->ns : st->options->from_ns;
	if (!st->begun && m->kind != STORY_OPEN && (m->ns >= st->options->from_ns || m->kind == STORY_END))
		begin_part(st, m->stacks);
	if (st->begun && !st->options->calls_only)
		pass_boots(st, m->ns);
	switch (m->kind) {
	case STORY_ENTER:
		/* no event enters what a new process has from its parent, which runs */
		if (st->begun && !st->options->calls_only && m->stacks->event)
			tell_runs(st, m->stack, m->ns);
		enter(st, m);
		break;
	case STORY_OPEN:
		enter(st, m);
		break;
	case STORY_LEAVE:
		leave(st, m);
		break;
	case STORY_END:
		break; /* it ends with the part (end_part()) */
	case STORY_FACT:
		if (st->begun)
			tell_fact(st, m);
		break;
	default:
		if (st->begun)
			tell_of_cpu(st, m);
	}
	m->stacks->stop = st->result < 0;
}

static uint64_t due(void *state, struct stacks *s)
{
	struct call_stream *st = state;

	if (!st->begun && s->ns >= st->options->from_ns)
		begin_part(st, s);
	s->stop = st->result < 0;
	return st->begun ? UINT64_MAX : st->options->from_ns;
}

static void spend(void *state, const struct stacks *s, const struct stack *stack, const struct spent *spent)
{
	struct call_stream *st = state;
	const struct span part = { .from_ns = st->options->from_ns, .to_ns = st->options->to_ns, .cpu = -1 };

	thread_at(st, story_thread(stack))->own_ns +=
		meter_clip(&part, s->ns - spent->ns - spent->halted_ns, s->ns, spent->ns);
}

static bool *marks_of(const struct names *names, const char *const *patterns)
{
	bool *marks = xcalloc(names_count(names), sizeof *marks);

	for (uint32_t i = 0; i < names_count(names); i++)
		for (size_t k = 0; patterns[k] && !marks[i] && names_is_kernel(names, i); k++)
			marks[i] = !fnmatch(patterns[k], names_function(names, i), 0);
	return marks;
}

static void mark_switches(struct call_stream *st)
{
	static const char *const ready[] = {
		"preempt_schedule*", "exit_to_user_mode*", "*_exit_to_user_mode*",      "irqentry_exit*",
		"do_sched_yield",    "*__cond_resched*",   "schedule_preempt_disabled", NULL,
	};
	static const char *const dead[] = { "do_task_dead", NULL };

	st->ready_marks = marks_of(st->session->names, ready);
	st->dead_marks = marks_of(st->session->names, dead);
}

static void deinit(struct call_stream *st)
{
	for (size_t i = 0; i < st->n_threads; i++)
		free(st->threads[i].open);
	free(st->threads);
	free(st->runs);
	free(st->items);
	free(st->dead);
	free(st->ready_marks);
	free(st->dead_marks);
	map_free(&st->ids);
	kernel_log_deinit(&st->log);
	held_calls_deinit(&st->held_calls);
}

int call_stream_tell(const struct session *session, const struct stream_options *options,
		     const struct stream_listener *to, struct stream_left *left, struct error *err)
{
	const uint32_t calls = 1u << STORY_OPEN | 1u << STORY_ENTER | 1u << STORY_LEAVE | 1u << STORY_END;
	const struct boots *boots = &session->reader->boots;
	const uint32_t others = 1u << STORY_SWITCH | 1u << STORY_HALT | 1u << STORY_RESUME | 1u << STORY_FACT;
	const struct story_listener listener = {
		.hear = hear,
		.due = due,
		.spend = spend,
		.kinds = options->calls_only ? calls : calls | others,
	};
	struct call_stream st = {
		.session = session,
		.options = options,
		.to = to,
		.err = err,
		.left.max_depth = options->max_depth,
		.first = 1,
		.next = 1,
		.n_cpus = reader_vcpus(session->reader),
		.next_boot = options->from_ns ? boots_at(boots, options->from_ns - 1) + 1 : 1,
		.begun = !options->from_ns,
	};
	void *states[] = { &st };
	struct checkpoint from;
	struct story_part part = { .to_ns = options->to_ns };
	int r = held_calls_read(session->reader, &st.held_calls, err);

	st.runs = xcalloc(st.n_cpus + 1, sizeof *st.runs);
	if (!options->calls_only) {
		mark_switches(&st);
		if (options->facts)
			kernel_log_init(&st.log, options->facts, boots);
	}
	/* calls that are held for others' sake are counted from the trace's begin */
	if (options->from_ns && session->index && !st.held_calls.count &&
	    index_checkpoint(session->index, index_at(session->index, options->from_ns), &from))
		part.from = &from;
	if (r == 0)
		r = story_tell(session, &part, options->facts, &listener, states, 1, err);
	if (r >= 0) {
		end_part(&st);
		pass_on(&st, UINT64_MAX);
	}
	if (st.result < 0)
		r = st.result;
	if (left)
		*left = st.left;
	deinit(&st);
	return r < 0 ? -1 : 0;
}
