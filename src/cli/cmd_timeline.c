/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/history_file.h"
#include "analysis/why.h"
#include "base/alloc.h"
#include "commands.h"
#include "quantity.h"
#include "terminal.h"
#include "trace_arg.h"
#include "view.h"

enum { START, TOOK, CPU_NS, WAIT_NS, BAR, NAME, RESULT, OTHERS, KIND, PID, INSNS, END, OTHERS_NS, ID, PARENT };

enum { BAR_WIDTH = 20, CAUSES_MAX = 5, DEPTH_MAX = 1000 };

static const struct column columns[] = {
	[START] = { "start_ns", "TIME S", CELL_SECONDS, "guest time when it began, in seconds" },
	[TOOK] = { "duration_ns", "TOOK", CELL_DURATION, "how long it was" },
	[CPU_NS] = { "cpu_ns", "ON CPU", CELL_DURATION, "of that, how long its thread ran; of phases and levels: how long vCPUs ran" },
	[WAIT_NS] = { "wait_ns", "WAITED", CELL_DURATION, "the rest: its thread was asleep, or others had the CPU" },
	[BAR] = { "bar", "", CELL_TEXT, "where it lies in the time that is shown" },
	[NAME] = { "name", "WHAT", CELL_TEXT, "what was done, set in below what it is a part of" },
	[RESULT] = { "result", "RESULT", CELL_NUMBER, "what its function returned: initcalls, probes, mounts and firmware files" },
	[KIND] = { "kind", "KIND", CELL_TEXT, "phase, stage, level, initcall, probe, module, mount, exec, process …", .hidden = true },
	[PID] = { "pid", "PID", CELL_NUMBER, "thread that did it", .hidden = true },
	[INSNS] = { "insns", "INSNS", CELL_AMOUNT, "instructions that its thread ran meanwhile", .hidden = true },
	[END] = { "end_ns", "END S", CELL_SECONDS, "guest time when it was over, in seconds", .hidden = true },
	[OTHERS] = { "others", "CPU HAD", CELL_LIST, "who had the CPU longest while its thread waited" },
	[OTHERS_NS] = { "others_ns", "OTHERS", CELL_DURATION, "how long all others together had the CPU then", .hidden = true },
	[ID] = { "id", "ID", CELL_NUMBER, "its number", .hidden = true },
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
	struct row *list;
	size_t count, cap;
	uint64_t from_ns, to_ns;
	bool kinds;           /* rows are of asked kinds, not a tree */
	bool brief;           /* columns are not chosen: of the others, one name is enough */
};

/* What is asked for. */
struct choice {
	uint64_t min_ns, depth;
	bool kinds[SPAN_KINDS], any_kind;
	struct span span;
};

static void put_bar(struct buf *out, const struct rows *r, const struct span_of *x)
{
	static const char *const eighths[] = { " ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█" };
	uint64_t all = r->to_ns - r->from_ns, start = x->start_ns > r->from_ns ? x->start_ns - r->from_ns : 0;
	uint64_t end = x->end_ns < r->to_ns ? x->end_ns - r->from_ns : all;
	unsigned first = (unsigned)((__uint128_t)start * BAR_WIDTH * 8 / (all + !all));
	unsigned last = (unsigned)((__uint128_t)end * BAR_WIDTH * 8 / (all + !all));

	if (last <= first)
		last = first + 1;
	for (unsigned cell = 0; cell < BAR_WIDTH && cell * 8 < last; cell++) {
		unsigned from = first > cell * 8 ? first - cell * 8 : 0, to = last < cell * 8 + 8 ? last - cell * 8 : 8;

		/* blocks begin at a cell's left side: a beginning within a cell is rounded down */
		if (from >= 8)
			buf_printf(out, " ");
		else
			buf_printf(out, "%s", eighths[to ? to : 1]);
	}
}

static void text_cell(struct cell *ret, struct buf *scratch)
{
	buf_put_u8(scratch, 0);
	*ret = (struct cell){ .type = CELL_TEXT, .text = (char *)scratch->data };
}

static bool has_thread(const struct span_of *x)
{
	return x->thread != HISTORY_NONE;
}

/* Who had the CPU meanwhile, by the names that they had when the span was over. */
static void others_cell(const struct rows *r, const struct span_of *x, unsigned column, struct cell *ret, struct buf *scratch)
{
	struct others others;

	history_others(r->history, r->threads, x, &others);
	if (column == OTHERS_NS) {
		*ret = (struct cell){ .type = CELL_DURATION, .number = others.ns };
		return;
	}
	for (int i = 0; i < (r->brief ? 1 : HISTORY_HOT) && others.threads[i] != HISTORY_NONE; i++)
		buf_printf(scratch, "%s%s", i ? "\n" : "", threads_comm(r->threads, &r->threads->list[others.threads[i]], x->end_ns));
	if (!scratch->len)
		return;
	text_cell(ret, scratch);
	ret->type = CELL_LIST;
}

static void span_cell(const struct rows *r, const struct row *row, unsigned column, struct cell *ret, struct buf *scratch)
{
	const struct span_of *x = &r->history->spans[row->span];
	uint64_t took = x->end_ns - x->start_ns;

	switch (column) {
	case TOOK:
		*ret = (struct cell){ .type = CELL_DURATION, .number = took };
		break;
	case CPU_NS:
		*ret = (struct cell){ .type = CELL_DURATION, .number = x->cpu_ns };
		break;
	case WAIT_NS:
		*ret = (struct cell){ .type = CELL_DURATION, .number = took > x->cpu_ns ? took - x->cpu_ns : 0 };
		break;
	case BAR:
		put_bar(scratch, r, x);
		text_cell(ret, scratch);
		break;
	case NAME:
		*ret = (struct cell){ .type = CELL_TEXT, .indent = r->kinds ? 0 : 2 * row->depth, .text = x->name };
		break;
	case RESULT:
		if (x->has_result)
			*ret = (struct cell){ .type = CELL_NUMBER, .number = (uint64_t)x->result, .negative = x->result < 0 };
		break;
	case KIND:
		*ret = (struct cell){ .type = CELL_TEXT, .text = span_kind_name(x->kind) };
		break;
	case PID:
		if (has_thread(x) && x->thread < r->threads->count)
			*ret = (struct cell){ .type = CELL_NUMBER, .number = (uint64_t)r->threads->list[x->thread].pid };
		break;
	case INSNS:
		*ret = (struct cell){ .type = CELL_AMOUNT, .number = x->insns };
		break;
	case OTHERS:
	case OTHERS_NS:
		others_cell(r, x, column, ret, scratch);
		break;
	case END:
		*ret = (struct cell){ .type = CELL_SECONDS, .number = x->end_ns };
		break;
	case ID:
		*ret = (struct cell){ .type = CELL_NUMBER, .number = row->span };
		break;
	case PARENT:
		if (x->parent != HISTORY_NONE)
			*ret = (struct cell){ .type = CELL_NUMBER, .number = x->parent };
		break;
	}
}

static void cell(const void *data, size_t i, unsigned column, struct cell *ret, struct buf *scratch)
{
	const struct rows *r = data;
	const struct row *row = &r->list[i];

	if (column == START) {
		if (!row->folded)
			*ret = (struct cell){ .type = CELL_SECONDS, .number = r->history->spans[row->span].start_ns };
	} else if (!row->folded) {
		span_cell(r, row, column, ret, scratch);
	} else if (column == TOOK) {
		*ret = (struct cell){ .type = CELL_DURATION, .number = row->folded_ns };
	} else if (column == NAME) {
		buf_printf(scratch, "… %u more", row->folded);
		text_cell(ret, scratch);
		ret->indent = 2 * row->depth;
	}
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

static bool in_span(const struct choice *c, const struct span_of *x)
{
	return x->end_ns > c->span.from_ns && x->start_ns < c->span.to_ns;
}

/* The children of a span, or those without a parent, with theirs; what is too short becomes one row at their end. */
static void add_children(struct rows *r, const struct tree *t, const struct choice *c, uint32_t parent, uint32_t depth)
{
	const struct history *h = r->history;
	struct row rest = { .span = parent, .depth = depth };

	for (uint32_t i = t->first[parent]; i < h->n_spans; i = t->next[i]) {
		const struct span_of *x = &h->spans[i];

		/* each line of the log is one */
		if (!in_span(c, x) || (x->kind == SPAN_CONSOLE && c->min_ns))
			continue;
		if (x->end_ns - x->start_ns < c->min_ns && x->kind != SPAN_PHASE) {
			rest.folded++;
			rest.folded_ns += x->end_ns - x->start_ns;
			continue;
		}
		add_row(r, &(struct row){ .span = i, .depth = depth });
		if (depth < c->depth && depth < DEPTH_MAX)
			add_children(r, t, c, i, depth + 1);
	}
	if (rest.folded)
		add_row(r, &rest);
}

static void add_kinds(struct rows *r, const struct choice *c)
{
	for (uint32_t i = 0; i < r->history->n_spans; i++) {
		const struct span_of *x = &r->history->spans[i];

		if (c->kinds[x->kind] && in_span(c, x) && x->end_ns - x->start_ns >= c->min_ns)
			add_row(r, &(struct row){ .span = i });
	}
}

/* "boot 5.12 s: firmware 123 ms, decompressor 981 ms, …": the phases add up to the whole. In lines for narrow terminals. */
static void put_phases(struct buf *out, const struct history *h)
{
	enum { WIDTH = 76 };
	size_t line = 0; /* where it begins */
	bool first = true;

	for (size_t i = 0; i < h->n_spans; i++) {
		const struct span_of *x = &h->spans[i];
		struct buf text = { 0 };

		if (x->kind != SPAN_BOOT && x->kind != SPAN_PHASE)
			continue;
		buf_printf(&text, "%s ", x->name);
		put_duration(&text, x->end_ns - x->start_ns, false);
		if (x->kind == SPAN_BOOT || out->len + text.len - line > WIDTH) {
			buf_printf(out, "%s%s# ", x->kind == SPAN_BOOT || first ? "" : ",", out->len ? "\n" : "");
			line = out->len;
		} else {
			buf_printf(out, first ? ": " : ", ");
		}
		buf_printf(out, "%s%.*s", x->kind == SPAN_BOOT || out->len != line ? "" : "  ", (int)text.len, (char *)text.data);
		first = x->kind == SPAN_BOOT;
		buf_free(&text);
	}
}

/* What took longest, by what decided when the boot was done. */
static void put_causes(struct buf *out, const struct trace_arg *t, const struct history *h)
{
	struct milestone until;
	struct why why;

	if (!history_has_wakes(h) || !milestone_default(h, &t->threads, &until))
		return;
	why_make(h, &t->names, &t->threads, t->names.boots->list[boots_at(t->names.boots, until.ns)].start_ns, &until, &why);
	for (size_t i = 0; i < why.n_causes && i < CAUSES_MAX; i++) {
		const struct cause *c = &why.causes[i];

		buf_printf(out, "\n# %s", i ? "  " : "longest, up to ");
		if (!i) {
			terminal_escape(out, until.name);
			buf_printf(out, ":\n#   ");
		}
		put_duration(out, c->ns, true);
		buf_printf(out, " %s", c->kind == LINK_READY ? "waiting for the CPU, for " : "");
		terminal_escape(out, c->name);
		buf_printf(out, ": ");
		terminal_escape(out, c->what);
	}
	why_deinit(&why);
}

static int choice_arg(const struct args *args, const struct history *h, struct choice *ret, struct error *err)
{
	const char *kinds = arg(args, "kind");
	uint64_t depth = UINT64_MAX;
	bool all = arg(args, "all") || arg(args, "json");

	*ret = (struct choice){ .min_ns = all || kinds ? 0 : h->end_ns / 100, .depth = UINT32_MAX, .span = { .to_ns = UINT64_MAX } };
	if (arg_time(args, "min", &ret->min_ns, err) < 0 || arg_u64(args, "depth", &depth, err) < 0 ||
	    arg_time(args, "from", &ret->span.from_ns, err) < 0 || arg_time(args, "to", &ret->span.to_ns, err) < 0)
		return -1;
	if (ret->span.from_ns >= ret->span.to_ns)
		return error_set(err, "--to %s: nothing is before that, or --from is not", arg(args, "to") ? arg(args, "to") : "the end");
	if (arg(args, "depth"))
		ret->depth = depth;
	while (kinds && *kinds) {
		char name[32];
		size_t n = strcspn(kinds, ",");
		enum span_kind kind;

		snprintf(name, sizeof name, "%.*s", (int)n, kinds);
		kind = span_kind_find(name);
		if (kind == SPAN_KINDS) {
			struct buf known = { 0 };

			for (int k = 0; k < SPAN_KINDS; k++)
				buf_printf(&known, "%s%s", k ? ", " : "", span_kind_name((enum span_kind)k));
			buf_put_u8(&known, 0);
			error_set(err, "--kind %s: kinds are %s", name, (char *)known.data);
			buf_free(&known);
			return -1;
		}
		ret->kinds[kind] = ret->any_kind = true;
		kinds += n + (kinds[n] == ',');
	}
	return 0;
}

static int show(const struct args *args, const struct trace_arg *t, const struct history *h, struct error *err)
{
	struct rows rows = { .history = h, .threads = &t->threads, .to_ns = h->end_ns };
	struct view view = { .name = "timeline", .what = "spans", .trace = t, .columns = columns, .cell = cell, .data = &rows };
	struct buf heading = { 0 };
	struct choice choice;
	struct tree tree;
	int r;

	if (choice_arg(args, h, &choice, err) < 0)
		return EXIT_USAGE;
	rows.kinds = choice.any_kind;
	rows.brief = !arg(args, "output") && !arg(args, "json");
	if (choice.span.from_ns)
		rows.from_ns = choice.span.from_ns;
	if (choice.span.to_ns < rows.to_ns)
		rows.to_ns = choice.span.to_ns;
	tree_init(&tree, h);
	if (choice.any_kind) {
		add_kinds(&rows, &choice);
	} else {
		add_children(&rows, &tree, &choice, (uint32_t)h->n_spans, 0);
		put_phases(&heading, h);
		put_causes(&heading, t, h);
		buf_put_u8(&heading, 0);
		view.heading = (char *)heading.data;
	}
	terminal_end_progress();
	view.rows = rows.count;
	r = view_print(&view, args, err);
	buf_free(&heading);
	free(tree.first);
	free(tree.next);
	free(rows.list);
	return r;
}

static int run(const struct args *args, struct error *err)
{
	struct history history;
	struct trace_arg t;
	int r = EXIT_FAILED;

	if (trace_arg_open(args, &t, err) < 0)
		return EXIT_FAILED;
	names_fold_thunks(&t.names);
	if (history_open(&t.session, is_worth_index(&t), &history, err) == 0)
		r = show(args, &t, &history, err);
	history_deinit(&history);
	trace_arg_close(&t);
	return r;
}

static const struct option options[] = {
	{ 0, "kind", "KINDS", "a table of these only: initcall, module, probe, mount, exec, process …", ',' },
	{ 0, "depth", "N", "show N levels below the boot" },
	{ 0, "min", "TIME", "fold what is shorter (default: 1 % of the trace; in a table and in JSON nothing)" },
	{ 0, "all", NULL, "fold nothing" },
	{ 0, "from", "TIME", "only what is not over at this guest time: 1.5s, 20ms" },
	{ 0, "to", "TIME", "only what begins before this guest time" },
	VIEW_OPTIONS,
	HELP_OPTION,
	{ 0 },
};

static const struct legend legends[] = { { "columns", columns, NULL }, { 0 } };

const struct command cmd_timeline = {
	.name = "timeline",
	.operands = "TRACE",
	.summary = "what happened when, from reset to power-off, and how long did it take?",
	.description = "Prints what was done as a tree: phases of the boot, levels of initcalls, initcalls, probes of drivers, modules, mounts, execs and "
		       "processes, each with its time, how long its thread ran, and how long it waited. Above it stand the phases, which add up to the whole, and "
		       "what held most of the time (upto-why(1)). What is shorter than 1 % is folded. --kind prints a table of one kind instead.\n"
		       HISTORY_NOTE,
	.examples = "  upto timeline trace.upto\n      the whole boot on a screen\n"
		    "  upto timeline --kind initcall -s took -n 20 trace.upto\n      the longest initcalls, with their results\n"
		    "  upto timeline --kind module,signature,relocation,module-init trace.upto\n      where loading modules takes its time\n"
		    "  upto timeline --from 2s --to 3s --min 1ms trace.upto\n      a part of it, closer\n",
	.options = options,
	.legends = legends,
	.min_operands = 1, .max_operands = 1,
	.run = run,
};
