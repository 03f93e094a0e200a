/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/calls/entry.h"
#include "analysis/calls/moments.h"
#include "analysis/history/history_file.h"
#include "cli/args/select_arg.h"
#include "cli/args/trace_arg.h"
#include "cli/commands.h"
#include "cli/print/ending_note.h"
#include "cli/print/json_output.h"
#include "cli/print/left_out_note.h"
#include "cli/print/panic_note.h"
#include "cli/print/quantity.h"
#include "cli/print/see.h"
#include "cli/print/terminal.h"
#include "cli/print/view.h"
#include "tables/why_table.h"
#include "trace/thinned.h"

struct answer {
	struct trace_arg *trace;
	const struct history *history;
	const struct why *why;
	const struct milestone *until;
	const char *without;  /* of whose share is told; NULL */
	const struct panic_note *panic; /* NULL: the moment is none */
	bool to_end;          /* it is asked of the last boot: how that ended is told */
};

/* The command that looks into a cause: at its longest link, what ran then, or where the thread waited. */
static void put_see(const struct answer *a, const struct cause *c, struct buf *out)
{
	const struct link *l = &a->why->links[c->longest];
	bool runs = l->kind == LINK_RUN || l->kind == LINK_READY || l->kind == LINK_HALT;
	int cpu = l->slice == HISTORY_NONE ? -1 : (int)a->history->slices[l->slice].cpu;

	if (runs || l->kind == LINK_UNKNOWN)
		see_top(out, a->trace, l->start_ns, l->end_ns, NULL, cpu);
	else
		see_stack(out, a->trace, l->start_ns + (l->end_ns - l->start_ns) / 2,
			  threads_at(&a->trace->threads, l->thread));
}

static void put_cause_json(struct json *j, const struct answer *a, const struct cause *c)
{
	uint64_t total = a->why->to_ns - a->why->from_ns;
	struct buf see = { 0 };

	json_object(j, NULL);
	json_number(j, "ns", c->ns);
	json_real(j, "pct", total ? 100.0 * (double)c->ns / (double)total : 0, 3);
	json_text(j, "kind", link_kind_name(c->kind));
	json_text(j, "name", c->name);
	json_text(j, "what", c->what);
	json_array(j, "stack");
	for (uint32_t i = 0; i < c->stack.count; i++)
		json_text(j, NULL, names_function(&a->trace->names, a->history->functions[c->stack.first + i]));
	json_close(j);
	put_see(a, c, &see);
	buf_put_u8(&see, 0);
	json_text(j, "see", (char *)see.data);
	json_close(j);
	buf_free(&see);
}

static void put_link_json(struct json *j, const struct answer *a, const struct link *l)
{
	const struct thread *t = threads_at(&a->trace->threads, l->thread);
	struct buf what = { 0 };

	link_put_what(l, &a->trace->names, a->history, &what);
	buf_put_u8(&what, 0);
	json_object(j, NULL);
	json_number(j, "start_ns", l->start_ns);
	json_number(j, "end_ns", l->end_ns);
	json_number(j, "duration_ns", l->end_ns - l->start_ns);
	json_text(j, "kind", link_kind_name(l->kind));
	json_signed(j, "pid", t ? t->pid : 0);
	json_text(j, "comm", threads_comm(&a->trace->threads, t, l->start_ns));
	json_text(j, "name", a->why->causes[l->cause].name);
	json_text(j, "what", (char *)what.data);
	json_close(j);
	buf_free(&what);
}

/*
 * What of the chain's time is its own. How much earlier all would have been over without it, the chain does not tell.
 */
static uint64_t own_ns(const struct answer *a, const char *name)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < a->why->n_causes; i++)
		if (strstr(a->why->causes[i].name, name) || strstr(a->why->causes[i].what, name))
			ns += a->why->causes[i].ns;
	return ns;
}

/* `lines`: no more of the list that a table would show. */
static void print_json(const struct answer *a, uint64_t lines, bool chain)
{
	const struct why *w = a->why;
	struct json j;

	json_output_begin(&j);
	json_object(&j, NULL);
	json_text(&j, "until", a->until->name);
	json_number(&j, "until_ns", w->to_ns);
	json_number(&j, "total_ns", w->to_ns - w->from_ns);
	if (a->without)
		json_number(&j, "own_ns", own_ns(a, a->without));
	json_rows(&j, "causes");
	for (size_t i = 0; i < w->n_causes && (chain || i < lines); i++)
		put_cause_json(&j, a, &w->causes[i]);
	json_close(&j);
	json_rows(&j, "chain");
	for (size_t i = 0; i < w->n_links && (!chain || i < lines); i++)
		put_link_json(&j, a, &w->links[i]);
	json_close(&j);
	if (a->to_end)
		ending_note_json(&j, a->trace, &a->history->facts);
	if (a->panic)
		panic_note_json(&j, a->panic);
	json_close(&j);
	json_output_end(&j);
}

/* One sentence: what, when, and what held most of the time. */
static void put_sentence(const struct answer *a, struct buf *out)
{
	const struct why *w = a->why;

	buf_printf(out, "# ");
	put_duration(out, w->to_ns - w->from_ns, false);
	buf_printf(out, " up to ");
	terminal_escape(out, a->until->name);
	buf_printf(out, " at ");
	put_moment(out, w->to_ns);
	buf_printf(out, " s");
	if (w->n_causes) {
		const struct cause *c = &w->causes[0];

		buf_printf(out, "; most of it, ");
		put_duration(out, c->ns, false);
		buf_printf(out, ", was ");
		terminal_escape(out, c->name);
		buf_printf(out, ": ");
		terminal_escape(out, c->what);
		buf_printf(out, "\n# see: ");
		put_see(a, c, out);
	}
	if (a->without) {
		buf_printf(out, "\n# of this ");
		put_duration(out, own_ns(a, a->without), false);
		buf_printf(out, " was of what has '");
		terminal_escape(out, a->without);
		buf_printf(out, "' in its name; without that, less or more may be won");
	}
	if (a->panic)
		panic_note_put(a->panic, out);
	else if (a->to_end)
		ending_note_put(a->trace, &a->history->facts, out);
	buf_put_u8(out, 0);
}

static int show(const struct args *args, const struct answer *a, struct error *err)
{
	struct table table;
	struct view view = { .table = &table, .trace = a->trace };
	struct buf heading = { 0 };
	uint64_t lines = 0;
	int r;

	terminal_end_progress();
	if (arg(args, "json") && !arg(args, "sort") && !arg(args, "output")) {
		if (arg_u64(args, "lines", &lines, err) < 0)
			return EXIT_USAGE;
		print_json(a, lines ? lines : UINT64_MAX, arg(args, "chain"));
		return EXIT_OK;
	}
	if (arg(args, "chain"))
		chain_table_init(&table, &a->trace->session, a->history, a->why);
	else
		causes_table_init(&table, a->why);
	put_sentence(a, &heading);
	view.heading = (char *)heading.data;
	r = view_print(&view, args, err);
	buf_free(&heading);
	table_deinit(&table);
	return r;
}

/* The first entry of a function. */
static int find_entry(struct trace_arg *t, const char *what, const struct span *boot, struct milestone *ret,
		      struct error *err)
{
	const char *name = strncmp(what, "entry:", 6) ? what : what + 6;
	struct entry entry;
	bool *functions;
	int found;

	if (functions_named(name, &t->names, &functions, err) < 0)
		return -1;
	functions_prefer_kernel(&t->names, functions);
	trace_arg_index(t);
	found = entry_analyse(&t->session, functions, boot, &entry, err);
	free(functions);
	if (found > 0) {
		*ret = (struct milestone){ .ns = entry.ns, .thread = entry.stack };
		snprintf(ret->name, sizeof ret->name, "the first entry of %s",
			 names_function(&t->names, entry.function));
	} else if (!found) {
		error_set(err, "no calls of %s", name);
	}
	return found > 0 ? 0 : -1;
}

/* Whose function was entered at that very time. */
struct entered {
	uint64_t ns;
	long stack;              /* its number; -1: none */
};

static void find_entered(void *state, size_t moment, struct stacks *stacks)
{
	struct entered *entered = state;

	(void)moment;
	for (size_t i = 0; i < stacks->count && entered->stack < 0; i++) {
		const struct stack *x = &stacks->list[i];

		if (x->cpu >= 0 && x->depth && x->frames[x->depth - 1].entry_ns == entered->ns)
			entered->stack = stacks_number(stacks, x);
	}
}

/* If it is that a vCPU enters a function, it is its thread's moment. */
static int find_caller(struct trace_arg *t, const char *what, uint64_t ns, struct milestone *ret, struct error *err)
{
	static const char *const others[] = { "exec:", "log:", "test:", "time:" };
	struct entered entered = { .ns = ns, .stack = -1 };
	const uint64_t behind = ns + 1;

	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (!strncmp(what, others[i], strlen(others[i])))
			return 0;
	if (isdigit((unsigned char)*what) || !strcmp(what, "end") || !strcmp(what, "trigger"))
		return 0;
	trace_arg_index(t);
	if (moments_analyse(&t->session, &behind, 1, find_entered, &entered, err) < 0)
		return -1;
	if (entered.stack >= 0)
		ret->thread = (uint32_t)entered.stack;
	return 0;
}

/* What other commands take for --from and --to, and is no milestone: exec:NAME, kernel:FUNCTION, FUNCTION#2, end … */
static bool is_condition(const char *what)
{
	if ((!strncmp(what, "log:", 4) || !strncmp(what, "entry:", 6)) && !strchr(what, '#'))
		return false;
	return !strcmp(what, "end") || !strcmp(what, "trigger") || strpbrk(what, ":#");
}

/* Whoever did that, or ran then; of where it begins, only the time counts. */
static int find_time(const struct trace_arg *t, const struct history *h, const char *option, const char *what,
		     const struct span *boot, uint64_t ns, struct milestone *ret, struct error *err)
{
	if (ns < boot->from_ns || ns > boot->to_ns)
		return error_set(err, "--%s %s: not in that boot", option, what);
	if (ns > h->end_ns)
		return error_set(err, "--%s %s: the trace ends at %.6f s", option, what, (double)h->end_ns / 1e9);
	*ret = (struct milestone){ .ns = ns };
	if (strcmp(option, "from") && !milestone_at(h, &t->threads, ns, ret))
		return error_set(err, "--%s %s: nothing that is recorded had run by then", option, what);
	return 0;
}

/* A time, or the name of a moment. */
static int find_moment(const struct args *args, struct trace_arg *t, const struct history *h, const char *option,
		       const struct span *boot, struct milestone *ret, struct error *err)
{
	const char *what = arg(args, option);
	struct error ignored;
	uint64_t ns;

	if (arg_time(args, option, &ns, &ignored) == 0)
		return find_time(t, h, option, what, boot, ns, ret, err);
	if (milestone_find(h, &t->names, &t->threads, what, boot, ret))
		return 0;
	if (is_condition(what)) {
		if (moment_find(t, boot, option, what, &ns, err) < 0 ||
		    find_time(t, h, option, what, boot, ns, ret, err) < 0 || find_caller(t, what, ns, ret, err) < 0)
			return -1;
		snprintf(ret->name, sizeof ret->name, "%s", what);
		return 0;
	}
	if (strncmp(what, "log:", 4) && find_entry(t, what, boot, ret, err) == 0)
		return 0;
	if (!strncmp(what, "entry:", 6))
		return error_prefix(err, "--%s %s", option, what);
	return error_set(
		err,
		"--%s %s: the trace has no such program, span, function or line of the log: 'upto timeline --all' lists them",
		option, what);
}

static int answer(const struct args *args, struct trace_arg *t, const struct history *h,
		  const struct intervals *intervals, struct error *err)
{
	const char *up_to = arg(args, "until") ? "until" : arg(args, "to") ? "to" : NULL;
	struct panic_note panic = { 0 };
	struct milestone until, from;
	struct answer a = { .trace = t, .history = h, .until = &until, .without = arg(args, "without") };
	struct span boot;
	struct why why;
	int r;

	if (arg(args, "until") && arg(args, "to"))
		return error_set(err, "--until and --to: are the same, one of them"), EXIT_USAGE;
	if (up_to && arg(args, "stop"))
		return error_set(err, "--%s and --stop: both are what it goes up to, one of them", up_to), EXIT_USAGE;
	if (arg(args, "from") && arg(args, "start"))
		return error_set(err, "--from and --start: both are what it begins with, one of them"), EXIT_USAGE;
	if (boot_arg(args, t->reader, &boot, err) < 0)
		return EXIT_USAGE;
	a.to_end = boot.to_ns == UINT64_MAX;
	if (!history_tells_wakes(h, &t->reader->meta))
		return trace_no_wakes(t, err), EXIT_FAILED;
	if (arg(args, "stop")) {
		uint64_t ns = intervals->list[0].stop_ns;

		if (find_time(t, h, "stop", arg(args, "stop"), &boot, ns, &until, err) < 0 ||
		    find_caller(t, arg(args, "stop"), ns, &until, err) < 0)
			return EXIT_FAILED;
	} else if (up_to) {
		if (find_moment(args, t, h, up_to, &boot, &until, err) < 0)
			return EXIT_FAILED;
	} else if (!milestone_default(h, &t->names, &t->threads, &t->reader->meta, &boot, &until)) {
		return error_set(err,
				 "%s: no first process, login or power-off in the trace; --until names another moment",
				 t->reader->path),
		       EXIT_FAILED;
	}
	from = (struct milestone){
		.ns = thinned_from(
			&t->reader->meta, until.ns,
			t->names.boots->list[boots_at(t->names.boots, until.ns ? until.ns - 1 : 0)].start_ns),
	};
	if (arg(args, "start"))
		from.ns = intervals->list[0].start_ns;
	else if (arg(args, "from") && find_moment(args, t, h, "from", &boot, &from, err) < 0)
		return EXIT_FAILED;
	if (from.ns >= until.ns)
		return error_set(err, "what it is to begin with, at %.6f s, is not before %s", (double)from.ns / 1e9,
				 until.name),
		       EXIT_FAILED;
	if (is_panic(&until)) {
		a.panic = &panic;
		/* before anything is printed: where events are damaged, it is begun anew */
		if (panic_note_find(t, &until, &panic, err) < 0) {
			panic_note_deinit(&panic);
			return EXIT_FAILED;
		}
	}
	why_make(h, &t->names, &t->threads, from.ns, &until, &why);
	a.why = &why;
	r = show(args, &a, err);
	why_deinit(&why);
	panic_note_deinit(&panic);
	return r;
}

static int find_interval(const struct args *args, const struct session *session, struct intervals *ret,
			 struct error *err)
{
	struct selected selected;
	int r = select_arg(args, session, &selected, err);

	*ret = (struct intervals){ 0 };
	if (r == 0)
		r = select_intervals(args, session, &selected, ret, err);
	selected_deinit(&selected);
	return r;
}

static int run(const struct args *args, struct error *err)
{
	struct history history = { 0 };
	struct intervals intervals;
	struct trace_arg t;
	int r = EXIT_FAILED;

	if (trace_arg_open(args, &t, err) < 0)
		return EXIT_FAILED;
	if (find_interval(args, &t.session, &intervals, err) < 0) {
		trace_arg_close(&t);
		return EXIT_FAILED;
	}
	names_fold_thunks(&t.names);
	left_out_warn(args, &t, LEFT_OUT_WAITS);
	if (instruments_arg(args, &t, err) == 0 &&
	    history_open(&t.session, keeps_history(args, &t), &history, err) == 0)
		r = answer(args, &t, &history, &intervals, err);
	history_deinit(&history);
	free(intervals.list);
	trace_arg_close(&t);
	return r;
}

static const struct option options[] = {
	{ 0, "until", "WHAT",
	  "up to when: init, login, host, poweroff, panic; a program, initcall, module, unit, function; log:TEXT …; 2.5s" },
	{ 0, "from", "WHAT", "when it began, likewise (default: the reset before)" },
	{ 0, "to", "WHAT", "the same as --until" },
	BOOT_OPTION,
	{ 0, "without", "WHAT",
	  "how much of the time was of causes that have this in name or what; without them, less or more may be won" },
	{ 0, "chain", NULL, "all links of the chain in their order, with stacks" },
	INSTRUMENTS_OPTION,
	VIEW_OPTIONS,
	SELECT_INTERVAL,
	HELP_OPTION,
	{ 0 },
};

static const struct term terms[] = {
	{ "until, until_ns, total_ns",
	  "the moment, its time, and the time up to it: that of all causes, and of all links" },
	{ "own_ns",
	  "with --without: the sum of the causes that have that in name or what; without them, less or more may be won" },
	{ "causes", "what holds most comes first" },
	{ "see", "the command that looks into the cause, at its longest link" },
	{ "chain", "the links in the order of time" },
	ENDING_TERMS,
	PANIC_TERMS,
	{ 0 },
};

static const struct legend legends[] = { { "columns", causes_columns, NULL },
					 { "columns of --chain", chain_columns, NULL },
					 { "json", NULL, terms },
					 { 0 } };

const struct command cmd_why = {
	.name = "why",
	.operands = "TRACE",
	.summary = "why did it take so long: what decided when it was done?",
	.description =
		"Goes back from a moment to reset, along what had to be over before it could come: while the thread ran, that; while it was "
		"ready for a CPU, who had it; while it slept, who woke it up, and what that one did or waited for. What woken by an interrupt was "
		"waited for is a timer, a disk or a device. The links of this chain tile the time without gap or overlap; their causes are "
		"added up. Without --until the moment is a panic, else the last request for power-off, else a login prompt, "
		"else a program's last word to the host (through a virtio port or vsock), "
		"else the first process.\n" HISTORY_NOTE,
	.examples =
		"  upto why trace.upto\n      what a boot's time went into\n"
		"  upto why --until login trace.upto\n      up to the login prompt\n"
		"  upto why --until 'log:EXT4-fs' --chain trace.upto\n      link by link up to a line of the kernel's log\n"
		"  upto why --without ext4 trace.upto\n      what of it was ext4's own\n",
	.needs = "facts",
	.options = options,
	.legends = legends,
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
