/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/calls/moments.h"
#include "analysis/events/event_sums.h"
#include "analysis/events/event_syscalls.h"
#include "analysis/events/event_times.h"
#include "base/alloc.h"
#include "base/map.h"
#include "cli/args/select_arg.h"
#include "cli/args/trace_arg.h"
#include "cli/commands.h"
#include "cli/print/empty.h"
#include "cli/print/event_losses.h"
#include "cli/print/event_put.h"
#include "cli/print/frames.h"
#include "cli/print/json_output.h"
#include "cli/print/quantity.h"
#include "cli/print/terminal.h"
#include "cli/print/view.h"
#include "tables/events_table.h"

/* A trace whose records are asked for. */
struct asked {
	const struct args *args;
	struct trace_arg *trace;
	struct event_sources of;
	struct event_list list;
	const bool *marks;           /* by number of event: those that are asked for */
	uint64_t lines;              /* at most; 0: all */
	struct source_lines sources; /* of --debug */
};

/* A stack, as it was when the record was made. */
struct held {
	struct stacks *stacks;
	struct stack *stack; /* NULL: the thread has none */
};

/* `held`: NULL: stacks are not asked for. */
static void put_record_json(struct json *j, const struct asked *a, const struct fact *f, const struct held *held,
			    struct buf *scratch)
{
	json_object(j, NULL);
	json_number(j, "ns", f->ns);
	json_number(j, "insns", f->insns);
	event_put_json(j, &a->of, f, scratch);
	if (held)
		frames_put_json(j, held->stacks, &(struct frame_sources){ .lines = &a->sources }, held->stack, f->ns);
	json_close(j);
}

/* As trace-cmd report prints it. */
static void put_record(struct buf *out, const struct asked *a, const struct fact *f, struct buf *scratch)
{
	struct buf moment = { 0 };
	struct event_record r;

	event_record_of(a->of.formats, f, &r);
	put_moment(&moment, f->ns);
	buf_put_u8(&moment, 0);
	scratch->len = 0;
	buf_printf(scratch, "%16s-%-5d [%03u] %10s: ", event_comm(a->of.threads, f), event_record_pid(&r), f->cpu,
		   (char *)moment.data);
	buf_free(&moment);
	moment = (struct buf){ 0 };
	buf_printf(&moment, "%s:", a->of.formats->list[r.event].name);
	buf_put_u8(&moment, 0);
	buf_printf(scratch, "%-21s ", (char *)moment.data);
	buf_free(&moment);
	event_put_text(a->of.decoder, &r, scratch);
	buf_put_u8(scratch, 0);
	terminal_escape(out, (char *)scratch->data);
	buf_put_u8(out, '\n');
}

struct printing {
	const struct asked *a;
	struct json *json; /* NULL: for people */
	size_t columns;
	struct buf scratch, text;
};

static void print_record(struct printing *p, const struct fact *f, const struct held *held)
{
	if (p->json) {
		put_record_json(p->json, p->a, f, held, &p->scratch);
		return;
	}
	p->text.len = 0;
	put_record(&p->text, p->a, f, &p->scratch);
	if (held && held->stack)
		frames_put(&p->text, held->stacks, &(struct frame_sources){ .lines = &p->a->sources }, held->stack,
			   f->ns);
	terminal_print(&p->text, p->columns);
}

static void take_record(void *state, size_t i, struct stacks *s)
{
	struct printing *p = state;
	const struct fact *f = p->a->list.list[i];
	struct stack stack;
	bool has = frames_copy(s, f->task, f->cpu, f->ns, p->a->trace->session.fold, &stack);

	print_record(p, f, &(struct held){ s, has ? &stack : NULL });
	free(stack.frames);
}

static int print_stacks(struct printing *p, size_t n, struct error *err)
{
	uint64_t *moments = xcalloc(n + 1, sizeof *moments);
	int r;

	for (size_t i = 0; i < n; i++)
		moments[i] = event_stack_moment(p->a->list.list[i]);
	r = moments_analyse(&p->a->trace->session, moments, n, take_record, p, err);
	free(moments);
	return r;
}

static int print_records(const struct asked *a, struct error *err)
{
	size_t n = a->lines && a->lines < a->list.count ? a->lines : a->list.count;
	bool json = arg(a->args, "json");
	struct json j;
	struct printing p = {
		.a = a,
		.json = json ? &j : NULL,
		.columns = arg(a->args, "wide") ? 0 : terminal_columns(),
	};
	int r = 0;

	if (arg(a->args, "stack"))
		trace_arg_index(a->trace);
	terminal_end_progress();
	a->trace->reader->progress = NULL;
	if (json) {
		json_output_begin(&j);
		json_object(&j, NULL);
		json_rows(&j, "events");
	} else {
		terminal_start_pager();
	}
	if (arg(a->args, "stack"))
		r = print_stacks(&p, n, err);
	else
		for (size_t i = 0; i < n; i++)
			print_record(&p, a->list.list[i], NULL);
	if (json) {
		json_close(&j);
		json_close(&j);
		json_output_end(&j);
	}
	buf_free(&p.scratch);
	buf_free(&p.text);
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

/* Marks of the events that a list of names means; an error: of a name that none has. */
static int mark_events(const struct asked *a, const char *list, bool *marks, struct error *err)
{
	const struct event_formats *formats = a->of.formats;

	for (const char *word = list; list && *word; word += strcspn(word, ",") + (word[strcspn(word, ",")] == ',')) {
		cleanup_free char *name = xstrndup(word, strcspn(word, ","));
		bool any = false;

		for (size_t i = 0; i < formats->count; i++)
			if (event_is_meant(name, formats->list[i].system, formats->list[i].name, NULL))
				any = marks[i] = true;
		if (!any)
			return error_set(err, "no event %s in the trace; 'upto events -l %s' lists those that it has",
					 name, a->trace->reader->path);
	}
	for (size_t i = 0; !list && i < formats->count; i++)
		marks[i] = !event_is_of_program(&formats->list[i]);
	return 0;
}

/* What is said of an event once, though each kernel that booted tells of it. */
struct listed {
	bool is_first; /* of those alike */
	uint64_t missing, faults;
};

/* An event's hash: with the same name and fields it is the same one. */
static uint64_t hash_of_format(const struct event_format *f)
{
	return hash_text(hash_text(hash_text(0, f->system), f->name), f->text);
}

/* By number of event; sums are those of the first one of those alike. The caller frees it. */
static struct listed *list_once(const struct asked *a)
{
	const struct event_formats *formats = a->of.formats;
	struct listed *ret = xcalloc(formats->count + 1, sizeof *ret);
	struct map first = { 0 };

	for (size_t i = 0; i < formats->count; i++) {
		uint64_t at;

		if (!a->marks[i])
			continue;
		at = *map_put(&first, hash_of_format(&formats->list[i]), i);
		ret[at].is_first = true;
		ret[at].missing += formats->list[i].missing;
		ret[at].faults += formats->list[i].faults;
	}
	map_free(&first);
	return ret;
}

static void put_format_json(struct json *j, const struct asked *a, size_t event, const struct listed *listed)
{
	const struct event_format *f = &a->of.formats->list[event];

	json_object(j, NULL);
	json_text(j, "system", f->system);
	json_text(j, "name", f->name);
	json_number(j, "missing", listed->missing);
	json_number(j, "faults", listed->faults);
	json_text(j, "why", f->why);
	json_object(j, "fields");
	for (size_t i = 0; i < event_fields(a->of.decoder, event); i++)
		json_text(j, event_field_name(a->of.decoder, event, i), event_field_type(a->of.decoder, event, i));
	json_close(j);
	json_close(j);
}

/* "sched:sched_process_exec(int pid, …)" */
static void print_format(const struct asked *a, size_t event)
{
	const struct event_format *f = &a->of.formats->list[event];
	struct buf line = { 0 }, shown = { 0 };

	buf_printf(&line, "%s:%s(", f->system, f->name);
	for (size_t i = 0; i < event_fields(a->of.decoder, event); i++)
		buf_printf(&line, "%s%s %s", i ? ", " : "", event_field_type(a->of.decoder, event, i),
			   event_field_name(a->of.decoder, event, i));
	buf_printf(&line, ")");
	buf_put_u8(&line, 0);
	terminal_escape(&shown, (char *)line.data);
	buf_put_u8(&shown, '\n');
	terminal_print(&shown, arg(a->args, "wide") ? 0 : terminal_columns());
	buf_free(&shown);
	buf_free(&line);
}

static void print_list(const struct asked *a)
{
	cleanup_free struct listed *listed = list_once(a);
	bool json = arg(a->args, "json");
	struct json j;

	if (json) {
		json_output_begin(&j);
		json_object(&j, NULL);
		json_rows(&j, "formats");
	}
	for (size_t i = 0; i < a->of.formats->count; i++) {
		if (listed[i].is_first && json)
			put_format_json(&j, a, i, &listed[i]);
		else if (listed[i].is_first)
			print_format(a, i);
	}
	if (json) {
		json_close(&j);
		json_close(&j);
		json_output_end(&j);
	}
}

static void print_histogram(const char *what, const struct event_histogram *h)
{
	struct buf text = { 0 };

	event_histogram_put(h, &text);
	printf("\n%s\n", what);
	fwrite(text.data, 1, text.len, stdout);
	buf_free(&text);
}

/* Rows that have their histograms drawn below the table. */
enum { DRAWN = 5 };

static void draw(const struct event_sums *s, const char *value)
{
	for (size_t i = 0; i < s->count && i < DRAWN; i++) {
		struct buf what = { 0 }, shown = { 0 };

		if (!s->list[i].values.count)
			continue;
		buf_printf(&what, "%s", value);
		for (unsigned k = 0; k < s->keys.count; k++)
			buf_printf(&what, "%s %s", k ? "," : " of", s->list[i].keys[k] ? s->list[i].keys[k] : "-");
		buf_put_u8(&what, 0);
		terminal_escape(&shown, (char *)what.data);
		buf_put_u8(&shown, 0);
		print_histogram((char *)shown.data, &s->list[i].values);
		buf_free(&what);
		buf_free(&shown);
	}
}

/* In which calls the records of a list were made, if that is asked for. */
static int find_stacks(const struct asked *a, const struct event_list *list, bool asked, struct event_stacks *stacks,
		       struct event_sources *of, struct error *err)
{
	*stacks = (struct event_stacks){ 0 };
	*of = a->of;
	if (!asked)
		return 0;
	of->stacks = stacks;
	trace_arg_index(a->trace);
	return event_stacks_init(stacks, &a->trace->session, list->list, list->count, err);
}

static int print_sums(const struct asked *a, const struct event_list *list, struct error *err)
{
	struct event_stacks stacks = { 0 };
	struct event_sources of;
	const char *value = arg(a->args, "value");
	struct event_sums sums = { 0 };
	struct event_keys keys;
	struct table table;
	int r = EXIT_FAILED;

	if (event_keys_parse(arg(a->args, "sum"), &keys, err) < 0) {
		event_keys_deinit(&keys);
		return EXIT_USAGE;
	}
	if (event_keys_check(&keys, a->of.decoder, a->of.formats->count, a->marks, err) < 0) {
		event_keys_deinit(&keys);
		return EXIT_FAILED;
	}
	if (find_stacks(a, list, event_keys_want_stacks(&keys), &stacks, &of, err) < 0) {
		event_keys_deinit(&keys);
	} else if (event_sums_init(&sums, list, &of, &keys, value, err) == 0) {
		event_sums_table_init(&table, &sums, value);
		r = view_print(&(struct view){ .table = &table, .trace = a->trace }, a->args, err);
		table_deinit(&table);
		if (r == EXIT_OK && value && !arg(a->args, "json") && !arg(a->args, "output"))
			draw(&sums, value);
	}
	event_sums_deinit(&sums);
	event_stacks_deinit(&stacks);
	return r;
}

static void put_pairs_heading(struct buf *out, const struct event_pairs *p)
{
	buf_printf(out, "# ");
	put_count(out, p->count - p->unbegun);
	buf_printf(out, " began; ");
	put_count(out, p->ns.count);
	buf_printf(out, " of them ended");
	if (p->ns.count) {
		buf_printf(out, ", after ");
		put_duration(out, p->ns.sum / p->ns.count, false);
		buf_printf(out, " on average, ");
		put_duration(out, p->ns.max, false);
		buf_printf(out, " at most");
	}
	buf_printf(out, "; ");
	put_count(out, p->unbegun);
	buf_printf(out, " ended that nothing here began");
	buf_put_u8(out, 0);
}

static int show_pairs(const struct asked *a, const struct event_pairs *p, struct error *err)
{
	bool *marks = xcalloc(p->count + 1, sizeof *marks), open = arg(a->args, "open");
	struct event_list begun = { 0 };
	struct event_stacks stacks;
	struct event_sources of;
	struct buf heading = { 0 };
	struct table table;
	int r;

	for (size_t i = 0; i < p->count; i++) {
		marks[i] = p->list[i].begin && (!open || !p->list[i].end);
		if (!marks[i])
			continue;
		begun.list = array_grow(begun.list, begun.count, &begun.cap, sizeof *begun.list);
		begun.list[begun.count++] = p->list[i].begin;
	}
	r = find_stacks(a, &begun, arg(a->args, "stack"), &stacks, &of, err);
	event_list_deinit(&begun);
	if (r < 0) {
		event_stacks_deinit(&stacks);
		free(marks);
		return EXIT_FAILED;
	}
	put_pairs_heading(&heading, p);
	event_pairs_table_init(&table, p, &of, marks);
	r = view_print(
		&(struct view){
			.table = &table,
			.heading = (char *)heading.data,
			.trace = a->trace,
			.default_sort = open ? NULL : "duration_ns",
		},
		a->args, err);
	if (r == EXIT_OK && !open && p->ns.count && !arg(a->args, "json") && !arg(a->args, "output"))
		print_histogram("duration in ns", &p->ns);
	table_deinit(&table);
	event_stacks_deinit(&stacks);
	buf_free(&heading);
	free(marks);
	return r;
}

/* What did not end, added up by what its records say: where memory was allocated that nobody freed. */
static int sum_open(const struct asked *a, const struct event_pairs *p, struct error *err)
{
	struct event_list open = { 0 };
	int r;

	for (size_t i = 0; i < p->count; i++) {
		if (!p->list[i].begin || p->list[i].end)
			continue;
		open.list = array_grow(open.list, open.count, &open.cap, sizeof *open.list);
		open.list[open.count++] = p->list[i].begin;
	}
	r = print_sums(a, &open, err);
	event_list_deinit(&open);
	return r;
}

/* BEGIN,END */
static int print_pairs(const struct asked *a, struct error *err)
{
	const char *words = arg(a->args, "pair"), *by = arg(a->args, "by"), *comma = strchr(words, ',');
	size_t n = a->of.formats->count + 1;
	cleanup_free bool *begins = xcalloc(n, sizeof *begins), *ends = xcalloc(n, sizeof *ends);
	cleanup_free char *first = xstrndup(words, strcspn(words, ","));
	struct event_pairs pairs = { 0 };
	struct event_stacks stacks = { 0 };
	struct event_sources of;
	struct event_keys keys;
	int r = EXIT_FAILED;

	if (!comma || comma == words || !comma[1])
		return error_set(err, "--pair %s: two events: BEGIN,END", words), EXIT_USAGE;
	if (mark_events(a, first, begins, err) < 0 || mark_events(a, comma + 1, ends, err) < 0)
		return EXIT_FAILED;
	if (event_keys_parse(by ? by : "pid", &keys, err) < 0) {
		r = EXIT_USAGE;
	} else if (event_keys_check(&keys, a->of.decoder, a->of.formats->count, a->marks, err) == 0 &&
		   find_stacks(a, &a->list, event_keys_want_stacks(&keys), &stacks, &of, err) == 0) {
		event_pairs_init(&pairs, &a->list, &of, begins, ends, &keys);
		r = arg(a->args, "sum") ? sum_open(a, &pairs, err) : show_pairs(a, &pairs, err);
	}
	event_pairs_deinit(&pairs);
	event_stacks_deinit(&stacks);
	event_keys_deinit(&keys);
	return r;
}

/* Names are the guest's. Frees the line. */

static int print(struct asked *a, const bool *marks, struct error *err)
{
	event_losses_warn(a->trace->reader->path, a->of.formats, marks);
	if (!a->list.count) {
		empty_say(a->args, a->trace, "trace events");
		if (!arg(a->args, "json"))
			return EXIT_OK;
	}
	if (arg(a->args, "pair"))
		return print_pairs(a, err);
	if (arg(a->args, "sum"))
		return print_sums(a, &a->list, err);
	return print_records(a, err);
}

/* With --pair, these two are what is looked at. */
static const char *names_of(const struct args *args)
{
	return arg(args, "name") ? arg(args, "name") : arg(args, "pair");
}

static int choose(struct asked *a, const struct facts *facts, const bool *marks, struct error *err)
{
	const char *expression = arg(a->args, "filter");
	struct event_choice choice = { .events = marks, .processes = a->trace->asked_processes };
	struct intervals intervals = { 0 };
	struct selected selected;
	int r = EXIT_FAILED;

	if (expression) {
		choice.filter = event_filter_parse(expression, err);
		if (!choice.filter)
			return EXIT_USAGE;
	}
	if (expression && event_filter_bind(choice.filter, a->of.decoder, a->of.formats->count, marks, err) < 0)
		r = EXIT_FAILED;
	else if (span_arg(a->args, &choice.span, err) == 0 &&
		 select_arg(a->args, &a->trace->session, &selected, err) == 0) {
		if (select_intervals(a->args, &a->trace->session, &selected, &intervals, err) == 0) {
			choice.threads = selected.options.filter.threads;
			choice.intervals = &intervals;
			event_list_init(&a->list, facts, a->of.formats, a->of.decoder, a->of.threads, &choice);
			r = print(a, marks, err);
			event_list_deinit(&a->list);
		}
		selected_deinit(&selected);
	}
	free(intervals.list);
	if (choice.filter)
		event_filter_free(choice.filter);
	return r;
}

static int run_with(struct asked *a, const struct event_formats *formats, struct error *err)
{
	cleanup_free bool *marks = xcalloc(formats->count + 1, sizeof *marks);
	struct facts facts;
	struct buf made = { 0 };
	int r = EXIT_FAILED;

	a->of.formats = formats;
	a->of.threads = &a->trace->threads;
	a->of.boots = &a->trace->reader->boots;
	a->of.spans.count = thinned_spans(&a->trace->reader->meta, &a->of.spans.list);
	a->of.decoder = event_decoder_new(formats, &a->trace->names);
	a->marks = marks;
	if (mark_events(a, names_of(a->args), marks, err) < 0) {
		r = EXIT_FAILED;
	} else if (arg(a->args, "list")) {
		print_list(a);
		r = EXIT_OK;
	} else {
		if (facts_read(a->trace->reader, &facts, err) == 0 &&
		    event_times_settle(a->trace->reader, &facts, err) == 0 &&
		    event_syscalls_add(a->trace->reader, a->of.threads, formats, marks, &facts, &made, err) == 0)
			r = choose(a, &facts, marks, err);
		facts_deinit(&facts);
		buf_free(&made);
	}
	event_decoder_free(a->of.decoder);
	free(a->of.spans.list);
	return r;
}

/* An option that is for others, which were not given, would say nothing. */
static int check_options(const struct args *args, struct error *err)
{
	static const struct {
		const char *option, *of, *also;
	} needs[] = {
		{ "debug", "stack", NULL }, { "value", "sum", NULL },    { "by", "pair", NULL },
		{ "open", "pair", NULL },   { "output", "sum", "pair" }, { "sort", "sum", "pair" },
	};

	for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
		if (arg(args, needs[i].option) && !arg(args, needs[i].of) &&
		    !(needs[i].also && arg(args, needs[i].also)))
			return error_set(err, "--%s: is for --%s%s%s", needs[i].option, needs[i].of,
					 needs[i].also ? " and --" : "", needs[i].also ? needs[i].also : "");
	return 0;
}

static int run(const struct args *args, struct error *err)
{
	struct event_formats formats = { 0 };
	struct trace_arg t;
	struct asked a = { .args = args, .trace = &t };
	int r = EXIT_FAILED;

	if (arg_u64(args, "lines", &a.lines, err) < 0)
		return EXIT_USAGE;
	if (check_options(args, err) < 0)
		return EXIT_USAGE;
	if (trace_arg_open(args, &t, err) < 0)
		return EXIT_FAILED;
	if (event_formats_read(&t.reader->meta, &formats, err) < 0)
		error_prefix(err, "%s", t.reader->path);
	else if (!formats.count)
		error_set(err, "%s: the trace has no trace events: 'upto record --event NAMES' records them",
			  t.reader->path);
	else if (instruments_arg(args, &t, err) == 0 && debug_arg(args, &t.names, &a.sources, err) == 0)
		r = run_with(&a, &formats, err);
	source_lines_deinit(&a.sources);
	event_formats_deinit(&formats);
	trace_arg_close(&t);
	return r;
}

static const struct option options[] = {
	{ 'e', "name", "NAMES", "only these: sched:*,block_rq_issue", ',' },
	{ 0, "filter", "EXPR", "only records whose fields fit: 'bytes > 4096 && rwbs ~ \"W*\"'" },
	{ 0, "stack", NULL, "below each record, the stack of the thread that ran; with --pair, of those that began it" },
	{ 'l', "list", NULL, "which events the trace has, or could have had, with their fields" },
	{ 0, "sum", "KEYS", "add up by fields, or by event, comm, pid, cpu, caller (of the function that it is in), stack: comm,dev", ',' },
	{ 0, "value", "FIELD", "with --sum: also this field's values, with a histogram" },
	{ 0, "pair", "BEGIN,END",
	  "what began with one event, and how long it took up to another: block_rq_issue,block_rq_complete" },
	{ 0, "by", "KEYS", "with --pair: what both have alike, as for --sum: sector (default: pid)", ',' },
	{ 0, "open", NULL, "with --pair: only what did not end; --sum adds it up" },
	{ 'p', "pid", "PID", "only while this thread ran, one of this process, or those of that name" },
	DEBUG_OPTION,
	SELECT_ROWS_COMM,
	SPAN_OPTIONS,
	VIEW_OPTIONS,
	SELECT_INTERVALS,
	INSTRUMENTS_OPTION,
	HELP_OPTION,
	{ 0 },
};

static const struct term keys[] = {
	{ "events", "the records, in the order of time" },
	{ "ns, insns, cpu", "guest time, instructions that the vCPU had retired, and the vCPU" },
	{ "pid, comm", "the thread that ran" },
	EVENT_TERMS,
	{ "frames", "with --stack: the thread's functions, the innermost first; each has:" },
	FRAME_TERMS,
	{ 0 },
};

static const struct legend legends[] = { { "JSON", NULL, keys },
					 { "columns of --sum", event_sums_columns, NULL },
					 { "columns of --pair", event_pairs_columns, NULL },
					 { 0 } };

const struct command cmd_events = {
	.name = "events",
	.operands = "TRACE",
	.summary = "which trace events and probes were passed, and what did they say?",
	.description =
		"Prints records of the kernel's trace events (sched:sched_switch, block:block_rq_issue …) that 'upto record --event' "
		"recorded, and of probes (upto record --probe), as trace-cmd report does. The guest need not have enabled them, and takes no "
		"time for them.\n",
	.examples =
		"  upto record --event 'sched:*,block:*' -o trace.upto -- qemu-system-x86_64 …\n      record them\n"
		"  upto events trace.upto\n      print all of them\n"
		"  upto events -e block_rq_issue --sum comm,rwbs --value bytes trace.upto\n      who read and wrote how much, and in which sizes\n"
		"  upto events --pair block_rq_issue,block_rq_complete --by sector trace.upto\n      how long each request took\n"
		"  upto events -e 'probe_libc:malloc' --sum comm,caller --value bytes trace.upto\n      who asks for how much memory, of a recording with --probe '/usr/lib/libc.so.6:malloc bytes'\n"
		"  upto events --pair kmalloc,kfree --by ptr --open --sum call_site --value bytes_alloc trace.upto\n      memory that was not freed, by who asked for it\n",
	.needs = "facts",
	.options = options,
	.legends = legends,
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
