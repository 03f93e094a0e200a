/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * META of a trace that is made by thin.h: that of the whole one, with what it was chosen by, its spans, and how much
 * was left out.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "thin_make.h"
#include "trace/thinned.h"

const char *thin_reason_name(enum thin_reason reason)
{
	static const char *const names[] = {
		[THIN_DURATION] = "duration", [THIN_INTERRUPT] = "interrupt", [THIN_NO_INTERRUPT] = "no_interrupt",
		[THIN_FUNCTION] = "function", [THIN_DEPTH] = "depth",         [THIN_THREAD] = "thread",
	};

	return names[reason];
}

/* What META tells of this trace, and not of the one that it was made of. */
static bool is_own_key(const char *key)
{
	static const char *const keys[] = {
		"insns.", "span.", "left_out.", "thinned", "threads", "filtered", "events", "trigger_ns"
	};

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (!strncmp(key, keys[i], strlen(keys[i])))
			return true;
	return false;
}

void thin_copy_meta(const struct meta *m, struct buf *lines)
{
	for (size_t i = 0; i < meta_count(m); i++)
		if (!is_own_key(meta_key(m, i)))
			meta_put(lines, meta_key(m, i), meta_value(m, i));
}

static void put_span(const struct thin_cut *cut, struct kept_span s, size_t *number, struct buf *lines)
{
	if (cut && cut->from.ns > s.start_ns)
		s.start_ns = cut->from.ns;
	if (cut && cut->to.ns < s.stop_ns)
		s.stop_ns = cut->to.ns;
	if (cut && s.start_ns >= s.stop_ns)
		return;
	++*number;
	buf_printf(lines, "span.%zu.start_ns=%llu\nspan.%zu.stop_ns=%llu\n", *number, (unsigned long long)s.start_ns,
		   *number, (unsigned long long)s.stop_ns);
}

/*
 * From when to when it has events: with before_ns, also from before what starts it, but not from before the last one
 * ended.
 */
static struct kept_span kept_span(const struct thinning *t, size_t i)
{
	const struct thin_span *s = &t->spans[i];
	uint64_t last_ns = i ? s[-1].stop_ns : 0,
		 from_ns = s->from_ns || t->options->before_ns ? s->from_ns : s->start_ns;

	return (struct kept_span){ .start_ns = from_ns > last_ns ? from_ns : last_ns, .stop_ns = s->stop_ns };
}

/* What a span has of the trace's own ones, from number *k on, which is the first that may not be over before it. */
static void put_overlaps(const struct thin_cut *cut, struct kept_span own, const struct kept_span *before, size_t n,
			 size_t *k, size_t *number, struct buf *lines)
{
	while (*k < n && before[*k].stop_ns < own.start_ns)
		++*k;
	for (size_t i = *k; i < n && before[i].start_ns <= own.stop_ns; i++) {
		struct kept_span both = {
			.start_ns = before[i].start_ns > own.start_ns ? before[i].start_ns : own.start_ns,
			.stop_ns = before[i].stop_ns < own.stop_ns ? before[i].stop_ns : own.stop_ns,
		};

		/* what only touches is not in both, unless it is a moment */
		if (both.start_ns < both.stop_ns || own.start_ns == own.stop_ns ||
		    before[i].start_ns == before[i].stop_ns)
			put_span(cut, both, number, lines);
	}
}

/* Those of the trace that it is made of, as far as it takes them; its own, where that one was whole. */
static void put_spans(struct thinning *t, struct buf *lines)
{
	const struct thin_options *o = t->options;
	const struct thin_cut *cut = t->counts.is_cut ? &t->counts.cut : NULL;
	struct kept_span *before = NULL;
	size_t n = thinned_spans(&t->session->reader->meta, &before), k = 0;
	bool own = !n || o->start.condition.kind || o->stop.condition.kind;

	t->counts.spans = 0;
	for (size_t i = 0; i < (own ? t->n_spans : n); i++)
		if (own && n)
			put_overlaps(cut, kept_span(t, i), before, n, &k, &t->counts.spans, lines);
		else
			put_span(cut, own ? kept_span(t, i) : before[i], &t->counts.spans, lines);
	/* nothing of it was recorded: without a span it would be whole */
	if (own && n && t->n_spans && !t->counts.spans)
		put_span(NULL, (struct kept_span){ kept_span(t, 0).start_ns, kept_span(t, 0).start_ns },
			 &t->counts.spans, lines);
	free(before);
}

/* When what the first span began with happened, be it in this choice or in the last one that had a start. */
static void put_trigger(const struct thinning *t, struct buf *lines)
{
	const char *before = meta_get(&t->session->reader->meta, "trigger_ns");

	if (t->options->start.condition.kind && t->n_spans)
		meta_put_u64(lines, "trigger_ns", t->spans[0].trigger_ns);
	else if (!t->options->start.condition.kind && before)
		meta_put(lines, "trigger_ns", before);
}

/* What the trace was chosen by before, and is now. */
static void put_thinned(const struct thinning *t, struct buf *lines)
{
	const char *before = thinned_by(&t->session->reader->meta),
		   *now = t->options->unnamed ? NULL : t->options->what;
	char *both = before && now ? xasprintf("%s, then %s", before, now) : NULL;

	if (before || now)
		meta_put(lines, "thinned", both ? both : now ? now : before);
	free(both);
}

/* Threads that both this and an earlier choice has. */
static void put_threads(const struct thinning *t, struct buf *lines)
{
	const struct threads *all = t->session->threads;
	bool *both;

	if (!t->options->filter.threads && !all->chosen)
		return;
	both = xcalloc(all->count + 1, sizeof *both);
	for (size_t i = 0; i < all->count; i++)
		both[i] = threads_is_chosen(all, (long)i) &&
			  (!t->options->filter.threads || t->options->filter.threads[i]);
	thinned_put_threads(lines, both, all->count);
	free(both);
}

/* The counters go on: what is looked at now is what was left then. */
static void put_left_out(const struct thinning *t, struct buf *lines)
{
	const struct meta *before = &t->session->reader->meta;
	uint64_t left_before = 0;

	for (int i = 0; i < THIN_REASONS; i++) {
		const char *reason = thin_reason_name((enum thin_reason)i);
		uint64_t n = thinned_left_out(before, reason);

		left_before += n;
		buf_printf(lines, "left_out.%s=%llu\n", reason, (unsigned long long)(n + t->counts.left_out[i]));
	}
	meta_put_u64(lines, "left_out.calls",
		     t->by_frame ? left_before + t->counts.calls : thinned_left_out(before, "calls"));
}

void thin_put_meta(struct thinning *t, struct builder *b)
{
	const struct reader *r = t->session->reader;
	struct buf lines = { 0 };

	thin_copy_meta(&r->meta, &lines);
	put_thinned(t, &lines);
	put_threads(t, &lines);
	meta_put(&lines, "filtered",
		 t->by_frame || thinned_is_filtered(&r->meta) ? "yes" : "no");
	put_spans(t, &lines);
	put_trigger(t, &lines);
	thin_put_kfi(t, &lines);
	put_left_out(t, &lines);
	builder_put_table(b, CHUNK_META, &lines, BUILDER_TABLES_LEVEL);
	buf_free(&lines);
}
