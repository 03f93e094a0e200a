/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum {
	TOTAL_PCT,
	TOTAL_INSNS,
	TOTAL_NS,
	SELF_INSNS,
	SELF_NS,
	CALLS,
	TAIL_CALLS,
	DEPTH,
	INLINED,
	GIVEN,
	PID,
	COMM,
	FUNCTION,
};

const struct column tree_columns[] = {
	[TOTAL_PCT] = { "total_pct", "TOTAL %", CELL_PERCENT,
			"share of all, with callees, by the clock that --clock names" },
	[TOTAL_INSNS] = { "total_insns", "TOTAL INSNS", CELL_AMOUNT, "instructions, with callees" },
	[TOTAL_NS] = { "total_ns", "TOTAL TIME", CELL_DURATION, "guest time, with callees" },
	[SELF_INSNS] = { "self_insns", "SELF INSNS", CELL_AMOUNT, "instructions of its own" },
	[SELF_NS] = { "self_ns", "SELF TIME", CELL_DURATION, "guest time of its own", .hidden = true },
	[CALLS] = { "calls", "CALLS", CELL_COUNT, "how often it was entered on this path" },
	[TAIL_CALLS] = { "tail_calls", "TAIL CALLS", CELL_COUNT, "calls that its caller ended in, by a jump",
			 .hidden = true },
	[DEPTH] = { "depth", "DEPTH", CELL_NUMBER, "functions above it", .hidden = true },
	[INLINED] = { "inlined", "INLINED", CELL_NUMBER,
		      "1: it was made part of its caller, and has nothing of its own", .hidden = true },
	[GIVEN] = { "given", "GIVEN", CELL_TEXT,
		   "with --args: what it was given; calls that were given other things are nodes of their own; … is an address that names nothing",
		   .hidden = true },
	[PID] = { "pid", "PID", CELL_NUMBER, "with --by: of the process or thread; 0: of what ran before there were any",
		  .hidden = true },
	[COMM] = { "comm", "COMM", CELL_TEXT, "with --by: its name, as it was last", .hidden = true },
	[FUNCTION] = { "function", "FUNCTION", CELL_TEXT,
		       "with --by, of the outermost rows, the process or thread; else a name, set in below what called it (--callers: below what it called)" },
	{ 0 },
};

struct row {
	uint32_t node;
	unsigned depth;
	uint32_t whose; /* with `apart`: the node of its outermost row */
};

struct rows {
	const struct names *names;
	const struct call_tree *tree;
	uint64_t all;
	const struct threads *apart;
	bool processes;
	bool by_ns, with_args; /* args: they stand behind the name, for people */
	size_t count;
	struct row list[]; /* each node has one at most */
};

static uint64_t total_of(const struct rows *rows, const struct call_node *n)
{
	return rows->by_ns ? n->total_ns : n->total_insns;
}

static struct cell share(const struct rows *rows, const struct call_node *n)
{
	return cell_share(total_of(rows, n), rows->all);
}

static const char *given_of(const struct rows *rows, const struct call_node *n)
{
	return rows->tree->given ? given_text(rows->tree->given, n->given) : NULL;
}

/* NULL: what ran before there were threads. */
static const struct thread *thread_of(const struct rows *rows, uint32_t node)
{
	uint32_t number = rows->tree->nodes[node].function & ~(uint32_t)CALL_TREE_WHOSE;

	return number ? threads_at(rows->apart, (long)number - 1) : NULL;
}

static const char *comm_of(const struct rows *rows, uint32_t node)
{
	const struct thread *t = thread_of(rows, node);

	if (!t)
		return "before there were processes";
	return rows->processes && t->kernel && t->pid ? "kernel threads" : threads_comm(rows->apart, t, t->end_ns);
}

/* Of kernel threads together, there is none. */
static struct cell pid_cell(const struct rows *rows, uint32_t node)
{
	const struct thread *t = thread_of(rows, node);

	if (!t)
		return cell_number(0);
	return rows->processes && t->kernel && t->pid ? cell_none() : cell_pid(t->pid);
}

static struct cell whose_cell(const struct rows *rows, uint32_t node, struct buf *scratch)
{
	struct cell pid = pid_cell(rows, node);

	buf_printf(scratch, "%s", comm_of(rows, node));
	if (pid.type != CELL_NONE && thread_of(rows, node))
		buf_printf(scratch, " (%" PRIu64 ")", pid.number);
	return cell_scratch(CELL_TEXT, scratch);
}

static struct cell function_cell(const struct rows *rows, const struct row *row, const char *inlined,
				 struct buf *scratch)
{
	const struct call_node *n = &rows->tree->nodes[row->node];
	const char *args = rows->with_args ? given_of(rows, n) : NULL;
	struct cell c = cell_text(inlined ? inlined : names_function(rows->names, n->function));

	if (inlined || args) {
		buf_printf(scratch, "%s%s%s", c.text, inlined ? " (inlined)" : "", args ? args : "");
		c = cell_scratch(CELL_TEXT, scratch);
	}
	c.mark = n->calls && n->tail_calls == n->calls ? " <tail>" : NULL;
	c.indent = 2 * row->depth;
	return c;
}

static struct cell cell(const void *data, size_t row, unsigned column, struct buf *scratch)
{
	const struct rows *rows = data;
	const struct call_node *n = &rows->tree->nodes[rows->list[row].node];
	const char *inlined = rows->tree->inlines ? inlines_name(rows->tree->inlines, n->function) : NULL;
	uint32_t whose = rows->list[row].whose;

	switch (column) {
	case TOTAL_PCT:
		return share(rows, n);
	case TOTAL_INSNS:
		return cell_amount(n->total_insns);
	case TOTAL_NS:
		return cell_duration(n->total_ns);
	case SELF_INSNS:
		return cell_amount(n->self_insns);
	case SELF_NS:
		return cell_duration(n->self_ns);
	case CALLS:
		return cell_count(n->calls);
	case TAIL_CALLS:
		return cell_count(n->tail_calls);
	case DEPTH:
		return cell_number(rows->list[row].depth);
	case INLINED:
		return cell_number(inlined != NULL);
	case GIVEN:
		return given_of(rows, n) ? cell_text(given_of(rows, n)) : cell_none();
	case PID:
		return rows->apart ? pid_cell(rows, whose) : cell_none();
	case COMM:
		return rows->apart ? cell_text(comm_of(rows, whose)) : cell_none();
	case FUNCTION:
		if (rows->apart && rows->list[row].node == whose)
			return whose_cell(rows, whose, scratch);
		return function_cell(rows, &rows->list[row], inlined, scratch);
	}
	return cell_none();
}

/* The children of each node, the largest first. */
struct children {
	uint32_t *list;   /* by parent */
	size_t *first;    /* where the children of a node begin; those of the next node begin where they end */
};

static int by_total(const void *va, const void *vb, void *data)
{
	const struct rows *rows = data;
	uint32_t a = *(const uint32_t *)va, b = *(const uint32_t *)vb;
	uint64_t ta = total_of(rows, &rows->tree->nodes[a]), tb = total_of(rows, &rows->tree->nodes[b]);

	if (ta != tb)
		return ta > tb ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* Where calls were left out, what is outermost and has nothing below it has only their time: it comes last. */
static void put_bare_last(struct children *c)
{
	size_t n = c->first[1] - c->first[0], kept = 0, bare = 0;
	uint32_t *roots = c->list + c->first[0], *last = xcalloc(n, sizeof *last);

	for (size_t i = 0; i < n; i++) {
		uint32_t node = roots[i];

		if (c->first[node] == c->first[node + 1])
			last[bare++] = node;
		else
			roots[kept++] = node;
	}
	for (size_t i = 0; i < bare; i++)
		roots[kept + i] = last[i];
	free(last);
}

static void find_children(struct rows *rows, struct children *c, bool left_out)
{
	const struct call_tree *t = rows->tree;

	c->list = xcalloc(t->count, sizeof *c->list);
	c->first = xcalloc(t->count + 2, sizeof *c->first);
	for (size_t i = 1; i < t->count; i++)
		c->first[t->nodes[i].parent + 2]++;
	for (size_t i = 2; i < t->count + 2; i++)
		c->first[i] += c->first[i - 1];
	for (size_t i = 1; i < t->count; i++)
		c->list[c->first[t->nodes[i].parent + 1]++] = (uint32_t)i;
	for (size_t i = 0; i < t->count; i++)
		qsort_r(c->list + c->first[i], c->first[i + 1] - c->first[i], sizeof *c->list, by_total, rows);
	if (left_out)
		put_bare_last(c);
}

/*
 * Does a node have a row, below the row that has the walk's first level? *root is its share, which a node of that level
 * sets.
 */
static bool has_row(const struct rows *rows, const struct tree_choice *choice, uint32_t node, unsigned depth,
		    double *root)
{
	double percent = share(rows, &rows->tree->nodes[node]).percent;

	if (!choice->named)
		return percent >= choice->min_pct;
	if (!depth)
		*root = percent;
	return !depth || percent >= choice->min_pct / 100 * *root;
}

/* Rows in the order of a walk. */
static void choose_rows(struct rows *rows, const struct tree_choice *choice)
{
	struct children c;
	uint32_t node = 0, whose = 0;
	size_t *at;
	unsigned depth = 0;
	double root = 0;

	find_children(rows, &c, choice->left_out);
	at = xcalloc(rows->tree->count, sizeof *at);
	memcpy(at, c.first, rows->tree->count * sizeof *at);
	for (;;) {
		bool more = at[node] < c.first[node + 1] && (!choice->depth || depth < choice->depth);
		uint32_t child = more ? c.list[at[node]] : 0;
		bool shown = more && has_row(rows, choice, child, depth, &root);

		/* those that have nothing below come behind it */
		if (more && !shown && !depth && choice->left_out) {
			at[node]++;
			continue;
		}
		if (!shown) {
			if (!depth)
				break;
			node = rows->tree->nodes[node].parent;
			depth--;
			continue;
		}
		at[node]++;
		whose = depth ? whose : child;
		rows->list[rows->count++] = (struct row){ .node = child, .depth = depth, .whose = whose };
		node = child;
		depth++;
	}
	free(at);
	free(c.list);
	free(c.first);
}

void tree_table_init(struct table *ret, const struct names *names, const struct call_tree *all,
		     const struct call_tree *tree, const struct tree_choice *choice)
{
	struct rows *rows = xcalloc(1, sizeof *rows + tree->count * sizeof *rows->list);

	*rows = (struct rows){
		.names = names, .tree = tree, .by_ns = choice->by_ns, .with_args = choice->with_args,
		.apart = choice->apart, .processes = choice->processes,
	};
	rows->all = total_of(rows, &all->nodes[0]);
	choose_rows(rows, choice);
	*ret = (struct table){
		.name = "tree", .what = "calls", .columns = tree_columns, .rows = rows->count, .cell = cell,
		.data = rows, .free = free, .compact = true,
		.nothing = (tree->inlines ? 0 : UINT64_C(1) << INLINED) | (tree->given ? 0 : UINT64_C(1) << GIVEN) |
			   (choice->apart ? 0 : UINT64_C(1) << PID | UINT64_C(1) << COMM),
	};
}
