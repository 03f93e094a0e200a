/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/map.h"
#include "cli/args/select_arg.h"
#include "cli/args/trace_arg.h"
#include "cli/commands.h"
#include "cli/memory_limit.h"
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
};

static bool is_asked(const struct choice *c, const struct log_line *line)
{
	const struct span *s = &c->span;

	return (int)line->level <= c->level && line->ns >= s->from_ns && line->ns < s->to_ns &&
	       (s->cpu < 0 || (unsigned)s->cpu == line->cpu) &&
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
	if (span_arg(args, &ret->span, err) < 0)
		return -1;
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

static void print_line(const struct log_line *line)
{
	struct buf text = { 0 };

	put_moment(&text, line->ns);
	buf_printf(&text, " %-6s ", log_level_name(line->level));
	terminal_escape(&text, line->text);
	buf_put_u8(&text, '\n');
	fwrite(text.data, 1, text.len, stdout);
	buf_free(&text);
}

/*
 * Is there nothing that may come before line `i`, or be added to it? vCPUs store lines in another order than they
 * number them, but soon.
 */
static bool is_settled(const struct kernel_log *log, size_t i)
{
	enum { SOON_NS = 1000000000 };
	const struct log_line *line = &log->lines[i], *before = line - 1;

	if (i + 1 == log->count)
		return false;
	return log->lines[log->count - 1].ns > line->ns + SOON_NS || !i || before->boot != line->boot ||
	       before->number + 1 == line->number;
}

static uint64_t key_of(const struct log_line *line)
{
	return ((uint64_t)line->boot << 48) + line->number + 1;
}

/* Print what came since the lines that are in `shown`. */
static int print_new(const char *path, const struct choice *choice, struct map *shown, bool *ret_ended,
		     struct error *err)
{
	struct reader *r;
	struct facts facts;
	struct kernel_log log;

	if (reader_open(path, &r, err) < 0)
		return -1;
	memory_limit(r);
	*ret_ended = r->ended;
	if (facts_read(r, &facts, err) < 0) {
		facts_deinit(&facts);
		reader_free(r);
		return -1;
	}
	kernel_log_init(&log, &facts, &r->boots);
	for (size_t i = 0; i < log.count && (r->ended || is_settled(&log, i)); i++) {
		uint64_t *known = map_put(shown, key_of(&log.lines[i]), 0);

		if (!*known && is_asked(choice, &log.lines[i]))
			print_line(&log.lines[i]);
		*known = 1;
	}
	fflush(stdout);
	kernel_log_deinit(&log);
	facts_deinit(&facts);
	reader_free(r);
	return 0;
}

static int follow(const struct args *args, const struct choice *choice, struct error *err)
{
	enum { POLL_US = 200000 };
	struct map shown = { 0 };
	bool ended = false;
	int r = 0;

	while (!ended && (r = print_new(args->operands[0], choice, &shown, &ended, err)) == 0)
		if (!ended)
			usleep(POLL_US);
	map_free(&shown);
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static int print(const struct args *args, const struct choice *choice, struct error *err)
{
	struct kernel_log log;
	struct facts facts;
	struct trace_arg t;
	int r = EXIT_FAILED;

	if (trace_arg_open(args, &t, err) < 0)
		return EXIT_FAILED;
	if (facts_read(t.reader, &facts, err) == 0) {
		kernel_log_init(&log, &facts, &t.reader->boots);
		/* a span in which no line came has an empty log */
		r = log.count || thinned_by(&t.reader->meta) ? show(args, &t, choice, &log, err)
		    : no_log(&t, &facts, err)                ? EXIT_FAILED
							     : EXIT_OK;
		kernel_log_deinit(&log);
	}
	facts_deinit(&facts);
	trace_arg_close(&t);
	return r;
}

static int run(const struct args *args, struct error *err)
{
	struct choice choice;
	int r;

	if (arg(args, "follow") && arg(args, "json"))
		return error_set(err, "--follow goes without --json"), EXIT_USAGE;
	if (choice_arg(args, &choice, err) < 0)
		return EXIT_USAGE;
	r = arg(args, "follow") ? follow(args, &choice, err) : print(args, &choice, err);
	choice_deinit(&choice);
	return r;
}

static const struct option options[] = {
	{ 'l', "level", "LEVEL", "only lines of this level and more severe ones: err, 3" },
	{ 'g', "grep", "REGEX", "only lines that match this extended regular expression" },
	{ 'f', "follow", NULL, "go on with what is being recorded, until it ends" },
	VIEW_OPTIONS,
	SPAN_OPTIONS,
	SELECT_SPANS,
	HELP_OPTION,
	{ 0 },
};

static const struct legend legends[] = { { "columns", log_columns, NULL }, { 0 } };

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
		    "  upto log --follow trace.upto\n      while it is being recorded\n",
	.needs = "facts",
	.options = options,
	.legends = legends,
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
