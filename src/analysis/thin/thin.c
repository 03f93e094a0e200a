/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "thin.h"

#include <stdlib.h>

#include "analysis/calls/intervals.h"
#include "base/alloc.h"
#include "thin_make.h"

static bool is_by_frame(const struct thin_filter *f)
{
	return f->min_duration_ns || f->max_duration_ns || f->no_interrupts || f->only_interrupts || f->functions ||
	       f->not || f->below || f->depth || f->threads;
}

/* Where the first events that the limit lets through end, or the last ones begin. */
static int find_cut(struct thinning *t, struct error *err)
{
	struct thin_search search = { .events = t->options->limit };
	struct thin_cut *cut = &t->counts.cut;
	uint64_t all;

	*cut = (struct thin_cut){ .to = { .event = UINT64_MAX, .ns = UINT64_MAX } };
	if (!t->options->keep_last) {
		if (thin_count(t, &search, &all, err) < 0)
			return -1;
		t->counts.is_cut = search.beyond;
		cut->to = search.beyond ? search.found : cut->to;
		return 0;
	}
	search.events = UINT64_MAX;
	if (thin_count(t, &search, &all, err) < 0)
		return -1;
	t->counts.is_cut = all > t->options->limit;
	search = (struct thin_search){ .events = all - t->options->limit, .first = true };
	if (!t->counts.is_cut || thin_count(t, &search, &all, err) < 0)
		return t->counts.is_cut ? -1 : 0;
	cut->from = search.found;
	return 0;
}

static int cut(struct thinning *t, struct error *err)
{
	if (t->options->cut) {
		t->counts.is_cut = true;
		t->counts.cut = *t->options->cut;
	} else if (t->options->limit && find_cut(t, err) < 0) {
		return -1;
	}
	if (t->counts.is_cut)
		thin_cut_spans(t, &t->counts.cut);
	return 0;
}

void thin_cut_spans(struct thinning *t, const struct thin_cut *cut)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_spans; i++) {
		struct thin_span s = t->spans[i];

		if (cut->from.event > s.from) {
			s.from = cut->from.event;
			s.start_ns = cut->from.ns;
			s.first_frame = cut->from.frame;
			s.from_ns = cut->from.ns >= s.from_ns ? 0 : s.from_ns;
		}
		if (cut->to.event < s.to) {
			s.to = cut->to.event;
			s.stop_ns = cut->to.ns;
		}
		if (s.from < s.to)
			t->spans[n++] = s;
	}
	t->n_spans = n;
}

static int no_span(const struct thinning *t, struct error *err)
{
	const struct thin_options *o = t->options;

	return error_set(err, o->is_moment ? "%s: %s did not happen%s" : "%s: what is to start it (%s) did not happen%s",
			 t->session->reader->path, o->start_what ? o->start_what : o->what,
			 thin_why_not(t->counts.start_jumps));
}

/* With --before, as far as the span before it leaves room for that. */
static struct kept_span interval_of(const struct thinning *t, size_t i)
{
	const struct thin_span *x = &t->spans[i];
	uint64_t from_ns = t->options->before_ns ? x->from_ns : x->start_ns, last_ns = i ? t->spans[i - 1].stop_ns : 0;

	return (struct kept_span){ from_ns > last_ns ? from_ns : last_ns, x->stop_ns };
}

static uint64_t overlap(struct kept_span a, struct kept_span b)
{
	uint64_t from = a.start_ns > b.start_ns ? a.start_ns : b.start_ns,
		 to = a.stop_ns < b.stop_ns ? a.stop_ns : b.stop_ns;

	return to > from ? to - from : 0;
}

/* What the spans have of the time that the trace itself has. */
static uint64_t spans_ns(const struct thinning *t)
{
	struct kept_span *before = NULL, all = { 0, UINT64_MAX };
	size_t n = thinned_spans(&t->session->reader->meta, &before), k = 0;
	uint64_t sum = 0;

	for (size_t i = 0; i < t->n_spans; i++) {
		struct kept_span own = interval_of(t, i);

		while (k < n && before[k].stop_ns <= own.start_ns)
			k++;
		for (size_t at = k; at < n && before[at].start_ns < own.stop_ns; at++)
			sum += overlap(own, before[at]);
		sum += n ? 0 : overlap(own, all);
	}
	free(before);
	return sum;
}

static bool finds(const struct thin_options *options)
{
	return options->before_ns && !is_by_frame(&options->filter);
}

/* If what is written does not tell of stacks from before a gap, calls that it has no entries of must not be there. */
static struct session session_for(const struct session *session, const struct thin_options *options)
{
	struct session ret = *session;

	ret.thins = !finds(options);
	return ret;
}

int thin_find_spans(const struct session *session, const struct thin_options *options, struct intervals *ret,
		    struct error *err)
{
	const struct session own = session_for(session, options);
	struct thinning t = { .session = &own, .options = options, .finds = finds(options) };
	int result = thin_choose(&t, err);

	*ret = (struct intervals){ .unstopped = t.counts.unstopped, .stop_jumps = t.counts.stop_jumps };
	if (result == 0 && !t.n_spans)
		result = no_span(&t, err);
	if (result == 0) {
		ret->list = xcalloc(t.n_spans, sizeof *ret->list);
		ret->count = t.n_spans;
	}
	for (size_t i = 0; i < ret->count; i++)
		ret->list[i] = interval_of(&t, i);
	/* what lasts still at the trace's end is in it */
	if (ret->count && !options->stop.condition.kind)
		ret->list[ret->count - 1].stop_ns = UINT64_MAX;
	free(t.spans);
	return result;
}

int thin(const struct session *session, const struct thin_options *options, const struct builder_sink *sink,
	 struct thin_counts *ret, struct error *err)
{
	const struct session own = session_for(session, options);
	size_t functions = names_count(session->names);
	struct thinning t = {
		.session = &own, .options = options, .by_frame = is_by_frame(&options->filter), .finds = finds(options),
		.insns = xcalloc(functions, sizeof *t.insns), .ns = xcalloc(functions, sizeof *t.ns),
	};
	int result = thin_choose(&t, err);

	if (result == 0 && !t.n_spans)
		result = no_span(&t, err);
	if (result == 0)
		result = cut(&t, err);
	if (result == 0)
		result = thin_write(&t, sink, err);
	t.counts.spans_ns = spans_ns(&t);
	t.counts.stop_ns = t.n_spans ? t.spans[t.n_spans - 1].stop_ns : 0;
	*ret = t.counts;
	map_free(&t.pairs);
	free(t.spans);
	free(t.marks);
	free(t.unchosen);
	free(t.insns);
	free(t.ns);
	return result;
}
