/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "walk.h"

#include <pthread.h>
#include <unistd.h>

#include "base/alloc.h"
#include "trace/damage.h"

bool span_has(const struct span *span, const struct chunk_header *h)
{
	if (h->type != CHUNK_EVENTS || (span->cpu >= 0 && h->cpu != span->cpu))
		return false;
	/* events after a chunk's last clock may be later than that clock, but not later than the next chunk's first */
	return h->first_ns < span->to_ns && (h->last_ns >= span->from_ns || span->from_ns == 0);
}

/* A decoder of chunks, one after the other, with its memory. */
struct stage {
	const struct reader *reader;
	ZSTD_DCtx *zstd;
	struct buf packed, data;
	struct decoder decoder;
	struct batch batch;
	size_t gap;     /* the chunk, behind what was taken out, whose GAP comes next; 0: none */
	size_t next;    /* the chunk that the decoder's model can go on with; 0: none (chunk 0 has no events) */
};

/* Number of the vCPU's next (step 1) or previous (step -1) chunk of events; 0: there is none. */
static size_t neighbour(const struct reader *r, size_t chunk, int step)
{
	uint16_t cpu = r->chunks[chunk].header.cpu;

	while ((chunk += (size_t)(ptrdiff_t)step) && chunk < r->n_chunks)
		if (r->chunks[chunk].header.type == CHUNK_EVENTS && r->chunks[chunk].header.cpu == cpu)
			return chunk;
	return 0;
}

static bool continues(const struct reader *r, size_t chunk)
{
	return r->chunks[chunk].header.flags & CHUNK_CONTINUES;
}

static struct stage *stage_new(const struct reader *r)
{
	struct stage *s = xcalloc(1, sizeof *s);

	s->reader = r;
	s->zstd = ZSTD_createDCtx();
	decoder_init(&s->decoder, &r->sites);
	return s;
}

static void stage_free(struct stage *s)
{
	if (!s)
		return;
	ZSTD_freeDCtx(s->zstd);
	buf_free(&s->packed);
	buf_free(&s->data);
	decoder_deinit(&s->decoder);
	free(s);
}

static int stage_start(struct stage *s, size_t chunk, struct error *err)
{
	const struct chunk_header *h = &s->reader->chunks[chunk].header;
	struct cpu_state state = { .insns = h->first_insns, .ns = h->first_ns, .space = h->space,
				   .halted = h->flags & CHUNK_HALTED };

	s->gap = s->reader->chunks[chunk].behind_gap ? chunk : 0;

	if (reader_chunk(s->reader, chunk, s->zstd, &s->packed, &s->data, err) < 0)
		return -1;
	s->next = 0;
	if (decoder_begin(&s->decoder, s->data.data, s->data.len, &state, continues(s->reader, chunk), err) < 0)
		return error_prefix(err, "%s: chunk %zu", s->reader->path, chunk);
	return 0;
}

/* What stands for the events before a chunk that were taken out. */
static void put_gap(struct stage *s)
{
	const struct chunk *c = &s->reader->chunks[s->gap];
	const struct chunk_header *h = &c->header;
	struct batch *b = &s->batch;

	damage_gap(s->reader, s->gap, b->args);
	b->timebase = timebase_from(h->first_insns, h->first_ns);
	b->n_args = GAP_ARGS;
	b->n_uses = 0;
	b->events[0] = (struct event){
		.kind = EVENT_GAP, .site = EVENT_GAP, .insns = h->first_insns, .ns = h->first_ns, .args = b->args,
	};
	b->events[1] = (struct event){
		.kind = EVENT_HALT, .site = EVENT_HALT, .insns = h->first_insns, .ns = h->first_ns,
	};
	b->clocked = c->halted;
	b->count = b->clocked ? 2 : 1;
	s->gap = 0;
}

/* Decode the next batch. It is empty at the chunk's end. */
static int stage_next(struct stage *s, size_t chunk, struct error *err)
{
	if (s->gap) {
		put_gap(s);
		return 0;
	}
	if (decoder_next(&s->decoder, &s->batch, err) < 0)
		return error_prefix(err, "%s: chunk %zu at byte %llu", s->reader->path, chunk,
				    (unsigned long long)s->reader->chunks[chunk].offset);
	if (!s->batch.count) {
		s->next = neighbour(s->reader, chunk, 1);
		if (s->reader->progress)
			s->reader->progress(s->reader->progress_context, s->reader->n_event_chunks);
	}
	return 0;
}

/* Decode the earlier chunks whose model this chunk goes on with. */
static int stage_catch_up(struct stage *s, size_t chunk, struct error *err)
{
	size_t first = chunk;

	while (first && continues(s->reader, first) && first != s->next)
		first = neighbour(s->reader, first, -1);
	if (!first)
		return error_set(err, "%s: chunk %zu continues one that is not there", s->reader->path, chunk);
	for (; first != chunk; first = s->next) {
		if (stage_start(s, first, err) < 0)
			return -1;
		do
			if (stage_next(s, first, err) < 0)
				return -1;
		while (s->batch.count);
	}
	return 0;
}

static int stage_open(struct stage *s, size_t chunk, struct error *err)
{
	if (continues(s->reader, chunk) && s->next != chunk && stage_catch_up(s, chunk, err) < 0)
		return -1;
	return stage_start(s, chunk, err);
}

/* A chunk and those that continue it. */
struct unit {
	size_t chunk;
	uint64_t events;
};

struct walk_crew {
	const struct reader *reader;
	const struct span *span;
	const struct chunk_visitor *visitor;
	struct unit *units;
	size_t n_units, next;
	int failed;
	pthread_mutex_t lock;
	struct error *err;
};

struct member {
	struct walk_crew *crew;
	void *state;
	pthread_t thread;
	bool started;
};

static int visit(struct stage *s, const struct walk_crew *crew, void *state, size_t chunk, struct error *err)
{
	const struct chunk_visitor *visitor = crew->visitor;

	if (stage_open(s, chunk, err) < 0 ||
	    visitor->begin(state, &s->reader->chunks[chunk].header, err) < 0)
		return -1;
	for (;;) {
		if (stage_next(s, chunk, err) < 0)
			return -1;
		if (!s->batch.count)
			break;
		if (!visitor->brief)
			batch_complete(&s->batch);
		if (visitor->batch(state, &s->batch, err) < 0)
			return -1;
	}
	return visitor->end ? visitor->end(state, err) : 0;
}

static int by_events(const void *a, const void *b)
{
	const struct unit *x = a, *y = b;

	if (x->events != y->events)
		return x->events < y->events ? 1 : -1;
	return x->chunk < y->chunk ? -1 : 1;
}

/* Sort the largest first, so that small units are left at the end for threads that finish early. */
static void list_units(struct walk_crew *crew)
{
	const struct reader *r = crew->reader;
	struct unit **last = xcalloc(CPUS_MAX, sizeof *last);

	crew->units = xcalloc(r->n_chunks + 1, sizeof *crew->units);
	for (size_t i = 0; i < r->n_chunks; i++) {
		const struct chunk_header *h = &r->chunks[i].header;

		if (h->type != CHUNK_EVENTS)
			continue;
		if (!continues(r, i)) {
			last[h->cpu] = &crew->units[crew->n_units++];
			last[h->cpu]->chunk = i;
		}
		if (last[h->cpu])
			last[h->cpu]->events += h->events;
	}
	qsort(crew->units, crew->n_units, sizeof *crew->units, by_events);
	free(last);
}

static int visit_unit(struct stage *s, const struct walk_crew *crew, void *state, size_t chunk, struct error *err)
{
	do {
		if (span_has(crew->span, &crew->reader->chunks[chunk].header) && visit(s, crew, state, chunk, err) < 0)
			return -1;
		chunk = neighbour(crew->reader, chunk, 1);
	} while (chunk && continues(crew->reader, chunk));
	return 0;
}

static void *work(void *arg)
{
	struct member *m = arg;
	struct walk_crew *crew = m->crew;
	struct stage *s = stage_new(crew->reader);
	struct error err;

	while (!__atomic_load_n(&crew->failed, __ATOMIC_RELAXED)) {
		size_t i = __atomic_fetch_add(&crew->next, 1, __ATOMIC_RELAXED);

		if (i >= crew->n_units)
			break;
		if (visit_unit(s, crew, m->state, crew->units[i].chunk, &err) < 0) {
			pthread_mutex_lock(&crew->lock);
			if (!crew->failed)
				*crew->err = err;
			__atomic_store_n(&crew->failed, 1, __ATOMIC_RELAXED);
			pthread_mutex_unlock(&crew->lock);
		}
	}
	stage_free(s);
	return NULL;
}

int walk_chunks(const struct reader *r, const struct span *span, const struct chunk_visitor *visitor, void **states,
		unsigned threads, struct error *err)
{
	struct walk_crew crew = {
		.reader = r, .span = span, .visitor = visitor, .err = err, .lock = PTHREAD_MUTEX_INITIALIZER,
	};
	struct member *members = xcalloc(threads, sizeof *members);

	list_units(&crew);
	for (unsigned i = 0; i < threads; i++)
		members[i] = (struct member){ .crew = &crew, .state = states[i] };
	/* a thread for which there is nothing to do takes longer than a small trace */
	for (unsigned i = 1; i < threads && i < crew.n_units; i++)
		members[i].started = pthread_create(&members[i].thread, NULL, work, &members[i]) == 0;
	work(&members[0]);
	for (unsigned i = 1; i < threads; i++)
		if (members[i].started)
			pthread_join(members[i].thread, NULL);
	free(members);
	free(crew.units);
	return crew.failed ? -1 : 0;
}

unsigned walk_threads(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : n > 8 ? 8 : (unsigned)n;
}

/* The events of one vCPU in their order. */
struct merged_lane {
	struct stage *stage;
	unsigned cpu;
	size_t chunk;  /* the chunk being read, or the next one */
	bool open;
	bool brief;    /* the batch is not complete */
	size_t at;     /* index in the batch */
	uint64_t task; /* the task that runs */
	bool ended;
};

struct merged {
	const struct reader *reader;
	struct span span;
	struct merged_lane *lanes;
	unsigned n_lanes;
	bool brief;
	bool started;
	struct merged_lane *current;
	size_t run, next; /* number of the current lane's events in the run, and of those that merged_next() returned */
};

struct merged *merged_new(const struct reader *r, const struct span *span)
{
	struct merged *m = xcalloc(1, sizeof *m);

	m->reader = r;
	m->span = *span;
	m->n_lanes = reader_vcpus(r);
	m->lanes = xcalloc(m->n_lanes, sizeof *m->lanes);
	for (unsigned i = 0; i < m->n_lanes; i++)
		m->lanes[i] = (struct merged_lane){ .cpu = i };
	return m;
}

void merged_set_brief(struct merged *m)
{
	m->brief = true;
}

void merged_free(struct merged *m)
{
	if (!m)
		return;
	for (unsigned i = 0; i < m->n_lanes; i++)
		stage_free(m->lanes[i].stage);
	free(m->lanes);
	free(m);
}

static bool lane_seek(struct merged *m, struct merged_lane *lane)
{
	for (; lane->chunk < m->reader->n_chunks; lane->chunk++) {
		const struct chunk_header *h = &m->reader->chunks[lane->chunk].header;

		if (h->cpu == lane->cpu && span_has(&m->span, h))
			return true;
	}
	return false;
}

/* Go past n events, which are a run or a single one. A task switch is always the last event of its run. */
static void lane_pass(struct merged_lane *lane, size_t n)
{
	const struct event *last = &lane->stage->batch.events[(lane->at += n) - 1];

	if (last->kind == EVENT_TASK_SWITCH)
		lane->task = last->args[1];
}

/*
 * If the span has the whole batch, only the times of its first and last event are needed, until the batch must be cut.
 */
static void lane_prepare(const struct merged *m, struct merged_lane *lane)
{
	struct batch *batch = &lane->stage->batch;

	lane->brief = false;
	if (m->brief && batch->count > 1) {
		struct event *first = batch->events, *last = first + batch->count - 1;

		first->ns = timebase_ns(&batch->timebase, first->insns);
		if (!batch->clocked)
			last->ns = timebase_ns(&batch->timebase, last->insns);
		lane->brief = first->ns >= m->span.from_ns && last->ns < m->span.to_ns;
	}
	if (!lane->brief)
		batch_complete(batch);
}

/* Move the lane to its next event in the span, or to its end. */
static int lane_settle(struct merged *m, struct merged_lane *lane, struct error *err)
{
	while (!lane->ended) {
		struct batch *batch = lane->stage ? &lane->stage->batch : NULL;

		if (lane->open && lane->at < batch->count) {
			const struct event *e = &batch->events[lane->at];

			if (e->ns >= m->span.to_ns)
				lane->ended = true;
			else if (e->ns >= m->span.from_ns)
				return 0;
			lane_pass(lane, 1);
			continue;
		}
		if (lane->open) {
			if (stage_next(lane->stage, lane->chunk, err) < 0)
				return -1;
			lane_prepare(m, lane);
			lane->at = 0;
			lane->open = batch->count > 0;
			lane->chunk += !lane->open;
			continue;
		}
		if (!lane_seek(m, lane)) {
			lane->ended = true;
			break;
		}
		if (!lane->stage)
			lane->stage = stage_new(m->reader);
		if (stage_open(lane->stage, lane->chunk, err) < 0)
			return -1;
		lane->open = true;
		lane->task = m->reader->chunks[lane->chunk].header.task;
		lane->stage->batch.count = lane->at = 0;
	}
	return 0;
}

/*
 * Time at which this lane's run must stop, because another lane has the next event. At equal times the lower lane goes
 * first.
 */
static uint64_t run_end(const struct merged *m, const struct merged_lane *best)
{
	uint64_t end = m->span.to_ns;

	for (unsigned i = 0; i < m->n_lanes; i++) {
		const struct merged_lane *lane = &m->lanes[i];
		uint64_t ns;

		if (lane == best || lane->ended)
			continue;
		ns = lane->stage->batch.events[lane->at].ns + (lane > best);
		if (ns < end)
			end = ns;
	}
	return end;
}

/*
 * How many of the lane's next events are before `end`. A task switch carries a clock, so it is the last event of its
 * batch.
 */
static size_t run_length(struct merged_lane *lane, uint64_t end)
{
	struct batch *batch = &lane->stage->batch;
	size_t i = lane->at;

	if (batch->events[batch->count - 1].ns < end)
		return batch->count - i;
	if (lane->brief)
		batch_complete(batch);
	lane->brief = false;
	while (i < batch->count && batch->events[i].ns < end)
		i++;
	return i - lane->at;
}

int merged_run(struct merged *m, const struct event **ret_events, size_t *ret_n, unsigned *ret_cpu, struct error *err)
{
	struct merged_lane *best = NULL;

	if (m->current)
		lane_pass(m->current, m->run);
	for (unsigned i = 0; i < m->n_lanes; i++) {
		struct merged_lane *lane = &m->lanes[i];

		if ((!m->started || lane == m->current) && lane_settle(m, lane, err) < 0)
			return -1;
		if (!lane->ended && (!best || lane->stage->batch.events[lane->at].ns <
						     best->stage->batch.events[best->at].ns))
			best = lane;
	}
	m->started = true;
	m->current = best;
	m->run = m->next = 0;
	if (!best)
		return 0;
	m->run = run_length(best, run_end(m, best));
	*ret_events = &best->stage->batch.events[best->at];
	*ret_n = m->run;
	*ret_cpu = best->cpu;
	return 1;
}

int merged_next(struct merged *m, const struct event **ret_event, unsigned *ret_cpu, struct error *err)
{
	if (m->next == m->run) {
		const struct event *events;
		size_t n;
		int r = merged_run(m, &events, &n, ret_cpu, err);

		if (r <= 0)
			return r;
	}
	*ret_cpu = m->current->cpu;
	*ret_event = &m->current->stage->batch.events[m->current->at + m->next++];
	return 1;
}

struct batch *merged_batch(const struct merged *m)
{
	return m->current->brief ? &m->current->stage->batch : NULL;
}

const struct timebase *merged_timebase(const struct merged *m)
{
	return &m->current->stage->batch.timebase;
}

uint64_t merged_task(const struct merged *m, unsigned cpu)
{
	return m->lanes[cpu].task;
}
