/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A row for each call, as it ends: RFC 4180, with a heading. Nothing is kept but of calls in progress. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/calls/held_calls.h"
#include "base/alloc.h"
#include "export.h"
#include "replay/fold.h"
#include "replay/story.h"

/* Calls that the replay forgot are below all others of a thread still: how many, and the innermost one's function. */
struct forgotten {
	size_t depth;
	uint32_t caller;
};

struct csv_run {
	const struct session *session;
	const struct sink *sink;
	struct error *err;
	struct held_calls held;
	bool *listed; /* by the story's number of the call */
	size_t cap;
	struct forgotten *forgotten; /* by the story's number of the thread */
	size_t forgotten_cap;
	struct buf text;
	int result;
};

static void put_field(struct buf *out, const char *text)
{
	bool quoted = text[strcspn(text, ",\"\r\n")];

	if (quoted)
		buf_put_u8(out, '"');
	for (; *text; text++) {
		if (*text == '"')
			buf_put_u8(out, '"');
		buf_put_u8(out, (uint8_t)*text);
	}
	if (quoted)
		buf_put_u8(out, '"');
}

static void put_whose(struct csv_run *run, const struct story_moment *m)
{
	const struct thread *thread = threads_at(run->session->threads, m->stack->thread);

	if (thread)
		buf_printf(&run->text, "%" PRId32, thread->pid);
	buf_put_u8(&run->text, ',');
	put_field(&run->text, threads_comm(run->session->threads, thread, m->ns));
}

static struct forgotten *forgotten_of(struct csv_run *run, uint32_t thread)
{
	run->forgotten = array_reach(run->forgotten, thread, &run->forgotten_cap, sizeof *run->forgotten);
	return &run->forgotten[thread];
}

static void put_row(struct csv_run *run, const struct story_moment *m)
{
	const struct forgotten *below = forgotten_of(run, m->thread);
	const struct names *names = run->session->names;
	const struct frame *f = m->frame;
	bool ended = m->kind == STORY_LEAVE;

	buf_printf(&run->text, "%" PRIu64 ",", f->entry_ns);
	if (ended)
		buf_printf(&run->text, "%" PRIu64, m->ns - f->entry_ns);
	buf_put_u8(&run->text, ',');
	put_whose(run, m);
	buf_printf(&run->text, ",%zu,%s,", below->depth + m->depth, frame_kind_name(f->kind));
	put_field(&run->text, names_function(names, f->function));
	buf_put_u8(&run->text, ',');
	put_field(&run->text, names_object(names, f->function));
	buf_put_u8(&run->text, ',');
	if (below->depth + m->depth)
		put_field(&run->text, names_function(names, m->depth ? f[-1].function : below->caller));
	buf_printf(&run->text, ",%" PRIu64 ",%" PRIu64 ",%s\n", m->stack->ns - f->ns, m->stack->insns - f->insns,
		   ended ? frame_end_name(m->end) : "");
}

static void hear(void *state, const struct story_moment *m)
{
	struct csv_run *run = state;

	if (m->kind == STORY_ENTER) {
		run->listed = array_reach(run->listed, m->call, &run->cap, sizeof *run->listed);
		run->listed[m->call] =
			!held_calls_enter(&run->held) && m->frame->at_start &&
			(m->frame->kind != FRAME_BASE || fold_chooses(run->session->fold, m->frame->function));
		return;
	}
	if (run->result < 0 || !run->listed[m->call] || !threads_is_chosen(run->session->threads, m->stack->thread))
		return;
	put_row(run, m);
	run->result = sink_pass(run->sink, &run->text, run->err);
	m->stacks->stop = run->result < 0;
}

/* How they end will not be told: they are rows of calls that did not, the innermost first, as at the trace's end. */
static void forget(void *state, struct stacks *s, const struct stack *stack, size_t n)
{
	struct csv_run *run = state;
	struct forgotten *below;

	for (size_t i = n; i-- > 0;)
		hear(run, &(struct story_moment){
			.kind = STORY_END, .ns = s->ns, .stacks = s, .stack = stack, .frame = &stack->frames[i],
			.depth = i, .call = story_call(&stack->frames[i]), .thread = story_thread(stack),
		});
	below = forgotten_of(run, story_thread(stack));
	below->depth += n;
	below->caller = stack->frames[n - 1].function;
}

static int put(const struct session *session, const struct export_options *options, const struct sink *sink,
	       struct error *err)
{
	static const struct story_listener listener = {
		.hear = hear,
		.forget = forget,
		.kinds = 1u << STORY_ENTER | 1u << STORY_LEAVE | 1u << STORY_END,
	};
	static const struct story_part whole = { .to_ns = UINT64_MAX };
	struct csv_run run = { .session = session, .sink = sink, .err = err };
	void *states[] = { &run };
	int r = held_calls_read(session->reader, &run.held, err);

	(void)options;
	buf_printf(&run.text, "start_ns,duration_ns,pid,comm,depth,kind,function,object,caller,own_ns,own_insns,end\n");
	if (r == 0)
		r = story_tell(session, &whole, NULL, &listener, states, 1, err);
	if (run.result < 0)
		r = run.result;
	r = sink_end(sink, &run.text, r, err);
	free(run.listed);
	free(run.forgotten);
	held_calls_deinit(&run.held);
	return r < 0 ? -1 : 0;
}

const struct exporter export_csv = {
	.name = "csv",
	.help = "a row for each call, in the order in which they ended",
	.kind = EXPORTS_ROWS,
	.put = put,
};
