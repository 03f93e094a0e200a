/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A profile for profiler.firefox.com (its processed format, version 48, which later ones take): for each thread a
 * sample wherever its stack changed, weighed with what it ran in that stack, so that all sums are exact. Lines of the
 * log and records of trace events are markers.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/spool.h"
#include "export.h"

static const char kept[] = "stacks of threads";

/* Streams of a thread in the spool: columns of its samples, and its markers. */
enum { TIMES, STACKS, WEIGHTS, MARKER_NAMES, MARKER_TIMES, MARKER_TEXTS, COLUMNS };

enum { NO_STACK = UINT32_MAX };

struct stack_node {
	uint32_t prefix, function; /* number of the function in the thread's table */
};

struct of_profile {
	bool any;
	struct stream_thread who;
	struct stack_node *nodes;
	size_t n_nodes, cap_nodes;
	struct map children; /* (prefix + 1) << 32 | function → its number + 1 */
	uint32_t *functions; /* names.h's numbers, by the thread's own */
	size_t n_functions, cap_functions;
	struct map own;                  /* names.h's number → the thread's own + 1 */
	uint32_t node;                   /* that it is in; NO_STACK */
	uint64_t since_ns, since_own_ns; /* it is in it since then */
	size_t samples, markers;
	uint64_t begin_ns, end_ns;
};

struct firefox {
	const struct session *session;
	const struct export_options *options;
	struct spool spool;
	struct of_profile *profiles;
	size_t cap;
	struct buf text;
};

static struct of_profile *profile_of(struct firefox *f, struct call_stream *stream, uint32_t thread, uint64_t ns)
{
	struct of_profile *p;

	f->profiles = array_reach(f->profiles, thread, &f->cap, sizeof *f->profiles);
	p = &f->profiles[thread];
	if (!p->any) {
		p->any = true;
		p->who = *call_stream_thread(stream, thread);
		p->node = NO_STACK;
		p->begin_ns = ns;
	}
	p->end_ns = ns;
	return p;
}

static struct buf *column(struct firefox *f, uint32_t thread, unsigned which)
{
	struct spool_stream *s = spool_at(&f->spool, (size_t)thread * COLUMNS + which);

	if (s->text.len || s->n_blocks)
		buf_put_u8(&s->text, ',');
	return &s->text;
}

static int pass(struct firefox *f, uint32_t thread, struct error *err)
{
	for (unsigned i = 0; i < COLUMNS; i++) {
		spool_at(&f->spool, (size_t)thread * COLUMNS + i);
		if (spool_pass(&f->spool, (size_t)thread * COLUMNS + i, kept, err) < 0)
			return -1;
	}
	return 0;
}

/* Milliseconds. */
static void put_ms(struct buf *out, uint64_t ns)
{
	buf_printf(out, "%" PRIu64 ".%06" PRIu64, ns / 1000000, ns % 1000000);
}

static uint32_t function_of(struct of_profile *p, uint32_t function)
{
	uint64_t *own = map_put(&p->own, function + UINT64_C(1), 0);

	if (!*own) {
		p->functions = array_grow(p->functions, p->n_functions, &p->cap_functions, sizeof *p->functions);
		p->functions[p->n_functions++] = function;
		*own = p->n_functions;
	}
	return (uint32_t)*own - 1;
}

static uint32_t child_of(struct of_profile *p, uint32_t node, uint32_t function)
{
	uint32_t own = function_of(p, function);
	uint64_t *child = map_put(&p->children, (uint64_t)(node + 1) << 32 | own, 0);

	if (!*child) {
		p->nodes = array_grow(p->nodes, p->n_nodes, &p->cap_nodes, sizeof *p->nodes);
		p->nodes[p->n_nodes++] = (struct stack_node){ node, own };
		*child = p->n_nodes;
	}
	return (uint32_t)*child - 1;
}

/* What it ran in the stack that it is in becomes a sample. */
static void put_sample(struct firefox *f, struct of_profile *p, const struct stream_item *item)
{
	uint64_t ran = item->own_ns - p->since_own_ns;

	if (p->node != NO_STACK && ran && item->own_ns > p->since_own_ns) {
		put_ms(column(f, item->thread, TIMES), p->since_ns);
		buf_printf(column(f, item->thread, STACKS), "%" PRIu32, p->node);
		put_ms(column(f, item->thread, WEIGHTS), ran);
		p->samples++;
	}
	p->since_ns = item->ns;
	p->since_own_ns = item->own_ns;
}

/* {"type":"Text","name":…} */
static void put_marker_text(struct buf *out, const char *text)
{
	struct buf line = { 0 };
	const struct sink sink = sink_into(&line);
	struct json json;

	json_init(&json, &sink);
	json_object(&json, NULL);
	json_text(&json, "type", "Text");
	json_text(&json, "name", text);
	json_close(&json);
	json_end(&json, &(struct error){ 0 });
	buf_put(out, line.data, line.len - 1); /* without the line's end */
	buf_free(&line);
}

static int put_marker(struct firefox *f, struct call_stream *stream, const struct stream_item *item, struct error *err)
{
	struct of_profile *p;

	if (item->thread == STREAM_NOBODY)
		return 0;
	p = profile_of(f, stream, item->thread, item->ns);
	f->text.len = 0;
	if (item->kind == STREAM_EVENT)
		event_put_line(f->options->events, f->options->formats, item->fact, &f->text);
	else
		buf_printf(&f->text, "%s", item->line->text);
	buf_put_u8(&f->text, 0);
	/* strings of markers come first in the thread's table: 0 is the log's, 1 events' */
	buf_printf(column(f, item->thread, MARKER_NAMES), "%d", item->kind == STREAM_EVENT);
	put_ms(column(f, item->thread, MARKER_TIMES), item->ns);
	put_marker_text(column(f, item->thread, MARKER_TEXTS), (char *)f->text.data);
	p->markers++;
	return pass(f, item->thread, err);
}

static int take(void *state, struct call_stream *stream, const struct stream_item *item, struct error *err)
{
	struct firefox *f = state;
	struct of_profile *p;

	if (item->kind == STREAM_LOG || item->kind == STREAM_EVENT)
		return put_marker(f, stream, item, err);
	if (item->kind != STREAM_BEGIN && item->kind != STREAM_END)
		return 0;
	p = profile_of(f, stream, item->thread, item->ns);
	put_sample(f, p, item);
	if (item->kind == STREAM_BEGIN)
		p->node = child_of(p, p->node, item->function);
	else if (p->node != NO_STACK)
		p->node = p->nodes[p->node].prefix;
	return pass(f, item->thread, err);
}

/* "key":[column] */
static int put_column(struct firefox *f, uint32_t thread, unsigned which, const char *key, struct json *j,
		      struct error *err)
{
	int r;

	json_array(j, key);
	json_flush(j);
	r = j->failed ? -1 : spool_copy(&f->spool, (size_t)thread * COLUMNS + which, j->sink, kept, err);
	json_close(j);
	return r;
}

static void put_same(struct json *j, const char *key, size_t n, uint64_t value)
{
	json_array(j, key);
	for (size_t i = 0; i < n; i++)
		json_number(j, NULL, value);
	json_close(j);
}

static void put_nulls(struct json *j, const char *key, size_t n)
{
	json_array(j, key);
	for (size_t i = 0; i < n; i++)
		json_null(j, NULL);
	json_close(j);
}

static int put_samples(struct firefox *f, uint32_t thread, struct json *j, struct error *err)
{
	const struct of_profile *p = &f->profiles[thread];
	int r;

	json_object(j, "samples");
	json_number(j, "length", p->samples);
	json_text(j, "weightType", "tracing-ms");
	r = put_column(f, thread, TIMES, "time", j, err);
	if (r == 0)
		r = put_column(f, thread, STACKS, "stack", j, err);
	if (r == 0)
		r = put_column(f, thread, WEIGHTS, "weight", j, err);
	json_close(j);
	return r;
}

static int put_markers(struct firefox *f, uint32_t thread, struct json *j, struct error *err)
{
	const struct of_profile *p = &f->profiles[thread];
	int r;

	json_object(j, "markers");
	json_number(j, "length", p->markers);
	r = put_column(f, thread, MARKER_NAMES, "name", j, err);
	if (r == 0)
		r = put_column(f, thread, MARKER_TIMES, "startTime", j, err);
	if (r == 0)
		r = put_column(f, thread, MARKER_TEXTS, "data", j, err);
	put_nulls(j, "endTime", p->markers);
	put_same(j, "phase", p->markers, 0);
	put_same(j, "category", p->markers, 0);
	json_close(j);
	return r;
}

enum { CATEGORY_OTHER, CATEGORY_KERNEL, CATEGORY_USER };
enum { MARKER_STRINGS = 2 };

static unsigned category_of(const struct firefox *f, uint32_t function)
{
	return names_is_user(f->session->names, function)     ? CATEGORY_USER
	       : names_is_kernel(f->session->names, function) ? CATEGORY_KERNEL
							      : CATEGORY_OTHER;
}

static void put_stacks(const struct firefox *f, const struct of_profile *p, struct json *j)
{
	json_object(j, "stackTable");
	json_number(j, "length", p->n_nodes);
	json_array(j, "prefix");
	for (size_t i = 0; i < p->n_nodes; i++)
		json_known(j, NULL, p->nodes[i].prefix != NO_STACK, p->nodes[i].prefix);
	json_close(j);
	json_array(j, "frame");
	for (size_t i = 0; i < p->n_nodes; i++)
		json_number(j, NULL, p->nodes[i].function);
	json_close(j);
	json_array(j, "category");
	for (size_t i = 0; i < p->n_nodes; i++)
		json_number(j, NULL, category_of(f, p->functions[p->nodes[i].function]));
	json_close(j);
	put_same(j, "subcategory", p->n_nodes, 0);
	json_close(j);
}

/* A frame is its function: they have the same numbers. */
static void put_functions(const struct firefox *f, const struct of_profile *p, struct json *j)
{
	static const char *const nulls[] = { "nativeSymbol", "innerWindowID", "implementation", "line", "column" };
	size_t n = p->n_functions;

	json_object(j, "frameTable");
	json_number(j, "length", n);
	json_array(j, "address");
	for (size_t i = 0; i < n; i++)
		json_signed(j, NULL, -1);
	json_close(j);
	put_same(j, "inlineDepth", n, 0);
	json_array(j, "category");
	for (size_t i = 0; i < n; i++)
		json_number(j, NULL, category_of(f, p->functions[i]));
	json_close(j);
	put_same(j, "subcategory", n, 0);
	json_array(j, "func");
	for (size_t i = 0; i < n; i++)
		json_number(j, NULL, i);
	json_close(j);
	for (size_t i = 0; i < sizeof nulls / sizeof *nulls; i++)
		put_nulls(j, nulls[i], n);
	json_close(j);
	json_object(j, "funcTable");
	json_number(j, "length", n);
	json_array(j, "name");
	for (size_t i = 0; i < n; i++)
		json_number(j, NULL, MARKER_STRINGS + i);
	json_close(j);
	json_array(j, "isJS");
	for (size_t i = 0; i < n; i++)
		json_flag(j, NULL, false);
	json_close(j);
	json_array(j, "relevantForJS");
	for (size_t i = 0; i < n; i++)
		json_flag(j, NULL, false);
	json_close(j);
	json_array(j, "resource");
	for (size_t i = 0; i < n; i++)
		json_signed(j, NULL, -1);
	json_close(j);
	put_nulls(j, "fileName", n);
	put_nulls(j, "lineNumber", n);
	put_nulls(j, "columnNumber", n);
	json_close(j);
}

static void put_strings(const struct firefox *f, const struct of_profile *p, struct json *j)
{
	json_array(j, "stringArray");
	json_text(j, NULL, "printk");
	json_text(j, NULL, "event");
	for (size_t i = 0; i < p->n_functions; i++)
		json_text(j, NULL, names_function(f->session->names, p->functions[i]));
	json_close(j);
}

/* Tables that a thread must have, though nothing is in them. */
static void put_empty(struct json *j)
{
	static const char *const resources[] = { "lib", "name", "host", "type" };
	static const char *const symbols[] = { "libIndex", "address", "name", "functionSize" };

	json_object(j, "resourceTable");
	json_number(j, "length", 0);
	for (size_t i = 0; i < sizeof resources / sizeof *resources; i++)
		put_nulls(j, resources[i], 0);
	json_close(j);
	json_object(j, "nativeSymbols");
	json_number(j, "length", 0);
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
		put_nulls(j, symbols[i], 0);
	json_close(j);
	put_nulls(j, "pausedRanges", 0);
}

static int put_thread(struct firefox *f, uint32_t thread, struct json *j, struct error *err)
{
	const struct of_profile *p = &f->profiles[thread];
	char number[16];
	int r;

	json_object(j, NULL);
	json_text(j, "processType", "default");
	json_text(j, "name", p->who.name);
	json_text(j, "processName", p->who.process_name);
	json_flag(j, "isMainThread", p->who.id == p->who.process);
	snprintf(number, sizeof number, "%" PRIu32, p->who.process);
	json_text(j, "pid", number);
	json_number(j, "tid", p->who.id);
	json_real(j, "processStartupTime", (double)p->begin_ns / 1e6, 6);
	json_null(j, "processShutdownTime");
	json_real(j, "registerTime", (double)p->begin_ns / 1e6, 6);
	json_null(j, "unregisterTime");
	r = put_samples(f, thread, j, err);
	if (r == 0)
		r = put_markers(f, thread, j, err);
	put_stacks(f, p, j);
	put_functions(f, p, j);
	put_strings(f, p, j);
	put_empty(j);
	json_close(j);
	return r;
}

static void put_category(struct json *j, const char *name, const char *color)
{
	json_object(j, NULL);
	json_text(j, "name", name);
	json_text(j, "color", color);
	json_array(j, "subcategories");
	json_text(j, NULL, "Other");
	json_close(j);
	json_close(j);
}

static void put_meta(const struct firefox *f, struct json *j)
{
	json_object(j, "meta");
	json_number(j, "interval", 1);
	json_number(j, "startTime", 0);
	json_number(j, "processType", 0);
	json_text(j, "product", f->options->title);
	json_number(j, "stackwalk", 1);
	json_number(j, "version", 27);
	json_number(j, "preprocessedProfileVersion", 48);
	json_text(j, "oscpu", "Linux");
	json_flag(j, "symbolicated", true);
	json_array(j, "categories");
	put_category(j, "Other", "grey");
	put_category(j, "Kernel", "orange");
	put_category(j, "User", "blue");
	json_close(j);
	json_array(j, "markerSchema");
	json_object(j, NULL);
	json_text(j, "name", "Text");
	json_text(j, "tableLabel", "{marker.data.name}");
	json_array(j, "display");
	json_text(j, NULL, "marker-chart");
	json_text(j, NULL, "marker-table");
	json_close(j);
	json_array(j, "data");
	json_object(j, NULL);
	json_text(j, "key", "name");
	json_text(j, "label", "Text");
	json_text(j, "format", "string");
	json_close(j);
	json_close(j);
	json_close(j);
	json_close(j);
	json_close(j);
}

static int write_all_of(struct firefox *f, const struct sink *sink, struct error *err)
{
	struct json json;
	int r = 0;

	json_init(&json, sink);
	json_object(&json, NULL);
	put_meta(f, &json);
	put_nulls(&json, "libs", 0);
	put_nulls(&json, "pages", 0);
	json_rows(&json, "threads");
	for (uint32_t i = 0; i < f->cap && r == 0; i++)
		if (f->profiles[i].any)
			r = put_thread(f, i, &json, err);
	json_close(&json);
	json_close(&json);
	if (json_end(&json, r < 0 && !json.failed ? &(struct error){ 0 } : err) < 0)
		r = -1;
	return r;
}

static void deinit(struct firefox *f)
{
	for (size_t i = 0; i < f->cap; i++) {
		struct of_profile *p = &f->profiles[i];

		free(p->nodes);
		free(p->functions);
		map_free(&p->children);
		map_free(&p->own);
	}
	free(f->profiles);
	spool_deinit(&f->spool);
	buf_free(&f->text);
}

static int put(const struct session *session, const struct export_options *options, const struct sink *sink,
	       struct error *err)
{
	struct firefox f = { .session = session, .options = options };
	const struct stream_listener to = { take, &f };
	int r;

	spool_init(&f.spool);
	r = call_stream_tell(session, &options->part, &to, options->left, err);
	if (r == 0)
		r = write_all_of(&f, sink, err);
	deinit(&f);
	return r;
}

const struct exporter export_firefox = {
	.name = "firefox",
	.help = "a profile for profiler.firefox.com",
	.kind = EXPORTS_STREAM,
	.call_bytes = 60,
	.put = put,
};
