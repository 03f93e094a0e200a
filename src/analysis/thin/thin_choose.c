/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "thin_make.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/calls/held_calls.h"
#include "base/alloc.h"
#include "select/trigger.h"
#include "trace/facts.h"

enum { LEFT_MAX = 8 };

/* Times at which a condition holds that is not told by a function. */
struct hits {
	uint64_t *ns;
	size_t count, cap, next;
	bool clocked;            /* it holds behind what was called at that time, of which a clock tells */
};

struct choosing {
	struct thinning *t;
	struct trigger trigger;
	struct hits starts, stops;
	uint64_t event;          /* number of the event that is being replayed */
	uint64_t last_ns;
	bool left_kept;          /* the event has left a frame that remains */
	uint32_t left[LEFT_MAX]; /* frames that it has left, if leads_back() */
	unsigned n_left;
	struct needed {          /* a frame has to remain if the other does, which is known later */
		uint32_t frame, by;
		bool chosen;         /* … if the other one was itself chosen: it remains in any case */
	} *needed;
	size_t n_needed, cap_needed;
	uint32_t dead;           /* number of do_task_dead() */
};

static void add_hit(struct hits *h, uint64_t ns, uint64_t after_ns)
{
	if (ns < after_ns)
		return;
	h->ns = array_grow(h->ns, h->count, &h->cap, sizeof *h->ns);
	h->ns[h->count++] = ns;
}

/* A line that the kernel goes on with (pr_cont) is told of again; it is one line. */
static bool is_same_line(const struct boots *boots, const struct fact *a, const struct fact *b)
{
	return a && a->kind == FACT_LOG && b->kind == FACT_LOG && a->numbers[0] == b->numbers[0] &&
	       boots_at(boots, a->ns) == boots_at(boots, b->ns);
}

/* Lines of the log, or cases of KUnit. */
static int find_facts(const struct reader *r, const struct condition *c, uint64_t after_ns, struct hits *ret,
		      struct error *err)
{
	const struct fact *last = NULL;
	struct facts facts;
	int result = facts_read(r, &facts, err);

	for (size_t i = 0; result == 0 && i < facts.count; i++) {
		const struct fact *f = &facts.list[i];
		const char *text = fact_text(f, 0);

		if (!(f->kind == FACT_LOG && c->kind == CONDITION_LOG && strstr(text, c->text)) &&
		    !(f->kind == FACT_TEST && condition_is_test(c, text)))
			continue;
		if (!is_same_line(&r->boots, last, f))
			add_hit(ret, f->ns, after_ns);
		last = f;
	}
	facts_deinit(&facts);
	return result;
}

static void find_programs(const struct reader *r, const struct condition *c, uint64_t after_ns, struct hits *ret)
{
	uint8_t *named = task_records_named(&r->tasks);

	for (size_t i = 0; i < r->tasks.count; i++) {
		const struct task_record *t = &r->tasks.records[i];

		if (named[i] && condition_is_program(c, t->comm, t->exe, named[i] == TASK_NAMED_ANEW))
			add_hit(ret, t->ns, after_ns);
	}
	free(named);
}

static int find_hits(const struct reader *r, const struct condition *c, uint64_t after_ns, struct hits *ret,
		     struct error *err)
{
	ret->clocked = condition_is_told(c);
	if (c->kind == CONDITION_TIME && !c->relative)
		add_hit(ret, c->ns, after_ns);
	if (c->kind == CONDITION_EXEC)
		find_programs(r, c, after_ns, ret);
	return c->kind == CONDITION_LOG || c->kind == CONDITION_TEST ? find_facts(r, c, after_ns, ret, err) : 0;
}

/* The span begins with that event; with before_ns, it began earlier, but not before the one before it ended. */
static void begin_span(struct choosing *c, uint64_t event, uint64_t ns, uint32_t function)
{
	struct thinning *t = c->t;
	uint64_t before = t->options->before_ns;
	uint64_t last_to = t->n_spans ? t->spans[t->n_spans - 1].to : 0;

	t->spans = array_grow(t->spans, t->n_spans, &t->cap_spans, sizeof *t->spans);
	t->spans[t->n_spans++] = (struct thin_span){
		.from = before && ns ? last_to : event, .to = UINT64_MAX, .from_ns = before < ns ? ns - before : 0,
		.start_ns = ns, .trigger_ns = ns,
		.stop_ns = UINT64_MAX, .start_function = function, .stop_function = UINT32_MAX,
		.first_frame = t->n_frames,
	};
	if (!before)
		t->spans[t->n_spans - 1].from_ns = 0;
}

static void end_span(struct choosing *c, uint64_t to, uint64_t ns, uint32_t function)
{
	struct thin_span *s = &c->t->spans[c->t->n_spans - 1];

	s->to = to;
	s->stop_ns = ns;
	s->stop_function = function;
}

/* When it holds next, if that is before the event; else UINT64_MAX. */
static uint64_t next_hit(const struct hits *h, uint64_t ns, bool clock)
{
	if (h->next == h->count || h->ns[h->next] > ns || (h->ns[h->next] == ns && h->clocked && !clock))
		return UINT64_MAX;
	return h->ns[h->next];
}

/*
 * The next time before the event at which one of the conditions holds. False: there is none. A span begins with an
 * event; a moment that is asked for is when it held, which may be somewhat earlier.
 */
static bool look_at_next_time(struct choosing *c, uint64_t ns, bool clock)
{
	uint64_t start = next_hit(&c->starts, ns, clock), stop = next_hit(&c->stops, ns, clock);

	if (start == UINT64_MAX && stop == UINT64_MAX)
		return false;
	if (stop <= start) {
		c->stops.next++;
		if (trigger_stop(&c->trigger))
			end_span(c, c->event, ns, UINT32_MAX);
	} else {
		c->starts.next++;
		if (trigger_start(&c->trigger)) {
			begin_span(c, c->event, c->t->options->is_moment ? start : ns, UINT32_MAX);
			c->t->spans[c->t->n_spans - 1].trigger_ns = start;
		}
	}
	return true;
}

/* Times are before the event: a span that starts then has it, one that stops has not. */
static void look_at_times(struct choosing *c, uint64_t ns, bool clock)
{
	const struct condition *stop = &c->t->options->stop.condition;

	if (c->trigger.on && stop->relative && ns - c->t->spans[c->t->n_spans - 1].start_ns >= stop->ns &&
	    trigger_stop(&c->trigger))
		end_span(c, c->event, ns, UINT32_MAX);
	while (look_at_next_time(c, ns, clock))
		;
}

/* An entry or an exit: the event that it comes with is part of the span, be it the first or the last. */
static void look_at_function(struct choosing *c, enum condition_kind kind, uint32_t function, uint64_t ns)
{
	const struct thin_options *o = c->t->options;
	bool was_on = c->trigger.on;

	if (ns < o->after_ns)
		return;
	if (o->start.condition.kind == kind && o->start.functions[function] && trigger_start(&c->trigger))
		begin_span(c, c->event, ns, function);
	if (was_on && o->stop.condition.kind == kind && o->stop.functions[function] && trigger_stop(&c->trigger))
		end_span(c, c->event + 1, ns, function);
}

static void spend(void *state, struct stacks *s, struct stack *stack, const struct spent *spent)
{
	struct choosing *c = state;

	(void)stack, (void)spent;
	c->event = c->t->n_events++;
	c->left_kept = false;
	c->n_left = 0;
	c->last_ns = s->ns;
	look_at_times(c, s->ns, event_has_clock(s->event->kind));
	/* no other span comes; but how long calls took that began in it is known only later */
	s->stop |= !c->t->by_frame && c->t->n_spans && !c->trigger.on && !c->trigger.every;
}

static void add_needed(struct choosing *c, uint32_t frame, uint32_t by, bool chosen)
{
	c->needed = array_grow(c->needed, c->n_needed, &c->cap_needed, sizeof *c->needed);
	c->needed[c->n_needed++] = (struct needed){ .frame = frame, .by = by, .chosen = chosen };
}

/*
 * What is below needs the frame on top: one in which the thread ends, and with it all that is below, or that of the
 * system call by which the thread was made, and has copies of all that is below.
 */
static void need_top(struct choosing *c, const struct stack *stack, const struct frame *frame)
{
	for (const struct frame *f = stack->frames; f < frame; f++)
		add_needed(c, frame->data, f->data, f->kind == FRAME_BASE);
}

/* A frame that replaces another, or is a copy of one, has its number. */
static void enter(void *state, struct stacks *s, struct stack *stack, struct frame *frame)
{
	struct choosing *c = state;
	struct thinning *t = c->t;
	const struct thin_filter *f = &t->options->filter;
	uint8_t marks =
		stack->depth > 1 && t->by_frame ? t->marks[frame[-1].data - 1] & (THIN_BELOW | THIN_IN_INTERRUPT) : 0;

	if (frame->at_start && thin_is_entered(s, frame))
		look_at_function(c, CONDITION_ENTRY, frame->function, s->ns);
	if (!frame->data)
		frame->data = (uint32_t)++t->n_frames;
	if (!t->by_frame)
		return;
	t->marks = array_reach(t->marks, frame->data, &t->cap_marks, 1);
	/*
	 * a return that is a jump, as retpolines make, or leads to a new program: what it left is needed where it leads
	 * to what remains
	 */
	for (unsigned i = 0; i < c->n_left && s->event; i++)
		add_needed(c, c->left[i], frame->data, false);
	/* one return leaves both; but that may not come */
	if (frame->kind == FRAME_TAIL)
		add_needed(c, frame[-1].data, frame->data, false);
	if (frame->function == c->dead || (!s->event && frame->kind == FRAME_SYSCALL))
		need_top(c, stack, frame);
	if (f->below && f->below[frame->function])
		marks |= THIN_BELOW;
	if (frame->kind == FRAME_INTERRUPT)
		marks |= THIN_IN_INTERRUPT;
	if (frame->kind == FRAME_BASE || c->left_kept)
		marks |= THIN_HELD;
	/* what a frame replaces may have been below, and itself not */
	t->marks[frame->data - 1] &= (uint8_t)~(THIN_BELOW | THIN_IN_INTERRUPT);
	t->marks[frame->data - 1] |= marks;
}

/* Levels from the innermost frame that begins something. */
static uint64_t depth_of(const struct thinning *t, const struct stack *stack, size_t i)
{
	const bool *below = t->options->filter.below, *no_levels = t->options->no_levels;
	uint64_t depth = 1;

	for (; i; i--) {
		const struct frame *f = &stack->frames[i];

		if (below ? below[f->function]
			  : f->kind == FRAME_INTERRUPT || f->kind == FRAME_SYSCALL || f->kind == FRAME_SIGNAL)
			break;
		depth += !no_levels || !no_levels[f->function];
	}
	return depth;
}

/* Why a frame is not chosen; THIN_REASONS: it is. */
static enum thin_reason reason_of(const struct thinning *t, const struct stacks *s, const struct stack *stack,
				  const struct frame *frame, bool ended)
{
	const struct thin_filter *f = &t->options->filter;
	uint64_t duration = ended ? s->ns - frame->entry_ns : UINT64_MAX;
	uint8_t marks = t->marks[frame->data - 1];

	if (duration < f->min_duration_ns || (f->max_duration_ns && duration > f->max_duration_ns))
		return THIN_DURATION;
	if (f->no_interrupts && marks & THIN_IN_INTERRUPT)
		return THIN_INTERRUPT;
	if (f->only_interrupts && !(marks & THIN_IN_INTERRUPT))
		return THIN_NO_INTERRUPT;
	if ((f->functions && !f->functions[frame->function]) || (f->not &&f->not [frame->function]) ||
	    (f->below && !(marks & THIN_BELOW)))
		return THIN_FUNCTION;
	if (f->depth && depth_of(t, stack, (size_t)(frame - stack->frames)) > f->depth)
		return THIN_DEPTH;
	if (!thin_has_thread(t, stack))
		return THIN_THREAD;
	return THIN_REASONS;
}

static void choose(struct choosing *c, const struct stacks *s, const struct stack *stack, const struct frame *frame,
		   bool ended)
{
	struct thinning *t = c->t;
	enum thin_reason reason = reason_of(t, s, stack, frame, ended);
	bool before = t->options->held_before && held_calls_has(t->options->held_before, s, stack, frame);
	bool chosen = reason == THIN_REASONS && !before;

	/* such a call was counted as left out already */
	if (frame->kind != FRAME_BASE && c->trigger.on && !before) {
		t->counts.calls++;
		if (reason < THIN_REASONS)
			t->counts.left_out[reason]++;
	}
	if (chosen)
		t->marks[frame->data - 1] |= THIN_KEEP;
	if (t->options->held) {
		t->unchosen = array_reach(t->unchosen, t->n_left / 8 + 1, &t->cap_unchosen, 1);
		t->unchosen[t->n_left / 8] |= (uint8_t)(!chosen << t->n_left % 8);
		t->n_left++;
	}
}

/*
 * Is the frame left by an event that may lead to one which was there before? An exec's system call is cut where the new
 * program begins.
 */
static bool leads_back(const struct stacks *s, const struct frame *frame)
{
	return s->end == FRAME_RETURNED ||
	       (s->end == FRAME_CUT && (frame->kind == FRAME_SYSCALL || frame->kind == FRAME_INTERRUPT));
}

/* Does a call return that was entered before a gap? The stack takes that for a jump. */
static bool is_returned(const struct stacks *s, const struct stack *stack, const struct frame *frame)
{
	return frame->kind == FRAME_BASE && stack->behind_gap && s->event->kind == EVENT_RETURN;
}

/* Code that never returns, as the entries of handlers do not, is told apart from what was not called. */
static void note_jump(struct choosing *c, uint32_t function)
{
	const struct thin_options *o = c->t->options;

	c->t->counts.start_jumps |= o->start.condition.kind == CONDITION_EXIT && o->start.functions[function];
	c->t->counts.stop_jumps |=
		c->trigger.on && o->stop.condition.kind == CONDITION_EXIT && o->stop.functions[function];
}

static void leave(void *state, struct stacks *s, struct stack *stack, const struct frame *frame)
{
	struct choosing *c = state;

	if (s->event && (s->end != FRAME_JUMPED || is_returned(s, stack, frame)))
		look_at_function(c, CONDITION_EXIT, frame->function, s->ns);
	else if (s->event)
		note_jump(c, frame->function);
	if (!c->t->by_frame)
		return;
	choose(c, s, stack, frame, s->end != FRAME_LOST);
	/* what an event leaves and enters behind a frame that remains has to remain with it */
	if (c->left_kept && s->event)
		c->t->marks[frame->data - 1] |= THIN_HELD;
	c->left_kept |= s->event && thin_remains(c->t, frame->data);
	if (s->event && leads_back(s, frame) && c->n_left < LEFT_MAX)
		c->left[c->n_left++] = frame->data;
}

static void finish(struct choosing *c, struct stacks *s)
{
	for (size_t i = 0; c->t->by_frame && i < s->count; i++)
		for (size_t k = s->list[i].depth; k-- > 0;)
			choose(c, s, &s->list[i], &s->list[i].frames[k], false);
	for (size_t i = c->n_needed; i-- > 0;) {
		const struct needed *n = &c->needed[i];

		if (n->chosen ? c->t->marks[n->by - 1] & THIN_KEEP : thin_remains(c->t, n->by))
			c->t->marks[n->frame - 1] |= THIN_HELD;
	}
	/* what was asked for may be later than the last event */
	look_at_times(c, s->ns, true);
	c->t->counts.unstopped = c->trigger.on && c->trigger.has_stop;
	if (c->trigger.on && c->t->n_spans)
		c->t->spans[c->t->n_spans - 1].stop_ns = s->ns;
}

int thin_choose(struct thinning *t, struct error *err)
{
	static const struct stacks_visitor visitor = { .enter = enter, .leave = leave, .spend = spend };
	const struct thin_options *o = t->options;
	struct choosing c = {
		.t = t, .dead = names_find(t->session->names, "do_task_dead"), .trigger = {
			.has_start = o->start.condition.kind, .has_stop = o->stop.condition.kind, .every = o->every,
			.start_nth = o->start.condition.nth, .stop_nth = o->stop.condition.nth,
		},
	};
	struct stacks stacks = { 0 };
	int result = find_hits(t->session->reader, &o->start.condition, o->after_ns, &c.starts, err);

	if (result == 0)
		result = find_hits(t->session->reader, &o->stop.condition, o->after_ns, &c.stops, err);
	if (result == 0) {
		trigger_init(&c.trigger);
		c.trigger.starts = o->start_hits;
		if (c.trigger.on)
			begin_span(&c, 0, 0, UINT32_MAX);
		result = stacks_replay(&stacks, t->session, NULL, UINT64_MAX, &visitor, &c, err);
		if (result == 0)
			finish(&c, &stacks);
		if (result == 0 && t->by_frame && t->n_frames >= UINT32_MAX) /* frame.data */
			result = error_set(err, "%s: more than %u calls: too many to choose from one by one",
					   t->session->reader->path, UINT32_MAX - 1);
		stacks_deinit(&stacks);
	}
	free(c.starts.ns);
	free(c.stops.ns);
	free(c.needed);
	return result;
}
