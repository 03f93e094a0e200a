/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kd_nest.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/search.h"

enum { NOBODY = -1 };

struct thread {
	struct kd_frame *frames; /* outermost first; the last one has not ended */
	size_t count, cap;
	uint16_t cpu;            /* of its last entry */
};

/* An end that is to come. If the call is gone by then, it means nothing. */
struct ending {
	uint64_t ns;
	uint64_t number;
	uint32_t thread;
};

struct cpu {
	long thread;             /* had the last event */
	uint64_t ns;             /* of that event */
};

struct kd_nest {
	const struct kfi_log *log;
	struct kd_nest_user user;
	struct map numbers;      /* thread_key() → thread */
	struct thread *threads;
	size_t n_threads, threads_cap;
	struct ending *endings;  /* a heap: what ends first comes first */
	size_t n_endings, endings_cap;
	struct cpu *cpus;
	size_t n_cpus;
	uint64_t added;
	uint64_t trees;          /* that have begun … */
	uint64_t ending_trees;   /* … and of which the end is known, and still to come */
};

struct kd_nest *kd_nest_new(const struct kfi_log *log, struct kd_nest_user user)
{
	struct kd_nest *nest = xcalloc(1, sizeof *nest);

	nest->log = log;
	nest->user = user;
	return nest;
}

void kd_nest_free(struct kd_nest *nest)
{
	if (!nest)
		return;
	for (size_t i = 0; i < nest->n_threads; i++)
		free(nest->threads[i].frames);
	map_free(&nest->numbers);
	free(nest->threads);
	free(nest->endings);
	free(nest->cpus);
	free(nest);
}

static bool is_before(const struct ending *a, const struct ending *b)
{
	return a->ns != b->ns ? a->ns < b->ns : a->number > b->number;
}

static void endings_put(struct kd_nest *nest, struct ending e)
{
	size_t i = nest->n_endings;

	nest->endings = array_grow(nest->endings, nest->n_endings, &nest->endings_cap, sizeof *nest->endings);
	nest->n_endings++;
	for (; i && is_before(&e, &nest->endings[(i - 1) / 2]); i = (i - 1) / 2)
		nest->endings[i] = nest->endings[(i - 1) / 2];
	nest->endings[i] = e;
}

static void endings_drop_first(struct kd_nest *nest)
{
	struct ending last = nest->endings[--nest->n_endings];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < nest->n_endings) {
		child += child + 1 < nest->n_endings && is_before(&nest->endings[child + 1], &nest->endings[child]);
		if (!is_before(&nest->endings[child], &last))
			break;
		nest->endings[i] = nest->endings[child];
		i = child;
	}
	nest->endings[i] = last;
}

static struct kd_frame *innermost(struct thread *t)
{
	return t->count ? &t->frames[t->count - 1] : NULL;
}

/* The open call of that number, or NULL. Numbers ascend on a stack. */
static struct kd_frame *find_frame(struct thread *t, uint64_t number)
{
	size_t low = first_not(i, 0, t->count, t->frames[i].number < number);

	return low < t->count && t->frames[low].number == number && !t->frames[low].ended ? &t->frames[low] : NULL;
}

static struct cpu *cpu_of(struct kd_nest *nest, uint16_t number)
{
	if (number >= nest->n_cpus) {
		nest->cpus = xreallocarray(nest->cpus, number + 1u, sizeof *nest->cpus);
		while (nest->n_cpus <= number)
			nest->cpus[nest->n_cpus++] = (struct cpu){ .thread = NOBODY };
	}
	return &nest->cpus[number];
}

/* An event of the thread: up to there ran whoever had the last one. */
static void note_event(struct kd_nest *nest, uint16_t cpu, uint64_t ns, long thread)
{
	struct cpu *c = cpu_of(nest, cpu);
	struct kd_frame *running = c->thread == NOBODY ? NULL : innermost(&nest->threads[c->thread]);

	if (running && ns > c->ns)
		running->local_ns += ns - c->ns;
	*c = (struct cpu){ .thread = thread, .ns = ns };
}

static void leave(struct kd_nest *nest, struct kd_frame *f)
{
	uint64_t took = (uint64_t)f->call.duration_ns, rest = took > f->local_ns ? took - f->local_ns : 0;

	f->ended = true;
	nest->ending_trees -= !f->depth && !f->call.no_exit;
	if (f->sub_ns > rest)
		f->sub_ns = rest;
	nest->user.leave(nest->user.data, f);
}

/* A call can end before its callee: by rounding, or in a damaged log. */
static void pop_ended(struct thread *t)
{
	while (t->count && t->frames[t->count - 1].ended)
		t->count--;
}

static uint64_t thread_key(const struct kfi_call *call)
{
	return call->thread ? (uint64_t)call->thread << 32 : (uint32_t)call->pid;
}

static uint32_t thread_number(struct kd_nest *nest, const struct kfi_call *call)
{
	long running = call->pid == -1 ? cpu_of(nest, call->cpu)->thread : NOBODY;
	uint64_t *number;

	if (running != NOBODY)
		return (uint32_t)running;
	number = map_put(&nest->numbers, thread_key(call), nest->n_threads);
	if (*number == nest->n_threads) {
		nest->threads = array_grow(nest->threads, nest->n_threads, &nest->threads_cap, sizeof *nest->threads);
		nest->threads[nest->n_threads++] = (struct thread){ .cpu = call->cpu };
	}
	return (uint32_t)*number;
}

/* Is the call within the one that ends as it is entered? */
static bool is_within(struct kd_nest *nest, const struct ending *e, const struct kfi_call *call)
{
	const struct kd_frame *top;

	if (!call || e->ns != call->entry_ns || call->no_exit || call->duration_ns ||
	    thread_number(nest, call) != e->thread)
		return false;
	top = innermost(&nest->threads[e->thread]);
	return top && top->number == e->number && top->call.function == call->from;
}

/* End what ends up to this moment, at which `call` (NULL: nothing) is entered. */
static void leave_until(struct kd_nest *nest, uint64_t ns, const struct kfi_call *call)
{
	while (nest->n_endings && nest->endings[0].ns <= ns) {
		struct ending e = nest->endings[0];
		struct thread *t = &nest->threads[e.thread];
		struct kd_frame *f = find_frame(t, e.number);

		if (f && is_within(nest, &e, call))
			return;
		endings_drop_first(nest);
		if (!f)
			continue;
		note_event(nest, t->cpu, e.ns, e.thread);
		leave(nest, f);
		pop_ended(t);
	}
}

/* How many of the open calls are still there when this one is entered. */
static size_t still_there(const struct thread *t, const struct kfi_call *call, uint64_t end_ns)
{
	uint64_t until = call->no_exit ? call->entry_ns : end_ns;

	for (size_t n = t->count; n && t->count - n < KD_NEST_LOOK_MAX; n--) {
		const struct kd_frame *f = &t->frames[n - 1];

		if (call->from != KFI_UNKNOWN && f->call.function == call->from)
			return n;
		if (!f->call.no_exit && f->end_ns >= until)
			return t->count;
		if (call->from != KFI_UNKNOWN && f->call.from == call->from)
			return n - 1;
	}
	return t->count;
}

static void cut(struct kd_nest *nest, struct thread *t, size_t count)
{
	for (; t->count > count; t->count--)
		if (!t->frames[t->count - 1].ended)
			leave(nest, innermost(t));
	pop_ended(t);
}

/* Fill in what the call has from the one that it lies in, which may be in another tree. */
static void put_into(const struct kd_nest *nest, struct kd_frame *f, struct kd_frame *parent)
{
	const struct kfi_call *call = &f->call;
	bool known = call->from != KFI_UNKNOWN, from_it = known && call->from == parent->call.function;
	bool other = !from_it &&
		     ((call->interrupt && !parent->call.interrupt) || (known && !kfi_log_lacks_callers(nest->log)));

	f->cuts_in = other || parent->cuts_in;
	if (!other) {
		f->depth = parent->depth + 1;
		f->tree = parent->tree;
	}
	if (call->no_exit)
		return;
	parent->sub_ns += (f->end_ns < parent->end_ns ? f->end_ns : parent->end_ns) - call->entry_ns;
	parent->called_ns += from_it ? (uint64_t)call->duration_ns : 0;
}

static void begin_tree(struct kd_nest *nest, struct kd_frame *f)
{
	f->tree = nest->trees++;
	f->cuts_in = f->cuts_in || nest->ending_trees;
	nest->ending_trees += !f->call.no_exit;
}

static void enter(struct kd_nest *nest, uint32_t number, const struct kfi_call *call)
{
	struct thread *t = &nest->threads[number];
	struct kd_frame f = { .call = *call, .number = nest->added++, .end_ns = UINT64_MAX };

	if (!call->no_exit)
		f.end_ns = call->entry_ns + (uint64_t)call->duration_ns;
	cut(nest, t, still_there(t, call, f.end_ns));
	if (t->count)
		put_into(nest, &f, innermost(t));
	if (!f.depth)
		begin_tree(nest, &f);
	t->frames = array_grow(t->frames, t->count, &t->cap, sizeof *t->frames);
	t->frames[t->count++] = f;
	if (!call->no_exit)
		endings_put(nest, (struct ending){ f.end_ns, f.number, number });
	nest->user.enter(nest->user.data, innermost(t), t->count > 1 ? innermost(t) - 1 : NULL);
}

/* A thread that goes on elsewhere does not run any more where it was. */
static void move(struct kd_nest *nest, struct thread *t, long number, const struct kfi_call *call)
{
	if (t->cpu == call->cpu)
		return;
	if (cpu_of(nest, t->cpu)->thread == number)
		note_event(nest, t->cpu, call->entry_ns, NOBODY);
	t->cpu = call->cpu;
}

void kd_nest_add(struct kd_nest *nest, const struct kfi_call *call)
{
	uint32_t number;

	/* first, since what ends now may be of the thread that an interrupt cuts into */
	leave_until(nest, call->entry_ns, call);
	number = thread_number(nest, call);
	move(nest, &nest->threads[number], number, call);
	note_event(nest, call->cpu, call->entry_ns, number);
	enter(nest, number, call);
}

static int last_first(const void *va, const void *vb)
{
	const struct kd_frame *a = *(struct kd_frame *const *)va, *b = *(struct kd_frame *const *)vb;

	return a->number > b->number ? -1 : a->number < b->number;
}

/* What is left are calls without an exit, in any thread. */
static void leave_rest(struct kd_nest *nest)
{
	struct kd_frame **rest;
	size_t n = 0;

	for (size_t i = 0; i < nest->n_threads; i++)
		n += nest->threads[i].count;
	rest = xcalloc(n, sizeof *rest);
	n = 0;
	for (size_t i = 0; i < nest->n_threads; i++)
		for (size_t k = 0; k < nest->threads[i].count; k++)
			if (!nest->threads[i].frames[k].ended)
				rest[n++] = &nest->threads[i].frames[k];
	qsort(rest, n, sizeof *rest, last_first);
	for (size_t i = 0; i < n; i++)
		leave(nest, rest[i]);
	free(rest);
	for (size_t i = 0; i < nest->n_threads; i++)
		nest->threads[i].count = 0;
}

void kd_nest_finish(struct kd_nest *nest)
{
	leave_until(nest, UINT64_MAX, NULL);
	leave_rest(nest);
}
