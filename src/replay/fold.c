/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Beside the stacks as they are, which match calls and returns, are those that are shown. They are as the others,
 * without the frames that are folded, and are what the visitor sees.
 */
#include "fold.h"

#include <assert.h>

#include "stacks_frames.h"

/* In the data of a frame as it is; above these its level is. */
enum {
	FOLDED = 1,
	ALL_BELOW = 2,
	UNDER = 4 /* in a call of fold->below */,
	IN_INTERRUPT = 8,
	KIND = 4,
	KIND_MASK = FOLD_KINDS - 1,
	BITS = 9
};

struct folding {
	const struct fold *fold;
	const struct stacks_visitor *visitor;
	void *state;
	struct stacks shown;
	struct spent spent[FOLD_KINDS];
	/* a jump has just left a frame there, which it may enter again, and the frame that was shown had this data */
	const struct stack *jumped;
	uint32_t jumped_data;
	bool begun;
};

/* The shown stack, as its thread is now. */
static inline struct stack *sync_stack(struct folding *f, const struct stacks *s, const struct stack *stack)
{
	struct stack *shown = &f->shown.list[stack - s->list];

	shown->insns = stack->insns;
	shown->ns = stack->ns;
	shown->place = stack->place;
	/* of a thread that is switched to, and nothing is known of, at least the code is known that switched */
	if (__builtin_expect(!stack->place && s->replay, 0))
		shown->place = replay_last_place(s->replay, stack);
	shown->cpu = stack->cpu;
	shown->began = stack->began;
	shown->started = stack->started;
	shown->behind_gap = stack->behind_gap;
	f->shown.ns = s->ns;
	f->shown.insns = s->insns;
	f->shown.end = s->end;
	f->shown.event = s->event;
	return shown;
}

static void sync_all(struct folding *f, const struct stacks *s)
{
	for (size_t i = 0; i < s->count; i++)
		sync_stack(f, s, &s->list[i]);
	f->shown.unmatched = s->unmatched;
}

/* Whoever goes through the stacks finds one for each vCPU that has one. */
static bool vcpus_have_their_stacks(const struct folding *f, const struct stacks *s)
{
	for (size_t i = 0; i < s->count; i++) {
		int cpu = f->shown.list[i].cpu;

		if (cpu >= 0 && f->shown.list[i].depth && s->replay->lanes[cpu].stack != &s->list[i])
			return false;
	}
	return true;
}

/*
 * Frames may be entered on a stack that does not run: what a new task has of its creator, and what is found behind a
 * gap. It has a vCPU for as long as that takes.
 */
static inline void forget_cpu(const struct stacks *s, const struct stack *stack, struct stack *shown)
{
	if (__builtin_expect(stack->cpu >= 0 && s->replay->lanes[stack->cpu].stack != stack, 0))
		shown->cpu = -1;
}

/* The visitor has been called, and may want no more. */
static inline void heed(const struct folding *f, struct stacks *s)
{
	if (__builtin_expect(f->shown.stop, 0))
		s->stop = true;
}

static bool begins_levels(const struct fold *fold, const struct frame *frame)
{
	if (fold->below)
		return fold->below[frame->function];
	return is_entry(frame) || frame->kind == FRAME_SIGNAL;
}

/* What the data of a frame is, which stands above those below it. */
static inline uint32_t data_of(const struct fold *fold, const struct frame *frame, bool lowest)
{
	uint32_t before = lowest ? 0 : frame[-1].data, level = begins_levels(fold, frame) ? 1 : (before >> BITS) + 1;
	uint32_t data = (before & (UNDER | IN_INTERRUPT)) | (frame->kind == FRAME_INTERRUPT ? IN_INTERRUPT : 0);
	uint8_t mark = fold->marks ? fold->marks[frame->function] : FOLD_NONE;
	bool all =
		(frame->kind != FRAME_INTERRUPT && before & ALL_BELOW) || (fold->no_interrupts && data & IN_INTERRUPT);

	if (fold->below && fold->below[frame->function])
		data |= UNDER;
	if ((fold->below && !(data & UNDER)) ||
	    (frame->kind != FRAME_BASE &&
	     (all || mark & FOLD_MARK || (fold->only_interrupts && !(data & IN_INTERRUPT)) ||
	      (fold->depth && level > fold->depth))))
		data |= FOLDED | (all || (mark & FOLD_MARK) == FOLD_BELOW ? ALL_BELOW : 0);
	/* what is below an instrument is of its kind, and not of its own */
	if (data & FOLDED)
		data |= all ? before & KIND_MASK << KIND : (uint32_t)(mark >> FOLD_KIND) << KIND;
	return data | level << BITS;
}

/* A function that was jumped to by one which is not shown was called by whoever called that. */
static bool is_still_tail(const struct stack *stack)
{
	size_t i = stack->depth - 1;

	while (i > 0 && stack->frames[i].kind == FRAME_TAIL && stack->frames[i - 1].data & FOLDED)
		i--;
	return stack->frames[i].kind == FRAME_TAIL;
}

static struct frame *push_shown(struct stack *shown, const struct stack *stack, const struct frame *frame)
{
	struct frame *copy;

	if (shown->depth == shown->cap)
		shown->frames = array_grow(shown->frames, shown->depth, &shown->cap, sizeof *shown->frames);
	copy = &shown->frames[shown->depth++];
	*copy = *frame;
	copy->data = 0;
	if (__builtin_expect(frame->kind == FRAME_TAIL, 0) && !is_still_tail(stack))
		copy->kind = FRAME_CALL;
	return copy;
}

static void fold_enter(void *state, struct stacks *s, struct stack *stack, struct frame *frame)
{
	struct folding *f = state;
	/* other frames than those that are entered again have no data yet */
	bool again = f->jumped == stack && frame->data;
	struct stack *shown;
	struct frame *copy;

	f->jumped = NULL;
	frame->data = data_of(f->fold, frame, stack->depth == 1);
	if (frame->data & FOLDED)
		return;
	shown = sync_stack(f, s, stack);
	copy = push_shown(shown, stack, frame);
	if (again)
		copy->data = f->jumped_data;
	if (f->visitor->enter)
		f->visitor->enter(f->state, &f->shown, shown, copy);
	forget_cpu(s, stack, shown);
	heed(f, s);
}

static void fold_leave(void *state, struct stacks *s, struct stack *stack, const struct frame *frame)
{
	struct folding *f = state;
	struct stack *shown;

	f->jumped = NULL;
	if (frame->data & FOLDED)
		return;
	shown = sync_stack(f, s, stack);
	if (f->visitor->leave)
		f->visitor->leave(f->state, &f->shown, shown, &shown->frames[shown->depth - 1]);
	shown->depth--;
	if (s->end == FRAME_JUMPED) {
		f->jumped = stack;
		f->jumped_data = shown->frames[shown->depth].data;
	}
	forget_cpu(s, stack, shown);
	heed(f, s);
	if (!shown->depth && s->end == FRAME_DIED) {
		free(shown->frames);
		shown->frames = NULL;
		shown->cap = 0;
	}
}

static inline void add_spent(struct spent *sum, const struct spent *spent)
{
	sum->insns += spent->insns;
	sum->ns += spent->ns;
}

static bool is_asked(const struct folding *f, const struct stack *stack)
{
	const struct fold *fold = f->fold;

	return fold->spent && (fold->span.cpu < 0 || fold->span.cpu == stack->cpu) &&
	       threads_is_chosen(f->shown.threads, stack->thread);
}

/* What of that passed in the span, if it began and ended then. */
static inline struct spent clip(const struct fold *fold, uint64_t from_ns, uint64_t to_ns, const struct spent *spent)
{
	if (__builtin_expect(from_ns >= fold->span.from_ns && to_ns < fold->span.to_ns, 1))
		return *spent;
	return (struct spent){
		.insns = meter_clip(&fold->span, from_ns, to_ns, spent->insns),
		.ns = meter_clip(&fold->span, from_ns, to_ns, spent->ns),
	};
}

/* What passes in a folded call, which began and ended then, is what it cost. */
static inline void add_cost(struct folding *f, const struct stack *stack, uint64_t from_ns, uint64_t to_ns,
			    const struct spent *spent)
{
	unsigned kind = stack->depth ? stack->frames[stack->depth - 1].data >> KIND & KIND_MASK : 0;
	struct spent cost;

	if (!is_asked(f, stack))
		return;
	cost = clip(f->fold, from_ns, to_ns, spent);
	add_spent(&f->spent[0], &cost);
	if (kind)
		add_spent(&f->spent[kind], &cost);
}

/* Where only what is below some functions is asked for: does it run none of that? */
static inline bool is_outside(const struct fold *fold, const struct stack *stack)
{
	return fold->below && (!stack->depth || !(stack->frames[stack->depth - 1].data & UNDER));
}

static void fold_spend(void *state, struct stacks *s, struct stack *stack, const struct spent *spent)
{
	struct folding *f = state;
	struct stack *shown;

	if (is_outside(f->fold, stack))
		return;
	add_cost(f, stack, s->ns - spent->ns - spent->halted_ns, s->ns, spent);
	if (!f->visitor->spend)
		return;
	shown = &f->shown.list[stack - s->list];
	if (__builtin_expect(!shown->depth, 0))
		sync_stack(f, s, stack);
	shown->insns = stack->insns;
	shown->ns = stack->ns;
	f->shown.ns = s->ns;
	f->shown.insns = s->insns;
	f->shown.event = s->event;
	f->visitor->spend(f->state, &f->shown, shown, spent);
	heed(f, s);
}

static void fold_forget(void *state, struct stacks *s, struct stack *stack, size_t n)
{
	struct folding *f = state;
	struct stack *shown = sync_stack(f, s, stack);
	size_t gone = 0;

	for (size_t i = 0; i < n; i++)
		gone += !(stack->frames[i].data & FOLDED);
	if (f->visitor->forget)
		f->visitor->forget(f->state, &f->shown, shown, gone);
	memmove(shown->frames, shown->frames + gone, (shown->depth - gone) * sizeof *shown->frames);
	shown->depth -= gone;
	heed(f, s);
}

static void fold_move(void *state, struct stacks *s, const struct stack *from, const struct stack *to)
{
	struct folding *f = state;
	struct stack *a = &f->shown.list[from - s->list], *b = &f->shown.list[to - s->list], kept = *b;
	long a_thread = a->thread, b_thread = b->thread;

	*b = *a;
	*a = kept;
	a->thread = a_thread;
	b->thread = b_thread;
	sync_stack(f, s, from);
	sync_stack(f, s, to);
	if (f->visitor->move)
		f->visitor->move(f->state, &f->shown, a, b);
}

static void fold_halt(void *state, struct stacks *s, struct stack *stack, bool goes_on)
{
	struct folding *f = state;

	f->visitor->halt(f->state, &f->shown, sync_stack(f, s, stack), goes_on);
	heed(f, s);
}

static void fold_gap(void *state, struct stacks *s, const struct stack *stack, uint64_t from_ns)
{
	struct folding *f = state;

	sync_all(f, s);
	if (f->visitor->gap)
		f->visitor->gap(f->state, &f->shown, &f->shown.list[stack - s->list], from_ns);
	heed(f, s);
}

static void fold_found(void *state, struct stacks *s, const struct stack *stack, uint64_t since_ns)
{
	struct folding *f = state;

	f->visitor->found(f->state, &f->shown, sync_stack(f, s, stack), since_ns);
	heed(f, s);
}

static void fold_switched(void *state, struct stacks *s, const struct stack *from, const struct stack *to, unsigned cpu)
{
	struct folding *f = state;
	struct stack *before = sync_stack(f, s, from), *next = sync_stack(f, s, to);

	if (f->visitor->switched)
		f->visitor->switched(f->state, &f->shown, before, next, cpu);
	/* as with those that are not folded, which are told of before they change */
	before->cpu = -1;
	next->cpu = (int)cpu;
	heed(f, s);
}

static void fold_run(void *state, struct stacks *s, const struct stacks_run *run)
{
	struct folding *f = state;

	sync_stack(f, s, s->replay->lanes[run->cpu].stack);
	f->visitor->run(f->state, &f->shown, run);
	heed(f, s);
}

/* A checkpoint's frames were entered in an earlier part. */
static void fold_begin(struct folding *f, struct stacks *s)
{
	f->begun = true;
	for (size_t i = 0; i < s->count; i++) {
		struct stack *stack = &s->list[i], part = *stack;

		for (size_t k = 0; k < stack->depth; k++) {
			part.depth = k + 1;
			stack->frames[k].data = data_of(f->fold, &stack->frames[k], !k);
			if (!(stack->frames[k].data & FOLDED))
				push_shown(&f->shown.list[i], &part, &stack->frames[k]);
		}
	}
	sync_all(f, s);
}

static void fold_due(void *state, struct stacks *s)
{
	struct folding *f = state;

	if (!f->begun)
		fold_begin(f, s);
	s->due_ns = UINT64_MAX;
	if (!f->visitor->due)
		return;
	assert(vcpus_have_their_stacks(f, s));
	sync_all(f, s);
	f->visitor->due(f->state, &f->shown);
	s->due_ns = f->shown.due_ns;
	heed(f, s);
}

/* Which of the shape's frames are folded. */
static void judge(const struct fold *fold, struct shape *shape)
{
	bool all[SHAPE_FRAMES] = { 0 };

	shape->judged = true;
	shape->folded = shape->costs = 0;
	shape->odd = false;
	for (unsigned i = shape->count; i-- > 0;) {
		const struct shape_frame *frame = &shape->frames[i];
		uint8_t mark = fold->marks ? fold->marks[frame->function] : FOLD_NONE;
		unsigned caller = shape_caller(shape, i);

		all[i] = (mark & FOLD_MARK) == FOLD_BELOW || (caller < shape->count && all[caller]);
		if (mark & FOLD_MARK || all[i])
			shape->folded |= (uint16_t)(1u << i);
		shape->odd |= shape->folded >> i & 1 && caller == shape->count && !frame->own;
		if (mark >> FOLD_KIND && !(caller < shape->count && all[caller]))
			shape->costs |= (uint16_t)(1u << i);
	}
}

static bool fold_takes(void *state, const struct stack *stack, struct shape *shape)
{
	const struct folding *f = state;
	uint32_t data = stack->frames[stack->depth - 1].data;

	if (!shape->judged)
		judge(f->fold, shape);
	/* what it called is shown: it is told call by call */
	return (!(data & FOLDED) && !shape->odd) || data & ALL_BELOW || shape->folded == (1u << shape->count) - 1;
}

/* What the folded calls in the phrase cost. */
static void add_costs(struct folding *f, const struct stack *stack, uint64_t from_ns, const struct stacks_phrase *p)
{
	const struct frame *top = &stack->frames[stack->depth - 1];
	struct spent rest;

	if (!is_asked(f, stack))
		return;
	rest = clip(f->fold, from_ns, from_ns + p->spent.ns, &p->spent);
	add_spent(&f->spent[0], &rest);
	for (uint16_t left = p->shape->costs; left; left &= (uint16_t)(left - 1)) {
		const struct shape_frame *frame = &p->shape->frames[__builtin_ctz(left)];
		uint64_t entered_ns = timebase_ns(p->timebase, p->insns + frame->entered);
		uint64_t left_ns = timebase_ns(p->timebase, p->insns + frame->left);
		struct spent cost = {
			.insns = (uint64_t)frame->left - frame->entered, .ns = left_ns - entered_ns,
		};

		cost = clip(f->fold, entered_ns, left_ns, &cost);
		add_spent(&f->spent[f->fold->marks[frame->function] >> FOLD_KIND & KIND_MASK], &cost);
		rest.insns -= cost.insns < rest.insns ? cost.insns : rest.insns; /* parts of it are clipped each */
		rest.ns -= cost.ns < rest.ns ? cost.ns : rest.ns;
	}
	/* an instrument that is folded for itself has what is left in it */
	if (top->data & FOLDED && top->data >> KIND & KIND_MASK)
		add_spent(&f->spent[top->data >> KIND & KIND_MASK], &rest);
}

static void fold_phrase(void *state, struct stacks *s, struct stack *stack, const struct stacks_phrase *p)
{
	struct folding *f = state;
	struct stack *shown = sync_stack(f, s, stack);

	if (stack->frames[stack->depth - 1].data & FOLDED) {
		shown->insns += p->spent.insns;
		shown->ns += p->spent.ns;
		f->shown.ns = s->ns + p->spent.ns; /* it passed up to the phrase's end */
		/* what is below the call is of its kind; what is not, and is folded for itself, has a kind each */
		if (stack->frames[stack->depth - 1].data & ALL_BELOW)
			add_cost(f, stack, s->ns, s->ns + p->spent.ns, &p->spent);
		else
			add_costs(f, stack, s->ns, p);
		if (f->visitor->spend)
			f->visitor->spend(f->state, &f->shown, shown, &p->spent);
	} else {
		struct stacks_phrase of_shown = *p;

		of_shown.folded = p->shape->folded;
		add_costs(f, stack, s->ns, p);
		f->visitor->phrase(f->state, &f->shown, shown, &of_shown);
		shown->depth--;
	}
	heed(f, s);
}

/* Several parts of a trace may be replayed at a time. */
static void give_costs(const struct folding *f)
{
	for (size_t i = 0; f->fold->spent && i < FOLD_KINDS; i++) {
		__atomic_add_fetch(&f->fold->spent[i].insns, f->spent[i].insns, __ATOMIC_RELAXED);
		__atomic_add_fetch(&f->fold->spent[i].ns, f->spent[i].ns, __ATOMIC_RELAXED);
	}
}

/* Whoever asked gets the stacks that are shown. */
static void give(struct folding *f, struct stacks *ret)
{
	for (size_t i = 0; i < ret->count; i++) {
		free(ret->list[i].frames);
		free(ret->list[i].thunk_calls.list);
	}
	free(ret->list);
	ret->list = f->shown.list;
}

uint64_t fold_print(const struct fold *f, size_t functions)
{
	uint64_t print = 1;

	if (!f)
		return 0;
	for (size_t i = 0; f->marks && i < functions; i++)
		print = f->marks[i] ? hash64(print ^ i << 8 ^ f->marks[i]) : print;
	for (size_t i = 0; f->below && i < functions; i++)
		print = f->below[i] ? hash64(print ^ i << 8) : print;
	return hash64(print ^ f->depth << 2 ^ (uint64_t)f->no_interrupts << 1 ^ f->only_interrupts) | 1;
}

int fold_replay(struct stacks *ret, const struct session *session, const struct checkpoint *from, uint64_t to_ns,
		const struct stacks_visitor *visitor, void *state, struct error *err)
{
	struct session whole = *session;
	struct folding f = { .fold = session->fold, .visitor = visitor, .state = state, .shown = {
		.names = session->names, .threads = session->threads, .count = stacks_count(session),
	} };
	/* levels and what is below something depend on more than the functions of a shape */
	bool by_function = !session->fold->below && !session->fold->depth && !session->fold->only_interrupts;
	const struct stacks_visitor folding = {
		.enter = fold_enter, .leave = fold_leave, .forget = fold_forget, .move = fold_move, .gap = fold_gap,
		.switched = fold_switched,
		.due = fold_due, .spend = visitor->spend || session->fold->spent ? fold_spend : NULL,
		.halt = visitor->halt ? fold_halt : NULL,
		.found = visitor->found ? fold_found : NULL, .run = visitor->run ? fold_run : NULL,
		.phrase = visitor->phrase && by_function ? fold_phrase : NULL, .takes = fold_takes,
	};
	int result;

	whole.fold = NULL;
	f.shown.list = xcalloc(f.shown.count, sizeof *f.shown.list);
	for (size_t i = 0; i < f.shown.count; i++)
		f.shown.list[i] = (struct stack){
			.thread = i < session->threads->count ? (long)i : THREAD_NONE, .cpu = -1,
		};
	result = stacks_replay(ret, &whole, from, to_ns, &folding, &f, err);
	if (!f.begun)
		fold_begin(&f, ret);
	sync_all(&f, ret);
	give(&f, ret);
	give_costs(&f);
	return result;
}
