/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kd_log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kd/kd_recorded.h"
#include "base/buf.h"
#include "cli/args/select_arg.h"
#include "cli/args/trace_arg.h"
#include "cli/print/terminal.h"
#include "trace/format.h"

enum { MAGIC = sizeof FORMAT_MAGIC - 1, READ = 1 << 20 };
#define SIZE_LIMIT ((size_t)1 << 33)

static FILE *open_input(const char *path, struct error *err)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "re") : stdin;

	if (!f)
		error_set(err, "%s: %s", path, strerror(errno));
	return f;
}

static void close_input(FILE *f)
{
	if (f != stdin)
		fclose(f);
}

static bool is_trace(const void *data, size_t len)
{
	return len >= MAGIC && !memcmp(data, FORMAT_MAGIC, MAGIC);
}

int kd_log_calls(const struct args *args, struct kfi_log *ret, struct error *err)
{
	struct trace_arg t;
	int r = trace_arg_open_calls(args, CHOSEN_FOR_CALLS, &t, err);

	*ret = (struct kfi_log){ 0 };
	if (r == 0) {
		names_fold_thunks(&t.names);
		r = kd_recorded_calls(&t.session, ret, err);
		terminal_end_progress();
		trace_arg_close(&t);
	}
	return r;
}

bool kd_log_is_trace(const char *path)
{
	char magic[MAGIC];
	FILE *f = strcmp(path, "-") ? fopen(path, "re") : NULL;
	bool trace = f && fread(magic, 1, MAGIC, f) == MAGIC && is_trace(magic, MAGIC);

	if (f)
		fclose(f);
	return trace;
}

int kd_log_sums(const struct args *args, bool as_kd, struct kfi_log *ret_log, struct kd_sums *ret, struct error *err)
{
	struct trace_arg t;
	int r;

	*ret = (struct kd_sums){ 0 };
	if (!kd_log_is_trace(args->operands[0])) {
		if (kd_log_open(args, ret_log, err) < 0)
			return -1;
		kd_sums_analyse(ret_log, as_kd, ret);
		return 0;
	}
	*ret_log = (struct kfi_log){ 0 };
	r = trace_arg_open_calls(args, CHOSEN_FOR_SUMS, &t, err);
	if (r == 0) {
		names_fold_thunks(&t.names);
		r = kd_recorded_sums(&t.session, as_kd, ret_log, ret, err);
		terminal_end_progress();
		trace_arg_close(&t);
	}
	return r;
}

static int read_all(FILE *f, const char *path, struct buf *data, struct error *err)
{
	size_t n;

	do {
		buf_reserve(data, READ);
		n = fread(data->data + data->len, 1, READ, f);
		data->len += n;
	} while (n && data->len < SIZE_LIMIT && !is_trace(data->data, data->len));
	if (ferror(f))
		return error_set(err, "%s: %s", path, strerror(errno));
	return data->len < SIZE_LIMIT
		       ? 0
		       : error_set(err, "%s: more than the %zu bytes that a log can have", path, SIZE_LIMIT);
}

/* Spans and filters choose from a trace. */
static int refuse_choice(const struct args *args, struct error *err)
{
	return select_is_asked(args)
		       ? error_set(err, "%s: is a log: --start, --stop and filters are for traces", args->operands[0])
		       : 0;
}

int kd_log_open(const struct args *args, struct kfi_log *ret, struct error *err)
{
	const char *path = args->operands[0];
	struct buf data = { 0 };
	FILE *f;
	int r;

	*ret = (struct kfi_log){ 0 };
	f = open_input(path, err);
	if (!f)
		return -1;
	r = read_all(f, path, &data, err);
	close_input(f);
	if (r == 0)
		r = is_trace(data.data, data.len) ? kd_log_calls(args, ret, err) : refuse_choice(args, err);
	if (r == 0 && !is_trace(data.data, data.len))
		r = kfi_log_parse(path, (char *)data.data, data.len, ret, err);
	buf_free(&data);
	return r;
}

struct stream {
	struct kfi_parser parser;
	const struct args *args;
	const struct kd_log_reader *reader;
	struct kfi_log *log;
	uint64_t last_ns;
};

static int take_line(struct stream *s, const char *line, size_t len, struct error *err)
{
	struct kfi_call call;
	int r = kfi_parse_line(&s->parser, line, len, s->log, &call, err);

	if (r <= 0)
		return r;
	if (call.entry_ns < s->last_ns)
		return error_set(err,
				 "%s:%" PRIu64 ": Entry %" PRIu64 " behind %" PRIu64
				 ": expected rows in the order of time; "
				 "without -r they are sorted",
				 s->parser.path, s->parser.line, call.entry_ns / 1000, s->last_ns / 1000);
	s->last_ns = call.entry_ns;
	s->reader->call(s->reader->data, &call);
	return 0;
}

/*
 * Read up to a line end, but not more than a line of a log can have. Returns its length, or -1 at the end of the file.
 */
static ssize_t read_line(FILE *f, char *line, size_t size)
{
	size_t n = 0;
	int c = 0;

	while (n < size && (c = getc_unlocked(f)) != EOF && c != '\n')
		line[n++] = (char)c;
	return c == EOF && !n ? -1 : (ssize_t)n;
}

/* A trace is read at once. */
static int stream_trace(struct stream *s, struct error *err)
{
	int r = kd_log_calls(s->args, s->log, err);

	for (size_t i = 0; r == 0 && i < s->log->n; i++)
		s->reader->call(s->reader->data, &s->log->calls[i]);
	return r;
}

static int stream_lines(FILE *f, struct stream *s, struct error *err)
{
	char line[KFI_LINE_MAX + 2];
	ssize_t n;

	while ((n = read_line(f, line, sizeof line)) >= 0) {
		/* the magic number has a line end in it */
		if (!s->parser.line && (size_t)n == strcspn(FORMAT_MAGIC, "\n") &&
		    !memcmp(line, FORMAT_MAGIC, (size_t)n))
			return stream_trace(s, err);
		if (take_line(s, line, (size_t)n, err) < 0)
			return -1;
	}
	if (ferror(f))
		return error_set(err, "%s: %s", s->parser.path, strerror(errno));
	return kfi_parse_end(&s->parser, err);
}

int kd_log_stream(const struct args *args, const struct kd_log_reader *reader, struct kfi_log *ret, struct error *err)
{
	const char *path = args->operands[0];
	struct stream s = { .parser = { .path = path }, .args = args, .reader = reader, .log = ret };
	FILE *f;
	int r;

	*ret = (struct kfi_log){ 0 };
	f = open_input(path, err);
	if (!f)
		return -1;
	r = stream_lines(f, &s, err);
	close_input(f);
	return r;
}
