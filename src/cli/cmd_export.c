/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "kd_log.h"
#include "kfi/log_text.h"
#include "output_file.h"
#include "select_arg.h"
#include "terminal.h"
#include "trace_arg.h"

enum { FLUSH = 1 << 16 };

static int write_buf(FILE *out, struct buf *text)
{
	bool written = fwrite(text->data, 1, text->len, out) == text->len;

	text->len = 0;
	return written ? 0 : -1;
}

static int write_log(const struct kfi_log *log, FILE *out)
{
	struct buf text = { 0 };
	int r = 0;

	kfi_log_put_header(log, &text);
	for (size_t i = 0; r == 0 && i < log->n; i++) {
		kfi_log_put_call(log, &log->calls[i], &text);
		if (text.len > FLUSH)
			r = write_buf(out, &text);
	}
	if (r == 0)
		r = write_buf(out, &text);
	buf_free(&text);
	return r;
}

static int write_file(const struct kfi_log *log, const char *path, bool force, struct error *err)
{
	struct output_file file;
	FILE *out;
	int r;

	if (output_file_open(&file, path, OUTPUT_TEXT, force, err) < 0)
		return -1;
	out = fdopen(file.fd, "w");
	r = out ? write_log(log, out) : -1;
	if (out)
		file.fd = -1;
	if ((out && fclose(out) != 0) || r < 0)
		r = error_set(err, "%s: %s", path, strerror(errno));
	return output_file_close(&file, r, err);
}

static int run(const struct args *args, struct error *err)
{
	struct kfi_log log;
	int r;

	if (!arg(args, "to") || strcmp(arg(args, "to"), "kfi"))
		return error_set(err, "--to %s: kfi", arg(args, "to") ? arg(args, "to") : "is missing"), EXIT_USAGE;
	if (arg(args, "output") && output_file_check(arg(args, "output"), OUTPUT_TEXT, arg(args, "force"), args->operands[0], err) < 0)
		return EXIT_FAILED;
	r = kd_log_calls(args, &log, err);
	if (r == 0 && arg(args, "output"))
		r = write_file(&log, arg(args, "output"), arg(args, "force"), err);
	else if (r == 0)
		r = write_log(&log, stdout);
	kfi_log_deinit(&log);
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static const struct option options[] = {
	{ 0, "to", "kfi", "the format: kfi is a log of KFI, its addresses resolved" },
	{ 'o', "output", "FILE", "where to (default: standard output)" },
	FORCE_OPTION("file"),
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
	.description = "A log of KFI has a row for each call of a function of the kernel and its modules, with the times of its entry and from entry to exit in "
		       "microseconds. A call that did not return has -1, and one in an interrupt an i behind its PID. kd and upto-kd(1) read it.\n" SELECT_NOTE,
	.examples = "  upto export --to kfi --min-duration 500us -o boot.lst trace.upto\n      the calls that took long, for kd\n",
	.options = options,
	.reads_all = true,
	.needs = "stacks",
	.min_operands = 1, .max_operands = 1,
	.run = run,
};
