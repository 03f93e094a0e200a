/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "functions.h"

#include "base/alloc.h"
#include "replay/meter.h"

struct state {
	struct name_cache *cache;
	struct functions sums;
	bool *groups;     /* by function: it is one */
	/* within a chunk: */
	uint64_t task;
	struct space_view view;
	uint32_t function;
	struct meter meter;
	uint16_t cpu;
};

static int begin(void *state, const struct chunk_header *h, struct error *err)
{
	struct state *s = state;

	(void)err;
	s->task = h->task;
	s->view = (struct space_view){ 0 };
	s->function = name_cache_place(s->cache, &s->view, s->task, h->place, h->first_ns).function;
	meter_begin(&s->meter, h);
	s->cpu = h->cpu;
	return 0;
}

static inline void spend(struct state *s, struct meter *meter, const struct event *e)
{
	struct function_stat *stat = &s->sums.stats[s->function];
	struct spent spent = meter_step(meter, e);

	stat->self_insns += spent.insns;
	stat->self_ns += spent.ns;
	s->sums.halted_ns += spent.halted_ns;
}

/* Kinds of events that enter the place that they lead to, if that is a function's start. */
enum {
	ENTERS = 1 << EVENT_CALL | 1 << EVENT_CALL_INDIRECT | 1 << EVENT_JUMP | 1 << EVENT_JUMP_INDIRECT |
		 1 << EVENT_INTERRUPT | 1 << EVENT_SYSCALL |
		 /* one that leads to a function's start is a retpoline's jump, or a new thread's first step */
		 1 << EVENT_RETURN,
};

static inline bool enters(const struct event *e, bool same_function)
{
	/* a signal's handler, or a program's start */
	if (__builtin_expect(e->kind == EVENT_INTERRUPT_RETURN, 0))
		return e->args[0] & IRET_ELSEWHERE;
	return (ENTERS >> e->kind & 1) || (e->kind == EVENT_ARRIVE && !same_function);
}

/* Keep the earlier of both. */
static void take_first(struct function_stat *stat, struct function_first *first, uint64_t ns,
		       const struct function_first *other)
{
	if (ns > stat->first_ns || (ns == stat->first_ns && other->insns >= first->insns))
		return;
	stat->first_ns = ns;
	*first = *other;
}

static inline void enter(struct state *s, const struct event *e, uint32_t function)
{
	struct function_stat *stat = &s->sums.stats[function];

	stat->calls++;
	if (__builtin_expect(e->ns <= stat->first_ns, 0))
		take_first(stat, &s->sums.firsts[function], e->ns,
			   &(struct function_first){ .insns = e->insns, .task = s->task, .caller = s->function, .cpu = s->cpu });
}

static inline void go(struct state *s, const struct event *e)
{
	struct place place = name_cache_place(s->cache, &s->view, s->task, e->target, e->ns);

	if ((place.start || (s->groups[place.function] && e->kind != EVENT_RETURN)) && enters(e, place.function == s->function) &&
	    e->ns >= s->meter.span->from_ns && e->ns < s->meter.span->to_ns)
		enter(s, e, place.function);
	s->function = place.function;
}

static int batch(void *state, const struct batch *b, struct error *err)
{
	struct state *s = state;
	/* a copy that nothing points to is kept in registers */
	struct meter meter = s->meter;

	(void)err;
	for (size_t i = 0; i < b->count; i++) {
		const struct event *e = &b->events[i];

		spend(s, &meter, e);
		if (e->target)
			go(s, e);
		else if (__builtin_expect(e->kind == EVENT_TASK_SWITCH, 0))
			s->task = e->args[1];
	}
	s->meter = meter;
	s->sums.events += b->count;
	return 0;
}

static void add(struct functions *sum, const struct functions *part)
{
	for (size_t i = 0; i < sum->count; i++) {
		struct function_stat *a = &sum->stats[i];
		const struct function_stat *b = &part->stats[i];

		a->calls += b->calls;
		a->self_insns += b->self_insns;
		a->self_ns += b->self_ns;
		take_first(a, &sum->firsts[i], b->first_ns, &part->firsts[i]);
		sum->insns += b->self_insns;
		sum->ns += b->self_ns;
	}
	sum->halted_ns += part->halted_ns;
	sum->events += part->events;
}

static struct functions functions_new(size_t count)
{
	struct functions f = {
		.stats = xcalloc(count, sizeof *f.stats), .firsts = xcalloc(count, sizeof *f.firsts), .count = count,
	};

	for (size_t i = 0; i < count; i++)
		f.stats[i].first_ns = f.firsts[i].insns = UINT64_MAX;
	return f;
}

int functions_analyse(const struct reader *r, const struct names *names, const struct span *span,
		      struct functions *ret, struct error *err)
{
	static const struct chunk_visitor visitor = { .begin = begin, .batch = batch };
	unsigned threads = walk_threads();
	struct state *states = xcalloc(threads, sizeof *states);
	void **pointers = xcalloc(threads, sizeof *pointers);
	struct functions sum = functions_new(names_count(names));
	bool *groups = names_groups(names);
	int result;

	for (unsigned i = 0; i < threads; i++) {
		states[i].meter.span = span;
		states[i].sums = functions_new(names_count(names));
		states[i].cache = xmalloc(sizeof *states[i].cache);
		name_cache_init(states[i].cache, names);
		states[i].groups = groups;
		pointers[i] = &states[i];
	}
	result = walk_chunks(r, span, &visitor, pointers, threads, err);
	for (unsigned i = 0; i < threads; i++) {
		add(&sum, &states[i].sums);
		functions_deinit(&states[i].sums);
		free(states[i].cache);
	}
	free(states);
	free(pointers);
	free(groups);
	if (result < 0)
		functions_deinit(&sum);
	else
		*ret = sum;
	return result;
}

void functions_deinit(struct functions *f)
{
	free(f->stats);
	free(f->firsts);
	*f = (struct functions){ 0 };
}
