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

/* A part of a trace as a trace in memory, of which the rest is chosen. */
struct part {
	int fd;                /* -1: there is none */
	char path[32];
	struct trace_arg trace;
};

static void part_close(struct part *p)
{
	if (p->fd < 0)
		return;
	trace_arg_close(&p->trace);
	close(p->fd);
	p->fd = -1;
}

/* Its sums are those of what it has: of the options only the spans or only the threads are to be left. */
static int part_open(struct part *p, const struct session *session, const struct thin_options *o, struct thin_counts *ret_counts, struct error *err)
{
	struct thin_options options = *o;

	p->fd = memfd_create("upto", MFD_CLOEXEC);
	if (p->fd < 0)
		return error_set(err, "no memory for what is chosen: %s", strerror(errno));
	path_of(p->fd, p->path);
	options.limit = 0;
	options.left_out = NULL;
	options.unnamed = true;
	if (select_write(session, &options, p->fd, "memory", PACK_QUICKLY, ret_counts, err) < 0 || open_trace(p->path, &p->trace, err) < 0) {
		close(p->fd);
		p->fd = -1;
		return -1;
	}
	return 0;
}

static int open_spans(struct part *p, const struct session *session, const struct thin_options *o, struct thin_counts *ret, struct error *err)
{
	struct thin_options spans = *o;

	spans.filter = (struct thin_filter){ 0 };
	spans.held = NULL;
	return part_open(p, session, &spans, ret, err);
}

/* Sums are then those of all that they ran. `held` gets the calls that are held, by whoever they were left out. */
static int open_threads(struct part *p, const struct session *session, const struct thin_options *o, struct map *held, struct error *err)
{
	struct thin_options threads = { .filter = { .threads = o->filter.threads }, .thunks = o->thunks, .held = held, .what = o->what };
	struct thin_counts ignored;

	return part_open(p, session, &threads, &ignored, err);
}

/* What a limit has cut off is outside the spans: no sums are kept of it. */
static int append_sums_of_cut(const struct session *session, const struct thin_options *o, const struct thin_counts *counts, const char *path,
			      struct left_pairs *pairs, struct error *err)
{
	struct thin_options within = *o;
	struct thin_counts ignored;
	struct part all;
	int result;

	within.cut = &counts->cut;
	if (open_spans(&all, session, &within, &ignored, err) < 0)
		return -1;
	result = append_sums(all.path, path, pairs, err);
	part_close(&all);
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

/* What there is to choose from, where that takes several steps. */
struct steps {
	struct part spans, threads;
	const struct session *from;   /* the last of them */
	const char *path;
	struct thin_counts of_spans;
};

/* Takes what it does out of *o, and its calls that are held into *held. */
static int take_steps(struct steps *ret, const struct trace_arg *t, struct thin_options *o, bool threads_first, struct map *held, struct error *err)
{
	*ret = (struct steps){ .spans.fd = -1, .threads.fd = -1, .from = &t->session, .path = t->reader->path };
	if (has_filter(&o->filter) && has_spans(o)) {
		if (open_spans(&ret->spans, ret->from, o, &ret->of_spans, err) < 0)
			return -1;
		ret->from = &ret->spans.trace.session;
		ret->path = ret->spans.path;
		o->start = o->stop = (struct thin_condition){ 0 };
		o->before_ns = 0;
	}
	if (threads_first) {
		/* threads keep their numbers */
		if (open_threads(&ret->threads, ret->from, o, held, err) < 0)
			return -1;
		ret->from = &ret->threads.trace.session;
		ret->path = ret->threads.path;
		o->filter.threads = NULL;
	}
	return 0;
}

static void steps_deinit(struct steps *s)
{
	part_close(&s->threads);
	part_close(&s->spans);
}

static int append_what_is_known(const struct steps *s, const struct thin_options *o, const char *path, const struct thin_counts *counts,
				struct left_pairs *pairs, const struct map *held, struct error *err)
{
	int result = 0;

	if (o->left_out && counts->is_cut)
		result = append_sums_of_cut(s->from, o, counts, path, pairs, err);
	else if (o->left_out)
		result = append_sums(s->path, path, pairs, err);
	if (result == 0 && held->count)
		result = append_held(path, held, err);
	return result;
}

/* Write what is chosen, and what only the caller of thin() can tell of it. */
static int write_chosen(int fd, const struct selected *selected, const struct trace_arg *t, const char *path, struct map *held_before,
			struct thin_counts *ret, struct error *err)
{
	struct thin_options o = selected->options;
	const char *name = path ? path : "memory";
	bool of_all = path ? has_filter(&o.filter) : selected->of_all && has_filter_of_calls(&o.filter);
	enum packing packing = !path ? PACK_QUICKLY : selected->thorough ? PACK_THOROUGHLY : PACK_WELL;
	struct left_pairs pairs = { 0 };
	struct map held = { 0 };
	struct steps steps;
	char own_path[32];
	int result;

	path_of(fd, own_path);
	*ret = (struct thin_counts){ 0 };
	result = take_steps(&steps, t, &o, of_all && !path && o.filter.threads, held_before, err);
	o.left_out = of_all ? &pairs : NULL;
	o.held_before = held_before->count ? held_before : NULL;
	o.held = (path || selected->tells_held) && has_filter(&o.filter) ? &held : NULL;
	if (result == 0)
		result = select_write(steps.from, &o, fd, name, packing, ret, err);
	ret->unstopped |= steps.of_spans.unstopped;
	ret->stop_jumps |= steps.of_spans.stop_jumps;
	if (steps.spans.fd >= 0) {
		ret->spans_ns = ret->is_cut ? ret->spans_ns : steps.of_spans.spans_ns;
		ret->stop_ns = steps.of_spans.stop_ns;
	}
	if (result == 0)
		result = append_what_is_known(&steps, &o, path ? path : own_path, ret, &pairs, held.count ? &held : held_before, err);
	steps_deinit(&steps);
	free(pairs.list);
	map_free(&held);
	return result;
}

int thin_to(int fd, const struct selected *selected, const struct trace_arg *t, const char *path, struct thin_counts *ret, struct error *err)
{
	struct map held_before = { 0 };
	int result = 0;

	if ((path || selected->tells_held) && reader_has(t->reader, CHUNK_HELD))
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
		buf_printf(out, "; up to the trace's end, since what was to stop it did not happen%s", thin_why_not(c->stop_jumps));
	buf_printf(out, "\n");
}
