/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flame.h"

#include <stdlib.h>

#include "analysis/calls/path_sums_file.h"
#include "base/alloc.h"

enum { PARTS_OF_ALL = 20000, PARTS_OF_LONG = 2000, SHORT_PARTS = 256, NO_NODE = -1 };

/* Phases tile a boot, and a boot follows another: where one begins, the one before has ended. */
static void find_phases(const struct history *h, struct flame *f)
{
	size_t cap = 0, cap_phases = 0;

	f->phases = array_reach(NULL, 0, &cap_phases, sizeof *f->phases);
	f->phases[0] = HISTORY_NONE;
	for (uint32_t i = 0; h && i < h->n_spans; i++) {
		if (h->spans[i].kind != SPAN_PHASE)
			continue;
		if (h->spans[i].start_ns) {
			f->cuts = array_grow(f->cuts, f->n_cuts, &cap, sizeof *f->cuts);
			f->cuts[f->n_cuts++] = h->spans[i].start_ns;
			f->phases = array_reach(f->phases, f->n_cuts, &cap_phases, sizeof *f->phases);
		}
		f->phases[f->n_cuts] = i;
	}
}

/* `h`: has the phases; NULL: they are not told apart. */
static void init(const struct session *session, const struct history *h, struct flame *ret)
{
	*ret = (struct flame){
		.whose = call_tree_processes(session->threads),
		.count = (uint32_t)session->threads->count + 1,
	};
	find_phases(h, ret);
	ret->apart = (struct call_tree_apart){
		.whose = ret->whose,
		.count = ret->count,
		.cuts = ret->cuts,
		.n_cuts = ret->n_cuts,
	};
	ret->options = (struct call_tree_options){ .apart = &ret->apart };
}

static void find_least(struct flame *f)
{
	const struct call_node *all = &f->tree.nodes[0];

	f->least = (struct path_least){ all->total_insns / PARTS_OF_ALL, all->total_ns / PARTS_OF_ALL };
}

void flame_member(const struct session *session, const struct history *h, struct flame *ret,
		  struct parts_member *ret_member)
{
	init(session, h, ret);
	call_tree_member(&ret->options, ret_member);
}

void flame_collect(struct flame *f, struct parts_member *member, bool failed)
{
	call_tree_collect(member, failed, &f->tree);
	if (!failed)
		find_least(f);
}

static int replay_part(const struct session *session, const struct span *span, struct flame *f, struct error *err)
{
	struct call_tree_options options = f->options;
	struct call_tree part;

	if (span->from_ns >= span->to_ns)
		return 0;
	options.span = span;
	if (call_tree_analyse(session, &options, &part, err) < 0)
		return -1;
	call_tree_add(&f->tree, &part);
	call_tree_deinit(&part);
	return 0;
}

/* The ends that are no whole segments are replayed, the segments between them added. */
static int add_segments(const struct session *session, const struct path_sums *sums, const struct span *span,
			struct flame *f, struct error *err)
{
	size_t first, n = path_sums_segments(sums, span, &first);
	const struct span head = { .from_ns = span->from_ns, .to_ns = path_sums_begin(sums, first), .cpu = -1 },
			  tail = { .from_ns = path_sums_begin(sums, first + n), .to_ns = span->to_ns, .cpu = -1 };

	call_tree_init(&f->tree);
	if (replay_part(session, &head, f, err) < 0 || replay_part(session, &tail, f, err) < 0)
		return -1;
	call_tree_add_up(&f->tree);
	path_sums_add(sums, first, n, PARTS_OF_LONG, &f->tree, &f->least);
	call_tree_add_up(&f->tree);
	return 0;
}

/* So short that a replay is quick, and more of it can be told. */
static bool is_short(const struct session *session, const struct path_sums *sums, const struct span *span)
{
	const struct reader *r = session->reader;
	uint64_t all = reader_events_before(r, UINT64_MAX);
	size_t first;

	return !path_sums_segments(sums, span, &first) ||
	       reader_events_before(r, span->to_ns) - reader_events_before(r, span->from_ns) < all / SHORT_PARTS;
}

int flame_of_span(const struct session *session, const struct path_sums *sums, const struct span *span,
		  struct flame *ret, struct error *err)
{
	init(session, NULL, ret);
	if (sums && !is_short(session, sums, span))
		return add_segments(session, sums, span, ret, err);
	ret->options.span = span;
	if (call_tree_analyse(session, &ret->options, &ret->tree, err) < 0)
		return -1;
	find_least(ret);
	return 0;
}

int flame_sums_make(const struct session *session, struct path_sums **ret, struct error *err)
{
	struct flame f;
	int r;

	init(session, NULL, &f);
	r = path_sums_open(session, &f.apart, true, ret, err);
	flame_deinit(&f);
	return r;
}

void flame_deinit(struct flame *f)
{
	call_tree_deinit(&f->tree);
	free(f->whose);
	free(f->cuts);
	free(f->phases);
	*f = (struct flame){ 0 };
}

/* What is put, from here on: nodes have numbers again, and there are some that stand for many. */
struct put_node {
	int64_t parent;
	uint32_t group, name;
	uint64_t calls, insns, ns;
};

struct putting {
	const struct flame *flame;
	const struct session *session;
	struct put_node *list;
	size_t count, cap;
	int64_t *numbers;    /* by node of the tree; NO_NODE: it is in its parent's "…", or a group */
	int64_t *rests;      /* likewise: of the "…" below it */
	uint32_t *groups;    /* by node: its group */
	uint32_t *names;     /* by function: number of its name, from 1 on */
	uint32_t *functions; /* by number of a name - 1 */
	size_t n_names, cap_names;
	uint32_t *group_nodes; /* nodes that are groups */
	size_t n_groups, cap_groups;
};

/* Number 0 is "…". */
static uint32_t name_of(struct putting *p, uint32_t function)
{
	if (!p->names[function]) {
		p->functions = array_grow(p->functions, p->n_names, &p->cap_names, sizeof *p->functions);
		p->functions[p->n_names++] = function;
		p->names[function] = (uint32_t)p->n_names;
	}
	return p->names[function];
}

static int64_t add(struct putting *p, struct put_node node)
{
	p->list = array_grow(p->list, p->count, &p->cap, sizeof *p->list);
	p->list[p->count] = node;
	return (int64_t)p->count++;
}

static bool is_small(const struct putting *p, const struct call_node *n)
{
	const struct path_least *least = &p->flame->least;

	return n->function == CALL_TREE_REST || (n->total_insns < least->insns && n->total_ns < least->ns);
}

/* It goes into the "…" below its parent with all that is below it; or, if it is below one that does, it is in there. */
static void add_rest(struct putting *p, uint32_t i)
{
	const struct call_node *n = &p->flame->tree.nodes[i];
	struct put_node *rest;

	if (p->rests[n->parent] == NO_NODE)
		p->rests[n->parent] =
			add(p, (struct put_node){ .parent = p->numbers[n->parent], .group = p->groups[i] });
	rest = &p->list[p->rests[n->parent]];
	rest->calls += n->calls;
	rest->insns += n->total_insns;
	rest->ns += n->total_ns;
}

static void add_group(struct putting *p, uint32_t i)
{
	p->group_nodes = array_grow(p->group_nodes, p->n_groups, &p->cap_groups, sizeof *p->group_nodes);
	p->groups[i] = (uint32_t)p->n_groups;
	p->group_nodes[p->n_groups++] = i;
}

static void choose(struct putting *p)
{
	const struct call_tree *t = &p->flame->tree;
	bool *gone = xcalloc(t->count, sizeof *gone); /* it is in a "…" */

	for (size_t i = 0; i < t->count; i++)
		p->numbers[i] = p->rests[i] = NO_NODE;
	for (uint32_t i = 1; i < t->count; i++) {
		const struct call_node *n = &t->nodes[i];

		if (!n->parent) {
			add_group(p, i);
			continue;
		}
		p->groups[i] = p->groups[n->parent];
		gone[i] = gone[n->parent] || is_small(p, n);
		if (!gone[i])
			p->numbers[i] = add(p, (struct put_node){
						       .parent = p->numbers[n->parent],
						       .group = p->groups[i],
						       .name = name_of(p, n->function),
						       .calls = n->calls,
						       .insns = n->self_insns,
						       .ns = n->self_ns,
					       });
		else if (!gone[n->parent])
			add_rest(p, i);
	}
	free(gone);
}

static void put_groups(const struct putting *p, struct json *j)
{
	json_array(j, "groups");
	for (size_t i = 0; i < p->n_groups; i++) {
		uint32_t number = p->flame->tree.nodes[p->group_nodes[i]].function & ~(uint32_t)CALL_TREE_WHOSE;
		uint32_t phase = p->flame->phases[number / p->flame->count], thread = number % p->flame->count;

		json_array(j, NULL);
		json_known(j, NULL, phase != HISTORY_NONE, phase);
		json_known(j, NULL, thread, thread - UINT64_C(1));
		json_close(j);
	}
	json_close(j);
}

/* What they are, for colours: "k" the kernel's own, "m" a module's, "u" a program's, "o" of others. */
static void put_names(const struct putting *p, struct json *j)
{
	const struct names *names = p->session->names;
	struct buf kinds = { 0 };

	json_array(j, "names");
	json_text(j, NULL, "…");
	buf_put_u8(&kinds, 'o');
	for (size_t i = 0; i < p->n_names; i++) {
		uint32_t f = p->functions[i];

		json_text(j, NULL, names_function(names, f));
		buf_put_u8(&kinds, names_is_user(names, f)      ? 'u'
				   : !names_is_kernel(names, f) ? 'o'
				   : *names_object(names, f)    ? 'm'
								: 'k');
	}
	json_close(j);
	buf_put_u8(&kinds, 0);
	json_text(j, "kinds", (char *)kinds.data);
	buf_free(&kinds);
}

static void put_nodes(const struct putting *p, struct json *j)
{
	static const char *const columns[] = { "group", "parent", "name", "calls", "insns", "ns" };

	for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
		json_array(j, columns[k]);
		for (size_t i = 0; i < p->count; i++) {
			const struct put_node *n = &p->list[i];
			const int64_t values[] = {
				n->group, n->parent, n->name, (int64_t)n->calls, (int64_t)n->insns, (int64_t)n->ns,
			};

			json_signed(j, NULL, values[k]);
		}
		json_close(j);
	}
}

void flame_put(const struct flame *f, const struct session *session, struct json *j)
{
	size_t n = f->tree.count;
	struct putting p = {
		.flame = f,
		.session = session,
		.numbers = xcalloc(n, sizeof *p.numbers),
		.rests = xcalloc(n, sizeof *p.rests),
		.groups = xcalloc(n, sizeof *p.groups),
		.names = xcalloc(names_count(session->names), sizeof *p.names),
	};

	choose(&p);
	json_object(j, "flame");
	put_groups(&p, j);
	put_names(&p, j);
	put_nodes(&p, j);
	json_close(j);
	free(p.list);
	free(p.numbers);
	free(p.rests);
	free(p.groups);
	free(p.names);
	free(p.functions);
	free(p.group_nodes);
}
