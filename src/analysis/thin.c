/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "thin_make.h"

#include <stdlib.h>

#include "base/alloc.h"

const char *thin_reason_name(enum thin_reason reason)
{
	static const char *const names[] = {
		[THIN_DURATION] = "duration", [THIN_INTERRUPT] = "interrupt", [THIN_NO_INTERRUPT] = "no_interrupt", [THIN_FUNCTION] = "function",
		[THIN_DEPTH] = "depth", [THIN_THREAD] = "thread",
	};

	return names[reason];
}

static bool is_by_frame(const struct thin_filter *f)
{
	return f->min_duration_ns || f->max_duration_ns || f->no_interrupts || f->only_interrupts || f->functions || f->not || f->below || f->depth ||
	       f->threads;
}

static int write_limited(struct thinning *t, const struct builder_sink *sink, struct error *err)
{
	uint64_t limit = t->options->limit, first = 0;

	if (limit && t->options->keep_last) {
		if (thin_write(t, NULL, 0, 0, err) < 0)
			return -1;
		first = t->counts.events > limit ? t->counts.events - limit : 0;
	}
	return thin_write(t, sink, first, limit ? limit : UINT64_MAX, err);
}

static int no_span(const struct session *session, const struct thin_options *options, struct error *err)
{
	return error_set(err, "%s: what is to start it (%s) did not happen", session->reader->path, options->what);
}

int thin_first_span(const struct session *session, const struct thin_options *options, uint64_t *ret_from_ns, uint64_t *ret_to_ns, struct error *err)
{
	struct thinning t = { .session = session, .options = options };
	int result = thin_choose(&t, err);

	if (result == 0 && !t.n_spans)
		result = no_span(session, options, err);
	if (result == 0) {
		*ret_from_ns = t.spans[0].start_ns;
		*ret_to_ns = t.spans[0].stop_ns;
	}
	free(t.spans);
	return result;
}

int thin(const struct session *session, const struct thin_options *options, const struct builder_sink *sink, struct thin_counts *ret,
	 struct error *err)
{
	size_t functions = names_count(session->names);
	struct thinning t = {
		.session = session, .options = options, .by_frame = is_by_frame(&options->filter),
		.insns = xcalloc(functions, sizeof *t.insns), .ns = xcalloc(functions, sizeof *t.ns),
	};
	int result = thin_choose(&t, err);

	if (result == 0 && !t.n_spans)
		result = no_span(session, options, err);
	if (result == 0)
		result = write_limited(&t, sink, err);
	t.counts.spans = t.n_spans;
	t.counts.stop_ns = t.n_spans ? t.spans[t.n_spans - 1].stop_ns : 0;
	*ret = t.counts;
	map_free(&t.pairs);
	free(t.spans);
	free(t.marks);
	free(t.insns);
	free(t.ns);
	return result;
}
