/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/calls/calls.h"
#include "analysis/calls/flow.h"
#include "base/alloc.h"
#include "cli/args/debug_arg.h"
#include "cli/args/recorded_facts.h"
#include "cli/args/select_arg.h"
#include "cli/args/trace_arg.h"
#include "cli/args/trace_lacks.h"
#include "cli/args/values_arg.h"
#include "cli/commands.h"
#include "cli/print/empty.h"
#include "cli/print/event_put.h"
#include "cli/print/json_output.h"
#include "cli/print/left_out_note.h"
#include "cli/print/quantity.h"
#include "cli/print/terminal.h"
#include "base/utf8.h"

struct printer {
	const struct names *names;
	const struct source_lines *sources;
	struct json *json; /* NULL: for people */
	bool exact;
	bool no_insns; /* the trace has no instructions */
	size_t columns; /* of the terminal; 0: lines are not cut */
	bool shown;
	uint64_t left; /* calls still to be shown */
	const struct call_values *values; /* NULL: nobody asks */
	const struct event_sources *events; /* of records of trace events */
	const struct threads *threads;
	struct buf scratch;
	struct map signs; /* pid → letter; 0: not seen yet */
	struct buf line;
	struct left_out left_out; /* of the call that is being printed */
};

/* The thread's name at that time. */
static const char *comm_at(const struct printer *p, const struct thread *t, uint64_t ns)
{
	return t ? threads_comm(p->threads, t, ns) : "[boot]";
}

/* Print the source line that a call was made from, and the functions that were inlined there. */
static size_t lines_of(const struct printer *p, const struct thread *t, enum frame_kind kind, uint64_t from,
		       uint64_t ns, struct source_line *ret)
{
	struct space_view view = { 0 };

	if (!p->sources->count || !frame_call_place(kind, from))
		return 0;
	if (t) {
		ns = thread_time(t, ns);
		spaces_view(&p->names->spaces, t->task, ns, &view);
	}
	return source_lines_at(p->sources, p->names, frame_call_place(kind, from), ns, view.version, ret);
}

static void put_caller(struct printer *p, const struct thread *t, enum frame_kind kind, uint64_t from, uint64_t ns)
{
	struct source_line lines[SOURCE_LINES_MAX];
	size_t n = lines_of(p, t, kind, from, ns, lines);

	if (!n)
		return;
	debug_put(&p->line, &lines[0]);
	for (size_t i = 0; i < n && lines[i].inlined; i++) {
		buf_printf(&p->line, "%s", i ? ", " : " (inlined ");
		terminal_escape(&p->line, lines[i].function ? lines[i].function : "?");
	}
	if (lines[0].inlined)
		buf_put_u8(&p->line, ')');
}

static void put_caller_json(struct printer *p, const struct thread *t, enum frame_kind kind, uint64_t from, uint64_t ns)
{
	struct source_line lines[SOURCE_LINES_MAX];
	size_t n = lines_of(p, t, kind, from, ns, lines);

	if (!n)
		return;
	json_object(p->json, "from");
	json_array(p->json, "inlined");
	for (size_t i = 0; i < n && lines[i].inlined; i++)
		json_text(p->json, NULL, lines[i].function ? lines[i].function : "");
	json_close(p->json);
	debug_put_json(p->json, &lines[0]);
	json_close(p->json);
}

enum { MOMENT_WIDTH = 14, DURATION_WIDTH = 8, INSNS_WIDTH = 6, EXACT_WIDTH = 14 };

/* Append a blank, and the quantity at the right end of so many columns. */
static void put_cell(struct printer *p, uint64_t n, size_t width, void (*put)(struct buf *, uint64_t, bool),
		     void (*put_exact)(struct buf *, uint64_t))
{
	struct buf cell = { 0 };
	size_t wide;

	if (p->exact)
		put_exact(&cell, n);
	else
		put(&cell, n, true);
	buf_put_u8(&cell, 0);
	width = p->exact ? EXACT_WIDTH : width;
	wide = utf8_width((const char *)cell.data);
	buf_printf(&p->line, " %*s%s", (int)(wide < width ? width - wide : 0), "", (const char *)cell.data);
	buf_free(&cell);
}

static void put_time(struct printer *p, uint64_t ns)
{
	put_cell(p, ns, DURATION_WIDTH, put_duration, put_exact_seconds);
}

static size_t insns_width(const struct printer *p)
{
	return p->exact ? EXACT_WIDTH : INSNS_WIDTH;
}

static void put_insns(struct printer *p, uint64_t insns)
{
	if (!p->no_insns)
		put_cell(p, insns, INSNS_WIDTH, put_amount, put_count);
}

/* What kind of frame it is, unless it is a plain call. */
static void put_sign(struct printer *p, enum frame_kind kind)
{
	if (kind != FRAME_CALL && kind != FRAME_BASE)
		buf_printf(&p->line, " <%s>", frame_kind_name(kind));
}

/* How the call ended, unless by a return or a jump. */
static void put_end(struct printer *p, enum frame_end end)
{
	if (end == FRAME_CUT || end == FRAME_DIED || end == FRAME_LOST)
		buf_printf(&p->line, " (%s)", frame_end_name(end));
}

static void put_text(struct printer *p, const struct thread *t, const struct call_record *r)
{
	buf_printf(&p->line, "%4" PRIu64 ".%09" PRIu64, r->entry_ns / 1000000000, r->entry_ns % 1000000000);
	put_time(p, r->duration_ns);
	put_time(p, r->self_ns);
	put_insns(p, r->self_insns);
	buf_printf(&p->line, " %3d %6d  %*s", r->cpu, t ? t->pid : 0, (int)(r->depth * 2), "");
	terminal_escape(&p->line, names_function(p->names, r->function));
	values_put_args(&p->line, p->values, r->args);
	values_put_result(&p->line, p->values, r->result);
	put_sign(p, r->kind);
	if (r->unfinished)
		buf_printf(&p->line, " (unfinished)");
	else
		put_end(p, r->end);
	put_caller(p, t, r->kind, r->from, r->entry_ns);
	buf_put_u8(&p->line, '\n');
}

/* Append a line for a record of a trace event or a probe, behind what is in the columns before the name. */
static void put_event(struct printer *p, const struct fact *event)
{
	p->scratch.len = 0;
	event_put_line(p->events->decoder, p->events->formats, event, &p->scratch);
	buf_put_u8(&p->scratch, 0);
	terminal_escape(&p->line, (char *)p->scratch.data);
	buf_put_u8(&p->line, '\n');
}

static void put_event_record(struct printer *p, const struct thread *t, const struct call_record *r)
{
	buf_printf(&p->line, "%4" PRIu64 ".%09" PRIu64 " %*s %*s", r->entry_ns / 1000000000, r->entry_ns % 1000000000,
		   p->exact ? EXACT_WIDTH : DURATION_WIDTH, "", p->exact ? EXACT_WIDTH : DURATION_WIDTH, "");
	if (!p->no_insns)
		buf_printf(&p->line, " %*s", (int)insns_width(p), "");
	buf_printf(&p->line, " %3d %6d  %*s# ", r->cpu, t ? t->pid : 0, (int)(r->depth * 2), "");
	put_event(p, r->event);
}

/* A line for what the call called and has no lines of its own: the functions that took longest, and how many more. */
static void put_left_out(struct printer *p, const struct left_out *l, uint32_t depth)
{
	enum { NAMED = 4 };
	struct left_out_sum all = left_out_total(l);

	if (!l->count)
		return;
	buf_printf(&p->line, "%*s", MOMENT_WIDTH, "");
	put_time(p, all.duration_ns);
	put_time(p, all.ns);
	put_insns(p, all.insns);
	buf_printf(&p->line, " %3s %6s  %*s... ", "", "", (int)(depth * 2 + 2), "");
	for (size_t i = 0; i < l->count && i < NAMED; i++) {
		buf_printf(&p->line, "%s%" PRIu64 " x ", i ? ", " : "", l->list[i].calls);
		terminal_escape(&p->line, names_function(p->names, l->list[i].function));
		buf_put_u8(&p->line, ' ');
		put_duration(&p->line, l->list[i].duration_ns, false);
	}
	if (l->count > NAMED)
		buf_printf(&p->line, ", %zu more", l->count - NAMED);
	buf_put_u8(&p->line, '\n');
}

enum { LINES_AT_ONCE = 1 << 16 }; /* bytes */

static void flush_lines(struct printer *p, size_t more_than)
{
	if (p->line.len <= more_than)
		return;
	terminal_print(&p->line, p->columns);
	p->line.len = 0;
}

/* Those of the calls that are open and not outside the next one's depth end: what they left out stands behind them. */
static void close_calls(struct printer *p, struct call_records *records, struct call_record *open, size_t *n,
			uint32_t depth)
{
	while (*n && open[*n - 1].depth >= depth) {
		const struct call_record *r = &open[--*n];

		call_records_left_out(records, r, &p->left_out);
		put_left_out(p, &p->left_out, r->depth);
	}
}

/* All records; what each left out stands behind the last that it called. */
static void put_records(struct printer *p, const struct thread *t, struct call_records *records)
{
	struct call_record *open = NULL;
	const struct call_record *r;
	size_t n = 0, cap = 0;

	for (uint64_t i = 0; (r = call_records_get(records, i)) && !ferror(stdout); i++) {
		close_calls(p, records, open, &n, r->depth);
		flush_lines(p, LINES_AT_ONCE);
		if (r->event) {
			put_event_record(p, t, r);
			continue;
		}
		put_text(p, t, r);
		open = array_grow(open, n, &cap, sizeof *open);
		open[n++] = *r;
	}
	close_calls(p, records, open, &n, 0);
	if (call_records_count(records) > 1)
		buf_put_u8(&p->line, '\n');
	flush_lines(p, 0);
	free(open);
}

/* Null if the trace does not have them. */
static void put_insns_json(struct printer *p, const char *key, uint64_t insns)
{
	json_known(p->json, key, !p->no_insns, insns);
}

static void put_left_out_json(struct printer *p, const struct left_out *l)
{
	json_array(p->json, "left_out");
	for (size_t i = 0; i < l->count; i++) {
		const struct left_out_sum *sum = &l->list[i];

		json_object(p->json, NULL);
		json_text(p->json, "function", names_function(p->names, sum->function));
		json_number(p->json, "calls", sum->calls);
		json_number(p->json, "duration_ns", sum->duration_ns);
		json_number(p->json, "ns", sum->ns);
		put_insns_json(p, "insns", sum->insns);
		json_close(p->json);
	}
	json_close(p->json);
}

/* `f`: that it is a step of; NULL: of none */
static void put_event_json(struct printer *p, const struct flow_step *f, uint32_t depth, const struct fact *event)
{
	json_object(p->json, NULL);
	if (f)
		json_text(p->json, "step", "event");
	json_null(p->json, "function");
	json_number(p->json, "depth", depth);
	json_text(p->json, "kind", "event");
	if (f)
		json_flag(p->json, "cuts_in", f->cuts_in);
	json_number(p->json, "start_ns", event->ns);
	event_put_json(p->json, p->events, event, &p->scratch);
	json_close(p->json);
}

static void put_json(struct printer *p, const struct thread *t, struct call_records *records,
		     const struct call_record *r)
{
	struct json *j = p->json;

	json_object(j, NULL);
	json_text(j, "function", names_function(p->names, r->function));
	json_number(j, "depth", r->depth);
	json_text(j, "kind", frame_kind_name(r->kind));
	json_number(j, "start_ns", r->entry_ns);
	json_number(j, "duration_ns", r->duration_ns);
	json_number(j, "ns", r->ns);
	put_insns_json(p, "insns", r->insns);
	json_number(j, "self_ns", r->self_ns);
	put_insns_json(p, "self_insns", r->self_insns);
	json_flag(j, "unfinished", r->unfinished);
	json_signed(j, "cpu", r->cpu);
	json_signed(j, "pid", t ? t->pid : 0);
	json_text(j, "comm", comm_at(p, t, r->entry_ns));
	if (!r->unfinished)
		json_text(j, "left", frame_end_name(r->end));
	if (p->values)
		value_json(j, p->values, r->args, r->result);
	call_records_left_out(records, r, &p->left_out);
	put_left_out_json(p, &p->left_out);
	put_caller_json(p, t, r->kind, r->from, r->entry_ns);
	json_close(j);
}

static int print_call(void *state, const struct thread *thread, struct call_records *records)
{
	struct printer *p = state;
	const struct call_record *r;

	p->line.len = 0;
	p->shown = true;
	for (uint64_t i = 0; p->json && (r = call_records_get(records, i)) && !ferror(stdout); i++) {
		if (r->event)
			put_event_json(p, NULL, r->depth, r->event);
		else
			put_json(p, thread, records, r);
	}
	if (!p->json) {
		put_records(p, thread, records);
		fflush(stdout);
	}
	return --p->left && !ferror(stdout) ? 0 : -1;
}

static void put_step_json(struct printer *p, const struct flow_step *f)
{
	static const char *const steps[] = { [FLOW_CALL] = "call", [FLOW_ENTER] = "enter", [FLOW_LEAVE] = "leave" };
	struct json *j = p->json;

	json_object(j, NULL);
	json_text(j, "step", steps[f->kind]);
	json_text(j, "function", names_function(p->names, f->function));
	json_number(j, "depth", f->depth);
	json_text(j, "kind", frame_kind_name(f->frame));
	json_flag(j, "cuts_in", f->cuts_in);
	json_number(j, "start_ns", f->entry_ns);
	json_number(j, "duration_ns", f->duration_ns);
	json_number(j, "ns", f->ns);
	put_insns_json(p, "insns", f->insns);
	json_signed(j, "cpu", f->cpu);
	json_signed(j, "pid", f->thread ? f->thread->pid : 0);
	json_text(j, "comm",
		  comm_at(p, f->thread, f->kind == FLOW_LEAVE ? f->entry_ns + f->duration_ns : f->entry_ns));
	if (f->kind != FLOW_ENTER)
		json_text(j, "left", frame_end_name(f->end));
	if (p->values)
		value_json(j, p->values, f->args, f->result);
	put_caller_json(p, f->thread, f->frame, f->from, f->entry_ns);
	json_close(j);
}

/* Print the function's name. For code without a name: the address at which it was entered. */
static void put_step_name(struct printer *p, const struct flow_step *f)
{
	struct space_view view;
	struct buf name = { 0 };
	uint64_t ns;

	if (!f->thread || !names_is_group(p->names, f->function) || f->function >= p->names->groups) {
		terminal_escape(&p->line, names_function(p->names, f->function));
		return;
	}
	ns = thread_time(f->thread, f->entry_ns);
	spaces_view(&p->names->spaces, f->thread->task, ns, &view);
	names_address(p->names, f->addr, ns, view.version, &name);
	buf_put_u8(&name, 0);
	terminal_escape(&p->line, (char *)name.data);
	buf_free(&name);
}

/* Each thread gets a letter, in the order in which they come. Interrupts have their own mark. */
static char sign_of_thread(struct printer *p, const struct flow_step *f)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	uint64_t *sign;

	if (f->cuts_in)
		return '!';
	sign = map_put(&p->signs, f->thread ? (uint32_t)f->thread->pid : UINT32_MAX - (unsigned)f->cpu, 0);
	if (!*sign)
		*sign = (uint64_t)letters[(p->signs.count - 1 + p->signs.has_zero) % (sizeof letters - 1)];
	return (char)*sign;
}

static void put_step_text(struct printer *p, const struct flow_step *f)
{
	uint64_t ns = f->kind == FLOW_LEAVE ? f->entry_ns + f->duration_ns : f->entry_ns;

	buf_printf(&p->line, "%4" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
	if (f->kind == FLOW_ENTER) {
		buf_printf(&p->line, " %*s", p->exact ? EXACT_WIDTH : DURATION_WIDTH, "");
		if (!p->no_insns)
			buf_printf(&p->line, " %*s", (int)insns_width(p), "");
	} else {
		put_time(p, f->duration_ns);
		put_insns(p, f->insns);
	}
	buf_printf(&p->line, " %3d %6d %c  %*s%s", f->cpu, f->thread ? f->thread->pid : 0, sign_of_thread(p, f),
		   (int)(f->depth * 2), "", f->kind == FLOW_LEAVE ? "} " : "");
	put_step_name(p, f);
	values_put_args(&p->line, p->values, f->args);
	values_put_result(&p->line, p->values, f->result);
	put_sign(p, f->frame);
	if (f->kind == FLOW_ENTER)
		buf_printf(&p->line, " {");
	else
		put_end(p, f->end);
	if (f->kind != FLOW_LEAVE)
		put_caller(p, f->thread, f->frame, f->from, f->entry_ns);
	buf_put_u8(&p->line, '\n');
}

static void put_log_json(struct printer *p, const struct flow_step *f)
{
	json_object(p->json, NULL);
	json_text(p->json, "step", "log");
	json_number(p->json, "start_ns", f->entry_ns);
	json_signed(p->json, "cpu", f->cpu);
	json_signed(p->json, "pid", f->thread ? f->thread->pid : 0);
	json_text(p->json, "comm", comm_at(p, f->thread, f->entry_ns));
	json_text(p->json, "text", fact_text(f->fact, 0));
	json_close(p->json);
}

/* What a line has before it says what was logged or passed. */
static void put_fact_columns(struct printer *p, const struct flow_step *f)
{
	buf_printf(&p->line, "%4" PRIu64 ".%09" PRIu64 " %*s", f->entry_ns / 1000000000, f->entry_ns % 1000000000,
		   p->exact ? EXACT_WIDTH : DURATION_WIDTH, "");
	if (!p->no_insns)
		buf_printf(&p->line, " %*s", (int)insns_width(p), "");
	buf_printf(&p->line, " %3d %6d #  %*s", f->cpu, f->thread ? f->thread->pid : 0, (int)(f->depth * 2), "");
}

static void put_log_text(struct printer *p, const struct flow_step *f)
{
	put_fact_columns(p, f);
	terminal_escape(&p->line, fact_text(f->fact, 0));
	buf_put_u8(&p->line, '\n');
}

static void put_event_step(struct printer *p, const struct flow_step *f)
{
	if (p->json) {
		put_event_json(p, f, f->depth, f->fact);
		return;
	}
	put_fact_columns(p, f);
	put_event(p, f->fact);
}

static int take_step(void *state, const struct flow_step *f)
{
	struct printer *p = state;

	p->line.len = 0;
	p->shown = true;
	if (f->kind == FLOW_LOG)
		(p->json ? put_log_json : put_log_text)(p, f);
	else if (f->kind == FLOW_EVENT)
		put_event_step(p, f);
	else if (p->json)
		put_step_json(p, f);
	else
		put_step_text(p, f);
	terminal_print(&p->line, p->columns);
	return --p->left && !ferror(stdout) ? 0 : -1;
}

/* Print each call that is asked for, with everything that ran from its entry to its exit. */
struct interlaced {
	struct trace_arg *trace;
	struct flow_options options; /* but for the time */
	struct printer *printer;
	uint64_t left;               /* calls */
	struct error *err;
	bool failed;
	const struct thread *thread; /* of the call that is being shown */
	struct call_record call;
	bool begun;
};

/* Other steps may have the same time as the call's entry or exit. */
static int take_within(void *state, const struct flow_step *f)
{
	struct interlaced *i = state;
	bool is_call = !f->fact && f->thread == i->thread && f->function == i->call.function &&
		       f->entry_ns == i->call.entry_ns;

	i->begun = i->begun || is_call;
	if (!i->begun)
		return 0;
	return take_step(i->printer, f) < 0 || (is_call && f->kind != FLOW_ENTER) ? -1 : 0;
}

static int take_interlaced(void *state, const struct thread *thread, struct call_records *records)
{
	struct interlaced *i = state;
	struct flow_options o = i->options;

	i->thread = thread;
	i->call = *call_records_get(records, 0);
	i->begun = false;
	o.caller = thread;
	o.from_ns = i->call.entry_ns;
	o.to_ns = i->call.entry_ns + i->call.duration_ns + 1;
	i->failed = flow_analyse(&i->trace->session, &o, take_within, i, i->err) < 0;
	if (!i->printer->json)
		putchar('\n');
	fflush(stdout);
	return i->failed || !--i->left || ferror(stdout) ? -1 : 0;
}

static int show_interlaced(struct interlaced *i, const struct calls_options *asked)
{
	struct calls_options o = *asked;
	int r;

	o.max_depth = 1;
	r = calls_analyse(&i->trace->session, &o, take_interlaced, i, i->err);
	return i->failed ? -1 : r;
}

/* `self`: there is a column of what is the call's own. */
static void begin(struct printer *p, bool self)
{
	int time = p->exact ? EXACT_WIDTH : DURATION_WIDTH, insns = p->no_insns ? 0 : (int)insns_width(p) + 1;
	const char *title = p->no_insns ? "" : "INSNS";

	if (p->json) {
		json_output_begin(p->json);
		json_object(p->json, NULL);
		json_rows(p->json, "calls");
		return;
	}
	terminal_start_pager();
	if (self)
		printf("%*s %*s %*s%*s CPU    PID  FUNCTION\n", MOMENT_WIDTH, "ENTRY S", time, "DURATION", time, "SELF",
		       insns, title);
	else
		printf("%*s %*s%*s CPU    PID    FUNCTION\n", MOMENT_WIDTH, "TIME S", time, "DURATION", insns, title);
}

static int show(const struct args *args, struct trace_arg *t, const struct source_lines *sources,
		struct calls_options *o, const struct recorded_facts *beside, uint64_t lines, struct error *err)
{
	struct json j;
	struct printer p = {
		.names = &t->names, .threads = &t->threads, .sources = sources, .json = arg(args, "json") ? &j : NULL,
		.left = lines ? lines : UINT64_MAX, .no_insns = trace_lacks(t, "instructions"), .exact = arg(args, "exact"),
		.columns = arg(args, "wide") ? 0 : terminal_columns(),
		.values = o->values,
		.events = &beside->of,
	};
	struct flow_options flow = {
		.from_ns = o->from_ns, .to_ns = o->to_ns, .min_duration_ns = o->min_duration_ns,
		.max_depth = o->max_depth,
		.threads = o->threads, .no_interrupts = o->no_interrupts, .one_thread = arg(args, "one-thread"),
		.cpu = o->cpu,
		.facts = beside->log || beside->events ? &beside->facts : NULL,
		.log = beside->log,
		.events = beside->events,
		.values = o->values,
	};
	int r;

	/* a listing from the start of the trace needs no index */
	if (o->functions || o->from_ns)
		trace_arg_index(t);
	t->reader->progress = NULL; /* the output shows the progress */
	if (o->functions && arg(args, "all-threads")) {
		struct interlaced i = {
			.trace = t,
			.printer = &p,
			.left = p.left,
			.err = err,
			.options = { .max_depth = o->max_depth,
				     .no_interrupts = o->no_interrupts,
				     .from_call = true,
				     .cpu = -1,
				     .facts = flow.facts,
				     .log = flow.log,
				     .events = flow.events,
				     .values = o->values },
		};

		p.left = UINT64_MAX;
		begin(&p, false);
		r = show_interlaced(&i, o);
	} else if (o->functions) {
		begin(&p, true);
		r = calls_analyse(&t->session, o, print_call, &p, err);
	} else {
		begin(&p, false);
		r = flow_analyse(&t->session, &flow, take_step, &p, err);
	}
	if (p.json) {
		json_close(p.json);
		json_close(p.json);
		json_output_end(p.json);
	}
	if (r >= 0 && !p.shown)
		empty_say(args, t, "calls");
	buf_free(&p.line);
	buf_free(&p.scratch);
	left_out_deinit(&p.left_out);
	map_free(&p.signs);
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

/* Threads that have both marks. NULL: all. The first ones are changed. */
static const bool *both(bool *asked, const bool *chosen, size_t count)
{
	for (size_t i = 0; asked && chosen && i < count; i++)
		asked[i] = asked[i] && chosen[i];
	return asked ? asked : chosen;
}

static bool has_functions(const struct args *args)
{
	return arg(args, "function") || args->n_operands > 1;
}

static int run(const struct args *args, struct error *err)
{
	uint64_t lines = 0, depth = 0;
	struct calls_options o = { .no_interrupts = arg(args, "no-interrupts") };
	struct recorded_facts beside = { 0 };
	struct call_values values = { 0 };
	struct source_lines sources = { 0 };
	struct span span;
	struct trace_arg t;
	bool *functions;
	int r = EXIT_FAILED;

	if (span_arg(args, &span, err) < 0 || arg_u64(args, "lines", &lines, err) < 0 ||
	    arg_u64(args, "depth", &depth, err) < 0 ||
	    arg_time(args, "min-duration", &o.min_duration_ns, err) < 0)
		return EXIT_USAGE;
	o.min_callee_ns = o.min_duration_ns;
	if (arg_time(args, "min-callee", &o.min_callee_ns, err) < 0)
		return EXIT_USAGE;
	if (arg(args, "min-callee") && (!has_functions(args) || arg(args, "all-threads"))) {
		error_set(err, "--min-callee: is for --function, and not for --all-threads");
		return EXIT_USAGE;
	}
	if (arg(args, "all-threads") && (!has_functions(args) || arg(args, "one-thread"))) {
		error_set(err, "--all-threads: is for --function, and not for --one-thread");
		return EXIT_USAGE;
	}
	if (arg(args, "one-thread") && has_functions(args)) {
		error_set(err, "--one-thread: goes without --function");
		return EXIT_USAGE;
	}
	if (arg(args, "log") && has_functions(args) && !arg(args, "all-threads")) {
		error_set(err, "--log: is for --all-threads, or without --function");
		return EXIT_USAGE;
	}
	if (arg(args, "all-threads") && !arg(args, "lines"))
		lines = 1;
	o.from_ns = span.from_ns;
	o.to_ns = span.to_ns;
	o.cpu = span.cpu;
	o.max_depth = depth < UINT32_MAX ? (uint32_t)depth : 0;
	if (trace_arg_open_pass(args, CHOSEN_FOR_EVENTS, folded_options, &t, err) < 0)
		return EXIT_FAILED;
	if (!select_is_asked(args) && reader_has(t.reader, CHUNK_HELD))
		left_out_warn(args, &t, LEFT_OUT_HELD);
	o.threads = both(t.asked_threads, t.session.of_chosen ? t.threads.chosen : NULL, t.threads.count);
	thunks_arg(args, &t);
	if (instruments_arg(args, &t, err) == 0 && debug_arg(args, &t.names, &sources, err) == 0 &&
	    args_arg(args, &t, &values, &o.values, err) == 0 &&
	    functions_arg(args, &t.names, &functions, err) == 0) {
		o.functions = functions;
		if (recorded_facts_read(args, &t, arg(args, "log"), &beside, err) == 0) {
			o.events = beside.events ? &beside.facts : NULL;
			r = show(args, &t, &sources, &o, &beside, lines, err);
		}
		recorded_facts_deinit(&beside);
		free(functions);
	}
	call_values_deinit(&values);
	source_lines_deinit(&sources);
	trace_arg_close(&t);
	return r;
}

static const struct option options[] = {
	FUNCTION_OPTION("each call of these functions, whole (default: all that happens)"),
	{ 'p', "pid", "PID", "only this thread, or those of that name" },
	{ 0, "depth", "N", "only N levels; 0: all (default)" },
	{ 0, "min-duration", "TIME", "only calls that take at least so long, with --function also of what they call" },
	{ 0, "min-callee", "TIME", "with --function: another threshold for what they call; 0: all of it" },
	{ 0, "one-thread", NULL, "without --function: only the thread whose call comes first" },
	{ 0, "all-threads", NULL, "with --function: also what other threads ran from entry to exit" },
	{ 0, "log", NULL,
	  "without --function, or with --all-threads: also the lines of the kernel's log, where they were stored" },
	NO_EVENTS_OPTION,
	{ 0, "no-interrupts", NULL, "leave out interrupts that cut in, and what they call" },
	{ 'n', "lines", "N", "stop after N calls, without --function lines; 0: all (default; of --all-threads: 1)" },
	DEBUG_OPTION,
	ARGS_OPTION,
	{ 0, "json", NULL, "print JSON" },
	{ 0, "exact", NULL, "numbers in full, times in seconds with nine digits" },
	{ 0, "wide", NULL, "do not cut what is wider than the terminal" },
	THUNKS_OPTION,
	INSTRUMENTS_OPTION,
	SPAN_OPTIONS,
	SELECT_SPANS,
	SELECT_RING,
	SELECT_CALLS,
	SELECT_COMM,
	SELECT_CODE,
	HELP_OPTION,
	{ 0 },
};

static const struct term terms[] = {
	{ "function", "what was called" },
	{ "depth", "how far below the outermost call that is shown" },
	{ "kind",
	  "call, interrupt, syscall or signal: what the function was entered by; tail: the function above it ended in a jump there; "
	  "event: it is no call, but a record of a trace event or a probe" },
	{ "start_ns", "guest time when it was entered" },
	{ "duration_ns", "from entry to exit, also while other threads ran" },
	{ "ns", "of that, what the thread itself ran, callees too" },
	{ "insns", "instructions that it ran in that time" },
	{ "self_ns, self_insns", "with --function: the same without its callees" },
	{ "unfinished", "with --function: the trace ended before the call did" },
	{ "left",
	  "how the call ended: returned, jumped (into another function, for good), cut (control went on below it), died (its thread ended), lost (events are missing from there on)" },
	{ "left_out", "with --function: calls that it made and that have no object of their own, summed by function" },
	VALUES_TERMS,
	{ "step", "without --function: enter, leave, call for both at once, log or event" },
	{ "event", "of kind event: system:name; its keys are those of upto events" },
	{ "text", "of a step log: the line; of an event what it says" },
	{ "cuts_in", "without --function: an interrupt, or called by one" },
	{ "cpu, pid, comm", "where and in which thread it was entered, and the thread's name then" },
	{ "from", "with --debug: file and line of the call, and the functions that were inlined there" },
	{ 0 },
};

static const struct legend legends[] = { { "json", NULL, terms }, { 0 } };

const struct command cmd_calls = {
	.name = "calls",
	.operands = "TRACE [FUNCTION…]",
	.summary = "calls as they happened, from entry to exit",
	.description =
		"With --function, prints each call of that function when it has returned, with the calls within it, indented: when "
		"a call was entered, how long it took, and its self time without callees. The duration is guest time from entry "
		"to exit, including the time in which other threads ran; self time is the thread's own. Calls that are too short for --min-duration, or "
		"too deep for --depth 2 and more, are a line that begins with ... below their caller: how many of each function, and their "
		"duration. With --all-threads, calls of the other threads stand in between, as without "
		"--function; --pid, --cpu and --min-duration then choose the calls, not what is shown from entry to exit.\n"
		"Without --function, prints the calls of all threads in the order of time, and begins at once even if the trace is "
		"long: a line when a function is entered, and a line with duration and instructions when it is left; a single line "
		"if it called nothing. With --min-duration there are only the lines for functions that are left. Each thread has a "
		"letter behind its PID; ! marks interrupts and the functions that they call.\n"
		"Of a call with very many calls within, a part waits in a file without a name below TMPDIR (/var/tmp) until it returns.\n"
		"With --debug, shows the source line that each call was made from, if it is in these files, and the functions "
		"that were inlined there; see upto stack.\n" THUNKS_NOTE INSTRUMENTS_NOTE INDEX_NOTE,
	.examples =
		"  upto calls --function do_sys_openat2 -n 1 trace.upto\n      the first open, in full\n"
		"  upto calls --from 2.5s --to 2.501s trace.upto\n      all that happened in a millisecond\n"
		"  upto calls --from 2.5s --one-thread --no-interrupts trace.upto\n      what the thread did that ran then\n"
		"  upto calls --function vfs_read --args trace.upto\n      with their arguments and results, of a recording with --args vfs_read\n"
		"  upto calls --function vfs_read --depth 1 --min-duration 1ms trace.upto\n      slow reads\n"
		"  upto calls --function load_module --min-duration 1ms trace.upto\n      what took so long in it\n"
		"  upto calls --function synchronize_rcu --all-threads --depth 3 trace.upto\n      what it waited for\n"
		"  upto calls --function do_exit --pid 120 --no-interrupts trace.upto\n      how a thread ended\n",
	.needs = "stacks",
	.options = options,
	.reads_all = true,
	.legends = legends,
	.min_operands = 1,
	.max_operands = OPERANDS_MAX,
	.run = run,
};
