/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "path_sums_made.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cursor.h"
#include "base/spool.h"

enum {
	SEGMENTS = 512,
	KEPT_PARTS = 512000,
	PATHS_MAX = 6 << 20, /* more would take more memory than what is made of them is worth */
	ROOT = 0,
};

struct amounts {
	uint64_t calls, self_insns, self_ns, total_insns, total_ns;
};

static void put_amounts(struct buf *out, const struct amounts *a)
{
	buf_put_varint(out, a->calls);
	buf_put_varint(out, a->self_insns);
	buf_put_varint(out, a->self_ns);
	buf_put_varint(out, a->total_insns - a->self_insns);
	buf_put_varint(out, a->total_ns - a->self_ns);
}

static struct amounts get_amounts(struct cursor *in)
{
	struct amounts a = { .calls = cursor_varint(in),
			     .self_insns = cursor_varint(in),
			     .self_ns = cursor_varint(in) };

	a.total_insns = a.self_insns + cursor_varint(in);
	a.total_ns = a.self_ns + cursor_varint(in);
	return a;
}

static void add_amounts(struct amounts *sum, const struct amounts *a)
{
	sum->calls += a->calls;
	sum->self_insns += a->self_insns;
	sum->self_ns += a->self_ns;
	sum->total_insns += a->total_insns;
	sum->total_ns += a->total_ns;
}

/* While it is made: all paths, and records by segment. */
struct seen {
	uint32_t parent, function;
	uint64_t insns, ns;
	uint32_t number; /* among those that are kept; 0: it is not */
	uint64_t bytes;  /* of its records */
	size_t last;     /* the segment of its last record */
};

struct making {
	pthread_mutex_t lock;
	struct map children; /* parent << 32 | function → number */
	struct seen *paths;
	size_t count, cap;
	struct spool segments; /* most of their records are of paths that will not be kept */
	bool too_many;         /* paths */
	bool failed;
	struct error err; /* of `failed` */
};

#define KEPT "sums of paths"


static uint32_t number_of(struct making *m, uint32_t parent, uint32_t function)
{
	uint64_t *known = map_put(&m->children, (uint64_t)parent << 32 | function, 0);

	if (!*known) {
		m->paths = array_grow(m->paths, m->count, &m->cap, sizeof *m->paths);
		m->paths[m->count] = (struct seen){ .parent = parent, .function = function };
		*known = m->count++;
	}
	return (uint32_t)*known;
}

/* Totals of a tree's nodes, and whether anything was in them at all. */
static struct amounts *amounts_of(const struct call_tree *t, bool **ret_used)
{
	struct amounts *all = xcalloc(t->count, sizeof *all);
	bool *used = xcalloc(t->count, sizeof *used);

	for (size_t i = t->count; i-- > 0;) {
		const struct call_node *n = &t->nodes[i];

		all[i].calls = n->calls;
		all[i].self_insns = n->self_insns;
		all[i].self_ns = n->self_ns;
		all[i].total_insns += n->self_insns;
		all[i].total_ns += n->self_ns;
		used[i] |= n->calls || n->self_insns || n->self_ns;
		if (i == ROOT)
			break;
		all[n->parent].total_insns += all[i].total_insns;
		all[n->parent].total_ns += all[i].total_ns;
		used[n->parent] |= used[i];
	}
	*ret_used = used;
	return all;
}

static void give(void *context, size_t segment, const struct call_tree *t)
{
	struct making *m = context;
	bool *used;
	struct amounts *all = amounts_of(t, &used);
	uint32_t *numbers = xcalloc(t->count, sizeof *numbers);
	struct buf *records;

	pthread_mutex_lock(&m->lock);
	records = &spool_at(&m->segments, segment)->text;
	m->too_many |= m->count > PATHS_MAX || m->failed;
	for (size_t i = 1; i < t->count && !m->too_many; i++) {
		struct seen *path;

		if (!used[i])
			continue;
		numbers[i] = number_of(m, numbers[t->nodes[i].parent], t->nodes[i].function);
		path = &m->paths[numbers[i]];
		path->insns += all[i].total_insns;
		path->ns += all[i].total_ns;
		buf_put_varint(records, numbers[i]);
		put_amounts(records, &all[i]);
		if (records->len >= SPOOL_BLOCK && !m->failed)
			m->failed = spool_pass(&m->segments, segment, KEPT, &m->err) < 0;
	}
	pthread_mutex_unlock(&m->lock);
	free(numbers);
	free(used);
	free(all);
}

/* About as many events are in each segment: the index has a moment for about so many. */
static void choose_cuts(const struct session *session, struct path_sums *p)
{
	const struct index *x = session->index;
	uint64_t all = reader_events_before(session->reader, UINT64_MAX);

	p->cuts = xcalloc(SEGMENTS, sizeof *p->cuts);
	for (size_t i = 1; i < x->count && p->n_cuts + 1 < SEGMENTS; i++)
		if (reader_events_before(session->reader, x->entries[i].ns) >= all / SEGMENTS * (p->n_cuts + 1))
			p->cuts[p->n_cuts++] = x->entries[i].ns;
}

/* Number those that are kept. */
static void choose_paths(struct making *m, struct path_sums *p)
{
	for (size_t i = 1; i < m->count; i++)
		if (m->paths[i].parent == ROOT) {
			p->insns += m->paths[i].insns;
			p->ns += m->paths[i].ns;
		}
	p->count = 1;
	for (size_t i = 1; i < m->count; i++)
		if (m->paths[i].parent == ROOT || m->paths[i].insns >= p->insns / KEPT_PARTS ||
		    m->paths[i].ns >= p->ns / KEPT_PARTS)
			m->paths[i].number = (uint32_t)p->count++;
	p->paths = xcalloc(p->count + 1, sizeof *p->paths);
	for (size_t i = 1; i < m->count; i++)
		if (m->paths[i].number)
			p->paths[m->paths[i].number] = (struct path){
				.parent = m->paths[m->paths[i].parent].number,
				.function = m->paths[i].function,
			};
}

/* Goes through all records of paths that are kept, in the order of segments. */
static int each_record(struct making *m, size_t segments,
		       void (*take)(struct seen *s, size_t segment, const struct amounts *a, void *context),
		       void *context, struct error *err)
{
	struct buf records = { 0 };
	const struct sink into = sink_into(&records);
	int r = 0;

	for (size_t k = 0; k < segments && r == 0; k++) {
		struct cursor in;

		records.len = 0;
		r = spool_copy(&m->segments, k, &into, KEPT, err);
		in = cursor_over(records.data, r == 0 ? records.len : 0);
		while (cursor_left(&in)) {
			struct seen *s = &m->paths[cursor_varint(&in)];
			struct amounts a = get_amounts(&in);

			if (s->number)
				take(s, k, &a, context);
		}
	}
	buf_free(&records);
	return r;
}

static void put_record(struct seen *s, size_t segment, const struct amounts *a, struct buf *out)
{
	out->len = 0;
	buf_put_varint(out, segment - s->last);
	put_amounts(out, a);
	s->last = segment;
}

static void measure(struct seen *s, size_t segment, const struct amounts *a, void *context)
{
	struct buf *scratch = context;

	put_record(s, segment, a, scratch);
	s->bytes += scratch->len;
}

struct placing {
	struct path_sums *sums;
	struct buf scratch;
};

static void place(struct seen *s, size_t segment, const struct amounts *a, void *context)
{
	struct placing *to = context;
	struct path *path = &to->sums->paths[s->number];

	put_record(s, segment, a, &to->scratch);
	memcpy(to->sums->records.data + path->at, to->scratch.data, to->scratch.len);
	path->at += to->scratch.len;
}

/* Records of each path in a row. */
static int sort_records(struct making *m, struct path_sums *p, struct error *err)
{
	struct placing to = { .sums = p };
	uint64_t at = 0;
	int r = each_record(m, p->n_cuts + 1, measure, &to.scratch, err);

	for (size_t i = 1; i < m->count; i++) {
		m->paths[i].last = 0;
		if (!m->paths[i].number)
			continue;
		p->paths[m->paths[i].number].at = at;
		at += m->paths[i].bytes;
	}
	buf_reserve(&p->records, at);
	p->records.len = at;
	if (r == 0)
		r = each_record(m, p->n_cuts + 1, place, &to, err);
	for (size_t i = 1; i < m->count; i++)
		if (m->paths[i].number)
			p->paths[m->paths[i].number].at -= m->paths[i].bytes;
	p->paths[p->count].at = at;
	buf_free(&to.scratch);
	return r;
}

int path_sums_make(const struct session *session, const struct call_tree_apart *apart, struct path_sums **ret,
		   struct error *err)
{
	struct path_sums *p = xcalloc(1, sizeof *p);
	struct making m = { .lock = PTHREAD_MUTEX_INITIALIZER, .count = 1 };
	struct call_tree_cuts cuts = { .give = give, .context = &m };
	const struct call_tree_options options = { .apart = apart, .cuts = &cuts };
	struct call_tree tree;
	int r;

	choose_cuts(session, p);
	cuts.ns = p->cuts;
	cuts.n = p->n_cuts;
	spool_init(&m.segments);
	m.paths = array_reach(NULL, 0, &m.cap, sizeof *m.paths);
	m.paths[ROOT] = (struct seen){ 0 };
	r = call_tree_analyse(session, &options, &tree, err);
	map_free(&m.children); /* no more come, and what follows takes memory, too */
	if (r == 0)
		call_tree_deinit(&tree);
	if (r == 0 && m.failed)
		r = error_set(err, "%s", m.err.text);
	else if (r == 0 && m.too_many)
		r = error_set(err, "too many paths of calls");
	if (r == 0) {
		choose_paths(&m, p);
		r = sort_records(&m, p, err);
	}
	spool_deinit(&m.segments);
	free(m.paths);
	if (r < 0)
		path_sums_free(p);
	else
		*ret = p;
	return r;
}

void path_sums_free(struct path_sums *p)
{
	if (!p)
		return;
	free(p->cuts);
	free(p->paths);
	buf_free(&p->records);
	free(p);
}

uint64_t path_sums_begin(const struct path_sums *p, size_t segment)
{
	return !segment ? 0 : segment > p->n_cuts ? UINT64_MAX : p->cuts[segment - 1];
}

size_t path_sums_segments(const struct path_sums *p, const struct span *span, size_t *ret_first)
{
	size_t first = 0, end;

	while (first <= p->n_cuts && path_sums_begin(p, first) < span->from_ns)
		first++;
	for (end = first; end <= p->n_cuts && path_sums_begin(p, end + 1) <= span->to_ns; end++)
		;
	*ret_first = first;
	return end - first;
}

/* What a path had in those segments. */
static struct amounts amounts_in(const struct path_sums *p, uint32_t path, size_t first, size_t n)
{
	uint64_t at = p->paths[path].at;
	struct cursor in = cursor_over(p->records.data + at, p->paths[path + 1].at - at);
	struct amounts sum = { 0 };
	size_t segment = 0;

	while (cursor_left(&in) && !in.bad) {
		struct amounts a;

		segment += cursor_varint(&in);
		a = get_amounts(&in);
		if (in.bad || segment >= first + n)
			break;
		if (segment >= first)
			add_amounts(&sum, &a);
	}
	return sum;
}

/* A path in the tree. */
struct added {
	uint32_t node;      /* 0: it has none */
	uint64_t insns, ns; /* what is below it and in no child's node */
};

/* Is it worth a node, with what that has already? `node`: 0: there is none. */
static bool is_worth(const struct amounts *had, const struct call_tree *t, uint32_t node,
		     const struct path_least *least)
{
	return had->total_insns + (node ? t->nodes[node].total_insns : 0) >= least->insns ||
	       had->total_ns + (node ? t->nodes[node].total_ns : 0) >= least->ns;
}

static void add_path(struct call_tree *t, const struct path *path, const struct amounts *had, struct added *parent,
		     struct added *ret)
{
	ret->node = call_tree_child_of(t, parent->node, path->function);
	ret->insns = had->total_insns - had->self_insns;
	ret->ns = had->total_ns - had->self_ns;
	t->nodes[ret->node].calls += had->calls;
	t->nodes[ret->node].self_insns += had->self_insns;
	t->nodes[ret->node].self_ns += had->self_ns;
	parent->insns -= had->total_insns;
	parent->ns -= had->total_ns;
}

static void add_rests(struct call_tree *t, const struct added *list, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		uint32_t rest;

		if (!list[i].node || (!list[i].insns && !list[i].ns))
			continue;
		rest = call_tree_child_of(t, list[i].node, CALL_TREE_REST);
		t->nodes[rest].self_insns += list[i].insns;
		t->nodes[rest].self_ns += list[i].ns;
	}
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static struct path_least least_of(const struct path_sums *p, size_t first, size_t n, unsigned parts,
				  const struct call_tree *t)
{
	struct amounts all = { 0 };

	for (uint32_t i = 1; i < p->count; i++)
		if (p->paths[i].parent == ROOT) {
			struct amounts had = amounts_in(p, i, first, n);

			add_amounts(&all, &had);
		}
	return (struct path_least){
		.insns = most((all.total_insns + t->nodes[ROOT].total_insns) / parts, p->insns / KEPT_PARTS + 1),
		.ns = most((all.total_ns + t->nodes[ROOT].total_ns) / parts, p->ns / KEPT_PARTS + 1),
	};
}

void path_sums_add(const struct path_sums *p, size_t first, size_t n, unsigned parts, struct call_tree *into,
		   struct path_least *ret_least)
{
	struct added *list = xcalloc(p->count + 1, sizeof *list);

	*ret_least = least_of(p, first, n, parts, into);
	/* a parent comes before its children; what is not worth a node is worth none below it */
	for (uint32_t i = 1; i < p->count; i++) {
		const struct path *path = &p->paths[i];
		struct added *parent = &list[path->parent];
		struct amounts had;
		uint32_t node;

		if (path->parent != ROOT && !parent->node)
			continue;
		had = amounts_in(p, i, first, n);
		node = call_tree_find(into, parent->node, path->function);
		/* what calls are told apart by has a node in any case */
		if ((had.calls || had.total_insns || had.total_ns) &&
		    (path->parent == ROOT || is_worth(&had, into, node, ret_least)))
			add_path(into, path, &had, parent, &list[i]);
	}
	add_rests(into, list, p->count);
	free(list);
}
