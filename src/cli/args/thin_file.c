/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "thin_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/calls/held_calls.h"
#include "analysis/sums/function_analysis.h"
#include "analysis/sums/left_functions.h"
#include "cli/print/output_file.h"
#include "cli/print/quantity.h"
#include "cli/print/terminal.h"
#include "trace/append.h"
#include "trace/damage.h"

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
	if (functions_analyse(&whole->session, &SPAN_ALL, &ret->all, err) < 0)
		return -1;
	return functions_analyse(&part->session, &SPAN_ALL, &ret->remaining, err);
}

static int compare(struct trace_arg *whole, struct trace_arg *folded, struct trace_arg *part, struct left_pairs *pairs,
		   struct buf *out, struct error *err)
{
	struct left_comparison views[2] = { 0 };
	int result = sum_up(whole, part, &views[0], err);

	names_fold_thunks(&folded->names);
	names_fold_thunks(&part->names);
	if (result == 0)
		result = sum_up(folded, part, &views[1], err);
	if (result == 0)
		left_functions_compare(views, 2, pairs, &whole->names, out);
	for (int i = 0; i < 2; i++) {
		functions_deinit(&views[i].all);
		functions_deinit(&views[i].remaining);
	}
	return result;
}

/* The same trace for itself: what was taken out of the one that is open is taken out of that, too. */
static int open_again(const struct reader *r, struct trace_arg *ret, struct error *err)
{
	if (open_trace(r->path, ret, err) < 0)
		return -1;
	if (r->n_damages && !ret->reader->n_damages)
		damage_take_out(ret->reader);
	return 0;
}

/*
 * What top is to show of a trace, though it is not in it: the sums of these two traces, with thunks shown, and folded.
 * Their functions have the same numbers.
 */
struct whole {
	const struct reader *shown, *folded;
};

/* Put these sums into the trace. Functions of the pairs have their numbers of the whole. */
static int append_sums(const struct whole *whole, const char *path, struct left_pairs *pairs, struct error *err)
{
	const struct reader *const of[] = { whole->shown, whole->folded };
	struct trace_arg traces[3];
	struct buf sums = { 0 };
	int n = 0, result = 0;

	for (; n < 3 && result == 0; n += result == 0)
		result = n < 2 ? open_again(of[n], &traces[n], err) : open_trace(path, &traces[n], err);
	if (result == 0)
		result = compare(&traces[0], &traces[1], &traces[2], pairs, &sums, err);
	if (result == 0)
		result = trace_append(traces[2].reader, CHUNK_SUMS, &sums, err);
	while (n--)
		trace_arg_close(&traces[n]);
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
static int part_open(struct part *p, const struct session *session, const struct thin_options *o,
		     struct thin_counts *ret_counts, struct error *err)
{
	struct thin_options options = *o;

	p->fd = memfd_create("upto", MFD_CLOEXEC);
	if (p->fd < 0)
		return error_set(err, "no memory for what is chosen: %s", strerror(errno));
	path_of(p->fd, p->path);
	options.limit = 0;
	options.left_out = NULL;
	options.unnamed = true;
	if (select_write(session, &options, p->fd, "memory", PACK_QUICKLY, ret_counts, err) < 0 ||
	    open_trace(p->path, &p->trace, err) < 0) {
		close(p->fd);
		p->fd = -1;
		return -1;
	}
	return 0;
}

static int open_spans(struct part *p, const struct session *session, const struct thin_options *o,
		      struct thin_counts *ret, struct error *err)
{
	struct thin_options spans = *o;

	spans.filter = (struct thin_filter){ 0 };
	spans.held = NULL;
	return part_open(p, session, &spans, ret, err);
}

/*
 * Sums are then those of all that they ran, with these thunks folded. `held` gets the calls that are held, by whoever
 * they were left out; NULL: they are not asked for.
 */
static int open_threads(struct part *p, const struct session *session, const struct thin_options *o, const bool *thunks,
			struct map *held, struct thin_counts *ret, struct error *err)
{
	struct thin_options threads = {
		.filter = { .threads = o->filter.threads }, .thunks = thunks, .held = held, .what = o->what,
	};

	return part_open(p, session, &threads, ret, err);
}

/* What a limit has cut off is outside the spans: no sums are kept of it. */
static int append_sums_of_cut(const struct session *session, const struct thin_options *o,
			      const struct thin_counts *counts, const char *path, struct left_pairs *pairs,
			      struct error *err)
{
	struct thin_options within = *o;
	struct thin_counts ignored;
	struct part all;
	int result;

	within.cut = &counts->cut;
	if (open_spans(&all, session, &within, &ignored, err) < 0)
		return -1;
	result = append_sums(&(struct whole){ all.trace.reader, all.trace.reader }, path, pairs, err);
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
static int collect_held(const struct reader *r, struct map *ret, struct error *err)
{
	struct trace_arg whole;
	int result;

	if (open_again(r, &whole, err) < 0)
		return -1;
	names_fold_thunks(&whole.names);
	result = held_calls_collect(&whole.session, ret, err);
	trace_arg_close(&whole);
	return result;
}

/* What there is to choose from, where that takes several steps. */
struct steps {
	/* the last two: the same but for their sums, which are with thunks shown, and folded */
	struct part spans, threads, folded;
	const struct session *from;   /* what the rest is chosen from */
	struct whole whole;
	struct thin_counts of_spans, of_threads;
};

/* Takes what it does out of *o, and its calls that are held into *held. */
static int take_steps(struct steps *ret, const struct trace_arg *t, struct thin_options *o, bool threads_first,
		      struct map *held, struct error *err)
{
	struct thin_counts ignored;
	bool *thunks;
	int result;

	*ret = (struct steps){
		.spans.fd = -1,
		.threads.fd = -1,
		.folded.fd = -1,
		.from = &t->session,
		.whole = { t->reader, t->reader },
	};
	if (has_filter(&o->filter) && has_spans(o)) {
		if (open_spans(&ret->spans, ret->from, o, &ret->of_spans, err) < 0)
			return -1;
		ret->from = &ret->spans.trace.session;
		ret->whole = (struct whole){ ret->spans.trace.reader, ret->spans.trace.reader };
		o->start = o->stop = (struct thin_condition){ 0 };
		o->before_ns = 0;
	}
	if (threads_first) {
		/* threads keep their numbers */
		thunks = names_thunks(ret->from->names);
		result = open_threads(&ret->threads, ret->from, o, NULL, held, &ret->of_threads, err);
		if (result == 0)
			result = open_threads(&ret->folded, ret->from, o, thunks, NULL, &ignored, err);
		free(thunks);
		if (result < 0)
			return -1;
		ret->from = &ret->threads.trace.session;
		ret->whole = (struct whole){ ret->threads.trace.reader, ret->folded.trace.reader };
		o->filter.threads = NULL;
	}
	return 0;
}

static void steps_deinit(struct steps *s)
{
	part_close(&s->folded);
	part_close(&s->threads);
	part_close(&s->spans);
}

static int append_what_is_known(const struct steps *s, const struct thin_options *o, const char *path,
				const struct thin_counts *counts, struct left_pairs *pairs, const struct map *held,
				struct error *err)
{
	int result = 0;

	if (o->left_out && counts->is_cut)
		result = append_sums_of_cut(s->from, o, counts, path, pairs, err);
	else if (o->left_out)
		result = append_sums(&s->whole, path, pairs, err);
	if (result == 0 && held->count)
		result = append_held(path, held, err);
	return result;
}

/* Write what is chosen, and what only the caller of thin() can tell of it. */
static int write_chosen(int fd, const struct selected *selected, const struct trace_arg *t, const char *path,
			struct map *held_before, struct thin_counts *ret, struct error *err)
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
	result = take_steps(&steps, t, &o, o.filter.threads && (path || has_filter_of_calls(&o.filter)), held_before,
			    err);
	o.left_out = of_all ? &pairs : NULL;
	o.held_before = held_before->count ? held_before : NULL;
	o.held = (path || selected->tells_held) && has_filter(&o.filter) ? &held : NULL;
	if (result == 0)
		result = select_write(steps.from, &o, fd, name, packing, ret, err);
	ret->unstopped |= steps.of_spans.unstopped;
	ret->stop_jumps |= steps.of_spans.stop_jumps;
	for (int i = 0; i < THIN_REASONS; i++)
		ret->left_out[i] += steps.of_threads.left_out[i];
	if (steps.spans.fd >= 0) {
		ret->spans_ns = ret->is_cut ? ret->spans_ns : steps.of_spans.spans_ns;
		ret->stop_ns = steps.of_spans.stop_ns;
	}
	if (result == 0)
		result = append_what_is_known(&steps, &o, path ? path : own_path, ret, &pairs,
					      held.count ? &held : held_before, err);
	steps_deinit(&steps);
	free(pairs.list);
	map_free(&held);
	return result;
}

int thin_to(int fd, const struct selected *selected, const struct trace_arg *t, const char *path,
	    struct thin_counts *ret, struct error *err)
{
	struct map held_before = { 0 };
	int result = 0;

	if ((path || selected->tells_held) && reader_has(t->reader, CHUNK_HELD))
		result = collect_held(t->reader, &held_before, err);
	if (result == 0)
		result = write_chosen(fd, selected, t, path, &held_before, ret, err);
	map_free(&held_before);
	return result;
}

int thin_file(const struct selected *selected, const struct trace_arg *t, const char *path, bool force,
	      struct thin_counts *ret, struct error *err)
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
		buf_printf(out, "; up to the trace's end, since what was to stop it did not happen%s",
			   thin_why_not(c->stop_jumps));
	buf_printf(out, "\n");
}
