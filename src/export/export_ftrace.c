/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text as ftrace's function_graph tracer prints it (kernel/trace/trace_functions_graph.c, with funcgraph-abstime,
 * funcgraph-proc and funcgraph-tail): a call with nothing in it is one line, others have two, and a CPU's thread is
 * told where it changes. Lines of the log and records are comments.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "export.h"
#include "plain_text.h"

struct graph {
	const struct session *session;
	const struct export_options *options;
	const struct sink *sink;
	struct buf out, text;
	/* the last BEGIN, which is not printed yet: it may be a call with nothing in it */
	bool waiting;
	struct stream_item last;
};

static void put_lead(struct graph *g, struct call_stream *stream, const struct stream_item *item)
{
	const struct stream_thread *t = item->thread == STREAM_NOBODY ? NULL : call_stream_thread(stream, item->thread);

	buf_printf(&g->out, "%5" PRIu64 ".%09" PRIu64 " | %2u) ", item->ns / 1000000000, item->ns % 1000000000,
		   item->cpu);
	g->text.len = 0;
	plain_text_put(&g->text, t ? t->name : "?");
	buf_printf(&g->text, "-%" PRIu32, !t ? 0 : t->pid);
	buf_put_u8(&g->text, 0);
	buf_printf(&g->out, "%22s | ", (char *)g->text.data);
}

/* The mark of a long call, and its microseconds in nine columns. */
static void put_duration(struct graph *g, uint64_t ns)
{
	static const struct {
		uint64_t more_than;
		char mark;
	} marks[] = {
		{ 1000000000, '$' }, { 100000000, '@' }, { 10000000, '*' }, { 1000000, '#' },
		{ 100000, '!' },     { 10000, '+' },     { 0, ' ' },
	};
	size_t i = 0;

	while (ns <= marks[i].more_than && marks[i].more_than)
		i++;
	buf_printf(&g->out, "%c %5" PRIu64 ".%03" PRIu64 " us   |  ", marks[i].mark, ns / 1000, ns % 1000);
}

static void put_no_duration(struct graph *g)
{
	buf_printf(&g->out, "%16s|  ", "");
}

static void put_function(struct graph *g, const struct stream_item *item)
{
	plain_text_put(&g->out, names_function(g->session->names, item->function));
}

static void show_waiting(struct graph *g, struct call_stream *stream)
{
	if (!g->waiting)
		return;
	g->waiting = false;
	put_lead(g, stream, &g->last);
	put_no_duration(g);
	buf_printf(&g->out, "%*s", (int)(2 * g->last.depth), "");
	put_function(g, &g->last);
	buf_printf(&g->out, "() {\n");
}

static void end_call(struct graph *g, struct call_stream *stream, const struct stream_item *item)
{
	bool leaf = g->waiting && g->last.thread == item->thread && g->last.depth == item->depth && !item->unfinished;

	if (!leaf)
		show_waiting(g, stream);
	g->waiting = false;
	put_lead(g, stream, leaf ? &g->last : item);
	if (item->unfinished)
		put_no_duration(g);
	else
		put_duration(g, item->ns - item->entry_ns);
	buf_printf(&g->out, "%*s", (int)(2 * item->depth), "");
	if (leaf) {
		put_function(g, item);
		buf_printf(&g->out, "();\n");
		return;
	}
	buf_printf(&g->out, "} /* ");
	put_function(g, item);
	buf_printf(&g->out, " */\n");
}

static void put_switch(struct graph *g, struct call_stream *stream, const struct stream_item *item)
{
	static const char line[] = " ------------------------------------------\n";

	show_waiting(g, stream);
	buf_printf(&g->out, "%s%2u) ", line, item->cpu);
	for (int i = 0; i < 2; i++) {
		uint32_t thread = i ? item->next : item->thread;
		const struct stream_thread *t = thread == STREAM_NOBODY ? NULL : call_stream_thread(stream, thread);

		buf_printf(&g->out, "%s", i ? " => " : " ");
		plain_text_put(&g->out, t ? t->name : "?");
		buf_printf(&g->out, "-%" PRIu32, !t ? 0 : t->pid);
	}
	buf_printf(&g->out, "\n%s", line);
}

static void put_comment(struct graph *g, struct call_stream *stream, const struct stream_item *item)
{
	show_waiting(g, stream);
	put_lead(g, stream, item);
	put_no_duration(g);
	g->text.len = 0;
	if (item->kind == STREAM_EVENT)
		event_put_line(g->options->events, g->options->formats, item->fact, &g->text);
	else
		buf_printf(&g->text, "printk: %s", item->line->text);
	buf_put_u8(&g->text, 0);
	buf_printf(&g->out, "/* ");
	plain_text_put(&g->out, (char *)g->text.data);
	buf_printf(&g->out, " */\n");
}

static int take(void *state, struct call_stream *stream, const struct stream_item *item, struct error *err)
{
	struct graph *g = state;

	switch (item->kind) {
	case STREAM_BEGIN:
		show_waiting(g, stream);
		g->last = *item;
		g->waiting = true;
		break;
	case STREAM_END:
		end_call(g, stream, item);
		break;
	case STREAM_SWITCH:
		put_switch(g, stream, item);
		break;
	case STREAM_LOG:
	case STREAM_EVENT:
		put_comment(g, stream, item);
		break;
	default:
		break;
	}
	return sink_pass(g->sink, &g->out, err);
}

static int put(const struct session *session, const struct export_options *options, const struct sink *sink,
	       struct error *err)
{
	struct graph g = { .session = session, .options = options, .sink = sink };
	const struct stream_listener to = { take, &g };
	int r;

	buf_printf(
		&g.out,
		"# tracer: function_graph\n#\n#     TIME          CPU  TASK/PID              DURATION            "
		"FUNCTION CALLS\n#      |             |    |    |                 |   |               |   |   |   |\n");
	r = call_stream_tell(session, &options->part, &to, options->left, err);
	r = sink_end(sink, &g.out, r, err);
	buf_free(&g.text);
	return r;
}

const struct exporter export_ftrace = {
	.name = "ftrace",
	.help = "text as ftrace's function_graph prints it",
	.kind = EXPORTS_STREAM,
	.call_bytes = 150,
	.put = put,
};
