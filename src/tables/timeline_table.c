/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "timeline_table.h"

#include <stdlib.h>

#include "base/alloc.h"

enum { START, TOOK, CPU_NS, WAIT_NS, BAR, NAME, RESULT, OTHERS, KIND, PID, INSNS, END, OTHERS_NS, OUTCOME, ID, PARENT };

enum {
	DEPTH_MAX = 1000,
	RECORDED_SHOWN = 10, /* spans that were asked for, however short they are */
};

const struct column timeline_columns[] = {
	[START] = { "start_ns", "TIME S", CELL_SECONDS, "guest time when it began, in seconds" },
	[TOOK] = { "duration_ns", "TOOK", CELL_DURATION, "how long it was" },
	[CPU_NS] = { "cpu_ns", "ON CPU", CELL_DURATION,
		     "of that, how long its thread ran; of phases and levels: how long vCPUs ran; none: it was not recorded, or is a unit, whose threads are not known" },
	[WAIT_NS] = { "wait_ns", "WAITED", CELL_DURATION,
		      "the rest of what was recorded of it: its thread was asleep, or others had the CPU" },
	[BAR] = { "bar", "", CELL_TEXT, "where it lies in the time that is shown" },
	[NAME] = { "name", "WHAT", CELL_TEXT, "what was done, set in below what it is a part of" },
	[RESULT] = { "result", "RESULT", CELL_NUMBER,
		     "what its function returned: initcalls, probes, mounts and firmware files; of KUnit's cases: ok, not ok, skipped" },
	[KIND] = { "kind", "KIND", CELL_TEXT,
		   "phase, stage, level, initcall, probe, module, mount, exec, process …; recorded: a span that was asked for, its name is what began it; event: a trace event or a probe, with what it says",
		   .hidden = true },
	[PID] = { "pid", "PID", CELL_NUMBER, "thread that did it", .hidden = true },
	[INSNS] = { "insns", "INSNS", CELL_AMOUNT, "instructions that its thread ran meanwhile", .hidden = true },
	[END] = { "end_ns", "END S", CELL_SECONDS, "guest time when it was over, in seconds", .hidden = true },
	[OTHERS] = { "others", "CPU HAD", CELL_LIST, "who had the CPU longest while its thread waited" },
	[OTHERS_NS] = { "others_ns", "OTHERS", CELL_DURATION, "how long all others together had the CPU then",
			.hidden = true },
	[ID] = { "id", "ID", CELL_NUMBER, "its number", .hidden = true },
	[OUTCOME] = { "outcome", "OUTCOME", CELL_TEXT, "of KUnit's cases: ok, not ok or skipped", .hidden = true },
	[PARENT] = { "parent", "PARENT", CELL_NUMBER, "number of what it is a part of", .hidden = true },
	{ 0 },
};

/* A row: a span, or how many that were too short for one. */
struct row {
	uint32_t span;
	uint32_t depth;
	uint32_t folded; /* 0: it is that span; else so many of the span's children */
	uint64_t folded_ns;
};

struct rows {
	const struct history *history;
	const struct threads *threads;
	struct timeline_choice choice;
	bool *shown;     /* in the tree, by number; NULL: all */
	struct row *list;
	size_t count, cap;
	uint64_t from_ns, to_ns;
	unsigned recorded;  /* how many spans that were asked for have rows */
};

static bool is_test(const struct span_of *x)
{
	return x->has_result && (x->kind == SPAN_TEST || x->kind == SPAN_TEST_PART);
}

static struct cell bar_cell(const struct rows *r, const struct span_of *x, struct buf *scratch)
{
	static const char *const eighths[] = { " ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█" };
	unsigned width = r->choice.bar_width, first, last;
	uint64_t all = r->to_ns - r->from_ns, start = x->start_ns > r->from_ns ? x->start_ns - r->from_ns : 0, end;

	if (x->end_ns < r->from_ns || x->start_ns > r->to_ns) /* it was not recorded, but it is known when it was */
		return cell_none();
	end = x->end_ns < r->to_ns ? x->end_ns - r->from_ns : all;
	first = (unsigned)((__uint128_t)start * width * 8 / (all + !all));
	last = (unsigned)((__uint128_t)end * width * 8 / (all + !all));
	if (last <= first)
		last = first + 1;
	for (unsigned place = 0; place < width && place * 8 < last; place++) {
		unsigned from = first > place * 8 ? first - place * 8 : 0,
			 to = last < place * 8 + 8 ? last - place * 8 : 8;

		/* blocks begin at a letter's left side: a beginning within a letter is rounded down */
		if (from >= 8)
			buf_printf(scratch, " ");
		else
			buf_printf(scratch, "%s", eighths[to ? to : 1]);
	}
	return cell_scratch(CELL_TEXT, scratch);
}

/* Who had the CPU meanwhile, by the names that they had when the span was over. */
static struct cell others_cell(const struct rows *r, const struct span_of *x, unsigned column, struct buf *scratch)
{
	struct others others;

	history_others(r->history, r->threads, x, &others);
	if (column == OTHERS_NS)
		return cell_duration(others.ns);
	for (unsigned i = 0; i < r->choice.others && i < HISTORY_HOT && others.threads[i] != HISTORY_NONE; i++)
		buf_printf(scratch, "%s%s", i ? "\n" : "",
			   threads_comm(r->threads, &r->threads->list[others.threads[i]], x->end_ns));
	return scratch->len ? cell_scratch(CELL_LIST, scratch) : cell_none();
}

static struct cell pid_cell(const struct rows *r, const struct span_of *x)
{
	const struct thread *t = threads_at(r->threads, x->thread);

	return t ? cell_pid(t->pid) : cell_none();
}

/* How it was spent, as far as it was recorded. */
static struct cell spent_cell(const struct rows *r, const struct span_of *x, unsigned column)
{
	const struct intervals *recorded = r->choice.recorded;
	uint64_t known = intervals_overlap(recorded, x->start_ns, x->end_ns);

	/* which threads are a unit's is not known; an event is a moment */
	if (x->kind == SPAN_UNIT || x->kind == SPAN_EVENT ||
	    !intervals_touch(recorded, x->start_ns, x->end_ns + (x->end_ns == x->start_ns)))
		return cell_none();
	return cell_duration(column == CPU_NS ? x->cpu_ns : known > x->cpu_ns ? known - x->cpu_ns : 0);
}

static struct cell event_cell(const struct rows *r, const struct row *row, struct buf *scratch)
{
	const struct event_sources *of = r->choice.of;
	struct cell c;

	event_put_line(of->decoder, of->formats, r->choice.events[row->span], scratch);
	c = cell_scratch(CELL_TEXT, scratch);
	c.indent = 2 * row->depth;
	return c;
}

static struct cell span_cell(const struct rows *r, const struct row *row, unsigned column, struct buf *scratch)
{
	const struct span_of *x = &r->history->spans[row->span];

	switch (column) {
	case START:
		return cell_seconds(x->start_ns);
	case TOOK:
		return cell_duration(x->end_ns - x->start_ns);
	case CPU_NS:
	case WAIT_NS:
		return spent_cell(r, x, column);
	case BAR:
		return bar_cell(r, x, scratch);
	case NAME:
		if (r->choice.events && r->choice.events[row->span])
			return event_cell(r, row, scratch);
		return (struct cell){ .type = CELL_TEXT, .indent = 2 * row->depth, .text = x->name };
	case RESULT: /* a number where there is one */
		return is_test(x) ? (struct cell){ .text = test_result_name(x->result) } :
		       x->has_result ? cell_signed(x->result) : cell_none();
	case OUTCOME:
		return is_test(x) ? cell_text(test_result_name(x->result)) : cell_none();
	case KIND:
		return cell_text(span_kind_name(x->kind));
	case PID:
		return pid_cell(r, x);
	case INSNS:
		return x->kind == SPAN_UNIT || x->kind == SPAN_EVENT ? cell_none() : cell_amount(x->insns);
	case OTHERS:
	case OTHERS_NS:
		return others_cell(r, x, column, scratch);
	case END:
		return cell_seconds(x->end_ns);
	case ID:
		return cell_number(row->span);
	case PARENT:
		return x->parent == HISTORY_NONE ? cell_none() : cell_number(x->parent);
	}
	return cell_none();
}

static struct cell folded_cell(const struct row *row, unsigned column, struct buf *scratch)
{
	struct cell c;

	if (column == TOOK)
		return cell_duration(row->folded_ns);
	if (column != NAME)
		return cell_none();
	buf_printf(scratch, "… %u more", row->folded);
	c = cell_scratch(CELL_TEXT, scratch);
	c.indent = 2 * row->depth;
	return c;
}

static struct cell cell(const void *data, size_t i, unsigned column, struct buf *scratch)
{
	const struct rows *r = data;
	const struct row *row = &r->list[i];

	return row->folded ? folded_cell(row, column, scratch) : span_cell(r, row, column, scratch);
}

static void add_row(struct rows *r, const struct row *row)
{
	r->list = array_grow(r->list, r->count, &r->cap, sizeof *r->list);
	r->list[r->count++] = *row;
}

/* The first child of each span and the next child of its parent; `n`: none. */
struct tree {
	uint32_t *first, *next;
};

static void tree_init(struct tree *t, const struct history *h)
{
	uint32_t n = (uint32_t)h->n_spans;

	t->first = xcalloc(n + 1, sizeof *t->first);
	t->next = xcalloc(n + 1, sizeof *t->next);
	for (uint32_t i = 0; i <= n; i++)
		t->first[i] = t->next[i] = n;
	/* from the last on, so that they come out in order; place n of `first` has those without a parent */
	for (uint32_t i = n; i-- > 0;) {
		uint32_t parent = h->spans[i].parent == HISTORY_NONE ? n : h->spans[i].parent;

		t->next[i] = t->first[parent];
		t->first[parent] = i;
	}
}

static void tree_deinit(struct tree *t)
{
	free(t->first);
	free(t->next);
}

static bool in_span(const struct rows *r, const struct span_of *x)
{
	return x->end_ns + (x->kind == SPAN_EVENT) > r->choice.span.from_ns && x->start_ns < r->choice.span.to_ns &&
	       intervals_touch(r->choice.intervals, x->start_ns, x->end_ns + (x->kind == SPAN_EVENT));
}

/* The children of a span, or those without a parent, with theirs; what is too short becomes one row at their end. */
static void add_children(struct rows *r, const struct tree *t, uint32_t parent, uint32_t depth)
{
	const struct timeline_choice *c = &r->choice;
	const struct history *h = r->history;
	struct row rest = { .span = parent, .depth = depth };

	for (uint32_t i = t->first[parent]; i < h->n_spans; i = t->next[i]) {
		const struct span_of *x = &h->spans[i];

		/* each line of the log is one */
		if (!in_span(r, x) || (r->shown && !r->shown[i]) || (x->kind == SPAN_CONSOLE && c->min_ns))
			continue;
		if (x->end_ns - x->start_ns < c->min_ns && x->kind != SPAN_PHASE &&
		    (x->kind != SPAN_RECORDED || r->recorded++ >= RECORDED_SHOWN) &&
		    (x->kind != SPAN_EVENT || !c->all_events)) {
			rest.folded++;
			rest.folded_ns += x->end_ns - x->start_ns;
			continue;
		}
		add_row(r, &(struct row){ .span = i, .depth = depth });
		if (depth < c->depth && depth < DEPTH_MAX)
			add_children(r, t, i, depth + 1);
	}
	if (rest.folded)
		add_row(r, &rest);
}

/* What is chosen, with what it is a part of. */
static bool *with_parents(const struct history *h, const bool *chosen)
{
	bool *shown = xcalloc(h->n_spans, sizeof *shown);

	for (uint32_t i = 0; i < h->n_spans; i++)
		for (uint32_t at = i; chosen[i] && at != HISTORY_NONE && !shown[at]; at = h->spans[at].parent)
			shown[at] = true;
	return shown;
}

static void add_tree(struct rows *r)
{
	struct tree tree;

	if (r->choice.chosen)
		r->shown = with_parents(r->history, r->choice.chosen);
	tree_init(&tree, r->history);
	add_children(r, &tree, (uint32_t)r->history->n_spans, 0);
	tree_deinit(&tree);
}

static void add_kinds(struct rows *r)
{
	for (uint32_t i = 0; i < r->history->n_spans; i++) {
		const struct span_of *x = &r->history->spans[i];

		if (r->choice.kinds[x->kind] && in_span(r, x) && (!r->choice.chosen || r->choice.chosen[i]) &&
		    x->end_ns - x->start_ns >= r->choice.min_ns)
			add_row(r, &(struct row){ .span = i });
	}
}

static void rows_free(void *data)
{
	struct rows *r = data;

	free(r->list);
	free(r->shown);
	free(r);
}

/* Narrow a range to what the intervals are in, if they have any of it. */
static struct span within(struct span range, const struct intervals *in)
{
	const struct kept_span *first = in->list, *last;

	if (!in->count)
		return range;
	last = &in->list[in->count - 1];
	if (first->start_ns >= range.to_ns || last->stop_ns <= range.from_ns)
		return range;
	if (first->start_ns > range.from_ns)
		range.from_ns = first->start_ns;
	if (last->stop_ns < range.to_ns)
		range.to_ns = last->stop_ns;
	return range;
}

struct span timeline_range(const struct history *h, const struct timeline_choice *choice)
{
	struct span range = choice->span;

	if (range.to_ns > h->end_ns)
		range.to_ns = h->end_ns;
	return within(within(range, choice->intervals), choice->recorded);
}

void timeline_table_init(struct table *ret, const struct history *h, const struct threads *threads,
			 const struct timeline_choice *choice)
{
	struct rows *r = xcalloc(1, sizeof *r);
	const struct span range = timeline_range(h, choice);

	*r = (struct rows){
		.history = h, .threads = threads, .choice = *choice, .from_ns = range.from_ns, .to_ns = range.to_ns,
	};
	if (choice->any_kind)
		add_kinds(r);
	else
		add_tree(r);
	*ret = (struct table){
		.name = "timeline", .what = "spans", .columns = timeline_columns, .rows = r->count, .cell = cell,
		.data = r, .free = rows_free,
	};
}
