/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parts.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/search.h"

enum {
	PARTS_PER_THREAD = 5, /* some parts take longer: a thread that is done takes the next part */
	MODELS_MAX = 32,      /* each thread has one for each vCPU, of about 5 MB (trace/model.h) */
};

struct part {
	struct checkpoint from;
	struct buf data;          /* memory of its checkpoint; empty: the part begins at the trace's start */
	uint64_t to_ns;
	void *states[TOGETHER_MAX]; /* by member */
	bool again[TOGETHER_MAX]; /* … that is the state of an earlier part */
	int result;
	struct error err;
};

/* Where a chunk of events begins. */
struct chunk_begin {
	uint64_t ns, events;
	bool unit;                /* … and a unit of its vCPU's chunks */
};

struct parts_crew {
	const struct session *session;
	struct parts_member *members;
	size_t n_members;
	const struct stacks_visitor *visitors[TOGETHER_MAX]; /* theirs */
	struct stacks_visitor together;
	struct span span;
	size_t n;                 /* how many parts there should be */
	struct chunk_begin *begins; /* of all chunks of events, in the order of time */
	size_t n_begins;
	uint64_t all_events;
	/* while the index is made: so many chunks have begun, with all these events */
	size_t begun;
	uint64_t begun_events;
	struct part parts[PARTS_MAX];
	size_t count;             /* how many are begun */
	pthread_mutex_t lock;     /* for what follows */
	pthread_cond_t more;
	size_t ready, next;       /* ended, and to be replayed next */
	bool all;                 /* no more parts will begin */
};

/* `before`: the part that the thread replayed before; NULL: there is none. */
static void begin_states(const struct parts_crew *crew, struct part *p, const struct part *before)
{
	for (size_t i = 0; i < crew->n_members; i++) {
		const struct parts_member *m = &crew->members[i];

		p->states[i] = m->analysis.begin(m->context, before ? before->states[i] : NULL,
						   (size_t)(p - crew->parts));
		p->again[i] = before && p->states[i] == before->states[i];
	}
}

static void replay(const struct parts_crew *crew, struct part *p, const struct part *before)
{
	const struct stacks_visitor *visitor = crew->n_members > 1 ? &crew->together : crew->visitors[0];
	struct together all;
	struct stacks stacks;

	begin_states(crew, p, before);
	together_init(&all, crew->visitors, p->states, crew->n_members);
	p->result = stacks_replay(&stacks, crew->session, p->data.len ? &p->from : NULL, p->to_ns, visitor,
				  crew->n_members > 1 ? &all : p->states[0], &p->err);
	for (size_t i = 0; i < crew->n_members; i++)
		if (crew->members[i].analysis.end)
			crew->members[i].analysis.end(p->states[i], &stacks);
	stacks_deinit(&stacks);
}

/* Get the next part. Waits until its end is known. NULL: there are no more. */
static struct part *next_part(struct parts_crew *crew)
{
	struct part *p = NULL;

	pthread_mutex_lock(&crew->lock);
	while (crew->next == crew->ready && !crew->all)
		pthread_cond_wait(&crew->more, &crew->lock);
	if (crew->next < crew->ready)
		p = &crew->parts[crew->next++];
	pthread_mutex_unlock(&crew->lock);
	return p;
}

/* Begin a part, which is the end of the part before. NULL: at the trace's start. */
static void begin_part(struct parts_crew *crew, const struct checkpoint *from)
{
	struct part *p = &crew->parts[crew->count++];

	*p = (struct part){ .to_ns = UINT64_MAX };
	if (from) {
		buf_put(&p->data, from->data, from->len);
		p->from = (struct checkpoint){ .ns = from->ns, .data = p->data.data, .len = from->len };
	}
	if (p == crew->parts)
		return;
	p[-1].to_ns = from->ns;
	pthread_mutex_lock(&crew->lock);
	crew->ready++;
	pthread_cond_signal(&crew->more);
	pthread_mutex_unlock(&crew->lock);
}

static void end_parts(struct parts_crew *crew)
{
	pthread_mutex_lock(&crew->lock);
	crew->ready = crew->count;
	crew->all = true;
	pthread_cond_broadcast(&crew->more);
	pthread_mutex_unlock(&crew->lock);
}

static void *work(void *arg)
{
	struct parts_crew *crew = arg;
	struct part *p, *before = NULL;

	for (; (p = next_part(crew)); before = p)
		replay(crew, p, before);
	return NULL;
}

/* The first moment of the index that has so many of the span's events before it. */
static size_t entry_at(const struct parts_crew *crew, const struct index *index, size_t part)
{
	const struct reader *r = crew->session->reader;
	uint64_t before = reader_events_before(r, crew->span.from_ns);
	uint64_t all = reader_events_before(r, crew->span.to_ns) - before;
	size_t low = first_not(i, 0, index->count,
			       reader_events_before(r, index->entries[i].ns) < before + all / crew->n * part);

	return low < index->count ? low : index->count - 1;
}

static int by_time(const void *va, const void *vb)
{
	const struct chunk_begin *a = va, *b = vb;

	return a->ns < b->ns ? -1 : a->ns > b->ns;
}

/* So that nobody goes through all chunks for each entry of the index. */
static void find_begins(struct parts_crew *crew)
{
	const struct reader *r = crew->session->reader;

	crew->begins = xcalloc(r->n_chunks, sizeof *crew->begins);
	for (size_t i = 0; i < r->n_chunks; i++) {
		const struct chunk_header *h = &r->chunks[i].header;

		if (h->type != CHUNK_EVENTS)
			continue;
		crew->begins[crew->n_begins++] = (struct chunk_begin){
			.ns = h->first_ns, .events = h->events, .unit = !(h->flags & CHUNK_CONTINUES),
		};
		crew->all_events += h->events;
	}
	if (crew->n_begins)
		qsort(crew->begins, crew->n_begins, sizeof *crew->begins, by_time);
}

/* The first chunk that begins at that time or later. */
static size_t find_begin(const struct parts_crew *crew, uint64_t ns)
{
	return first_not(i, 0, crew->n_begins, crew->begins[i].ns < ns);
}

/*
 * Does a unit of a vCPU's chunks begin there, behind the last clock before? Then nothing of this vCPU before it has to
 * be decoded.
 */
static bool begins_unit(const struct parts_crew *crew, uint64_t ns)
{
	if (!ns)
		return false;
	for (size_t i = find_begin(crew, ns - 1); i < crew->n_begins && crew->begins[i].ns + 1 == ns; i++)
		if (crew->begins[i].unit)
			return true;
	return false;
}

/*
 * The moment of the index at which part number `part` begins: the begin of a unit. 0: no such moment is nearer than
 * half a part, so that too much would have to be decoded first.
 */
static size_t choose_entry(const struct parts_crew *crew, const struct index *index, size_t part)
{
	size_t entry = entry_at(crew, index, part);
	size_t near = entry - entry_at(crew, index, part - 1);

	for (size_t i = 0; i <= near / 2; i++) {
		if (entry + i < index->count && begins_unit(crew, index->entries[entry + i].ns))
			return entry + i;
		if (begins_unit(crew, index->entries[entry - i].ns))
			return entry - i;
	}
	return 0;
}

/* Begin parts at moments of an index. */
static void split(struct parts_crew *crew, struct index *index)
{
	for (size_t i = 1; i < crew->n; i++) {
		size_t entry = choose_entry(crew, index, i);
		uint64_t ns = index->entries[entry].ns;
		struct checkpoint from;

		if (entry && ns < crew->span.to_ns && ns > crew->parts[crew->count - 1].from.ns &&
		    index_checkpoint(index, entry, &from))
			begin_part(crew, &from);
	}
}

/* Begin parts while the index is made, whose entries come in the order of time. */
static void split_at(void *context, const struct checkpoint *at)
{
	struct parts_crew *crew = context;

	/* about so many events are before it: all vCPUs' chunks that have begun */
	for (; crew->begun < crew->n_begins && crew->begins[crew->begun].ns < at->ns; crew->begun++)
		crew->begun_events += crew->begins[crew->begun].events;
	if (crew->count < PARTS_MAX && crew->begun_events >= crew->all_events / crew->n * crew->count &&
	    begins_unit(crew, at->ns))
		begin_part(crew, at);
}

/* If the index cannot be made, only time is lost. */
static void make_index(struct parts_crew *crew)
{
	const struct index_watch watch = { .entry = split_at, .context = crew };
	struct error ignored;

	(void)index_make(crew->session, &watch, &ignored);
}

static void replay_all(struct parts_crew *crew, struct index *index, bool make, unsigned threads)
{
	pthread_t others[PARTS_MAX];
	unsigned started = 0;
	struct checkpoint from;
	bool begun = index && crew->span.from_ns &&
		     index_checkpoint(index, index_at(index, crew->span.from_ns), &from);

	begin_part(crew, begun ? &from : NULL);
	if (index && threads > 1)
		split(crew, index);
	while (started + 1 < threads && started < PARTS_MAX && (index || make) &&
	       pthread_create(&others[started], NULL, work, crew) == 0)
		started++;
	if (!index && make && started)
		make_index(crew);
	end_parts(crew);
	work(crew);
	while (started > 0)
		pthread_join(others[--started], NULL);
}

static unsigned threads_for(unsigned vcpus)
{
	unsigned most = vcpus < MODELS_MAX ? MODELS_MAX / (vcpus ? vcpus : 1) : 1;

	return walk_threads() < most ? walk_threads() : most;
}

/* What each member made, of all parts. */
static void give_states(const struct parts_crew *crew)
{
	for (size_t i = 0; i < crew->n_members; i++) {
		void **states = crew->members[i].states;
		size_t n = 0;

		for (size_t k = 0; k < crew->count; k++)
			if (!crew->parts[k].again[i])
				states[n++] = crew->parts[k].states[i];
		if (n < PARTS_MAX)
			states[n] = NULL;
	}
}

int parts_replay(const struct session *session, bool make, const struct span *span, struct parts_member *members,
		 size_t n, struct error *err)
{
	unsigned n_threads = threads_for(reader_vcpus(session->reader));
	struct parts_crew crew = {
		.session = session, .members = members, .n_members = n, .span = span ? *span : SPAN_ALL,
		.n = n_threads * PARTS_PER_THREAD < PARTS_MAX ? n_threads * PARTS_PER_THREAD : PARTS_MAX,
		.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER,
	};
	int result = 0;

	for (size_t i = 0; i < n; i++)
		crew.visitors[i] = &members[i].analysis.visitor;
	crew.together = together_visitor(crew.visitors, n);
	if (session->index || make)
		find_begins(&crew);
	replay_all(&crew, session->index, make, n_threads);
	give_states(&crew);
	for (size_t i = 0; i < crew.count; i++) {
		struct part *p = &crew.parts[i];

		if (p->result < 0 && result == 0) {
			result = p->result;
			*err = p->err;
		}
		buf_free(&p->data);
	}
	free(crew.begins);
	return result;
}
