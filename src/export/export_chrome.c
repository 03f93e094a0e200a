/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chrome's trace events (the Trace Event Format), as chrome://tracing, Perfetto and many others read them: begins and
 * ends of calls, who ran on which CPU, lines of the log and trace events. Times are microseconds with three places.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/json.h"
#include "export.h"

/* The process that has a thread for each CPU: no PID is as large. */
enum { CPUS_PROCESS = 0x7fffffff };

struct chrome {
	const struct session *session;
	const struct export_options *options;
	struct json *json;
	/* of each vCPU: the name of who runs there, and since when; NULL: nobody, or it is idle */
	struct on_cpu {
		const char *name;
		uint64_t since_ns;
		bool named;
		bool told; /* who runs there was */
	} * cpus;
	size_t n_cpus;
	uint64_t last_ns;
	struct buf text;
};

static void begin_event(struct chrome *c, const char *phase, uint32_t process, uint32_t thread)
{
	json_object(c->json, NULL);
	json_text(c->json, "ph", phase);
	json_number(c->json, "pid", process);
	json_number(c->json, "tid", thread);
}

static void put_time(struct chrome *c, const char *key, uint64_t ns)
{
	json_real(c->json, key, (double)ns / 1000, 3);
}

static void put_name(struct chrome *c, const char *what, uint32_t process, uint32_t thread, const char *name)
{
	begin_event(c, "M", process, thread);
	json_text(c->json, "name", what);
	json_object(c->json, "args");
	json_text(c->json, "name", name);
	json_close(c->json);
	json_close(c->json);
}

static const struct stream_thread *thread_of(struct chrome *c, struct call_stream *stream, uint32_t number)
{
	const struct stream_thread *t = call_stream_thread(stream, number);

	if (call_stream_meets(stream, number)) {
		put_name(c, "process_name", t->process, t->id, t->process_name);
		put_name(c, "thread_name", t->process, t->id, t->name);
	}
	return t;
}

static void put_begin(struct chrome *c, const struct stream_thread *t, const struct stream_item *item)
{
	const struct names *names = c->session->names;
	const char *object = names_object(names, item->function);

	begin_event(c, "B", t->process, t->id);
	put_time(c, "ts", item->ns);
	json_text(c->json, "name", names_function(names, item->function));
	json_text(c->json, "cat", *object ? object : names_is_user(names, item->function) ? "user" : "kernel");
	json_close(c->json);
}

static void put_end(struct chrome *c, const struct stream_thread *t, const struct stream_item *item)
{
	begin_event(c, "E", t->process, t->id);
	put_time(c, "ts", item->ns);
	json_close(c->json);
}

/* Whoever ran there does no more. */
static void end_run(struct chrome *c, unsigned cpu, uint64_t ns)
{
	struct on_cpu *on = &c->cpus[cpu];

	if (!on->name)
		return;
	begin_event(c, "X", CPUS_PROCESS, cpu);
	put_time(c, "ts", on->since_ns);
	put_time(c, "dur", ns - on->since_ns);
	json_text(c->json, "name", on->name);
	json_text(c->json, "cat", "cpu");
	json_close(c->json);
	on->name = NULL;
}

static struct on_cpu *cpu_at(struct chrome *c, unsigned cpu)
{
	char name[32];

	c->cpus = array_reach(c->cpus, cpu, &c->n_cpus, sizeof *c->cpus);
	if (!c->cpus[cpu].named) {
		snprintf(name, sizeof name, "CPU %u", cpu);
		put_name(c, "process_name", CPUS_PROCESS, cpu, "CPUs");
		put_name(c, "thread_name", CPUS_PROCESS, cpu, name);
		c->cpus[cpu].named = true;
		c->cpus[cpu].since_ns = c->options->part.from_ns;
	}
	return &c->cpus[cpu];
}

static const char *runs(struct call_stream *stream, uint32_t thread)
{
	const struct stream_thread *t = thread == STREAM_NOBODY ? NULL : call_stream_thread(stream, thread);

	return t && !t->idle ? t->name : NULL;
}

static void put_switch(struct chrome *c, struct call_stream *stream, const struct stream_item *item)
{
	struct on_cpu *on = cpu_at(c, item->cpu);

	if (!on->told)
		on->name = runs(stream, item->thread); /* since the part's begin */
	end_run(c, item->cpu, item->ns);
	on->name = runs(stream, item->next);
	on->since_ns = item->ns;
	on->told = true;
}

static void put_runs(struct chrome *c, struct call_stream *stream, const struct stream_item *item)
{
	struct on_cpu *on = cpu_at(c, item->cpu);

	end_run(c, item->cpu, item->ns);
	on->name = runs(stream, item->thread);
	on->since_ns = item->ns;
	on->told = true;
}

static void put_fact(struct chrome *c, struct call_stream *stream, const struct stream_item *item)
{
	static const struct stream_thread nobody;
	const struct stream_thread *t = &nobody;
	bool log = item->kind == STREAM_LOG;
	const char *text;

	if (item->thread != STREAM_NOBODY)
		t = thread_of(c, stream, item->thread);
	c->text.len = 0;
	if (!log)
		event_put_line(c->options->events, c->options->formats, item->fact, &c->text);
	buf_put_u8(&c->text, 0);
	text = log ? item->line->text : (const char *)c->text.data;
	begin_event(c, "i", t->process, t->id);
	put_time(c, "ts", item->ns);
	json_text(c->json, "name", log ? "printk" : "event");
	json_text(c->json, "cat", log ? "log" : "event");
	json_text(c->json, "s", "t");
	json_object(c->json, "args");
	json_text(c->json, "text", text);
	json_close(c->json);
	json_close(c->json);
}

static int take(void *state, struct call_stream *stream, const struct stream_item *item, struct error *err)
{
	struct chrome *c = state;

	c->last_ns = item->ns;
	switch (item->kind) {
	case STREAM_BEGIN:
		put_begin(c, thread_of(c, stream, item->thread), item);
		break;
	case STREAM_END:
		put_end(c, thread_of(c, stream, item->thread), item);
		break;
	case STREAM_RUNS:
		put_runs(c, stream, item);
		break;
	case STREAM_SWITCH:
		put_switch(c, stream, item);
		break;
	case STREAM_LOG:
	case STREAM_EVENT:
		put_fact(c, stream, item);
		break;
	default:
		break;
	}
	return c->json->failed ? error_set(err, "%s", c->json->err.text) : 0;
}

static int put(const struct session *session, const struct export_options *options, const struct sink *sink,
	       struct error *err)
{
	struct json json;
	struct chrome c = { .session = session, .options = options, .json = &json };
	const struct stream_listener to = { take, &c };
	int r;

	json_init(&json, sink);
	json_object(&json, NULL);
	json_text(&json, "displayTimeUnit", "ns");
	json_rows(&json, "traceEvents");
	r = call_stream_tell(session, &options->part, &to, options->left, err);
	for (unsigned i = 0; i < c.n_cpus; i++)
		end_run(&c, i, c.last_ns);
	json_close(&json);
	json_close(&json);
	if (json_end(&json, r < 0 && !json.failed ? &(struct error){ 0 } : err) < 0)
		r = -1;
	free(c.cpus);
	buf_free(&c.text);
	return r;
}

const struct exporter export_chrome = {
	.name = "chrome",
	.help = "Chrome's trace events, for chrome://tracing and others",
	.kind = EXPORTS_STREAM,
	.call_bytes = 190,
	.put = put,
};
