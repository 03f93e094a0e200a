/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stacks_state.h"

#include "base/alloc.h"
#include "shapes.h"

enum {
	USER_STACK = 8 << 20,     /* what is farther apart is on different stacks */
	DEPTH_MAX = 1 << 16,
	TAILS_MAX = 32,           /* that many tail calls are above each other; behind that, jumps replace the top frame */
};

const char *frame_kind_name(enum frame_kind kind)
{
	static const char *const names[] = {
		[FRAME_BASE] = "call", [FRAME_CALL] = "call", [FRAME_TAIL] = "tail",
		[FRAME_INTERRUPT] = "interrupt", [FRAME_SYSCALL] = "syscall", [FRAME_SIGNAL] = "signal",
	};

	return names[kind];
}

const char *frame_end_name(enum frame_end end)
{
	static const char *const names[] = {
		[FRAME_RETURNED] = "returned", [FRAME_JUMPED] = "jumped", [FRAME_CUT] = "cut", [FRAME_DIED] = "died", [FRAME_LOST] = "lost",
	};

	return names[end];
}

static inline struct frame *top(struct stack *stack)
{
	return stack->depth ? &stack->frames[stack->depth - 1] : NULL;
}

static bool same_stack(const struct replay *r, uint64_t a, uint64_t b)
{
	if (addr_is_kernel(a) != addr_is_kernel(b))
		return false;
	if (addr_is_kernel(a))
		return (a ^ b) < r->reader->arch->kernel_stack;
	return (a > b ? a - b : b - a) < USER_STACK;
}

/* Whose code is at an address, for what runs now. */
static inline struct place place_of(struct replay *r, uint64_t addr)
{
	return name_cache_place(r->cache, r->view, r->task, addr, r->stacks->ns);
}

static inline bool is_start(struct place place)
{
	return place.at;
}

/* A guest that calls and never returns: what is deepest is forgotten. */
static void forget_deepest(struct replay *r, struct stack *stack)
{
	if (r->visitor->forget)
		r->visitor->forget(r->state, r->stacks, stack, DEPTH_MAX / 2);
	memmove(stack->frames, stack->frames + DEPTH_MAX / 2, DEPTH_MAX / 2 * sizeof *stack->frames);
	stack->depth = DEPTH_MAX / 2;
}

/*
 * Room for a frame on top, to be filled in where it stands (frames are large, and
 * there is one an event), then entered. After a pop it is the frame that was left.
 */
static inline struct frame *room(struct replay *r, struct stack *stack)
{
	if (__builtin_expect(stack->depth == DEPTH_MAX, 0))
		forget_deepest(r, stack);
	if (__builtin_expect(stack->depth == stack->cap, 0))
		stack->frames = array_grow(stack->frames, stack->depth, &stack->cap, sizeof *stack->frames);
	return &stack->frames[stack->depth];
}

/* What there is room for begins now; its kind, slot, from, role and data are set. */
static inline void enter(struct replay *r, struct stack *stack, uint64_t addr, uint32_t function, bool at_start)
{
	struct frame *frame = &stack->frames[stack->depth++];

	frame->addr = addr;
	frame->entry_ns = r->stacks->ns;
	frame->insns = stack->insns;
	frame->ns = stack->ns;
	frame->function = function;
	frame->at_start = at_start;
	if (r->visitor->enter)
		r->visitor->enter(r->state, r->stacks, stack, frame);
}

static inline void push_place(struct replay *r, struct stack *stack, enum frame_kind kind, uint64_t slot, uint64_t from,
			      uint32_t role, uint64_t addr, struct place place)
{
	struct frame *frame = room(r, stack);

	frame->kind = kind;
	frame->slot = slot;
	frame->from = from;
	frame->role = role;
	frame->data = 0;
	enter(r, stack, addr, place.function, is_start(place));
}

static inline void push(struct replay *r, struct stack *stack, enum frame_kind kind, uint64_t slot, uint64_t from,
			uint32_t role, uint64_t addr)
{
	push_place(r, stack, kind, slot, from, role, addr, place_of(r, addr));
}

void replay_push_call(struct replay *r, struct stack *stack, const struct event *call, uint64_t addr)
{
	push(r, stack, FRAME_CALL, call->slot, call->from, SYSCALL_PLAIN, addr);
}

static void push_base(struct replay *r, struct stack *stack, uint64_t addr)
{
	push(r, stack, FRAME_BASE, 0, 0, SYSCALL_PLAIN, addr);
}

static inline void pop(struct replay *r, struct stack *stack)
{
	if (__builtin_expect(r->recording, 0))
		shapes_leave(r->shapes, stack);
	if (r->visitor->leave)
		r->visitor->leave(r->state, r->stacks, stack, &stack->frames[stack->depth - 1]);
	stack->depth--;
}

/* Leave the top frame in another way than by a return. */
static void pop_without_return(struct replay *r, struct stack *stack, enum frame_end end)
{
	r->stacks->end = end;
	pop(r, stack);
	r->stacks->end = FRAME_RETURNED;
}

/* Leave all frames above that many. */
static void cut_by(struct replay *r, struct stack *stack, size_t depth, enum frame_end end)
{
	while (stack->depth > depth) {
		r->stacks->unmatched.abandoned += top(stack)->kind != FRAME_TAIL;
		pop_without_return(r, stack, end);
	}
}

static void cut(struct replay *r, struct stack *stack, size_t depth)
{
	cut_by(r, stack, depth, FRAME_CUT);
}

/* Leave the top frame, and those that led there by tail calls. */
static inline void pop_call(struct replay *r, struct stack *stack)
{
	while (__builtin_expect(stack->frames[stack->depth - 1].kind == FRAME_TAIL && stack->depth > 1, 0))
		pop(r, stack);
	pop(r, stack);
}

/* A frame at or below a new one's slot can only have been left. */
static inline bool is_left(const struct replay *r, const struct frame *f, uint64_t slot)
{
	return frame_is_called(f) && __builtin_expect(f->slot <= slot, 0) && same_stack(r, f->slot, slot);
}

static inline void call(struct replay *r, struct stack *stack, const struct event *e)
{
	struct place place;

	while (stack->depth && is_left(r, &stack->frames[stack->depth - 1], e->slot))
		cut(r, stack, stack->depth - 1);
	if (__builtin_expect(!stack->depth, 0))
		push_base(r, stack, stack->place ? stack->place : e->from);
	place = place_of(r, e->target);
	if (__builtin_expect(place.at & IN_THUNK, 0)) {
		thunk_calls_add(stack, e->slot, e->from);
		return;
	}
	push_place(r, stack, FRAME_CALL, e->slot, e->from, SYSCALL_PLAIN, e->target, place);
}

/*
 * Calls that nothing returns from when a task is switched to: they stuff the
 * return stack buffer, FILL_RETURN_BUFFER in arch/x86/include/asm/nospec-branch.h.
 */
static void cut_stuffing(struct replay *r, struct stack *stack)
{
	while (stack->depth > 1) {
		const struct frame *t = top(stack);

		if (t->kind != FRAME_CALL || t->at_start || t->function != r->switches || t[-1].function != t->function)
			break;
		cut(r, stack, stack->depth - 1);
	}
}

/* The frame of the function that is on top, or that led to it by tail calls. NULL: there is none. *ret_tails: tail calls up to it. */
static struct frame *find_tail(struct stack *stack, uint32_t function, unsigned *ret_tails)
{
	*ret_tails = 0;
	for (size_t i = stack->depth; i-- > 0;) {
		if (stack->frames[i].function == function)
			return &stack->frames[i];
		if (stack->frames[i].kind != FRAME_TAIL)
			break;
		++*ret_tails;
	}
	return NULL;
}

static bool is_tail_call(const struct replay *r, const struct stack *stack, enum event_kind kind, struct place place)
{
	const struct frame *t = &stack->frames[stack->depth - 1];

	return kind != EVENT_RETURN && kind != EVENT_INTERRUPT_RETURN && frame_is_called(t) && t->at_start &&
	       !(place.at & IN_GROUP) && !names_is_group(r->stacks->names, t->function);
}

static void push_tail(struct replay *r, struct stack *stack, uint64_t addr, struct place place)
{
	struct frame *frame = room(r, stack);

	frame->kind = FRAME_TAIL;
	frame->slot = frame[-1].slot;
	frame->from = frame[-1].from;
	frame->role = SYSCALL_PLAIN;
	frame->data = 0;
	enter(r, stack, addr, place.function, is_start(place));
}

/*
 * Control is at that address now: in another function, or in the same one anew. If that is one of those that led here by
 * tail calls, the others have ended.
 */
static void jump(struct replay *r, struct stack *stack, uint64_t addr, enum event_kind kind)
{
	struct place place = place_of(r, addr);
	bool at_start = is_start(place) && kind != EVENT_INTERRUPT_RETURN;
	const struct thunk_call *call;
	const struct frame *t;
	unsigned tails;

	if (place.at & IN_THUNK)
		return;
	if (__builtin_expect(stack->thunk_calls.count, 0) && (call = thunk_calls_last(stack))) {
		stack->thunk_calls.count--;
		push_place(r, stack, FRAME_CALL, call->slot, call->from, SYSCALL_PLAIN, addr, place);
		return;
	}
	if (!stack->depth) {
		*room(r, stack) = (struct frame){ .kind = FRAME_BASE };
		enter(r, stack, addr, place.function, at_start);
		return;
	}
	t = find_tail(stack, place.function, &tails);
	if (t)
		cut_by(r, stack, (size_t)(t - stack->frames) + 1, FRAME_JUMPED);
	if (t && (kind == EVENT_ARRIVE || !at_start || place.at & IN_GROUP))
		return;
	cut_stuffing(r, stack);
	if (!t && tails < TAILS_MAX && is_tail_call(r, stack, kind, place)) {
		push_tail(r, stack, addr, place);
		return;
	}
	pop_without_return(r, stack, FRAME_JUMPED); /* the new frame has its kind and return address */
	enter(r, stack, addr, place.function, at_start);
}

static bool is_entry(const struct frame *f)
{
	return f->kind == FRAME_INTERRUPT || f->kind == FRAME_SYSCALL;
}

/* The frame that was called with its return address in that slot; depth of the stack: none. */
static size_t find_slot(const struct stack *stack, uint64_t slot)
{
	for (size_t i = stack->depth; i-- > 0;) {
		const struct frame *f = &stack->frames[i];

		if (frame_is_called(f) && f->slot == slot)
			return i;
		if (is_entry(f))
			break;
	}
	return stack->depth;
}

static bool starts_thread(struct replay *r, uint64_t addr)
{
	uint32_t function = place_of(r, addr).function;

	return function == r->new_thread[0] || function == r->new_thread[1];
}

/* A return that is not just the end of the top frame. */
static __attribute__((noinline)) void go_elsewhere(struct replay *r, struct stack *stack, const struct event *e)
{
	size_t i = find_slot(stack, e->slot);
	struct unmatched *u = &r->stacks->unmatched;
	const struct frame *t = top(stack);
	uint64_t from;

	if (stack->thunk_calls.count && thunk_calls_return(stack, e->slot, &from)) {
		stack->began = true;
		if (from != e->target)
			jump(r, stack, e->target, EVENT_JUMP_INDIRECT);
		return;
	}
	if (i == stack->depth && t && frame_is_called(t) && t->from == e->target)
		i--; /* it has moved to another stack meanwhile: error_entry in arch/x86/entry/entry_64.S */
	if (i < stack->depth) {
		bool right = stack->frames[i].from == e->target;

		cut(r, stack, i + 1);
		pop_call(r, stack);
		stack->began = true;
		if (!right) /* its return address was replaced: a retpoline's jump */
			jump(r, stack, e->target, e->kind);
		return;
	}
	/* a call from before the gap returns: those that it had made did not */
	while (stack->behind_gap && stack->depth && is_left(r, top(stack), e->slot))
		cut(r, stack, stack->depth - 1);
	t = top(stack);
	if (stack->behind_gap)
		u->gap++;
	else if (starts_thread(r, e->target) || !stack->began)
		u->new_thread++;
	else if (r->stacks->ns < names_kernel_ns(r->stacks->names, r->stacks->ns))
		u->firmware++;
	else if (!t || t->kind != FRAME_SIGNAL) /* a signal's handler returns to what the kernel left for it */
		u->elsewhere++;
	stack->began = true;
	jump(r, stack, e->target, e->kind);
}

static inline void go_back(struct replay *r, struct stack *stack, const struct event *e)
{
	const struct frame *t = top(stack);

	r->stacks->unmatched.returns++;
	if (__builtin_expect(t && t->slot == e->slot && t->from == e->target && frame_is_called(t), 1)) {
		pop_call(r, stack);
		stack->began = true;
	} else {
		go_elsewhere(r, stack, e);
	}
}

static void interrupt(struct replay *r, struct stack *stack, const struct event *e)
{
	if (!stack->depth)
		push_base(r, stack, e->from);
	if (e->kind == EVENT_SYSCALL)
		push(r, stack, FRAME_SYSCALL, e->slot, e->from,
		     syscall_role(arch_abi(r->reader->arch, e->args[7]), e->args[0]), e->target);
	else
		push(r, stack, FRAME_INTERRUPT, e->slot, e->from, (uint32_t)e->args[0], e->target);
}

static bool leads_back(const struct replay *r, const struct frame *f, const struct event *e)
{
	enum { FRAME_MOVES = 64 };

	switch (f->kind) {
	case FRAME_SYSCALL:
		if (!f->from)
			return true;
		/* fall through */
	case FRAME_SIGNAL:
		/* a call that a signal cut short may be made again, also once a handler has run */
		return f->from == e->target || f->from - r->reader->arch->syscall_length == e->target;
	case FRAME_INTERRUPT:
		/*
		 * A handler may mend where it returns to (fixups, int3 emulation), and even move its frame a
		 * little for that; what sync_core() pushes to return from is far below.
		 */
		return f->from == e->target ||
		       (addr_is_kernel(e->target) && same_stack(r, f->slot, e->slot) &&
			e->slot + FRAME_MOVES - f->slot <= 2 * FRAME_MOVES);
	default:
		return false;
	}
}

/* The innermost frame that an event leads back from. Its place in the stack; the depth: there is none. */
static size_t find_entry(const struct replay *r, const struct stack *stack, const struct event *e)
{
	for (size_t i = stack->depth; i-- > 0;) {
		if (leads_back(r, &stack->frames[i], e))
			return i;
	}
	return stack->depth;
}

/* To user code at another place than it was left at: a signal's handler, a new program, a thread's first step. */
static void enter_user(struct replay *r, struct stack *stack, uint64_t target, bool exec)
{
	uint64_t left = 0;
	size_t i = 0;

	while (i < stack->depth && !addr_is_kernel(stack->frames[i].addr) && !is_entry(&stack->frames[i]))
		i++;
	if (i < stack->depth && is_entry(&stack->frames[i]))
		left = stack->frames[i].from;
	if (exec)
		i = 0;
	cut(r, stack, i);
	push(r, stack, i ? FRAME_SIGNAL : FRAME_BASE, 0, left, SYSCALL_PLAIN, target);
}

static void entry_return(struct replay *r, struct stack *stack, const struct event *e)
{
	size_t i = find_entry(r, stack, e);
	bool exec = false;

	if (i < stack->depth) {
		cut(r, stack, i + 1);
		pop(r, stack);
		return;
	}
	if (addr_is_kernel(e->target) || r->stacks->ns < names_kernel_ns(r->stacks->names, r->stacks->ns)) {
		jump(r, stack, e->target, e->kind); /* iret to itself: sync_core(); firmware uses it as it likes */
		return;
	}
	for (size_t k = stack->depth; k-- > 0 && !exec;)
		exec = stack->frames[k].kind == FRAME_SYSCALL && stack->frames[k].role == SYSCALL_EXEC;
	enter_user(r, stack, e->target, exec);
}

static struct stack *stack_of(struct stacks *s, uint64_t task, unsigned cpu, uint64_t ns)
{
	long thread = task ? threads_find(s->threads, task, ns) : THREAD_NONE;

	return thread == THREAD_NONE ? &s->list[s->threads->count + cpu] : &s->list[thread];
}

static void finish(struct replay *r, struct stack *stack)
{
	cut_by(r, stack, 0, FRAME_DIED);
	free(stack->frames);
	free(stack->thunk_calls.list);
	stack->frames = NULL;
	stack->cap = 0;
	stack->thunk_calls = (struct thunk_calls){ 0 };
}

/* The last that a task ever does is to be switched from in do_task_dead(): kernel/sched/core.c. */
static bool is_dead(const struct replay *r, const struct stack *stack)
{
	enum { NEAR_TOP = 6 };
	size_t i = stack->depth;

	while (i-- > 0 && stack->depth - i <= NEAR_TOP)
		if (stack->frames[i].function == r->dead)
			return true;
	return false;
}

/*
 * A new task begins with its creator's user code on its stack, and as if it
 * returned from the same system call; a new thread has a user stack of its own.
 */
static void inherit(struct replay *r, const struct stack *from, const struct task_record *record)
{
	struct stack *to = stack_of(r->stacks, record->task, record->cpu, record->ns);
	size_t user = 0;

	while (user < from->depth && !is_entry(&from->frames[user]))
		user++;
	if (to == from || to->depth || !record->mm || user == from->depth)
		return;
	to->cpu = from->cpu;
	for (size_t i = record->pid == record->tgid ? 0 : user; i <= user; i++) {
		const struct frame *f = &from->frames[i];

		*room(r, to) = *f;
		enter(r, to, f->addr, f->function, f->at_start);
	}
	to->cpu = -1;
}

/* Tasks that were made on the vCPU before the event; a clock tells that it has come so far. */
static void inherit_until(struct replay *r, struct lane *lane, unsigned cpu, uint64_t insns)
{
	const struct task_records *records = &r->reader->tasks;

	for (; lane->record < records->count; lane->record++) {
		const struct task_record *record = &records->records[lane->record];

		if (record->cpu != cpu || record->change != TASK_NEW)
			continue;
		if (record->insns > insns) {
			lane->record_insns = record->insns;
			return;
		}
		inherit(r, lane->stack, record);
	}
	lane->record_insns = UINT64_MAX;
}

static void switch_task(struct replay *r, struct lane *lane, const struct event *e, unsigned cpu)
{
	struct stack *before = lane->stack, *previous = stack_of(r->stacks, e->args[0], cpu, e->ns);
	struct stack *next = stack_of(r->stacks, e->args[1], cpu, e->ns);

	if (before->thread == THREAD_NONE && previous != before && !previous->depth) {
		/* this was the vCPU's first task all the time */
		long thread = previous->thread;
		struct stack empty = *previous;

		*previous = *before;
		previous->thread = thread;
		empty.thread = THREAD_NONE;
		*before = empty;
		if (r->visitor->move)
			r->visitor->move(r->state, before, previous);
		before = previous;
	}
	if (r->visitor->switched)
		r->visitor->switched(r->state, r->stacks, before, next, cpu);
	if (!e->args[1]) /* the vCPU begins anew: what it was in the middle of will never go on */
		cut_by(r, before, 0, FRAME_DIED);
	if (before->thread != THREAD_NONE && before != next && is_dead(r, before))
		finish(r, before);
	before->cpu = -1;
	next->cpu = (int)cpu;
	lane->stack = next;
}

/*
 * Firmware, the kernel image's own loader, the kernel: each goes to the next for
 * good, and none is called by the one before.
 */
enum { STAGE_FIRMWARE = 1, STAGE_DECOMPRESSOR, STAGE_KERNEL };

static int stage_of(const struct names *names, uint32_t function)
{
	if (function == names->groups + GROUP_FIRMWARE)
		return STAGE_FIRMWARE;
	return function == names->groups + GROUP_DECOMPRESSOR ? STAGE_DECOMPRESSOR : STAGE_KERNEL;
}

static bool enter_stage(struct replay *r, struct lane *lane, uint64_t target)
{
	int stage = stage_of(r->stacks->names, place_of(r, target).function);

	if (stage <= lane->stage)
		return false;
	lane->stage = stage;
	while (lane->stack->depth)
		pop_without_return(r, lane->stack, FRAME_JUMPED);
	push_base(r, lane->stack, target);
	return true;
}

/* The machine begins anew: whatever was under way is over. */
static void begin_boot(struct replay *r)
{
	struct stacks *s = r->stacks;

	s->event = NULL;
	s->ns = s->names->boots->list[r->next_boot++].start_ns;
	for (size_t i = 0; i < s->count; i++) {
		struct stack *stack = &s->list[i];

		while (stack->depth)
			pop_without_return(r, stack, FRAME_DIED);
		stack->thunk_calls.count = 0;
		stack->place = 0;
		stack->cpu = -1;
	}
	for (unsigned i = 0; i < r->n_lanes; i++) {
		r->lanes[i].stack = &s->list[s->threads->count + i];
		r->lanes[i].stack->cpu = (int)i;
		r->lanes[i].stage = 0;
	}
}

static inline bool boot_is_due(const struct replay *r, uint64_t ns)
{
	const struct boots *b = r->stacks->names->boots;

	return r->next_boot < b->count && ns >= b->list[r->next_boot].start_ns;
}

/* What any thread was in the middle of when a gap began is not known any more. */
static void forget_stacks(struct replay *r)
{
	struct stacks *s = r->stacks;

	for (size_t i = 0; i < s->count; i++) {
		struct stack *stack = &s->list[i];

		while (stack->depth)
			pop_without_return(r, stack, FRAME_LOST);
		stack->thunk_calls.count = 0;
		stack->place = 0;
		stack->cpu = -1;
		stack->behind_gap = true;
	}
	for (unsigned i = 0; i < r->n_lanes; i++) {
		r->lanes[i].stack = &s->list[s->threads->count + i];
		r->lanes[i].stack->cpu = (int)i; /* it may have events yet before its own gap */
		r->lanes[i].place = 0;
	}
}

/* Gaps of all vCPUs that begin together end at different events: the first one of them ends all stacks. */
static void go_past_gap(struct replay *r, struct lane *lane, const struct event *e, unsigned cpu)
{
	uint64_t kernel_ns = names_kernel_ns(r->stacks->names, e->ns);

	uint64_t from_ns = lane->meter.ns, last_ns = 0;

	for (unsigned i = 0; i < r->n_lanes; i++)
		if (r->lanes[i].meter.ns > last_ns && r->lanes[i].meter.ns <= e->ns)
			last_ns = r->lanes[i].meter.ns;
	r->stacks->event = NULL;
	r->stacks->ns = last_ns;
	if (e->args[GAP_NUMBER] != r->gap)
		forget_stacks(r);
	r->gap = e->args[GAP_NUMBER];
	r->stacks->ns = e->ns;
	if (e->ns >= kernel_ns)
		lane->stage = STAGE_KERNEL;
	lane->stack->cpu = -1;
	lane->stack = stack_of(r->stacks, e->args[GAP_TASK], cpu, e->ns);
	lane->stack->cpu = (int)cpu;
	lane->stack->place = e->args[GAP_PLACE];
	lane->meter.halted = false;
	set_lane(lane, e->insns, e->ns, e->args[GAP_PLACE]);
	if (r->visitor->gap)
		r->visitor->gap(r->state, r->stacks, lane->stack, from_ns);
}

static inline void apply_plain(struct replay *r, struct stack *stack, const struct event *e)
{
	if (e->kind == EVENT_RETURN)
		go_back(r, stack, e);
	else if (e->kind == EVENT_CALL || e->kind == EVENT_CALL_INDIRECT)
		call(r, stack, e);
	else if (e->kind <= EVENT_ARRIVE)
		jump(r, stack, e->target, e->kind);
	else if (e->kind == EVENT_INTERRUPT_RETURN)
		entry_return(r, stack, e);
	if (e->target)
		stack->place = e->target;
}

static void apply_event(struct replay *r, struct lane *lane, const struct event *e, unsigned cpu)
{
	struct stack *stack = lane->stack;

	if (__builtin_expect(lane->stage < STAGE_KERNEL, 0) && e->target && enter_stage(r, lane, e->target)) {
		/* firmware may go on by a return */
		r->stacks->unmatched.returns += e->kind == EVENT_RETURN;
		r->stacks->unmatched.firmware += e->kind == EVENT_RETURN;
		lane->place = stack->place = e->target;
		return;
	}
	switch (e->kind) {
	case EVENT_INTERRUPT:
	case EVENT_SYSCALL:
		interrupt(r, stack, e);
		break;
	case EVENT_SYSCALL_RETURN:
		entry_return(r, stack, e);
		break;
	case EVENT_HALT:
	case EVENT_RESUME:
		if (r->visitor->halt)
			r->visitor->halt(r->state, r->stacks, stack, e->kind == EVENT_RESUME);
		break;
	case EVENT_TASK_SWITCH:
		switch_task(r, lane, e, cpu);
		break;
	default:
		apply_plain(r, stack, e);
		break;
	}
	if (e->target)
		lane->place = lane->stack->place = e->target;
}

static inline void spend(struct replay *r, struct stack *stack, struct spent spent)
{
	stack->insns += spent.insns;
	stack->ns += spent.ns;
	if (r->visitor->spend)
		r->visitor->spend(r->state, r->stacks, stack, &spent);
}

static void init(struct stacks *s, const struct session *session)
{
	unsigned vcpus = reader_vcpus(session->reader);

	*s = (struct stacks){ .names = session->names, .threads = session->threads, .count = session->threads->count + vcpus };
	s->list = xcalloc(s->count, sizeof *s->list);
	for (size_t i = 0; i < s->count; i++) {
		s->list[i].thread = i < session->threads->count ? (long)i : THREAD_NONE;
		s->list[i].cpu = -1;
	}
}

static void begin(struct replay *r, const struct reader *reader)
{
	static const struct span all = { .to_ns = UINT64_MAX, .cpu = -1 };
	struct stacks *s = r->stacks;
	const struct names *names = s->names;
	unsigned vcpus = reader_vcpus(reader);

	r->cache = xmalloc(sizeof *r->cache);
	name_cache_init(r->cache, names);
	r->dead = names_find(names, "do_task_dead");
	r->switches = names_find(names, reader->arch->switch_function);
	for (unsigned i = 0; i < 2; i++)
		r->new_thread[i] = names_find(names, reader->arch->new_thread[i]);
	r->lanes = xcalloc(vcpus, sizeof *r->lanes);
	r->n_lanes = vcpus;
	/* a phrase is known by its place in its vCPU's model */
	if (r->visitor->phrase && vcpus == 1)
		r->shapes = xcalloc_aligned(HUGE_PAGE, 1, sizeof *r->shapes);
	for (unsigned i = 0; i < vcpus; i++) {
		r->lanes[i].stack = &s->list[s->threads->count + i];
		r->lanes[i].stack->cpu = (int)i;
		r->lanes[i].meter.span = &all;
	}
}

static void end(struct replay *r)
{
	free(r->cache);
	free(r->shapes);
	free(r->lanes);
	r->stacks->replay = NULL;
}

/* Time goes on. False: the visitor wants no more. */
static inline bool go_on(struct replay *r, uint64_t ns)
{
	struct stacks *s = r->stacks;

	if (__builtin_expect(s->stop, 0))
		return false;
	s->ns = ns;
	if (__builtin_expect(ns >= s->due_ns, 0))
		r->visitor->due(r->state, s);
	return !s->stop;
}

/*
 * Events of one stack that runs all the time: they have no clock, and no new task comes before them. `timebase`: what
 * their times are made with; NULL: they have them.
 */
static inline __attribute__((always_inline)) void go_through_plain(struct replay *r, struct lane *lane,
								   const struct timebase *timebase,
								   const struct event *events, const struct event *end)
{
	struct stack *stack = lane->stack;
	uint64_t insns = lane->meter.insns, ns = lane->meter.ns, place = lane->place;

	for (const struct event *e = events; e < end; e++) {
		uint64_t now = timebase ? timebase_ns(timebase, e->insns) : e->ns;

		if (__builtin_expect(now >= r->stacks->due_ns, 0))
			set_lane(lane, insns, ns, place); /* it may be saved */
		if (!go_on(r, now))
			break;
		r->stacks->event = e;
		spend(r, stack, (struct spent){ .insns = e->insns - insns, .ns = now - ns });
		insns = r->stacks->insns = e->insns;
		ns = now;
		apply_plain(r, stack, e);
		/* do not use stack->place: if no event has a target, that is still where the stack was last switched out */
		if (e->target)
			place = e->target;
	}
	set_lane(lane, insns, ns, place);
}

static void go_through_written(struct replay *r, struct lane *lane, const struct event *events, const struct event *end)
{
	go_through_plain(r, lane, NULL, events, end);
}

void replay_untimed(struct replay *r, struct lane *lane, const struct batch *batch, const struct event *events,
			       const struct event *end)
{
	const struct timebase timebase = batch->timebase;

	go_through_plain(r, lane, &timebase, events, end);
}

/* All but the last, if nothing has to be asked of each. */
static size_t count_plain(const struct lane *lane, const struct event *events, size_t n)
{
	return lane->stage == STAGE_KERNEL && !lane->meter.halted && events[n - 1].insns < lane->record_insns ? n - 1 : 0;
}

/* Can its phrases be gone past: with one version of an address space, and nothing due? */
static bool can_go_past(struct replay *r, struct lane *lane, const struct batch *batch)
{
	const struct event *last = &batch->events[batch->count - 1];

	name_cache_set_time(r->cache, batch->events->ns);
	if (batch->events->kind == EVENT_GAP)
		return false;
	if (!count_plain(lane, batch->events, batch->count) || last->ns >= r->stacks->due_ns)
		return false;
	spaces_at(&r->stacks->names->spaces, &lane->view, r->task, batch->events->ns);
	return last->ns < lane->view.to_ns;
}

static void go_through(struct replay *r, const struct event *events, size_t n, unsigned cpu, struct batch *batch)
{
	struct lane *lane = &r->lanes[cpu];
	size_t plain = count_plain(lane, events, n);

	r->view = &lane->view;
	if (batch)
		replay_brief(r, lane, batch, events + plain);
	else if (plain)
		go_through_written(r, lane, events, events + plain);
	for (const struct event *e = events + plain; e < events + n && go_on(r, e->ns); e++) {
		if (__builtin_expect(e->insns >= lane->record_insns, 0)) {
			r->stacks->event = NULL;
			inherit_until(r, lane, cpu, e->insns);
		}
		r->stacks->insns = e->insns;
		r->stacks->event = e;
		spend(r, lane->stack, meter_step(&lane->meter, e));
		apply_event(r, lane, e, cpu);
	}
}

static void tell_run(struct replay *r, const struct merged *merged, const struct event *events, size_t n, unsigned cpu,
		     struct batch *batch)
{
	const struct lane *lane = &r->lanes[cpu];

	r->visitor->run(r->state, r->stacks, &(struct stacks_run){
		.events = events, .n = n, .cpu = cpu, .task = r->task, .place = lane->place, .meter = &lane->meter,
		.timebase = merged_timebase(merged), .cache = r->cache, .batch = batch,
	});
}

static int go(struct replay *r, struct merged *merged, struct error *err)
{
	struct stacks *s = r->stacks;
	const struct event *events;
	unsigned cpu;
	int more = 0;
	size_t n;

	s->due_ns = r->visitor->due ? 0 : UINT64_MAX;
	if (r->shapes)
		merged_set_brief(merged);
	while (!s->stop && (more = merged_run(merged, &events, &n, &cpu, err)) > 0) {
		struct batch *batch = merged_batch(merged);

		while (__builtin_expect(boot_is_due(r, events->ns), 0))
			begin_boot(r);
		r->task = merged_task(merged, cpu);
		if (batch && !can_go_past(r, &r->lanes[cpu], batch)) {
			batch_complete(batch);
			batch = NULL;
		}
		if (__builtin_expect(events->kind == EVENT_GAP, 0))
			go_past_gap(r, &r->lanes[cpu], events, cpu);
		if (r->visitor->run)
			tell_run(r, merged, events, n, cpu, batch);
		go_through(r, events, n, cpu, batch);
	}
	return s->stop ? 0 : more;
}

/* Everything as the checkpoint has it; without one, as before the first event. Call end() also after an error. */
static int start(struct replay *r, const struct session *session, const struct checkpoint *from, struct error *err)
{
	init(r->stacks, session);
	r->stacks->replay = r;
	begin(r, session->reader);
	r->next_boot = 1;
	/* a checkpoint at the very moment may be from before its stacks were left */
	while (from && r->next_boot < session->reader->boots.count && session->reader->boots.list[r->next_boot].start_ns < from->ns)
		r->next_boot++;
	if (from && stacks_restore(r->stacks, from, err) < 0)
		return error_set(err, "%s.index: damaged: remove it", session->reader->path);
	return 0;
}

int stacks_replay(struct stacks *ret, const struct session *session, const struct checkpoint *from, uint64_t to_ns,
		  const struct stacks_visitor *visitor, void *state, struct error *err)
{
	struct span span = { .from_ns = from ? from->ns : 0, .to_ns = to_ns, .cpu = -1 };
	struct replay r = { .stacks = ret, .visitor = visitor, .state = state, .reader = session->reader };
	struct merged *merged = merged_new(session->reader, &span);
	int result;

	result = start(&r, session, from, err);
	if (result == 0)
		result = go(&r, merged, err);
	end(&r);
	merged_free(merged);
	return result;
}

int stacks_at(struct stacks *ret, const struct session *session, const struct checkpoint *from, struct error *err)
{
	static const struct stacks_visitor none = { 0 };
	struct replay r = { .stacks = ret, .visitor = &none, .reader = session->reader };
	int result = start(&r, session, from, err);

	end(&r);
	return result;
}

void stacks_deinit(struct stacks *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->list[i].frames);
		free(s->list[i].thunk_calls.list);
	}
	free(s->list);
	*s = (struct stacks){ 0 };
}
