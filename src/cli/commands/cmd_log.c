/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/calls/moments.h"
#include "analysis/ending/log_follow.h"
#include "base/alloc.h"
#include "cli/args/debug_arg.h"
#include "cli/args/select_arg.h"
#include "cli/args/trace_arg.h"
#include "cli/commands.h"
#include "cli/memory_limit.h"
#include "cli/print/empty.h"
#include "cli/print/frames.h"
#include "cli/print/json_output.h"
#include "cli/print/quantity.h"
#include "cli/print/terminal.h"
#include "cli/print/view.h"
#include "tables/log_table.h"
#include "trace/thinned.h"

/* Which lines are asked for. */
struct choice {
	int level;        /* no higher number */
	const char *grep; /* NULL: any */
	regex_t regex;
	struct span span;
	const struct threads *threads;
	const bool *processes, *called; /* marks by thread: only those that have both; NULL: all */
	uint64_t lines;   /* with --stack: no more than these */
};

/* Who ran when the line came; before tasks are known, that is the first of them. THREAD_NONE: it has no such thread. */
static long thread_of(const struct threads *threads, const struct log_line *line)
{
	if (line->task)
		return threads_find(threads, line->task, line->ns);
	for (size_t i = 0; i < threads->count; i++)
		if (!threads->list[i].pid)
			return (long)i;
	return THREAD_NONE;
}

/* A thread's number, or, in an interrupt, that of a CPU with this bit set: caller_id of struct printk_info. */
static bool is_caller(const struct threads *threads, const bool *processes, uint32_t caller)
{
	enum { CPU_BIT = 31 };

	for (size_t i = 0; i < threads->count && !(caller >> CPU_BIT); i++)
		if (processes[i] && (uint32_t)threads->list[i].pid == caller)
			return true;
	return false;
}

static bool is_by_asked(const struct choice *c, const struct log_line *line)
{
	long thread;

	if (!c->processes && !c->called)
		return true;
	/* by the kernel's own word, where there is nothing else */
	if (line->earlier)
		return !c->called && is_caller(c->threads, c->processes, line->caller);
	thread = thread_of(c->threads, line);
	return thread != THREAD_NONE && (!c->processes || c->processes[thread]) && (!c->called || c->called[thread]);
}

static bool is_asked(const struct choice *c, const struct log_line *line)
{
	const struct span *s = &c->span;

	/* what was there before has no time, and no vCPU */
	if (line->earlier ? s->from_ns || s->cpu >= 0 : line->ns < s->from_ns || line->ns >= s->to_ns ||
								(s->cpu >= 0 && (unsigned)s->cpu != line->cpu))
		return false;
	return (int)line->level <= c->level && is_by_asked(c, line) &&
	       (!c->grep || regexec(&c->regex, line->text, 0, NULL, 0) == 0);
}

static int choice_arg(const struct args *args, struct choice *ret, struct error *err)
{
	const char *level = arg(args, "level");
	char why[128];
	int fault;

	*ret = (struct choice){ .level = level ? log_level_find(level) : LOG_LEVELS - 1, .grep = arg(args, "grep") };
	if (ret->level < 0)
		return error_set(
			err, "--level %s: levels are emerg, alert, crit, err, warn, notice, info and debug, or 0 to 7",
			level);
	if (span_arg(args, &ret->span, err) < 0 || arg_u64(args, "lines", &ret->lines, err) < 0)
		return -1;
	if (!ret->lines)
		ret->lines = UINT64_MAX;
	fault = ret->grep ? regcomp(&ret->regex, ret->grep, REG_EXTENDED | REG_NOSUB) : 0;
	if (!fault)
		return 0;
	regerror(fault, &ret->regex, why, sizeof why);
	return error_set(err, "--grep %s: %s", ret->grep, why);
}

static void choice_deinit(struct choice *c)
{
	if (c->grep)
		regfree(&c->regex);
}

/* Traces made before facts were recorded, or of a kernel that cannot tell, have none. */
static int no_log(const struct trace_arg *t, const struct facts *facts, struct error *err)
{
	if (!t->reader->n_event_chunks)
		return error_set(err, "%s: has no events", t->reader->path);
	if (facts->count)
		return error_set(err, "%s: the trace has no kernel log: 'upto info' tells what the kernel lacks",
				 t->reader->path);
	return error_set(
		err,
		"%s: the trace has no kernel log: it was recorded without a Linux kernel that was found, or by an older upto",
		t->reader->path);
}

static int show(const struct args *args, const struct trace_arg *t, const struct choice *choice,
		const struct kernel_log *log, struct error *err)
{
	bool *chosen = xcalloc(log->count, sizeof *chosen);
	struct table table;
	int r;

	for (size_t i = 0; i < log->count; i++)
		chosen[i] = is_asked(choice, &log->lines[i]);
	log_table_init(&table, &t->threads, log, chosen);
	r = view_print(&(struct view){ .table = &table, .trace = t }, args, err);
	table_deinit(&table);
	free(chosen);
	return r;
}

static void put_line(struct buf *out, const struct log_line *line)
{
	put_moment(out, line->ns);
	buf_printf(out, " %-6s ", log_level_name(line->level));
	terminal_escape(out, line->text);
	buf_put_u8(out, '\n');
}

static void print_line(const struct log_line *line)
{
	struct buf text = { 0 };

	put_line(&text, line);
	fwrite(text.data, 1, text.len, stdout);
	buf_free(&text);
}

/* Lines with the stacks of those who logged them. */
struct with_stacks {
	const struct log_line **lines;
	uint64_t *moments;
	size_t count;
	const struct threads *threads;
	const struct source_lines *sources;
	struct json *json; /* NULL: for people */
	bool folded;       /* calls are (replay/fold.h) */
	size_t columns;
	struct buf text;
};

static void put_line_json(struct with_stacks *w, const struct log_line *line, const struct stacks *s,
			  const struct stack *stack)
{
	const struct task_record *task = line->task ? threads_record(w->threads, line->task, line->ns) : NULL;
	struct json *j = w->json;

	json_object(j, NULL);
	json_number(j, "ns", line->ns);
	json_text(j, "severity", log_level_name(line->level));
	json_signed(j, "pid", task ? task->pid : 0);
	json_text(j, "comm", task ? task->comm : "swapper/0");
	json_number(j, "cpu", line->cpu);
	json_text(j, "text", line->text);
	frames_put_json(j, s, &(struct frame_sources){ .lines = w->sources }, stack, line->ns);
	json_close(j);
}

static void put_line_text(struct with_stacks *w, const struct log_line *line, const struct stacks *s,
			  const struct stack *stack)
{
	w->text.len = 0;
	put_line(&w->text, line);
	if (stack)
		frames_put(&w->text, s, &(struct frame_sources){ .lines = w->sources }, stack, line->ns);
	terminal_print(&w->text, w->columns);
}

static void take_line(void *state, size_t i, struct stacks *s)
{
	struct with_stacks *w = state;
	const struct log_line *line = w->lines[i];
	struct stack stack;
	bool has = frames_copy(s, line->task, line->cpu, line->ns, w->folded, &stack);

	(w->json ? put_line_json : put_line_text)(w, line, s, has ? &stack : NULL);
	free(stack.frames);
}

static int by_time(const void *va, const void *vb)
{
	const struct log_line *a = *(const struct log_line *const *)va, *b = *(const struct log_line *const *)vb;

	return a->ns != b->ns ? (a->ns < b->ns ? -1 : 1) : a < b ? -1 : a > b;
}

static int show_stacks(const struct args *args, struct trace_arg *t, const struct choice *choice,
		       const struct kernel_log *log, const struct source_lines *sources, struct error *err)
{
	struct json j;
	struct with_stacks w = {
		.lines = xcalloc(log->count, sizeof *w.lines), .moments = xcalloc(log->count, sizeof *w.moments),
		.threads = &t->threads, .sources = sources, .json = arg(args, "json") ? &j : NULL,
		.folded = t->session.fold, .columns = arg(args, "wide") ? 0 : terminal_columns(),
	};
	size_t without = 0;
	int r;

	for (size_t i = 0; i < log->count; i++)
		if (is_asked(choice, &log->lines[i])) {
			if (log->lines[i].earlier)
				without++;
			else
				w.lines[w.count++] = &log->lines[i];
		}
	qsort(w.lines, w.count, sizeof *w.lines, by_time);
	if (w.count > choice->lines)
		w.count = choice->lines;
	for (size_t i = 0; i < w.count; i++)
		w.moments[i] = w.lines[i]->ns;
	trace_arg_index(t);
	terminal_end_progress();
	t->reader->progress = NULL;
	if (without)
		fprintf(stderr, "upto: %s: %zu lines of the log from before the recording have no stacks: left out\n",
			t->reader->path, without);
	if (w.json) {
		json_output_begin(&j);
		json_object(&j, NULL);
		json_rows(&j, "log");
	} else {
		terminal_start_pager();
	}
	r = moments_analyse(&t->session, w.moments, w.count, take_line, &w, err);
	if (w.json) {
		json_close(&j);
		json_close(&j);
		json_output_end(&j);
	} else if (r == 0 && !w.count) {
		empty_say(args, t, "lines");
	}
	buf_free(&w.text);
	free(w.lines);
	free(w.moments);
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static void print_asked(void *context, const struct log_line *line)
{
	if (is_asked(context, line))
		print_line(line);
}

static int follow(const struct args *args, struct choice *choice, struct error *err)
{
	enum { POLL_US = 200000 };
	struct log_follow f = { 0 };
	struct reader *reader;
	size_t taken = 0;
	int r;

	if (reader_open(args->operands[0], &reader, err) < 0)
		return EXIT_FAILED;
	memory_limit(reader);
	while ((r = log_follow_take(&f, reader, taken, print_asked, choice, err)) == 0 && !reader->ended) {
		fflush(stdout);
		taken = reader->n_chunks;
		usleep(POLL_US);
		if ((r = reader_go_on(reader, err)) < 0)
			break;
		if (reader->n_chunks > taken)
			memory_limit(reader);
	}
	log_follow_deinit(&f);
	reader_free(reader);
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

/* The lines that were there as the recording began, and those that came. Call kernel_log_deinit(). */
static struct kernel_log whole_log(const struct facts *facts, const struct boots *boots)
{
	struct kernel_log earlier, log;

	kernel_log_init_earlier(&earlier, facts, boots);
	kernel_log_init(&log, facts, boots);
	earlier.lines = xrealloc(earlier.lines, (earlier.count + log.count + 1) * sizeof *log.lines);
	memcpy(earlier.lines + earlier.count, log.lines, log.count * sizeof *log.lines);
	earlier.count += log.count;
	kernel_log_deinit(&log);
	return earlier;
}

static int print(const struct args *args, struct choice *choice, struct error *err)
{
	struct source_lines sources = { 0 };
	struct selected selected = { 0 };
	struct kernel_log log;
	struct facts facts = { 0 };
	struct trace_arg t;
	int r = EXIT_FAILED;

	if (trace_arg_open(args, &t, err) < 0)
		return EXIT_FAILED;
	choice->threads = &t.threads;
	choice->processes = t.asked_processes;
	names_fold_thunks(&t.names);
	if (select_arg(args, &t.session, &selected, err) == 0 && instruments_arg(args, &t, err) == 0 &&
	    debug_arg(args, &t.names, &sources, err) == 0 && facts_read(t.reader, &facts, err) == 0) {
		choice->called = selected.options.filter.threads;
		log = whole_log(&facts, &t.reader->boots);
		/* a span in which no line came has an empty log */
		if (!log.count && !thinned_by(&t.reader->meta))
			no_log(&t, &facts, err);
		else if (arg(args, "stack"))
			r = show_stacks(args, &t, choice, &log, &sources, err);
		else
			r = show(args, &t, choice, &log, err);
		kernel_log_deinit(&log);
	}
	facts_deinit(&facts);
	source_lines_deinit(&sources);
	selected_deinit(&selected);
	trace_arg_close(&t);
	return r;
}

/* Options that say nothing of what the other one prints. */
static int refuse(const struct args *args, const char *option, const char *const *others, struct error *err)
{
	for (; arg(args, option) && *others; others++)
		if (arg(args, *others))
			return error_set(err, "--%s goes without --%s", option, *others);
	return 0;
}

static int run(const struct args *args, struct error *err)
{
	static const char *const no_follow[] = {
		"json", "stack", "lines", "sort", "output", "exact", "start", "stop", "pid", "comm", NULL,
	};
	static const char *const no_stack[] = { "sort", "output", "exact", NULL };
	struct choice choice;
	int r;

	if (refuse(args, "follow", no_follow, err) < 0 || refuse(args, "stack", no_stack, err) < 0)
		return EXIT_USAGE;
	if (arg(args, "debug") && !arg(args, "stack"))
		return error_set(err, "--debug: is for --stack"), EXIT_USAGE;
	if (choice_arg(args, &choice, err) < 0)
		return EXIT_USAGE;
	r = arg(args, "follow") ? follow(args, &choice, err) : print(args, &choice, err);
	choice_deinit(&choice);
	return r;
}

static const struct option options[] = {
	{ 'l', "level", "LEVEL", "only lines of this level and more severe ones: err, 3" },
	{ 'g', "grep", "REGEX", "only lines that match this extended regular expression" },
	{ 0, "stack", NULL, "below each line the stack that logged it" },
	{ 'f', "follow", NULL, "go on with what is being recorded, until it ends" },
	{ 'p', "pid", "PID", "only what was logged while this thread ran, one of this process, or those of that name" },
	SELECT_ROWS_COMM,
	INSTRUMENTS_OPTION,
	DEBUG_OPTION,
	VIEW_OPTIONS,
	SPAN_OPTIONS,
	SELECT_SPANS,
	HELP_OPTION,
	{ 0 },
};

static const struct term stack_terms[] = {
	{ "frames", "with --stack: functions of the stack that logged the line, the innermost first" },
	FRAME_TERMS,
	{ 0 },
};

static const struct legend legends[] = { { "columns", log_columns, NULL }, { "json", NULL, stack_terms }, { 0 } };

const struct command cmd_log = {
	.name = "log",
	.operands = "TRACE",
	.summary = "what did the kernel log, when exactly, and who ran then?",
	.description =
		"Prints the kernel's log from its first line on, as it was stored: also with 'quiet', before there is a console, and what "
		"the kernel's own buffer had no room for later. The times are the guest's, from reset on, as in all other commands; those that the "
		"kernel prints itself begin later.\n",
	.examples = "  upto log trace.upto\n      all of it\n"
		    "  upto log --level warn trace.upto\n      warnings, and worse\n"
		    "  upto log --grep 'virtio|vda' trace.upto\n      what came of a driver\n"
		    "  upto log --level err --stack trace.upto\n      what went wrong, and where\n"
		    "  upto log --follow trace.upto\n      while it is being recorded\n",
	.needs = "facts",
	.reads_all_with = "stack",
	.options = options,
	.legends = legends,
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
