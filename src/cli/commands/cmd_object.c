/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/objects/object_life.h"
#include "cli/args/debug_arg.h"
#include "cli/args/trace_arg.h"
#include "cli/commands.h"
#include "cli/print/frames.h"
#include "cli/print/json_output.h"
#include "cli/print/quantity.h"
#include "cli/print/terminal.h"

/* What is shown. */
struct shown {
	const struct args *args;
	struct trace_arg *trace;
	const struct object_life *life;
	const struct object_report *report; /* NULL: none */
	uint64_t address;
	size_t first, end;                  /* of the moments */
	struct source_lines sources;
};

static const char *name_of(const struct shown *w, const struct object_moment *m)
{
	const struct thread *t = frames_thread(&w->trace->threads, &m->stack);

	return m->stack.thread == THREAD_NONE ? t->comm : threads_comm(&w->trace->threads, t, m->ns);
}

/* The object that the address lay in, as it was told last. */
static const struct object_moment *object_of(const struct shown *w)
{
	for (size_t i = w->end; i-- > w->first;)
		if (w->life->list[i].what != OBJECT_USED)
			return &w->life->list[i];
	return NULL;
}

static void put_heading(const struct shown *w, struct buf *out)
{
	const struct object_moment *object = object_of(w);

	buf_printf(out, "# 0x%" PRIx64, w->address);
	if (object && object->size)
		buf_printf(out, ": %" PRIu64 " bytes into an object of %" PRIu64 " bytes",
			   w->address - object->address, object->size);
	buf_put_u8(out, '\n');
	if (w->report) {
		buf_printf(out, "# reported at ");
		put_moment(out, w->report->line->ns);
		buf_printf(out, " s: ");
		terminal_escape(out, w->report->line->text);
		buf_put_u8(out, '\n');
	}
}

static void put_text(const struct shown *w, const struct object_moment *m, struct buf *out)
{
	buf_put_u8(out, '\n');
	put_moment(out, m->ns);
	buf_printf(out, " %s by ", object_event_name(m->what));
	terminal_escape(out, name_of(w, m));
	buf_printf(out, " %d on CPU %u\n", frames_thread(&w->trace->threads, &m->stack)->pid, m->cpu);
	frames_put(out, &w->life->stacks, &(struct frame_sources){ .lines = &w->sources }, &m->stack, m->ns);
}

static void print_text(const struct shown *w)
{
	struct buf out = { 0 };

	terminal_start_pager();
	put_heading(w, &out);
	for (size_t i = w->first; i < w->end; i++)
		put_text(w, &w->life->list[i], &out);
	terminal_print(&out, arg(w->args, "wide") ? 0 : terminal_columns());
	buf_free(&out);
}

static void put_json(const struct shown *w, const struct object_moment *m, struct json *j)
{
	json_object(j, NULL);
	json_text(j, "what", object_event_name(m->what));
	json_number(j, "ns", m->ns);
	json_signed(j, "pid", frames_thread(&w->trace->threads, &m->stack)->pid);
	json_text(j, "comm", name_of(w, m));
	json_number(j, "cpu", m->cpu);
	frames_put_json(j, &w->life->stacks, &(struct frame_sources){ .lines = &w->sources }, &m->stack, m->ns);
	json_close(j);
}

static void print_json(const struct shown *w)
{
	const struct object_moment *object = object_of(w);
	struct json j;

	json_output_begin(&j);
	json_object(&j, NULL);
	json_address(&j, "address", w->address);
	if (object)
		json_address(&j, "object", object->address);
	else
		json_null(&j, "object");
	json_known(&j, "size", object && object->size, object ? object->size : 0);
	json_known(&j, "report_ns", w->report, w->report ? w->report->line->ns : 0);
	if (w->report)
		json_text(&j, "report", w->report->line->text);
	else
		json_null(&j, "report");
	json_rows(&j, "events");
	for (size_t i = w->first; i < w->end; i++)
		put_json(w, &w->life->list[i], &j);
	json_close(&j);
	json_close(&j);
	json_output_end(&j);
}

/* Nothing is told of it: why not? */
static int nothing(const struct shown *w, struct error *err)
{
	const char *path = w->trace->reader->path;

	if (names_find(&w->trace->names, "kasan_save_alloc_info") == UINT32_MAX)
		return error_set(
			err, "%s: its kernel does not tell of objects: that takes KASAN (CONFIG_KASAN_GENERIC), since 6.1",
			path);
	return error_set(err,
			 "%s: nothing is told of 0x%" PRIx64
			 ": it is in no object that was allocated or freed while this was recorded, or the size of objects is not known",
			 path, w->address);
}

static int show(struct shown *w, struct error *err)
{
	const struct object_life *life = w->life;

	w->end = life->count;
	while (w->report && w->end && life->list[w->end - 1].ns > w->report->line->ns && !arg(w->args, "all"))
		w->end--;
	w->first = arg(w->args, "all") ? 0 : object_life_last(life, w->end);
	if (w->first == w->end)
		return nothing(w, err), EXIT_FAILED;
	if (debug_arg(w->args, &w->trace->names, &w->sources, err) < 0)
		return EXIT_FAILED;
	terminal_end_progress();
	if (arg(w->args, "json"))
		print_json(w);
	else
		print_text(w);
	source_lines_deinit(&w->sources);
	return EXIT_OK;
}

/* `address` 0: the first that the log has a report about. */
static int find(const struct args *args, struct trace_arg *t, uint64_t address, struct error *err)
{
	struct session session = t->session;
	struct object_report report = { 0 };
	struct object_life life = { 0 };
	struct kernel_log log;
	struct facts facts;
	int r = EXIT_FAILED;

	if (facts_read(t->reader, &facts, err) < 0) {
		facts_deinit(&facts);
		return EXIT_FAILED;
	}
	kernel_log_init(&log, &facts, &t->reader->boots);
	session.fold = NULL; /* KASAN's own calls are asked for */
	if (!object_report_find(&log, address, &report) && !address) {
		error_set(err, "%s: the log has no report of KASAN's: give an address", t->reader->path);
	} else {
		struct shown w = {
			.args = args, .trace = t, .life = &life, .report = report.line ? &report : NULL,
			.address = address ? address : report.address,
		};

		if (object_life_read(&session, w.address, w.report, &life, err) == 0)
			r = show(&w, err);
		object_life_deinit(&life);
	}
	kernel_log_deinit(&log);
	facts_deinit(&facts);
	return r;
}

static int run(const struct args *args, struct error *err)
{
	struct args of_trace = *args;
	uint64_t address = 0;
	struct trace_arg t;
	char *end;
	int r;

	if (args->n_operands == 2) {
		address = strtoull(args->operands[0], &end, 16);
		if (!address || *end)
			return error_set(err, "%s: not an address: 0xffff888004b1a2c0", args->operands[0]), EXIT_USAGE;
		of_trace.operands[0] = args->operands[1];
		of_trace.n_operands = 1;
	}
	if (trace_arg_open(&of_trace, &t, err) < 0)
		return EXIT_FAILED;
	r = find(&of_trace, &t, address, err);
	trace_arg_close(&t);
	return r;
}

static const struct option options[] = {
	{ 'a', "all", NULL, "each time that an object lay there, not only the last" },
	DEBUG_OPTION,
	{ 0, "wide", NULL, "do not cut lines off at the terminal's edge" },
	{ 0, "json", NULL, "print JSON" },
	HELP_OPTION,
	{ 0 },
};

static const struct term terms[] = {
	{ "address", "that was asked for; a string" },
	{ "object, size", "the object that it lay in, and its bytes; null: not known" },
	{ "report, report_ns", "KASAN's line about it; null: there is none" },
	{ "events", "in the order of time:" },
	{ "what", "allocated, freed; used: by whom KASAN was called that reported it" },
	{ "ns", "guest time" },
	{ "pid, comm, cpu", "of who did it" },
	{ "frames", "the stack, the innermost function first:" },
	FRAME_TERMS,
	{ 0 },
};

static const struct legend legends[] = { { "json", NULL, terms }, { 0 } };

const struct command cmd_object = {
	.name = "object",
	.operands = "[ADDRESS] TRACE",
	.summary = "who allocated, freed and used an object of the kernel's?",
	.description =
		"Of an address in the kernel's memory: who allocated the object that lies there, who freed it, and who used it when KASAN reported that, "
		"each with time, thread and stack. Without an address: the one that the first report in the log is about. That takes a kernel with KASAN.\n",
	.examples = "  upto object trace.upto\n      what KASAN's first report is about\n"
		    "  upto object 0xffff888004b1a2c0 trace.upto\n      one address\n"
		    "  upto object --all --debug vmlinux:oops.ko 0xffff888004b1a2c0 trace.upto\n      each object that lay there, with source lines\n",
	.needs = "facts",
	.options = options,
	.legends = legends,
	.min_operands = 1,
	.max_operands = 2,
	.run = run,
};
