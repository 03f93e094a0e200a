/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "thin_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/functions.h"
#include "analysis/held_calls.h"
#include "analysis/left_functions.h"
#include "output_file.h"
#include "quantity.h"
#include "terminal.h"
#include "trace/append.h"

static bool has_filter(const struct thin_filter *f)
{
	static const struct thin_filter none = { 0 };

	return memcmp(f, &none, sizeof none) != 0;
}

static bool has_spans(const struct thin_options *o)
{
	return o->start.condition.kind || o->stop.condition.kind;
}

/* Does the filter leave calls out of threads that it has? */
static bool has_filter_of_calls(const struct thin_filter *f)
{
	struct thin_filter calls = *f;

	calls.threads = NULL;
	return has_filter(&calls);
}

static int sum_up(struct trace_arg *whole, struct trace_arg *part, struct left_comparison *ret, struct error *err)
{
	*ret = (struct left_comparison){ .folded = whole->names.thunks };
	if (functions_analyse(whole->reader, &whole->names, &SPAN_ALL, &ret->all, err) < 0)
		return -1;
	return functions_analyse(part->reader, &part->names, &SPAN_ALL, &ret->remaining, err);
}

static int compare(struct trace_arg *whole, struct trace_arg *part, struct left_pairs *pairs, struct buf *out, struct error *err)
{
	struct left_comparison views[2] = { 0 };
	int result = sum_up(whole, part, &views[0], err);

	names_fold_thunks(&whole->names);
	names_fold_thunks(&part->names);
	if (result == 0)
		result = sum_up(whole, part, &views[1], err);
	if (result == 0)
		left_functions_compare(views, 2, pairs, &whole->names, out);
	for (int i = 0; i < 2; i++) {
		functions_deinit(&views[i].all);
		functions_deinit(&views[i].remaining);
	}
	return result;
}

/* Put the sums that top is to have again into the trace: with thunks shown, and folded. Functions of the pairs have their numbers of the whole. */
static int append_sums(const char *whole_path, const char *path, struct left_pairs *pairs, struct error *err)
{
	struct buf sums = { 0 };
	struct trace_arg whole, part;
	int result = 0;

	if (open_trace(whole_path, &whole, err) < 0)
		return -1;
	if (open_trace(path, &part, err) < 0) {
		trace_arg_close(&whole);
		return -1;
	}
	result = compare(&whole, &part, pairs, &sums, err);
	if (result == 0)
		result = trace_append(part.reader, CHUNK_SUMS, &sums, err);
	trace_arg_close(&part);
	trace_arg_close(&whole);
	buf_free(&sums);
	return result;
}

static void path_of(int fd, char ret[32])
{
	snprintf(ret, 32, "/proc/self/fd/%d", fd);
}

/*
 * The spans as a trace in memory, of which the filters then choose: the sums are those of what the spans have. `of_threads` not NULL: also the
 * threads, whose sums are then those of all that they ran; it gets the calls that are held.
 */
static int open_spans(const struct session *session, const struct thin_options *o, struct map *of_threads, struct trace_arg *ret, char path[32], int *ret_fd,
		      struct thin_counts *ret_counts, struct error *err)
{
	struct thin_options spans = *o;
	int fd = memfd_create("upto", MFD_CLOEXEC);

	if (fd < 0)
		return error_set(err, "no memory for the spans: %s", strerror(errno));
	spans.filter = (struct thin_filter){ .threads = of_threads ? o->filter.threads : NULL };
	spans.held = of_threads;
	spans.limit = 0;
	spans.left_out = NULL;
	spans.unnamed = true;
	path_of(fd, path);
	*ret_fd = fd;
	if (select_write(session, &spans, fd, "memory", PACK_QUICKLY, ret_counts, err) < 0 || open_trace(path, ret, err) < 0) {
		close(fd);
		return -1;
	}
	return 0;
}

/* What a limit has cut off is outside the spans: no sums are kept of it. */
static int append_sums_of_cut(const struct session *session, const struct thin_options *o, const struct thin_counts *counts, const char *path,
			      struct left_pairs *pairs, struct error *err)
{
	struct thin_options within = *o;
	struct thin_counts ignored;
	struct trace_arg all;
	char all_path[32];
	int fd, result;

	within.cut = &counts->cut;
	if (open_spans(session, &within, NULL, &all, all_path, &fd, &ignored, err) < 0)
		return -1;
	trace_arg_close(&all);
	result = append_sums(all_path, path, pairs, err);
	close(fd);
	return result;
}

/* Tell in the trace which of its calls are held. */
static int append_held(const char *path, const struct map *held, struct error *err)
{
	struct buf payload = { 0 };
	struct trace_arg part;
	int result;

	if (open_trace(path, &part, err) < 0)
		return -1;
	names_fold_thunks(&part.names);
	result = held_calls_encode(&part.session, held, &payload, err);
	if (result == 0 && payload.len)
		result = trace_append(part.reader, CHUNK_HELD, &payload, err);
	trace_arg_close(&part);
	buf_free(&payload);
	return result;
}

/* Those that the trace has already. */
static int collect_held(const char *path, struct map *ret, struct error *err)
{
	struct trace_arg whole;
	int result;

	if (open_trace(path, &whole, err) < 0)
		return -1;
	names_fold_thunks(&whole.names);
	result = held_calls_collect(&whole.session, ret, err);
	trace_arg_close(&whole);
	return result;
}

static bool has_held(const struct reader *r)
{
	bool has = false;

	for (size_t i = 0; i < r->n_chunks; i++)
		has |= r->chunks[i].header.type == CHUNK_HELD;
	return has;
}

/* Write what is chosen, and what only the caller of thin() can tell of it. */
static int write_chosen(int fd, const struct selected *selected, const struct trace_arg *t, const char *path, struct map *held_before,
			struct thin_counts *ret, struct error *err)
{
	struct thin_options o = selected->options;
	const char *whole_path = t->reader->path, *name = path ? path : "memory";
	bool of_all = path ? has_filter(&o.filter) : selected->of_all && has_filter_of_calls(&o.filter);
	bool threads_first = of_all && !path && o.filter.threads;
	struct thin_counts of_spans = { 0 };
	struct left_pairs pairs = { 0 };
	struct map held = { 0 };
	struct trace_arg spans;
	char spans_path[32], own_path[32];
	int spans_fd = -1, result = 0;
	enum packing packing;

	path_of(fd, own_path);
	if (threads_first || (has_filter(&o.filter) && has_spans(&o))) {
		result = open_spans(&t->session, &o, threads_first ? held_before : NULL, &spans, spans_path, &spans_fd, &of_spans, err);
		whole_path = spans_path;
		o.start = o.stop = (struct thin_condition){ 0 };
		o.before_ns = 0;
		o.filter.threads = threads_first ? NULL : o.filter.threads;
	}
	if (result < 0)
		return -1;
	o.left_out = of_all ? &pairs : NULL;
	o.held = (path || selected->tells_held) && has_filter(&o.filter) ? &held : NULL;
	o.held_before = held_before->count ? held_before : NULL;
	packing = !path ? PACK_QUICKLY : selected->thorough ? PACK_THOROUGHLY : PACK_WELL;
	result = select_write(spans_fd < 0 ? &t->session : &spans.session, &o, fd, name, packing, ret, err);
	ret->unstopped |= of_spans.unstopped;
	if (spans_fd >= 0) {
		ret->spans_ns = ret->is_cut ? ret->spans_ns : of_spans.spans_ns;
		ret->stop_ns = of_spans.stop_ns;
	}
	if (result == 0 && o.left_out && ret->is_cut)
		result = append_sums_of_cut(spans_fd < 0 ? &t->session : &spans.session, &o, ret, path ? path : own_path, &pairs, err);
	else if (result == 0 && o.left_out)
		result = append_sums(whole_path, path ? path : own_path, &pairs, err);
	if (spans_fd >= 0) {
		trace_arg_close(&spans);
		close(spans_fd);
	}
	if (result == 0 && held.count)
		result = append_held(path ? path : own_path, &held, err);
	else if (result == 0 && held_before->count)
		result = append_held(path ? path : own_path, held_before, err);
	free(pairs.list);
	map_free(&held);
	return result;
}

int thin_to(int fd, const struct selected *selected, const struct trace_arg *t, const char *path, struct thin_counts *ret, struct error *err)
{
	struct map held_before = { 0 };
	int result = 0;

	if ((path || selected->tells_held) && has_held(t->reader))
		result = collect_held(t->reader->path, &held_before, err);
	if (result == 0)
		result = write_chosen(fd, selected, t, path, &held_before, ret, err);
	map_free(&held_before);
	return result;
}

int thin_file(const struct selected *selected, const struct trace_arg *t, const char *path, bool force, struct thin_counts *ret, struct error *err)
{
	struct output_file out;
	int result;

	if (output_file_open(&out, path, OUTPUT_TRACE, force, err) < 0)
		return -1;
	result = thin_to(out.fd, selected, t, out.part, ret, err);
	terminal_end_progress();
	return output_file_close(&out, result, err);
}

static void put_amount_of(struct buf *out, uint64_t n, const char *what)
{
	put_amount(out, n, false);
	buf_printf(out, " %s", what);
}

static void put_spans(struct buf *out, const struct thin_counts *c)
{
	buf_printf(out, " in ");
	if (c->spans > 1)
		buf_printf(out, "%zu spans, together ", c->spans);
	put_duration(out, c->spans_ns, false);
	buf_printf(out, " of guest time");
}

static void put_size(struct buf *out, const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0)
		buf_printf(out, ", %.2f MB", (double)st.st_size / 1e6);
}

void thin_put(const struct thin_counts *c, const char *path, struct buf *out)
{
	terminal_escape(out, path);
	buf_printf(out, ": ");
	put_amount_of(out, c->events, "events");
	put_spans(out, c);
	put_size(out, path);
	for (int i = 0; i < THIN_REASONS; i++)
		if (c->left_out[i]) {
			buf_printf(out, ", ");
			put_amount_of(out, c->left_out[i], "calls left out by ");
			buf_printf(out, "%s", thin_reason_name((enum thin_reason)i));
		}
	if (c->unstopped)
		buf_printf(out, "; up to the trace's end, since what was to stop it did not happen");
	buf_printf(out, "\n");
}
