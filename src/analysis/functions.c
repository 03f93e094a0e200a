/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "functions.h"

#include "base/alloc.h"
#include "replay/meter.h"

struct state {
	struct name_cache *cache;
	struct functions sums;
	uint32_t groups;  /* functions from this number on are groups */
	/* within a chunk: */
	uint32_t function;
	struct meter meter;
	uint16_t cpu;
};

static int begin(void *state, const struct chunk_header *h, struct error *err)
{
	struct state *s = state;

	(void)err;
	s->function = names_place(s->cache->names, h->place, h->first_ns).function;
	meter_begin(&s->meter, h);
	s->cpu = h->cpu;
	return 0;
}

static inline void spend(struct state *s, const struct event *e)
{
	struct function_stat *stat = &s->sums.stats[s->function];
	struct spent spent = meter_step(&s->meter, e);

	stat->self_insns += spent.insns;
	stat->self_ns += spent.ns;
	s->sums.insns += spent.insns;
	s->sums.ns += spent.ns;
	s->sums.halted_ns += spent.halted_ns;
}

/* Kinds of events that enter the place that they lead to, if that is a function's start. */
enum {
	ENTERS = 1 << EVENT_CALL | 1 << EVENT_CALL_INDIRECT | 1 << EVENT_JUMP | 1 << EVENT_JUMP_INDIRECT |
		 1 << EVENT_INTERRUPT | 1 << EVENT_SYSCALL |
		 /* one that leads to a function's start is a retpoline's jump, or a new thread's first step */
		 1 << EVENT_RETURN,
};

static inline bool enters(enum event_kind kind, bool same_function)
{
	return (ENTERS >> kind & 1) || (kind == EVENT_ARRIVE && !same_function);
}

static inline void enter(struct state *s, const struct event *e, uint32_t function)
{
	struct function_stat *stat = &s->sums.stats[function];

	stat->calls++;
	if (e->ns < stat->first_ns || (e->ns == stat->first_ns && e->insns < stat->first_insns)) {
		stat->first_ns = e->ns;
		stat->first_insns = e->insns;
		stat->first_caller = s->function;
		stat->first_cpu = s->cpu;
	}
}

static inline void go(struct state *s, const struct event *e)
{
	struct place place = name_cache_place(s->cache, e->target, e->ns);

	if ((place.start || (place.function >= s->groups && e->kind != EVENT_RETURN)) && enters(e->kind, place.function == s->function) &&
	    e->ns >= s->meter.span->from_ns && e->ns < s->meter.span->to_ns)
		enter(s, e, place.function);
	s->function = place.function;
}

static int batch(void *state, const struct batch *b, struct error *err)
{
	struct state *s = state;

	(void)err;
	for (size_t i = 0; i < b->count; i++) {
		const struct event *e = &b->events[i];

		spend(s, e);
		if (e->target)
			go(s, e);
	}
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
		if (b->first_ns < a->first_ns || (b->first_ns == a->first_ns && b->first_insns < a->first_insns)) {
			a->first_ns = b->first_ns;
			a->first_insns = b->first_insns;
			a->first_caller = b->first_caller;
			a->first_cpu = b->first_cpu;
		}
	}
	sum->insns += part->insns;
	sum->ns += part->ns;
	sum->halted_ns += part->halted_ns;
	sum->events += part->events;
}

static struct functions functions_new(size_t count)
{
	struct functions f = { .stats = xcalloc(count, sizeof *f.stats), .count = count };

	for (size_t i = 0; i < count; i++)
		f.stats[i].first_ns = f.stats[i].first_insns = UINT64_MAX;
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
	int result;

	for (unsigned i = 0; i < threads; i++) {
		states[i].meter.span = span;
		states[i].sums = functions_new(names_count(names));
		states[i].cache = xmalloc(sizeof *states[i].cache);
		name_cache_init(states[i].cache, names);
		states[i].groups = (uint32_t)names->tab.count;
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
	if (result < 0)
		functions_deinit(&sum);
	else
		*ret = sum;
	return result;
}

void functions_deinit(struct functions *f)
{
	free(f->stats);
	*f = (struct functions){ 0 };
}
