/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "thin_make.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/calls/held_calls.h"
#include "analysis/sums/left_functions.h"
#include "base/alloc.h"
#include "trace/damage.h"
#include "trace/facts.h"
#include "trace/sites.h"
#include "trace/texts.h"
#include "trace/thinned.h"

/* A vCPU. */
struct thin_lane {
	struct cpu_state state;   /* before the event that is looked at, whether or not it remains */
	struct cpu_state written; /* of what was written */
	/* number of the span, from 1 on, that it has a gap or the trace's begin for; 0: none */
	size_t span;
	bool held;                /* a clock that was left out last, and may be needed yet … */
	uint64_t held_insns, held_ns;
	uint64_t any_ns;          /* of the last event */
	size_t range;             /* number of the range that is under way */
	size_t record;            /* of the trace's records of tasks, those before this one are of earlier clocks */
	uint64_t last_ns;         /* of the last event in the span, whether or not it remains … */
	bool paused;              /* … and the vCPU is halted behind it */
	bool unclocked;           /* the last that was written has no clock behind it */
	uint32_t function, thin_function; /* where control is, and where it is according to what was written */
	bool moved;               /* an event with a target, to be looked at when it has been replayed … */
	bool moved_thin;          /* … and it was written */
};

struct writing {
	struct thinning *t;
	struct builder *builder;  /* NULL: only count */
	struct thin_lane *lanes;
	unsigned n_lanes;
	uint64_t event, n_frames, left; /* left: as thinning's n_left */
	size_t span;              /* number of the span that comes next, or is under way */
	/* the event that was replayed last: whether it remains is known when all its frames are */
	struct event pending;
	uint64_t args[EVENT_ARGS];
	uint64_t pending_number;
	unsigned pending_cpu;
	bool has_pending, has_frame, remains, old_frame; /* old: it leaves one from before the span */
	uint64_t remaining;
	struct thin_search *search; /* only count, and look for a moment; NULL: write */
	uint64_t moment_ns;       /* of the last event */
	uint64_t last_frame;      /* with `over`: number of the last frame that is entered in a span */
	bool over;                /* all spans are */
	uint64_t old_gap;         /* number of the last gap that the trace itself has; 0: none */
	uint64_t gaps;            /* numbers of gaps that were written … */
	uint64_t gap_of_old;      /* … of which the last begins with the old one of that number … */
	size_t gap_span;          /* … in that span */
	struct sites sites;       /* those that events of the trace need … */
	uint32_t *site_of;        /* … by the number that the whole trace has, 0: not yet */
	struct thin_ranges ranges;
	uint64_t *since;          /* by stack: when its thread left its vCPU; only with thinning's finds */
	struct buf found;         /* what threads are in the middle of, for the next gap (CHUNK_STACKS) … */
	size_t found_span;        /* … of that span, from 1 on; 0: none … */
	uint64_t found_gap;       /* … behind that gap of the trace itself */
	size_t found_bytes;       /* of all gaps so far */
};

struct sums_copy {
	struct builder *builder;
	bool only_pairs;
};

#ifdef UPTO_SMALL_CHUNKS /* as in trace/codec.h */
enum { CHUNK_EVENTS_MAX = 1 };
#else
enum { CHUNK_EVENTS_MAX = 2 << 20 };
#endif

static bool in_span(struct writing *w, uint64_t event, uint64_t ns)
{
	const struct thinning *t = w->t;

	while (w->span < t->n_spans && event >= t->spans[w->span].to)
		w->span++;
	return w->span < t->n_spans && event >= t->spans[w->span].from && ns >= t->spans[w->span].from_ns;
}

static uint32_t site_of(struct writing *w, uint32_t number)
{
	if (number < SITE_FIRST)
		return number;
	if (!w->site_of[number])
		w->site_of[number] = sites_add(&w->sites, sites_get(&w->t->session->reader->sites, number));
	return w->site_of[number];
}

/* Gaps of all vCPUs have the same number until the next span or the next gap of the trace itself. */
static uint64_t gap_number(struct writing *w)
{
	if (!w->gaps || w->gap_span != w->span || w->gap_of_old != w->old_gap)
		w->gaps++;
	w->gap_span = w->span;
	w->gap_of_old = w->old_gap;
	return w->gaps;
}

static void put_event(struct writing *w, unsigned cpu, const struct event *e)
{
	struct thin_lane *lane = &w->lanes[cpu];

	if (w->builder) {
		struct encoder *enc = builder_encoder(w->builder, cpu);

		*encoder_next(enc) = *e;
		encoder_next(enc)->site = site_of(w, e->site);
		encoder_added(enc);
		if (event_n_args(e->kind))
			encoder_flush(enc); /* its arguments are not kept */
		if (enc->events >= CHUNK_EVENTS_MAX && event_has_clock(e->kind))
			builder_end_chunk(w->builder, cpu, 0);
	}
	w->remaining++;
	cpu_state_advance(&lane->written, e);
	lane->unclocked = !event_has_clock(e->kind);
}

static void put_clock(struct writing *w, unsigned cpu, uint64_t insns, uint64_t ns)
{
	put_event(w, cpu, &(struct event){ .kind = EVENT_CLOCK, .site = EVENT_CLOCK, .insns = insns, .ns = ns });
}

/*
 * Where control was right before the event. An arrival does not tell, but where all events are arrivals, it was in the
 * one before.
 */
static uint64_t place_before(const struct writing *w, const struct event *e, uint64_t otherwise)
{
	const struct reader *r = w->t->session->reader;
	const struct site *site = e->site < SITE_FIRST ? NULL : sites_get(&r->sites, e->site);

	if (reader_lacks(r, "stacks"))
		return otherwise;
	if (e->from)
		return e->from;
	return site && addr_is_kernel(site->addr) ? site->addr : otherwise;
}

/* A span that begins with an event has nothing of what was before it on this vCPU. */
static void go_to_event(const struct writing *w, struct cpu_state *state)
{
	state->insns = w->pending.insns;
	state->ns = w->pending.ns;
	state->place = place_before(w, &w->pending, state->place);
}

/*
 * On another one, nothing of what was before that time: up to the next instruction then, of those before the vCPU's
 * next event.
 */
static void go_to_time(const struct event *next, uint64_t ns, struct cpu_state *state)
{
	double step =
		next->insns > state->insns ? (double)(next->ns - state->ns) / (double)(next->insns - state->insns) : 0;
	uint64_t insns;

	if (state->ns >= ns || ns > next->ns)
		return;
	if (state->halted) {
		state->ns = ns;
		return;
	}
	insns = !step ? 0 : (uint64_t)((double)(ns - state->ns) / step) + 1;
	state->ns = insns ? state->ns + (uint64_t)((double)insns * step) : ns;
	state->insns += insns;
	if (state->insns >= next->insns || state->ns > next->ns) {
		state->insns = next->insns;
		state->ns = next->ns;
	}
}

/* Where control is behind a gap. Of programs that is known with the next event only. */
static uint32_t function_at(const struct writing *w, uint64_t place, uint64_t ns)
{
	const struct names *names = w->t->session->names;

	return addr_is_kernel(place) ? names_place(names, place, ns, 0).function : names->groups + GROUP_UNKNOWN;
}

/* What the gap that begins has of stacks. */
static void put_found(struct writing *w)
{
	builder_put_table(w->builder, CHUNK_STACKS, &w->found, BUILDER_TABLES_LEVEL);
	buf_free(&w->found);
	w->found = (struct buf){ 0 };
}

/* The gap ends with the last event before, whose time is known, but while the vCPU is halted, with the span's begin. */
static void put_gap(struct writing *w, unsigned cpu, enum gap_reason reason, uint64_t lost)
{
	struct thin_lane *lane = &w->lanes[cpu];
	const struct thin_span *span = &w->t->spans[w->span];
	struct cpu_state state = lane->state;

	state.ns = lane->any_ns;
	if (reason == GAP_NOT_ASKED && w->pending_number == span->from && !span->from_ns)
		go_to_event(w, &state);
	else if (state.halted)
		go_to_time(&w->pending, span->from_ns ? span->from_ns : span->start_ns, &state);
	else if (w->span) /* all stacks end with a gap: it must not come before the end of the span before */
		go_to_time(&w->pending, span[-1].stop_ns, &state);
	if (w->builder)
		builder_put_gap(w->builder, cpu, &state, reason, gap_number(w), lost);
	if (w->found.len)
		put_found(w);
	lane->written = state;
	lane->thin_function = function_at(w, state.place, state.ns);
	lane->unclocked = false;
	lane->held = false;
}

/* The last clock of a span: up to there the vCPU's time is known. */
static void close_lane(struct writing *w, unsigned cpu)
{
	struct thin_lane *lane = &w->lanes[cpu];
	uint64_t insns;

	if (!lane->span)
		return;
	insns = w->ranges.list[lane->range].to;
	if (insns <= lane->written.insns && lane->last_ns <= lane->written.ns)
		return;
	put_clock(w, cpu, insns, lane->last_ns);
}

/* The same at its end: one that is halted then has been so up to there. */
static void end_lane(struct writing *w, unsigned cpu)
{
	struct thin_lane *lane = &w->lanes[cpu];
	uint64_t stop_ns = lane->span ? w->t->spans[lane->span - 1].stop_ns : 0;

	if (lane->paused && stop_ns != UINT64_MAX && stop_ns > lane->last_ns)
		lane->last_ns = stop_ns;
	close_lane(w, cpu);
}

/* The vCPU's first event in a span comes behind a gap, but for the trace's own begin. */
static void enter_span(struct writing *w, unsigned cpu)
{
	struct thin_lane *lane = &w->lanes[cpu];
	const struct cpu_state *s = &lane->state;
	bool is_new = lane->span != w->span + 1;

	if (is_new)
		end_lane(w, cpu);
	lane->span = w->span + 1;
	if (is_new) {
		w->ranges.list = array_grow(w->ranges.list, w->ranges.count, &w->ranges.cap, sizeof *w->ranges.list);
		lane->range = w->ranges.count++;
		w->ranges.list[lane->range] = (struct thin_range){ .cpu = cpu, .from = s->insns };
	}
	if (is_new && w->pending.kind != EVENT_GAP && (s->insns || s->ns || s->place))
		put_gap(w, cpu, GAP_NOT_ASKED, 0);
}

/* An event remains: so do the clocks around it, so that its time remains what it was. */
static void put_pending(struct writing *w)
{
	struct thin_lane *lane = &w->lanes[w->pending_cpu];

	if (lane->held && !event_has_clock(w->pending.kind))
		put_clock(w, w->pending_cpu, lane->held_insns, lane->held_ns);
	lane->held = false;
	put_event(w, w->pending_cpu, &w->pending);
	lane->moved_thin = lane->moved;
}

static void leave_out_pending(struct writing *w)
{
	struct thin_lane *lane = &w->lanes[w->pending_cpu];
	const struct event *e = &w->pending;

	if (!event_has_clock(e->kind))
		return;
	if (lane->unclocked) {
		put_clock(w, w->pending_cpu, e->insns, e->ns);
		lane->held = false;
		return;
	}
	lane->held = true;
	lane->held_insns = e->insns;
	lane->held_ns = e->ns;
}

/*
 * Is the clock the one at which a task was made, or another program began? From there on the task has a stack, and time
 * is the program's.
 */
static bool is_of_program(const struct writing *w)
{
	const struct task_records *tasks = &w->t->session->reader->tasks;
	struct thin_lane *lane = &w->lanes[w->pending_cpu];

	for (; lane->record < tasks->count; lane->record++) {
		const struct task_record *r = &tasks->records[lane->record];

		if (r->cpu == w->pending_cpu && (r->change == TASK_NEW || r->change == TASK_EXEC) &&
		    r->insns >= w->pending.insns)
			return r->insns == w->pending.insns;
	}
	return false;
}

static bool pending_remains(const struct writing *w)
{
	if (!w->t->by_frame)
		return true;
	if (w->has_frame)
		return w->remains && !w->old_frame;
	switch (w->pending.kind) {
	case EVENT_HALT:
	case EVENT_RESUME:
	case EVENT_TASK_SWITCH:
	case EVENT_ADDRESS_SPACE:
		return true;
	case EVENT_CLOCK:
		return is_of_program(w);
	case EVENT_JUMP:
	case EVENT_JUMP_INDIRECT:
	case EVENT_ARRIVE:
		return false; /* it stays in the call; most are of programs whose functions have no names */
	default:
		return w->remains;
	}
}

/* The state behind a gap that the trace itself has. The page tables are not told of. */
static void go_past_gap(const struct writing *w, struct thin_lane *lane)
{
	lane->any_ns = w->pending.ns;
	lane->function = function_at(w, w->args[GAP_PLACE], w->pending.ns);
	lane->state = (struct cpu_state){
		.insns = w->pending.insns, .ns = w->pending.ns, .place = w->args[GAP_PLACE], .task = w->args[GAP_TASK],
	};
}

/* The event that was replayed last is complete. */
static void settle(struct writing *w)
{
	struct thin_lane *lane = &w->lanes[w->pending_cpu];
	bool inside;

	if (!w->has_pending)
		return;
	w->has_pending = false;
	if (w->pending.kind == EVENT_GAP)
		w->old_gap = w->args[GAP_NUMBER];
	inside = in_span(w, w->pending_number, w->pending.ns);
	if (inside) {
		enter_span(w, w->pending_cpu);
		if (w->pending.kind == EVENT_GAP) {
			close_lane(w, w->pending_cpu);
			go_past_gap(w, lane);
			put_gap(w, w->pending_cpu, (enum gap_reason)w->args[GAP_REASON], w->args[GAP_LOST]);
		} else if (pending_remains(w)) {
			put_pending(w);
		} else {
			leave_out_pending(w);
		}
		lane->last_ns = w->pending.ns;
		w->ranges.list[lane->range].to = w->pending.insns;
	}
	if (w->pending.kind == EVENT_GAP)
		go_past_gap(w, lane);
	lane->any_ns = w->pending.ns;
	cpu_state_advance(&lane->state, &w->pending);
	if (inside)
		lane->paused = lane->state.halted;
}

/* Modulo 2^64: a damaged trace may have anything. */
static void move_sum(const struct thinning *t, uint32_t function, uint64_t insns, uint64_t ns)
{
	t->insns[function] = (int64_t)((uint64_t)t->insns[function] + insns);
	t->ns[function] = (int64_t)((uint64_t)t->ns[function] + ns);
}

/*
 * Is the time up to the event in what is written: is the vCPU in the span, or is that its first event, and the span the
 * trace's begin?
 */
static bool is_written(const struct writing *w, const struct thin_lane *lane)
{
	const struct thin_span *first = w->t->spans;

	return lane->span == w->span + 1 || (!lane->span && !w->span && !first->from && !first->from_ns);
}

/* What top will say of the time up to the event, and what it should. */
static void compare_functions(struct writing *w, struct thin_lane *lane, const struct stack *stack,
			      const struct spent *spent)
{
	const struct thinning *t = w->t;
	const struct frame *top = stack->depth ? &stack->frames[stack->depth - 1] : NULL;
	bool chosen;

	while (t->options->thunks && top > stack->frames && t->options->thunks[top->function])
		top--;
	if (lane->moved && top)
		lane->function = top->function;
	if (lane->moved_thin && top)
		lane->thin_function = top->function;
	lane->moved = lane->moved_thin = false;
	chosen = thin_has_thread(t, stack);
	if (!t->by_frame || !is_written(w, lane) || (chosen && lane->function == lane->thin_function))
		return;
	move_sum(t, lane->thin_function, 0 - spent->insns, 0 - spent->ns);
	if (chosen)
		move_sum(t, lane->function, spent->insns, spent->ns);
}

/* The event that comes next is later than the one before: what remains so far may be what is looked for. */
static void look_for_moment(struct writing *w, struct stacks *s)
{
	struct thin_search *search = w->search;

	if (w->event && s->ns <= w->moment_ns)
		return;
	w->moment_ns = s->ns;
	search->beyond = w->remaining > search->events;
	if (search->first ? w->remaining >= search->events : !search->beyond)
		search->found = (struct thin_moment){ .event = w->event, .ns = s->ns, .frame = w->n_frames };
	s->stop |= search->first ? w->remaining >= search->events : search->beyond;
}

/* Threads by when they left their vCPUs, the longest ago first, and those that run last. */
static int by_since(const void *va, const void *vb, void *since)
{
	const uint64_t *ns = since;
	uint32_t a = *(const uint32_t *)va, b = *(const uint32_t *)vb;

	if (ns[a] != ns[b])
		return ns[a] < ns[b] ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void find_all(struct writing *w, const struct stacks *s)
{
	uint32_t *order = xcalloc(s->threads->count + 1, sizeof *order);
	size_t n = 0;

	for (uint32_t i = 0; i < s->threads->count; i++) {
		if (s->list[i].cpu >= 0)
			w->since[i] = UINT64_MAX;
		if (s->list[i].depth)
			order[n++] = i;
	}
	qsort_r(order, n, sizeof *order, by_since, w->since);
	for (size_t i = 0; i < n; i++)
		stacks_put(s, order[i], w->gaps + 1, w->since[order[i]], &w->found);
	free(order);
}

/*
 * Is the event that comes next behind a gap? Then what all threads are in the middle of goes with that, up to some size
 * in all.
 */
static void look_at_stacks(struct writing *w, const struct stacks *s)
{
	enum { FOUND_MAX = 4 << 20 };
	const struct event *e = s->event;
	uint64_t gap = e->kind == EVENT_GAP ? e->args[GAP_NUMBER] : w->old_gap;
	bool same;

	if (!w->t->finds || w->search || w->found_bytes > FOUND_MAX || !in_span(w, w->event, s->ns))
		return;
	same = w->found_span == w->span + 1 && w->found_gap == gap;
	w->found_span = w->span + 1;
	w->found_gap = gap;
	if (!same)
		find_all(w, s);
	w->found_bytes += w->found.len;
}

static void switched(void *state, struct stacks *s, const struct stack *from, const struct stack *to, unsigned cpu)
{
	struct writing *w = state;

	(void)to;
	(void)cpu;
	if (w->since)
		w->since[from - s->list] = s->ns;
}

static void found(void *state, struct stacks *s, const struct stack *stack, uint64_t since_ns)
{
	struct writing *w = state;

	if (w->since)
		w->since[stack - s->list] = since_ns;
}

/* The event that comes next is behind all spans: what the stack has spent up to it, too. */
static void stop(struct writing *w, struct stacks *s, struct stack *stack, const struct spent *spent)
{
	stack->insns -= spent->insns;
	stack->ns -= spent->ns;
	w->last_frame = w->n_frames;
	w->over = s->stop = true;
}

static void spend(void *state, struct stacks *s, struct stack *stack, const struct spent *spent)
{
	struct writing *w = state;
	unsigned cpu = (unsigned)stack->cpu;
	struct thin_lane *lane = &w->lanes[cpu];
	const struct event *e = s->event;

	settle(w);
	if (w->search)
		look_for_moment(w, s);
	if (!w->t->n_spans || w->event >= w->t->spans[w->t->n_spans - 1].to) {
		stop(w, s, stack, spent);
		return;
	}
	look_at_stacks(w, s);
	compare_functions(w, lane, stack, spent);
	w->pending = *e;
	w->pending.ns = s->ns;
	if (e->args)
		memcpy(w->args, e->args, event_n_args(e->kind) * sizeof *e->args);
	w->pending.args = w->args;
	w->pending_number = w->event++;
	w->pending_cpu = cpu;
	w->has_pending = true;
	w->has_frame = w->old_frame = false;
	w->remains = stack->depth && thin_remains(w->t, stack->frames[stack->depth - 1].data);
	lane->moved = e->target;
}

/* The event enters or leaves a frame: it remains if one of them does. */
static void look_at_frame(struct writing *w, uint32_t data)
{
	bool remains = thin_remains(w->t, data);

	w->remains = remains || (w->has_frame && w->remains);
	w->has_frame = true;
}

/* A call that is left out, of a thread that runs it no more. */
static void add_pair(struct thinning *t, const struct stack *stack, const struct frame *frame)
{
	struct left_pairs *pairs = t->options->left_out;
	uint32_t caller = frame > stack->frames ? frame[-1].function : frame->function;
	uint64_t *number = map_put(&t->pairs, (uint64_t)caller << 32 | frame->function, 0);
	struct left_pair *pair;

	if (!*number) {
		pairs->list = array_grow(pairs->list, pairs->count, &pairs->cap, sizeof *pairs->list);
		pairs->list[pairs->count++] = (struct left_pair){ .caller = caller, .function = frame->function };
		*number = pairs->count;
	}
	pair = &pairs->list[*number - 1];
	pair->calls += frame->at_start;
	pair->insns += stack->insns - frame->insns;
	pair->ns += stack->ns - frame->ns;
}

static void enter(void *state, struct stacks *s, struct stack *stack, struct frame *frame)
{
	struct writing *w = state;

	(void)stack;
	if (!frame->data)
		frame->data = (uint32_t)++w->n_frames;
	if (thin_is_entered(s, frame) && !w->over)
		look_at_frame(w, frame->data);
}

/* Was it entered in the span that is under way, or in the last one, and does it not remain? */
static bool is_left_out(const struct writing *w, const struct frame *frame)
{
	const struct thinning *t = w->t;
	size_t span = w->span < t->n_spans ? w->span : t->n_spans - 1;

	return t->n_spans && !thin_remains(t, frame->data) && frame->data > t->spans[span].first_frame &&
	       (!w->over || frame->data <= w->last_frame);
}

/* Frames are left in the order in which they were when each was chosen or not. */
static void note_held(struct writing *w, const struct stacks *s, const struct stack *stack, const struct frame *frame)
{
	const struct thinning *t = w->t;
	uint64_t i = w->left++;

	if (t->options->held && i < t->n_left && thin_remains(t, frame->data) && t->unchosen[i / 8] >> i % 8 & 1)
		held_calls_put(t->options->held, s, stack, frame);
}

static void leave(void *state, struct stacks *s, struct stack *stack, const struct frame *frame)
{
	struct writing *w = state;
	const struct thinning *t = w->t;

	if (!t->by_frame)
		return;
	if (!w->search)
		note_held(w, s, stack, frame);
	if (t->options->left_out && !w->search && w->span < t->n_spans && is_left_out(w, frame))
		add_pair(w->t, stack, frame);
	if (!s->event || w->over)
		return;
	look_at_frame(w, frame->data);
	/* the entry of one from before the span is not there */
	w->old_frame = s->end == FRAME_RETURNED && w->span < t->n_spans && frame->data <= t->spans[w->span].first_frame;
}

/* Whoever asks for what is left out compares sums with those of the whole trace, which is exact. */
static void put_sums(const struct writing *w)
{
	const struct thinning *t = w->t;
	struct buf payload = { 0 };

	if (!t->by_frame || t->options->left_out)
		return;
	left_functions_encode(t->insns, t->ns, t->options->thunks, t->session->names, &payload);
	builder_put_table(w->builder, CHUNK_SUMS, &payload, BUILDER_TABLES_LEVEL);
	buf_free(&payload);
}

static void write_end(const struct writing *w)
{
	struct buf lines = { 0 };

	for (unsigned i = 0; i < w->n_lanes; i++) {
		unsigned long long insns = builder_finish(w->builder, i);

		buf_printf(&lines, "insns.%u=%llu\n", i, insns);
	}
	thin_copy_meta(&w->t->session->reader->meta, &lines);
	meta_put_u64(&lines, "events", w->builder->events);
	damage_put_meta(w->t->session->reader, &lines);
	put_sums(w);
	builder_put_table(w->builder, CHUNK_END, &lines, BUILDER_TABLES_LEVEL);
	buf_free(&lines);
}

/* One that is damaged; those that follow it keep their numbers. */
static void leave_table_out(struct builder *b, uint16_t type)
{
	if (type == CHUNK_SYMBOLS)
		b->sink.put(b->sink.context, &(struct chunk_header){ .type = CHUNK_SYMBOLS }, &(struct buf){ 0 },
			    BUILDER_TABLES_LEVEL);
}

/*
 * Tables go over as they are. Those of symbols that the reader did not keep, behind a hole, are left out: in the part,
 * which has no hole, they would have other numbers.
 */
static int copy_tables(const struct thinning *t, struct builder *b, struct error *err)
{
	const struct reader *r = t->session->reader;
	ZSTD_DCtx *zstd = ZSTD_createDCtx();
	struct buf packed = { 0 }, data = { 0 };
	size_t n_symbols = 0;
	int result = 0;

	for (size_t i = 0; i < r->n_chunks && result == 0; i++) {
		uint16_t type = r->chunks[i].header.type;

		if (type == CHUNK_META || type == CHUNK_END || type == CHUNK_EVENTS || type == CHUNK_SITES ||
		    type == CHUNK_TEXTS || type == CHUNK_FACTS || type == CHUNK_SUMS || type == CHUNK_HELD ||
		    type == CHUNK_STACKS || (type == CHUNK_SYMBOLS && n_symbols++ >= r->n_symbols))
			continue;
		result = reader_chunk(r, i, zstd, &packed, &data, err);
		if (result == 0) {
			builder_copy_table(b, &r->chunks[i].header, &packed, &data);
		} else if (err->damaged) {
			leave_table_out(b, type);
			*err = (struct error){ .text = "" };
			result = 0;
		}
	}
	ZSTD_freeDCtx(zstd);
	buf_free(&packed);
	buf_free(&data);
	return result;
}

/* Of each chunk by itself: its numbers of functions are its own. */
static int copy_sums_of(void *state, struct cursor *in, struct error *err)
{
	struct sums_copy *copy = state;
	struct left_sums sums = { 0 };
	struct buf payload = { 0 };
	int result = left_sums_decode(in, &sums, err);

	if (copy->only_pairs)
		sums.n_sums = 0;
	if (result == 0 && (sums.n_sums || sums.n_edges)) {
		left_sums_encode(&sums, &payload);
		builder_put_table(copy->builder, CHUNK_SUMS, &payload, BUILDER_TABLES_LEVEL);
	}
	left_sums_deinit(&sums);
	buf_free(&payload);
	return result;
}

/*
 * What the trace lacks itself. That is known of all of it, not of a part. Where sums are kept of what is left out now,
 * all of them are made anew: see left_functions_compare(); but not the pairs.
 */
static int copy_sums(const struct thinning *t, struct builder *b, struct error *err)
{
	const struct thin_options *o = t->options;
	struct sums_copy copy = { .builder = b, .only_pairs = t->by_frame };

	if (o->start.condition.kind || o->stop.condition.kind || t->counts.is_cut || (t->by_frame && !o->left_out))
		return 0;
	return reader_chunks_of(t->session->reader, CHUNK_SUMS, copy_sums_of, &copy, err);
}

/* The trace ends in it. */
static void end_frame(struct writing *w, const struct stacks *s, const struct stack *stack, const struct frame *frame)
{
	if (!s->stop)
		note_held(w, s, stack, frame);
	if (w->t->options->left_out && is_left_out(w, frame))
		add_pair(w->t, stack, frame);
}

static int replay(struct writing *w, struct error *err)
{
	static const struct stacks_visitor visitor = {
		.enter = enter, .leave = leave, .spend = spend, .switched = switched, .found = found,
	};
	struct stacks stacks;
	int result = stacks_replay(&stacks, w->t->session, NULL, UINT64_MAX, &visitor, w, err);

	if (result == 0 && !stacks.stop)
		settle(w);
	for (unsigned i = 0; i < w->n_lanes; i++)
		end_lane(w, i);
	for (size_t i = 0; result == 0 && w->t->by_frame && !w->search && i < stacks.count; i++)
		for (size_t k = stacks.list[i].depth; k-- > 0;)
			end_frame(w, &stacks, &stacks.list[i], &stacks.list[i].frames[k]);
	stacks_deinit(&stacks);
	return result;
}

static void writing_init(struct writing *w, struct thinning *t)
{
	unsigned n = reader_vcpus(t->session->reader);

	*w = (struct writing){ .t = t, .lanes = xcalloc(n, sizeof *w->lanes), .n_lanes = n };
	for (unsigned i = 0; i < n; i++)
		w->lanes[i].function = w->lanes[i].thin_function = t->session->names->groups + GROUP_UNKNOWN;
	if (t->finds)
		w->since = xcalloc(stacks_count(t->session), sizeof *w->since);
}

static void writing_deinit(struct writing *w)
{
	free(w->lanes);
	free(w->ranges.list);
	free(w->since);
	buf_free(&w->found);
}

int thin_count(struct thinning *t, struct thin_search *search, uint64_t *ret, struct error *err)
{
	struct writing w;
	int result;

	writing_init(&w, t);
	w.search = search;
	result = replay(&w, err);
	*ret = w.remaining;
	search->beyond |= w.remaining > search->events;
	memset(t->insns, 0, names_count(t->session->names) * sizeof *t->insns);
	memset(t->ns, 0, names_count(t->session->names) * sizeof *t->ns);
	writing_deinit(&w);
	return result;
}

int thin_write(struct thinning *t, const struct builder_sink *sink, struct error *err)
{
	struct builder *b = xcalloc(1, sizeof *b);
	struct writing w;
	int result;

	writing_init(&w, t);
	w.builder = b;
	sites_init(&w.sites);
	w.site_of = xcalloc(t->session->reader->sites.count, sizeof *w.site_of);
	builder_init(b, &w.sites, sink);
	thin_put_meta(t, b);
	result = copy_tables(t, b, err);
	if (result == 0)
		result = copy_sums(t, b, err);
	if (result == 0)
		result = replay(&w, err);
	if (result == 0)
		result = thin_put_facts(t, &w.ranges, b, err);
	if (result == 0)
		write_end(&w);
	t->counts.events = b->events;
	builder_deinit(b);
	sites_deinit(&w.sites);
	free(b);
	free(w.site_of);
	writing_deinit(&w);
	return result;
}
