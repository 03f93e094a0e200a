/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view_answers.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "export/call_stream.h"
#include "report/flame.h"

struct view_call {
	long thread;
	uint32_t depth, function;
	uint64_t start_ns, end_ns;
};

struct view {
	uint64_t from_ns;
	struct view_call *calls;
	size_t count, cap;
	uint64_t items;
};

/* Enough: -1 without a message. */
static int take(void *state, struct call_stream *stream, const struct stream_item *item, struct error *err)
{
	struct view *v = state;

	(void)err;
	if (++v->items > VIEW_EVENTS_MAX || v->count >= VIEW_CALLS_MAX)
		return -1;
	if (item->kind != STREAM_END)
		return 0;
	v->calls = array_grow(v->calls, v->count, &v->cap, sizeof *v->calls);
	v->calls[v->count++] = (struct view_call){
		.thread = call_stream_thread(stream, item->thread)->number,
		.depth = item->depth,
		.function = item->function,
		.start_ns = item->entry_ns > v->from_ns ? item->entry_ns : v->from_ns,
		.end_ns = item->ns,
	};
	return 0;
}

static void put_names(const struct session *session, const struct view *v, uint32_t *numbers, struct json *j)
{
	uint32_t n = 0;

	json_array(j, "names");
	for (size_t i = 0; i < v->count; i++) {
		uint32_t *number = &numbers[v->calls[i].function];

		if (*number)
			continue;
		*number = ++n;
		json_text(j, NULL, names_function(session->names, v->calls[i].function));
	}
	json_close(j);
}

static void put_calls(const struct view *v, const uint32_t *numbers, struct json *j)
{
	json_array(j, "calls");
	for (size_t i = 0; i < v->count; i++) {
		const struct view_call *c = &v->calls[i];

		json_array(j, NULL);
		json_signed(j, NULL, c->thread);
		json_number(j, NULL, c->depth);
		json_number(j, NULL, c->start_ns);
		json_number(j, NULL, c->end_ns);
		json_number(j, NULL, numbers[c->function] - 1);
		json_close(j);
	}
	json_close(j);
}

int view_calls_put(const struct session *session, uint64_t from_ns, uint64_t to_ns, uint64_t min_ns, struct json *j,
		   struct error *err)
{
	const struct stream_options part = {
		.from_ns = from_ns,
		.to_ns = to_ns,
		.min_ns = min_ns,
		.calls_only = true,
	};
	struct view view = { .from_ns = from_ns };
	const struct stream_listener to = { take, &view };
	uint32_t *numbers = xcalloc(names_count(session->names), sizeof *numbers);
	int r;

	err->text[0] = '\0';
	r = call_stream_tell(session, &part, &to, NULL, err);
	if (r == 0 || !err->text[0]) {
		json_object(j, NULL);
		json_flag(j, "complete", r == 0);
		put_names(session, &view, numbers, j);
		put_calls(&view, numbers, j);
		json_close(j);
		r = 0;
	}
	free(view.calls);
	free(numbers);
	return r;
}

int view_flame_put(const struct session *session, const struct path_sums *sums, uint64_t from_ns, uint64_t to_ns,
		   struct json *j, struct error *err)
{
	const struct span span = { .from_ns = from_ns, .to_ns = to_ns, .cpu = -1 };
	struct flame flame;
	int r = flame_of_span(session, sums, &span, &flame, err);

	if (r == 0) {
		json_object(j, NULL);
		flame_put(&flame, session, j);
		json_close(j);
	}
	flame_deinit(&flame);
	return r;
}
