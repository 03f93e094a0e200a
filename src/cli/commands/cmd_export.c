/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/args/select_arg.h"
#include "cli/args/trace_arg.h"
#include "cli/args/trace_lacks.h"
#include "cli/commands.h"
#include "cli/print/output_file.h"
#include "cli/print/terminal.h"
#include "export/export.h"

struct target {
	FILE *file;
	const char *name; /* for messages */
};

static int failed(const struct target *to, struct error *err)
{
	return error_set(err, "%s: %s", to->name, strerror(errno));
}

static int write_to(void *context, const void *data, size_t n, struct error *err)
{
	const struct target *to = context;

	return fwrite(data, 1, n, to->file) == n ? 0 : failed(to, err);
}

static int put(const struct exporter *e, const struct trace_arg *t, bool by_ns, struct target *to, struct error *err)
{
	const struct export_options options = { .by_ns = by_ns, .make_index = is_worth_index(t) };
	const struct sink sink = { .write = write_to, .context = to };
	int r = e->put(&t->session, &options, &sink, err);

	terminal_end_progress();
	return r < 0 || fflush(to->file) == 0 ? r : failed(to, err);
}

static int write_file(const struct exporter *e, const struct trace_arg *t, bool by_ns, const char *path, bool force,
		      struct error *err)
{
	struct target to = { .name = path };
	struct output_file file;
	int r;

	if (output_file_open(&file, path, OUTPUT_TEXT, force, err) < 0)
		return -1;
	to.file = fdopen(file.fd, "w");
	if (!to.file)
		return output_file_close(&file, failed(&to, err), err);
	file.fd = -1;
	r = put(e, t, by_ns, &to, err);
	if (fclose(to.file) != 0 && r >= 0)
		r = failed(&to, err);
	return output_file_close(&file, r, err);
}

/* "kfi, folded or csv" */
static void put_names(struct buf *out)
{
	const struct exporter *e;

	for (size_t i = 0; (e = exporter_at(i)) != NULL; i++)
		buf_printf(out, "%s%s", !i ? "" : exporter_at(i + 1) ? ", " : " or ", e->name);
	buf_put_u8(out, 0);
}

static int no_such_format(const char *name, struct error *err)
{
	struct buf names = { 0 };

	put_names(&names);
	error_set(err, "--to %s: %s", name ? name : "is missing", (char *)names.data);
	buf_free(&names);
	return EXIT_USAGE;
}

static int open_for(const struct args *args, const struct exporter *e, struct trace_arg *ret, struct error *err)
{
	static const char *const none[] = { NULL };

	return trace_arg_open_pass(args, e->has_clock ? CHOSEN_FOR_EVENTS : CHOSEN_FOR_CALLS,
				   e->heeds_threads ? folded_options : none, ret, err);
}

static int run(const struct args *args, struct error *err)
{
	const struct exporter *e = arg(args, "to") ? exporter_find(arg(args, "to")) : NULL;
	const char *path = arg(args, "output");
	struct trace_arg t;
	bool by_ns;
	int r;

	if (!e)
		return no_such_format(arg(args, "to"), err);
	if (clock_arg(args, &by_ns, err) < 0)
		return EXIT_USAGE;
	if (arg(args, "clock") && !e->has_clock)
		return error_set(err, "--clock: not with --to %s", e->name), EXIT_USAGE;
	if (path && output_file_check(path, OUTPUT_TEXT, arg(args, "force"), args->operands[0], err) < 0)
		return EXIT_FAILED;
	if (open_for(args, e, &t, err) < 0)
		return EXIT_FAILED;
	trace_choose_clock(&t, &by_ns);
	names_fold_thunks(&t.names);
	if (e->has_clock)
		trace_arg_open_index(&t);
	if (path)
		r = write_file(e, &t, by_ns, path, arg(args, "force"), err);
	else
		r = put(e, &t, by_ns, &(struct target){ stdout, "standard output" }, err);
	trace_arg_close(&t);
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static const struct option options[] = {
	{ 0, "to", "kfi|folded|csv", "the format: see above" },
	{ 'o', "output", "FILE", "where to (default: standard output)" },
	FORCE_OPTION("file"),
	{ 0, "clock", "insns|ns", "with --to folded: what is weighed (default: insns)" },
	SELECT_SPANS,
	SELECT_RING,
	SELECT_MIN_DURATION,
	SELECT_NO_INTERRUPTS,
	SELECT_CALLS,
	SELECT_DEPTH,
	SELECT_PID,
	SELECT_COMM,
	SELECT_CODE,
	HELP_OPTION,
	{ 0 },
};

const struct command cmd_export = {
	.name = "export",
	.operands = "TRACE",
	.summary = "write a trace in another format",
	.description =
		"kfi: a log of KFI has a row for each call of a function of the kernel and its modules, with the times of its entry and from entry to "
		"exit in microseconds. A call that did not return has -1, and one in an interrupt an i behind its PID. kd and upto-kd(1) read it.\n"
		"folded: a line for each path of calls, outermost;…;innermost, with the instructions (or --clock ns: nanoseconds) that ran in the "
		"innermost function itself. Together they are all that ran. Flame graphs are made of it.\n"
		"csv: a row for each call, as it ends: start, duration, whose it is, depth, function, caller, what the thread itself ran in it, and how "
		"it ended. One that did not end has no duration.\n" SELECT_NOTE,
	.examples =
		"  upto export --to kfi --min-duration 500us -o boot.lst trace.upto\n      the calls that took long, for kd\n"
		"  upto export --to folded trace.upto | flamegraph.pl >boot.svg\n      a flame graph of the whole boot\n"
		"  upto export --to csv --pid 1 --functions do_sys_openat2 trace.upto\n      each file that init opens, for a spreadsheet\n",
	.options = options,
	.reads_all = true,
	.needs = "stacks",
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
