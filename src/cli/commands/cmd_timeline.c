/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/history/event_spans.h"
#include "analysis/history/history_choose.h"
#include "analysis/history/history_file.h"
#include "analysis/history/why.h"
#include "base/alloc.h"
#include "cli/args/recorded_facts.h"
#include "cli/args/select_arg.h"
#include "cli/args/trace_arg.h"
#include "cli/commands.h"
#include "cli/print/ending_note.h"
#include "cli/print/left_out_note.h"
#include "cli/print/quantity.h"
#include "cli/print/see.h"
#include "cli/print/terminal.h"
#include "cli/print/view.h"
#include "tables/timeline_table.h"
#include "trace/thinned.h"

enum {
	BAR_WIDTH = 20,
	CAUSES_MAX = 5,
	EVENTS_MAX = 20, /* in a tree, of trace events; if there are more, they are folded as all that is short */
};

/* What is asked for. */
struct asked {
	struct intervals intervals; /* of time */
	struct recorded_facts beside; /* trace events */
	bool rows;              /* not all of them: those that the filter chooses */
	const struct thin_filter *filter;
};

/*
 * "boot 5.12 s: firmware 123 ms, decompressor 981 ms, …": the phases add up to the whole. In lines for narrow
 * terminals.
 */
static void put_phases(struct buf *out, const struct history *h, const struct span *boot)
{
	enum { WIDTH = 76 };
	size_t line = 0; /* where it begins */
	bool first = true;

	for (size_t i = 0; i < h->n_spans; i++) {
		const struct span_of *x = &h->spans[i];
		struct buf text = { 0 };

		if ((x->kind != SPAN_BOOT && x->kind != SPAN_PHASE) || x->start_ns < boot->from_ns ||
		    x->start_ns >= boot->to_ns)
			continue;
		buf_printf(&text, "%s ", x->name);
		put_duration(&text, x->end_ns - x->start_ns, false);
		if (x->kind == SPAN_BOOT || out->len + text.len - line > WIDTH) {
			buf_printf(out, "%s%s# ", x->kind == SPAN_BOOT || first ? "" : ",", out->len ? "\n" : "");
			line = out->len;
		} else {
			buf_printf(out, first ? ": " : ", ");
		}
		buf_printf(out, "%s%.*s", x->kind == SPAN_BOOT || out->len != line ? "" : "  ", (int)text.len,
			   (char *)text.data);
		first = x->kind == SPAN_BOOT;
		buf_free(&text);
	}
}

/* "recorded: 1.995 s to 3.591 s", of a trace that is a part of another. */
static void put_spans(struct buf *out, const struct reader *r)
{
	enum { SHOWN = 4 };
	struct kept_span *spans;
	size_t n = thinned_spans(&r->meta, &spans);

	for (size_t i = 0; i < n && i < SHOWN; i++) {
		buf_printf(out, i ? ", " : "# only recorded: ");
		put_moment(out, spans[i].start_ns);
		buf_printf(out, " to ");
		if (spans[i].stop_ns == UINT64_MAX)
			buf_printf(out, "the end");
		else
			put_moment(out, spans[i].stop_ns);
	}
	if (n > SHOWN)
		buf_printf(out, ", %zu more", n - SHOWN);
	free(spans);
}

/* The part of the boot that is asked for, where it is not all of it. */
static struct span part_of(const struct timeline_choice *choice, const struct span *boot)
{
	const struct intervals *in = choice->intervals;
	struct span part = choice->span;

	if (in->count && part.from_ns < in->list[0].start_ns)
		part.from_ns = in->list[0].start_ns;
	if (in->count && part.to_ns > in->list[in->count - 1].stop_ns)
		part.to_ns = in->list[in->count - 1].stop_ns;
	if (part.from_ns <= boot->from_ns)
		part.from_ns = 0;
	if (part.to_ns >= boot->to_ns)
		part.to_ns = UINT64_MAX;
	return part;
}

/* What took longest, by what decided when the boot was done, or when the part ends whoever runs then came so far. */
static void put_causes(struct buf *out, const struct trace_arg *t, const struct history *h, const struct span *boot,
		       const struct span *part)
{
	struct milestone until;
	struct why why;
	uint64_t from_ns;

	if (!history_tells_wakes(h, &t->reader->meta) ||
	    !(part->to_ns < h->end_ns ? milestone_at(h, &t->threads, part->to_ns, &until)
				      : milestone_default(h, &t->names, &t->threads, &t->reader->meta, boot, &until)))
		return;
	if (part->from_ns >= until.ns && !milestone_at(h, &t->threads, h->end_ns, &until))
		return;
	from_ns = thinned_from(&t->reader->meta, until.ns,
			       t->names.boots->list[boots_at(t->names.boots, until.ns)].start_ns);
	if (part->from_ns > from_ns)
		from_ns = part->from_ns;
	why_make(h, &t->names, &t->threads, from_ns, &until, &why);
	for (size_t i = 0; i < why.n_causes && i < CAUSES_MAX; i++) {
		const struct cause *c = &why.causes[i];

		buf_printf(out, "\n# %s", i ? "  " : "longest, ");
		if (!i) {
			/* else the boot that is told of begins later */
			if (part->from_ns && part->from_ns == from_ns) {
				buf_printf(out, "from ");
				put_moment(out, part->from_ns);
				buf_printf(out, " s ");
			}
			buf_printf(out, "up to ");
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

static int choice_arg(const struct args *args, struct timeline_choice *ret, struct error *err)
{
	const char *kinds = arg(args, "kind");
	uint64_t depth = UINT64_MAX;

	*ret = (struct timeline_choice){
		.depth = UINT32_MAX, .span = { .to_ns = UINT64_MAX },
		.bar_width = BAR_WIDTH,
		/* where columns are not chosen, there is room for one */
		.others = arg(args, "output") || arg(args, "json") ? HISTORY_HOT : 1,
	};
	if (arg_time(args, "min", &ret->min_ns, err) < 0 || arg_u64(args, "depth", &depth, err) < 0 ||
	    arg_time(args, "from", &ret->span.from_ns, err) < 0 || arg_time(args, "to", &ret->span.to_ns, err) < 0)
		return -1;
	if (ret->span.from_ns >= ret->span.to_ns)
		return error_set(err, "--to %s: nothing is before that, or --from is not",
				 arg(args, "to") ? arg(args, "to") : "the end");
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

/* What is shorter is folded, if the user says nothing of that. */
static uint64_t default_min(const struct args *args, const struct history *h, const struct timeline_choice *choice)
{
	const struct span range = timeline_range(h, choice);

	if (choice->any_kind || choice->chosen || arg(args, "all") || arg(args, "json"))
		return 0;
	return range.to_ns > range.from_ns ? (range.to_ns - range.from_ns) / 100 : 0;
}

/* Marks by number of what the options choose. */
static bool *choose(const struct history *h, const struct thin_filter *filter)
{
	bool *chosen = xcalloc(h->n_spans, sizeof *chosen);

	for (size_t i = 0; i < h->n_spans; i++)
		chosen[i] = history_chooses_span(h, filter, &h->spans[i]);
	return chosen;
}

/* The history with trace events among its spans, whose numbers others of its parts do not know. */
static struct history with_events(const struct history *h, const struct trace_arg *t, const struct asked *asked,
				  struct event_spans *spans, struct timeline_choice *choice)
{
	struct history ret = *h;

	*spans = (struct event_spans){ 0 };
	if (!asked->beside.events)
		return ret;
	event_spans_init(spans, h, &asked->beside.facts, &t->threads);
	choice->events = spans->events;
	choice->of = &asked->beside.of;
	choice->all_events = spans->count - h->n_spans <= EVENTS_MAX;
	ret.spans = spans->list;
	ret.n_spans = spans->count;
	return ret;
}

static int show(const struct args *args, const struct trace_arg *t, const struct history *h, const struct asked *asked,
		struct error *err)
{
	struct event_spans events;
	struct history shown;
	struct table table;
	struct view view = { .table = &table, .trace = t };
	struct buf heading = { 0 };
	struct timeline_choice choice;
	struct intervals recorded = { 0 };
	struct span boot, part;
	bool *chosen = NULL;
	int r;

	if (choice_arg(args, &choice, err) < 0 || boot_arg(args, t->reader, &boot, err) < 0)
		return EXIT_USAGE;
	shown = with_events(h, t, asked, &events, &choice);
	choice.intervals = &asked->intervals;
	if (asked->rows)
		choice.chosen = chosen = choose(&shown, asked->filter);
	recorded.count = thinned_spans(&t->reader->meta, &recorded.list);
	choice.recorded = &recorded;
	if (!arg(args, "min"))
		choice.min_ns = default_min(args, h, &choice);
	timeline_table_init(&table, &shown, &t->threads, &choice);
	if (!choice.any_kind) {
		put_spans(&heading, t->reader);
		put_phases(&heading, h, &boot);
		if (boot.to_ns == UINT64_MAX) /* the last one */
			ending_note_put(t, &h->facts, &heading);
		part = part_of(&choice, &boot);
		put_causes(&heading, t, h, &boot, &part);
		buf_put_u8(&heading, 0);
		view.heading = (char *)heading.data;
	}
	terminal_end_progress();
	r = view_print(&view, args, err);
	buf_free(&heading);
	table_deinit(&table);
	event_spans_deinit(&events);
	free(recorded.list);
	free(chosen);
	return r;
}

static int run_on(const struct args *args, struct trace_arg *t, struct error *err)
{
	struct asked asked = { .rows = select_has_rows(args) };
	struct selected selected;
	struct history history = { 0 };
	int r = EXIT_FAILED;

	if (select_arg(args, &t->session, &selected, err) == 0 &&
	    select_intervals(args, &t->session, &selected, &asked.intervals, err) == 0 &&
	    instruments_arg(args, t, err) == 0) {
		names_fold_thunks(&t->names);
		left_out_warn(args, t, LEFT_OUT_WAITS);
		asked.filter = &selected.options.filter;
		if (history_open(&t->session, keeps_history(args, t), &history, err) == 0 &&
		    recorded_facts_read(args, t, false, &asked.beside, err) == 0)
			r = show(args, t, &history, &asked, err);
		recorded_facts_deinit(&asked.beside);
		history_deinit(&history);
	}
	free(asked.intervals.list);
	selected_deinit(&selected);
	return r;
}

static int run(const struct args *args, struct error *err)
{
	struct trace_arg t;
	int r;

	if (trace_arg_open(args, &t, err) < 0)
		return EXIT_FAILED;
	r = run_on(args, &t, err);
	trace_arg_close(&t);
	return r;
}

static const struct option options[] = {
	{ 'k', "kind", "KINDS", "a table of these only: initcall, module, probe, mount, exec, process, event …", ',' },
	{ 0, "depth", "N", "show N levels below the boot" },
	{ 0, "min", "TIME", "fold what is shorter (default: 1 % of the time that is shown; in a table and in JSON nothing)" },
	{ 0, "all", NULL, "fold nothing" },
	NO_EVENTS_OPTION,
	SELECT_ROWS_PID,
	SELECT_ROWS_COMM,
	SELECT_ROWS_DURATION("what"),
	SELECT_ROWS_CODE("calls of", "a part of a call of", "that is, or is a part of, a call of"),
	{ 0, "from", "TIME", "only what is not over then: 1.5s, 20ms; " MOMENT_NAMES },
	{ 0, "to", "TIME", "only what begins before this guest time; likewise" },
	BOOT_OPTION,
	INSTRUMENTS_OPTION,
	VIEW_OPTIONS,
	SELECT_INTERVALS,
	HELP_OPTION,
	{ 0 },
};

static const struct legend legends[] = { { "columns", timeline_columns, NULL }, { 0 } };

const struct command cmd_timeline = {
	.name = "timeline",
	.operands = "TRACE",
	.summary = "what happened when, from reset to power-off, and how long did it take?",
	.description =
		"Prints what was done as a tree: phases of the boot, levels of initcalls, initcalls, probes of drivers, modules, mounts, execs and "
		"processes, each with its time, how long its thread ran, and how long it waited. Above it stand the phases, which add up to the whole, and "
		"what held most of the time (upto-why(1)). What is shorter than 1 % of the time that is shown is folded. --kind prints a table of these kinds instead. "
		"Records of trace events and probes are of kind event; if there are more than 20, they are folded, too. "
		"Options as --functions and --comm choose of these: in the tree they stand in what they are a part of, and nothing is folded.\n" HISTORY_NOTE,
	.examples =
		"  upto timeline trace.upto\n      the whole boot on a screen\n"
		"  upto timeline --kind initcall -s took -n 20 trace.upto\n      the longest initcalls, with their results\n"
		"  upto timeline --kind module,signature,relocation,module-init trace.upto\n      where loading modules takes its time\n"
		"  upto timeline --from 2s --to 3s --min 1ms trace.upto\n      a part of it, closer\n"
		"  upto timeline --comm systemd-udevd --min-duration 1ms trace.upto\n      what these did, within what it is a part of\n",
	.needs = "tasks",
	.options = options,
	.legends = legends,
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
