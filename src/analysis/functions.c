/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "functions.h"

#include "base/alloc.h"

/* Threads write to theirs all the time: they share no cache line. */
enum { LINE = 64 };

struct function_sums {
	struct functions sums;
} __attribute__((aligned(LINE)));

void function_lane_begin(struct function_lane *lane, struct name_cache *cache, unsigned cpu, uint64_t task, uint64_t place,
			 const struct meter *meter)
{
	*lane = (struct function_lane){ .cache = cache, .task = task, .meter = *meter, .cpu = (uint16_t)cpu };
	lane->function = name_cache_place(cache, &lane->view, task, place, meter->ns).function;
}

/* Returns what was halted. */
static inline uint64_t spend(struct function_stat *stat, struct meter *meter, const struct event *e)
{
	struct spent spent = meter_step(meter, e);

	stat->self_insns += spent.insns;
	stat->self_ns += spent.ns;
	return spent.halted_ns;
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

static inline void enter(struct function_sums *s, const struct function_lane *lane, const struct event *e, uint32_t function,
			 uint32_t caller)
{
	struct function_stat *stat = &s->sums.stats[function];

	stat->calls++;
	if (__builtin_expect(e->ns <= stat->first_ns, 0))
		take_first(stat, &s->sums.firsts[function], e->ns,
			   &(struct function_first){ .insns = e->insns, .task = lane->task, .caller = caller, .cpu = lane->cpu });
}

/* From one function to the next, which is returned. */
static inline uint32_t go(struct function_sums *s, struct function_lane *lane, const struct event *e, const struct span *span,
			  uint32_t from)
{
	struct place place = name_cache_place(lane->cache, &lane->view, lane->task, e->target, e->ns);

	if ((place.start || (place.group && e->kind != EVENT_RETURN)) && enters(e, place.function == from) &&
	    e->ns >= span->from_ns && e->ns < span->to_ns)
		enter(s, lane, e, place.function, from);
	return place.function;
}

/* The function that control is in behind the event. */
static inline uint32_t follow(struct function_sums *s, struct function_lane *lane, const struct event *e,
			      const struct span *span, uint32_t function)
{
	if (__builtin_expect(e->target != 0, 1))
		return go(s, lane, e, span, function);
	if (e->kind == EVENT_TASK_SWITCH)
		lane->task = e->args[1];
	return function;
}

/* Events in the span none of which has a clock: what runs is not halted, nor will be. */
static uint32_t take_plain(struct function_sums *s, struct function_lane *lane, const struct event *events, size_t n)
{
	const struct span *span = lane->meter.span;
	uint64_t insns = lane->meter.insns, ns = lane->meter.ns;
	uint32_t function = lane->function;

	for (const struct event *e = events; e < events + n; e++) {
		struct function_stat *stat = &s->sums.stats[function];

		stat->self_insns += e->insns - insns;
		stat->self_ns += e->ns - ns;
		insns = e->insns;
		ns = e->ns;
		function = follow(s, lane, e, span, function);
	}
	lane->meter.insns = insns;
	lane->meter.ns = ns;
	return function;
}

/* All but the last, if nothing has to be asked of each. */
static size_t count_plain(const struct meter *meter, const struct event *events, size_t n)
{
	const struct span *span = meter->span;

	return n && !meter->halted && meter->ns >= span->from_ns && events[n - 1].ns < span->to_ns ? n - 1 : 0;
}

void function_sums_take(struct function_sums *s, struct function_lane *lane, const struct event *events, size_t n)
{
	size_t plain = count_plain(&lane->meter, events, n);

	lane->function = take_plain(s, lane, events, plain);
	for (const struct event *e = events + plain; e < events + n; e++) {
		s->sums.halted_ns += spend(&s->sums.stats[lane->function], &lane->meter, e);
		lane->function = follow(s, lane, e, lane->meter.span, lane->function);
	}
	s->sums.events += n;
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

struct functions functions_new(size_t count)
{
	struct functions f = {
		.stats = xcalloc(count, sizeof *f.stats), .firsts = xcalloc(count, sizeof *f.firsts), .count = count,
	};

	for (size_t i = 0; i < count; i++)
		f.stats[i].first_ns = f.firsts[i].insns = UINT64_MAX;
	return f;
}

struct function_sums *function_sums_new(const struct names *names)
{
	struct function_sums *s = xcalloc_aligned(LINE, 1, sizeof *s);

	s->sums = functions_new(names_count(names));
	return s;
}

void function_sums_add(struct function_sums *s, struct functions *sum)
{
	add(sum, &s->sums);
}

void function_sums_free(struct function_sums *s)
{
	functions_deinit(&s->sums);
	free(s);
}

/* What a thread that goes by chunks has. */
struct walker {
	struct function_sums *sums;
	struct name_cache *cache;
	const struct span *span;
	struct function_lane lane;
} __attribute__((aligned(LINE)));

static int begin(void *state, const struct chunk_header *h, struct error *err)
{
	struct walker *w = state;
	struct meter meter = { .span = w->span };

	(void)err;
	meter_begin(&meter, h);
	function_lane_begin(&w->lane, w->cache, h->cpu, h->task, h->place, &meter);
	return 0;
}

static int batch(void *state, const struct batch *b, struct error *err)
{
	struct walker *w = state;

	(void)err;
	function_sums_take(w->sums, &w->lane, b->events, b->count);
	return 0;
}

int functions_analyse(const struct reader *r, const struct names *names, const struct span *span,
		      struct functions *ret, struct error *err)
{
	static const struct chunk_visitor visitor = { .begin = begin, .batch = batch };
	unsigned threads = walk_threads();
	struct walker *walkers = xcalloc_aligned(LINE, threads, sizeof *walkers);
	void **pointers = xcalloc(threads, sizeof *pointers);
	int result;

	for (unsigned i = 0; i < threads; i++) {
		walkers[i] = (struct walker){
			.sums = function_sums_new(names), .cache = xmalloc(sizeof *walkers[i].cache), .span = span,
		};
		name_cache_init(walkers[i].cache, names);
		pointers[i] = &walkers[i];
	}
	result = walk_chunks(r, span, &visitor, pointers, threads, err);
	*ret = functions_new(names_count(names));
	for (unsigned i = 0; i < threads; i++) {
		function_sums_add(walkers[i].sums, ret);
		function_sums_free(walkers[i].sums);
		free(walkers[i].cache);
	}
	free(walkers);
	free(pointers);
	if (result < 0)
		functions_deinit(ret);
	return result;
}

void functions_deinit(struct functions *f)
{
	free(f->stats);
	free(f->firsts);
	*f = (struct functions){ 0 };
}
