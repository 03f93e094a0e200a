/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "forgotten.h"

#include <stdlib.h>
#include <zstd.h>

#include "base/alloc.h"
#include "base/map.h"
#include "trace/facts.h"
#include "under_way.h"

enum { REST_LEVEL = 3 }; /* zstd's */

struct thread {
	uint64_t task;
	struct fact lock;     /* that tells of the last lock that it waited for; its ns is 0: none does */
	uint64_t since_ns;    /* when it left its vCPU; UINT64_MAX: it runs … */
	unsigned on;          /* … on that one */
	struct under_way calls;
};

struct waiting {
	struct chunk_header header;
	struct buf packed;
	bool in_file;
};

/*
 * An event that is in the file before it is gone through: what happened before it on other vCPUs is yet to come. With
 * EVENT_NONE a chunk begins, in that state.
 */
struct ahead {
	struct event event;
	uint64_t args[EVENT_ARGS];
	struct cpu_state state;
};

/* A vCPU. */
struct lane {
	struct thread before;  /* what runs before the first switch tells which it is */
	struct waiting *queue; /* chunks that are yet to be gone through */
	size_t first, count, cap;
	struct thread *thread; /* that runs; its own `before`: not known which */
	unsigned cpu;
	struct decoder decoder;
	struct batch *batch;   /* of the chunk that is gone through */
	size_t next;           /* event of the batch */
	struct buf data;       /* the chunk, unpacked */
	bool open;             /* a chunk is under way … */
	bool in_file;          /* … which is in the file */
	struct ahead *ahead;   /* before the next event of the batch */
	size_t next_ahead, n_ahead, ahead_cap;
	struct cpu_state state; /* behind the event that was gone through last … */
	uint64_t last_ns;      /* … and its time */
};

static struct {
	const struct sites *sites; /* NULL: nothing is ever forgotten */
	ZSTD_DCtx *zstd;
	struct lane *lanes[CPUS_MAX];
	struct thread **threads;
	size_t n_threads, cap;
	struct map numbers;        /* task → place in threads + 1 */
} forgotten;

void forgotten_begin(const struct sites *sites)
{
	forgotten.sites = sites;
	forgotten.zstd = ZSTD_createDCtx();
}

static struct thread *thread_of(uint64_t task)
{
	uint64_t *number;

	if (!task)
		return NULL;
	number = map_put(&forgotten.numbers, task, 0);
	if (!*number) {
		forgotten.threads =
			array_grow(forgotten.threads, forgotten.n_threads, &forgotten.cap, sizeof(struct thread *));
		forgotten.threads[forgotten.n_threads] = xcalloc(1, sizeof **forgotten.threads);
		*forgotten.threads[forgotten.n_threads] = (struct thread){ .task = task };
		*number = ++forgotten.n_threads;
	}
	return forgotten.threads[*number - 1];
}

/* The vCPU runs that thread, of which nothing is known but that. */
static void run_unknown(struct lane *lane, uint64_t task)
{
	lane->thread = task ? thread_of(task) : &lane->before;
	under_way_forget(&lane->thread->calls);
	lane->thread->since_ns = UINT64_MAX;
	lane->thread->on = lane->cpu;
}

static struct lane *lane_of(unsigned cpu)
{
	struct lane *lane = forgotten.lanes[cpu];

	if (!lane) {
		lane = forgotten.lanes[cpu] = xcalloc(1, sizeof *lane);
		lane->batch = xcalloc(1, sizeof *lane->batch);
		lane->cpu = cpu;
		decoder_init(&lane->decoder, forgotten.sites);
		run_unknown(lane, 0);
	}
	return lane;
}

void forgotten_add(const struct chunk_header *header, struct buf *packed, bool in_file)
{
	struct lane *lane = lane_of(header->cpu);

	lane->queue = array_grow(lane->queue, lane->count, &lane->cap, sizeof *lane->queue);
	lane->queue[lane->count++] = (struct waiting){ .header = *header, .packed = *packed, .in_file = in_file };
	*packed = (struct buf){ 0 };
}

static void close_chunk(struct lane *lane)
{
	lane->open = false;
	lane->first++;
	if (lane->first == lane->count)
		lane->first = lane->count = 0;
}

/* Replaces what is in *out, and frees *packed. -1: it is damaged. */
static int unpack(const struct chunk_header *h, struct buf *packed, struct buf *out)
{
	size_t n;

	out->len = 0;
	buf_reserve(out, h->unpacked + 1);
	n = ZSTD_decompressDCtx(forgotten.zstd, out->data, out->cap, packed->data + sizeof *h, packed->len - sizeof *h);
	buf_free(packed);
	*packed = (struct buf){ 0 };
	if (ZSTD_isError(n))
		return -1;
	out->len = n;
	return 0;
}

void forgotten_facts(const struct chunk_header *header, struct buf *packed)
{
	struct facts facts = { 0 };
	struct buf data = { 0 };
	struct error ignored;
	struct cursor in;

	if (unpack(header, packed, &data) == 0) {
		in = cursor_over(data.data, data.len);
		facts_decode(&in, &facts, &ignored);
	}
	for (size_t i = 0; i < facts.count; i++) {
		const struct fact *f = &facts.list[i];
		struct thread *t = f->kind == FACT_LOCK ? thread_of(f->task) : NULL;

		if (t && f->ns >= t->lock.ns)
			t->lock = *f;
	}
	facts_deinit(&facts);
	buf_free(&data);
}

static void begin_in(struct lane *lane, const struct cpu_state *state)
{
	lane->state = *state;
	lane->last_ns = state->ns;
	if (lane->thread->task != state->task)
		run_unknown(lane, state->task);
}

/* Unpack and begin to decode the vCPU's next chunk; *ret is its state there. False: there is none. */
static bool open_chunk(struct lane *lane, struct cpu_state *ret)
{
	struct waiting *w = lane->first < lane->count ? &lane->queue[lane->first] : NULL;
	const struct chunk_header *h;
	struct error ignored;

	if (!w)
		return false;
	h = &w->header;
	lane->open = true;
	lane->in_file = w->in_file;
	lane->next = 0;
	lane->batch->count = 0;
	*ret = (struct cpu_state){
		.insns = h->first_insns, .ns = h->first_ns, .place = h->place, .space = h->space, .task = h->task,
		.halted = h->flags & CHUNK_HALTED,
	};
	if (unpack(h, &w->packed, &lane->data) < 0 ||
	    decoder_begin(&lane->decoder, lane->data.data, lane->data.len, ret, false, &ignored) < 0)
		lane->data.len = 0; /* damaged: its thread is not known any more */
	return true;
}

static struct ahead *add_ahead(struct lane *lane)
{
	lane->ahead = array_grow(lane->ahead, lane->n_ahead, &lane->ahead_cap, sizeof *lane->ahead);
	return &lane->ahead[lane->n_ahead++];
}

/* The next event of the vCPU's chunks, or NULL. Where a chunk begins is told at once, or `ahead`. */
static const struct event *peek_chunk(struct lane *lane, bool ahead)
{
	struct cpu_state state;
	struct error ignored;

	while (lane->next == lane->batch->count) {
		if (!lane->open) {
			if (!open_chunk(lane, &state))
				return NULL;
			state.task = lane->data.len ? state.task : 0;
			if (ahead)
				*add_ahead(lane) = (struct ahead){ .state = state };
			else
				begin_in(lane, &state);
		}
		lane->next = 0;
		if (!lane->data.len || decoder_next(&lane->decoder, lane->batch, &ignored) < 0 || !lane->batch->count) {
			lane->batch->count = 0;
			close_chunk(lane);
		} else {
			batch_complete(lane->batch);
		}
	}
	return &lane->batch->events[lane->next];
}

/* The vCPU's next event, or NULL. */
static const struct event *peek(struct lane *lane)
{
	for (; lane->next_ahead < lane->n_ahead; lane->next_ahead++) {
		struct ahead *a = &lane->ahead[lane->next_ahead];

		a->event.args = a->args;
		if (a->event.kind != EVENT_NONE)
			return &a->event;
		begin_in(lane, &a->state);
	}
	lane->next_ahead = lane->n_ahead = 0;
	return peek_chunk(lane, false);
}

static void switch_thread(struct lane *lane, const struct event *e)
{
	struct thread *previous = thread_of(e->args[0]), *next = thread_of(e->args[1]);

	if (previous && lane->thread == &lane->before && !previous->calls.place) {
		/* it was that one all the time */
		previous->calls = lane->before.calls;
		lane->before.calls = (struct under_way){ 0 };
	} else if (previous && previous != lane->thread) {
		run_unknown(lane, e->args[0]);
	}
	if (previous)
		previous->since_ns = e->ns;
	if (!next) {
		run_unknown(lane, 0);
		return;
	}
	lane->thread = next;
	if (next->since_ns > e->ns) /* it runs elsewhere: something is not known */
		under_way_forget(&next->calls);
	next->since_ns = UINT64_MAX;
	next->on = lane->cpu;
}

static void forget_all(void)
{
	for (size_t i = 0; i < forgotten.n_threads; i++) {
		under_way_deinit(&forgotten.threads[i]->calls);
		free(forgotten.threads[i]);
	}
	free(forgotten.threads);
	map_free(&forgotten.numbers);
	forgotten.threads = NULL;
	forgotten.n_threads = forgotten.cap = 0;
	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++)
		if (forgotten.lanes[cpu])
			run_unknown(forgotten.lanes[cpu], 0);
}

/* The event has been gone through. */
static void pass(struct lane *lane)
{
	const struct event *e = lane->next_ahead < lane->n_ahead ? &lane->ahead[lane->next_ahead++].event
								 : &lane->batch->events[lane->next++];

	cpu_state_advance(&lane->state, e);
	lane->last_ns = e->ns;
}

/* Up to the vCPU's next switch, or that time. Returns the switch, or NULL. */
static const struct event *run(struct lane *lane, uint64_t until_ns)
{
	const struct event *e;

	while ((e = peek(lane)) && e->ns <= until_ns) {
		if (e->kind == EVENT_TASK_SWITCH || e->kind == EVENT_GAP)
			return e;
		under_way_event(&lane->thread->calls, e);
		pass(lane);
	}
	return NULL;
}

/* Switches in the order of time: what one vCPU leaves, another may go on with. */
static void go_until(uint64_t ns)
{
	for (;;) {
		const struct event *first = NULL;
		unsigned first_cpu = 0;

		for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
			struct lane *lane = forgotten.lanes[cpu];
			const struct event *e = lane ? run(lane, ns) : NULL;

			if (e && (!first || e->ns < first->ns)) {
				first = e;
				first_cpu = cpu;
			}
		}
		if (!first)
			return;
		if (first->kind == EVENT_GAP) {
			uint64_t task = first->args[GAP_TASK];

			forget_all();
			run_unknown(forgotten.lanes[first_cpu], task);
		} else {
			switch_thread(forgotten.lanes[first_cpu], first);
		}
		pass(forgotten.lanes[first_cpu]);
	}
}

void forgotten_until(uint64_t ns)
{
	if (forgotten.sites)
		go_until(ns);
}

static int by_since(const void *va, const void *vb)
{
	const struct thread *a = *(struct thread *const *)va, *b = *(struct thread *const *)vb;

	if (a->since_ns != b->since_ns)
		return a->since_ns < b->since_ns ? -1 : 1;
	return a->task < b->task ? -1 : a->task > b->task;
}

static void put(const struct thread *t, uint64_t gap, struct buf *out)
{
	under_way_put(&t->calls,
		      &(struct stack_record){ .gap = gap, .task = t->task, .since_ns = t->since_ns, .on = t->on }, out);
}

/* Those that have slept longest first. */
static void put_all(uint64_t gap, struct buf *out)
{
	struct thread **sorted = xcalloc(forgotten.n_threads + 1, sizeof *sorted);

	for (size_t i = 0; i < forgotten.n_threads; i++)
		sorted[i] = forgotten.threads[i];
	qsort(sorted, forgotten.n_threads, sizeof *sorted, by_since);
	for (size_t i = 0; i < forgotten.n_threads; i++)
		if (sorted[i]->calls.place)
			put(sorted[i], gap, out);
	free(sorted);
}

void forgotten_tell(uint64_t gap, struct buf *out, struct buf *facts)
{
	put_all(gap, out);
	for (size_t i = 0; i < forgotten.n_threads; i++)
		if (forgotten.threads[i]->lock.ns)
			fact_put(facts, &forgotten.threads[i]->lock);
	for (size_t i = 0; i < forgotten.n_threads; i++)
		forgotten.threads[i]->lock.ns = 0; /* it is in the file */
}

/* The vCPU's state, and the time, behind all that is ahead. */
static struct cpu_state state_ahead(const struct lane *lane, uint64_t *ret_ns)
{
	struct cpu_state state = lane->state;

	*ret_ns = lane->last_ns;
	for (size_t i = lane->next_ahead; i < lane->n_ahead; i++) {
		struct ahead a = lane->ahead[i];

		a.event.args = a.args;
		if (a.event.kind == EVENT_NONE)
			state = a.state;
		else
			cpu_state_advance(&state, &a.event);
		*ret_ns = a.event.kind == EVENT_NONE ? state.ns : a.event.ns;
	}
	return state;
}

static struct builder *begin_rest(const struct lane *lane, uint64_t gap, const struct builder_sink *sink)
{
	struct builder *builder = xcalloc(1, sizeof *builder);
	uint64_t ns;
	struct cpu_state state = state_ahead(lane, &ns);

	builder_init(builder, forgotten.sites, sink);
	builder->without_sites = true;
	state.ns = ns;
	builder_put_gap(builder, lane->cpu, &state, GAP_NOT_ASKED, gap, 0);
	return builder;
}

static void put_ahead(struct lane *lane, const struct event *e)
{
	struct ahead *a = add_ahead(lane);

	*a = (struct ahead){ .event = *e };
	for (unsigned i = 0; i < event_n_args(e->kind); i++)
		a->args[i] = e->args[i];
}

void forgotten_rest(unsigned cpu, uint64_t gap, const struct builder_sink *sink)
{
	struct lane *lane = forgotten.lanes[cpu];
	struct builder *builder = NULL;
	const struct event *e;

	while (lane && (e = peek_chunk(lane, true))) {
		if (!builder && !lane->in_file)
			builder = begin_rest(lane, gap, sink);
		if (builder) {
			*encoder_next(builder_encoder(builder, cpu)) = *e;
			encoder_added(builder_encoder(builder, cpu));
		}
		put_ahead(lane, e);
		lane->next++;
		/* the event's arguments are the batch's */
		if (builder && lane->next == lane->batch->count)
			encoder_flush(builder_encoder(builder, cpu));
	}
	if (!builder)
		return;
	builder_end_chunk(builder, cpu, REST_LEVEL);
	builder_deinit(builder);
	free(builder);
}

void forgotten_end(void)
{
	forget_all();
	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
		struct lane *lane = forgotten.lanes[cpu];

		if (!lane)
			continue;
		for (size_t i = lane->first; i < lane->count; i++)
			buf_free(&lane->queue[i].packed);
		free(lane->queue);
		free(lane->ahead);
		free(lane->batch);
		under_way_deinit(&lane->before.calls);
		buf_free(&lane->data);
		decoder_deinit(&lane->decoder);
		free(lane);
		forgotten.lanes[cpu] = NULL;
	}
	ZSTD_freeDCtx(forgotten.zstd);
	forgotten.zstd = NULL;
}
