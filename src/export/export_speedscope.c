/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file for speedscope.app: a profile for each thread, with its calls over the time that the thread itself ran: what
 * it waited is not there, so that all boxes of a function together are what ran in it.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/spool.h"
#include "export.h"

static const char kept[] = "calls of threads";

struct of_profile {
	bool any;
	char *name;
	uint64_t begin_ns, end_ns;
};

struct speedscope {
	const struct session *session;
	struct spool spool; /* a stream for each thread: its events */
	struct of_profile *profiles;
	size_t cap;
	uint32_t *frames;    /* by function: its number among those that are there, from 1 on */
	uint32_t *functions; /* that are there */
	size_t n_functions, cap_functions;
};

static uint32_t frame_of(struct speedscope *s, uint32_t function)
{
	if (!s->frames[function]) {
		s->functions = array_grow(s->functions, s->n_functions, &s->cap_functions, sizeof *s->functions);
		s->functions[s->n_functions++] = function;
		s->frames[function] = (uint32_t)s->n_functions;
	}
	return s->frames[function] - 1;
}

static struct of_profile *profile_of(struct speedscope *s, struct call_stream *stream, const struct stream_item *item)
{
	struct of_profile *p;

	s->profiles = array_reach(s->profiles, item->thread, &s->cap, sizeof *s->profiles);
	p = &s->profiles[item->thread];
	if (!p->any) {
		const struct stream_thread *t = call_stream_thread(stream, item->thread);

		p->any = true;
		p->name = xasprintf("%s (%" PRIu32 ")", t->name, t->pid);
		p->begin_ns = item->own_ns;
	}
	p->end_ns = item->own_ns;
	return p;
}

static int take(void *state, struct call_stream *stream, const struct stream_item *item, struct error *err)
{
	struct speedscope *s = state;
	struct spool_stream *events;

	if (item->kind != STREAM_BEGIN && item->kind != STREAM_END)
		return 0;
	profile_of(s, stream, item);
	events = spool_at(&s->spool, item->thread);
	buf_printf(&events->text, "%s{\"type\":\"%c\",\"frame\":%" PRIu32 ",\"at\":%" PRIu64 "}",
		   events->text.len || events->n_blocks ? ",\n" : "", item->kind == STREAM_BEGIN ? 'O' : 'C',
		   frame_of(s, item->function), item->own_ns);
	return spool_pass(&s->spool, item->thread, kept, err);
}

/* The rest of a profile's object, whose beginning is there. */
static int put_events(struct speedscope *s, uint32_t thread, struct json *j, struct error *err)
{
	int r;

	buf_printf(&j->text, ",\"events\":[");
	json_flush(j);
	r = j->failed ? -1 : spool_copy(&s->spool, thread, j->sink, kept, err);
	buf_printf(&j->text, "]");
	return r;
}

static int put_profiles(struct speedscope *s, struct json *j, struct error *err)
{
	int r = 0;

	json_rows(j, "profiles");
	for (uint32_t i = 0; i < s->cap && r == 0; i++) {
		const struct of_profile *p = &s->profiles[i];

		if (!p->any)
			continue;
		json_object(j, NULL);
		json_text(j, "type", "evented");
		json_text(j, "name", p->name);
		json_text(j, "unit", "nanoseconds");
		json_number(j, "startValue", p->begin_ns);
		json_number(j, "endValue", p->end_ns);
		r = put_events(s, i, j, err);
		json_close(j);
	}
	json_close(j);
	return r;
}

static void put_frames(const struct speedscope *s, struct json *j)
{
	json_object(j, "shared");
	json_rows(j, "frames");
	for (size_t i = 0; i < s->n_functions; i++) {
		const char *object = names_object(s->session->names, s->functions[i]);

		json_object(j, NULL);
		json_text(j, "name", names_function(s->session->names, s->functions[i]));
		if (*object)
			json_text(j, "file", object);
		json_close(j);
	}
	json_close(j);
	json_close(j);
}

static int write_all_of(struct speedscope *s, const struct export_options *options, const struct sink *sink,
			struct error *err)
{
	struct json json;
	int r;

	json_init(&json, sink);
	json_object(&json, NULL);
	json_text(&json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_text(&json, "exporter", "upto");
	json_text(&json, "name", options->title);
	put_frames(s, &json);
	r = put_profiles(s, &json, err);
	json_close(&json);
	if (json_end(&json, r < 0 && !json.failed ? &(struct error){ 0 } : err) < 0)
		r = -1;
	return r;
}

static int put(const struct session *session, const struct export_options *options, const struct sink *sink,
	       struct error *err)
{
	struct speedscope s = {
		.session = session,
		.frames = xcalloc(names_count(session->names), sizeof *s.frames),
	};
	const struct stream_listener to = { take, &s };
	struct stream_options part = options->part;
	int r;

	part.calls_only = true;
	spool_init(&s.spool);
	r = call_stream_tell(session, &part, &to, options->left, err);
	if (r == 0)
		r = write_all_of(&s, options, sink, err);
	for (size_t i = 0; i < s.cap; i++)
		free(s.profiles[i].name);
	free(s.profiles);
	free(s.frames);
	free(s.functions);
	spool_deinit(&s.spool);
	return r;
}

const struct exporter export_speedscope = {
	.name = "speedscope",
	.help = "calls of each thread over its own time, for speedscope.app",
	.kind = EXPORTS_STREAM,
	.call_bytes = 80,
	.put = put,
};
