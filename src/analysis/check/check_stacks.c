/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check_stacks.h"

#include <string.h>

#include <inttypes.h>

#include "base/alloc.h"
#include "check_flow.h"
#include "check_running.h"

enum {
	/*
	 * Returns that match no call, in kernel code: of 25 to 75 million of a boot one to three (a self-test that
	 * emulates a call, and the like). A second kernel, taken for the first: 92 a million.
	 */
	UNMATCHED_FREE = 10, UNMATCHED_OF = 1000000,
	/* User code may switch stacks by itself, but few programs do. */
	UNMATCHED_USER_OF = 100,
	/*
	 * Frames left without a return: 2 to 7 for a thousand returns (tasks that die, calls that fill return stack
	 * buffers).
	 */
	ABANDONED_FREE = 10000, ABANDONED_OF = 10,
};

enum frame_fault { FRAME_TIME, FRAME_INSNS, FRAME_SLOT, FRAME_FAULTS };

struct check_stacks_run {
	struct running running;
	struct flow_check flow;
	uint64_t insns;
	uint64_t breakpoint;       /* vector of breakpoints */
	uint64_t kernel_stack;     /* bytes of a kernel stack */
	uint32_t dead;             /* function number of do_task_dead; UINT32_MAX: not known */
	unsigned cpu;              /* whose events are being replayed … */
	const struct event *next;  /* … the next one … */
	struct name_cache *cache;  /* … and names of where they lead to */
	struct check_place at;     /* place of the event that is being replayed, or was replayed last */
	const struct stack *stack; /* that it is of */
	/* where each vCPU's last breakpoint in the kernel stood; 0: its handler is left */
	uint64_t breakpoints[CPUS_MAX];
	/* calls that a breakpoint's handler made for the kernel: their returns match nothing */
	uint64_t emulated;
	uint64_t elsewhere, kernel; /* returns that matched nothing so far; how many of them in kernel code */
	struct check_place unmatched; /* the first of these */
	struct {
		uint64_t count;
		struct check_place first;
		uint32_t function, caller;
	} faults[FRAME_FAULTS];
	bool filtered;                /* calls were left out: events need not follow each other */
};

static void fault(struct check_stacks_run *v, enum frame_fault which, const struct frame *frame,
		  const struct frame *below)
{
	if (v->faults[which].count++)
		return;
	v->faults[which].first = v->at;
	v->faults[which].function = frame->function;
	v->faults[which].caller = below->function;
}

/*
 * Kernel stacks are aligned to their size. User stacks are not known: signals' handlers and coroutines have their own.
 */
static bool same_stack(const struct check_stacks_run *v, uint64_t a, uint64_t b)
{
	return addr_is_kernel(a) && addr_is_kernel(b) && a / v->kernel_stack == b / v->kernel_stack;
}

static void enter(void *state, struct stacks *s, struct stack *stack, struct frame *frame)
{
	struct check_stacks_run *v = state;
	const struct frame *below = frame - 1;

	(void)s;
	if (__builtin_expect(frame->function == v->dead, 0))
		running_dies(&v->running, v->at.cpu);
	if (stack->depth < 2)
		return;
	if (__builtin_expect(frame->entry_ns < below->entry_ns, 0))
		fault(v, FRAME_TIME, frame, below);
	if (__builtin_expect(frame->insns < below->insns || frame->ns < below->ns, 0))
		fault(v, FRAME_INSNS, frame, below);
	if (frame->kind == FRAME_TAIL) {
		if (frame->slot != below->slot || frame->from != below->from || !frame_is_called(below))
			fault(v, FRAME_SLOT, frame, below);
	} else if (__builtin_expect(frame->slot >= below->slot, 0) && same_stack(v, frame->slot, below->slot)) {
		fault(v, FRAME_SLOT, frame, below);
	}
}

static void leave(void *state, struct stacks *s, struct stack *stack, const struct frame *frame)
{
	struct check_stacks_run *v = state;

	if (__builtin_expect(s->ns < frame->entry_ns, 0))
		fault(v, FRAME_TIME, frame, frame);
	if (__builtin_expect(stack->insns < frame->insns || stack->ns < frame->ns, 0))
		fault(v, FRAME_INSNS, frame, frame);
}

/* The event that was replayed last was a return that matched nothing. */
static void count_unmatched(struct check_stacks_run *v, const struct stacks *s)
{
	v->elsewhere = s->unmatched.elsewhere;
	if (addr_is_kernel(v->stack->place) && !v->kernel++)
		v->unmatched = v->at;
}

static void run(void *state, struct stacks *s, const struct stacks_run *run)
{
	struct check_stacks_run *v = state;

	(void)s;
	v->cpu = run->cpu;
	v->next = run->events;
	v->cache = run->cache;
}

/*
 * While the kernel patches its code, a breakpoint stands where a call is to be (ftrace, static calls: arch/x86/kernel/
 * alternative.c). Its handler then pushes the return address and goes to the function itself: no call is seen.
 */
static void count_emulated(struct check_stacks_run *v, const struct event *e)
{
	enum { INSN_MAX = 15 };
	uint64_t *from = &v->breakpoints[v->cpu];

	if (e->kind == EVENT_INTERRUPT && e->args[0] == v->breakpoint && addr_is_kernel(e->from)) {
		*from = e->from;
	} else if (*from && e->kind == EVENT_INTERRUPT_RETURN) {
		/* the breakpoint itself is one byte */
		v->emulated += addr_is_kernel(e->target) && e->target + 1 - *from > INSN_MAX;
		*from = 0;
	}
}

/* Called for each event, before it is replayed. */
static void spend(void *state, struct stacks *s, struct stack *stack, const struct spent *spent)
{
	struct check_stacks_run *v = state;
	const struct event *e = v->next++;
	uint64_t place;

	if (__builtin_expect(s->unmatched.elsewhere != v->elsewhere, 0))
		count_unmatched(v, s);
	v->insns += spent->insns;
	v->stack = stack;
	v->at = (struct check_place){ .cpu = v->cpu, .ns = s->ns, .event = v->running.cpus[v->cpu].events };
	if (__builtin_expect(e->kind == EVENT_INTERRUPT || e->kind == EVENT_INTERRUPT_RETURN, 0))
		count_emulated(v, e);
	place = v->running.cpus[v->cpu].place;
	if (!v->filtered && flow_can_tell(e, place))
		flow_add(&v->flow, v->cache, e, place, &v->at);
	running_add(&v->running, v->cpu, e);
}

static void tell_frames(const struct check_stacks_run *v, const struct names *names, struct check *c)
{
	static const char *const texts[FRAME_FAULTS] = {
		[FRAME_TIME] = "its times",
		[FRAME_INSNS] = "what its thread had run",
		[FRAME_SLOT] = "its place on the stack",
	};

	for (int i = 0; i < FRAME_FAULTS; i++)
		if (v->faults[i].count)
			check_found_at(c, CHECK_FRAMES, v->faults[i].count, &v->faults[i].first,
				       "a call of %.80s does not lie within its caller's, of %.80s: %s",
				       names_function(names, v->faults[i].function),
				       names_function(names, v->faults[i].caller), texts[i]);
}

/* How many of so many returns may match nothing. */
static void tell_unmatched(const struct check_stacks_run *v, size_t n_threads, bool no_exits, struct check *c)
{
	const struct unmatched *u = &c->unmatched;
	uint64_t user = u->elsewhere - v->kernel;

	if (v->kernel > UNMATCHED_FREE + v->emulated + u->returns / UNMATCHED_OF)
		check_found_at(c, CHECK_UNMATCHED, v->kernel, &v->unmatched,
			       "%" PRIu64 " returns in the kernel match no call, of %" PRIu64, v->kernel, u->returns);
	if (user > UNMATCHED_FREE + u->returns / UNMATCHED_USER_OF)
		check_found(c, CHECK_UNMATCHED, user, "%" PRIu64 " returns of programs match no call, of %" PRIu64,
			    user, u->returns);
	if (u->new_thread > UNMATCHED_FREE + 2 * n_threads)
		check_found(c, CHECK_UNMATCHED, u->new_thread,
			    "%" PRIu64 " returns are a thread's first, and there were %zu threads", u->new_thread,
			    n_threads);
	if (!no_exits && u->abandoned > ABANDONED_FREE + u->returns / ABANDONED_OF)
		check_found(c, CHECK_UNMATCHED, u->abandoned,
			    "%" PRIu64 " frames were left without a return, beside %" PRIu64 " returns", u->abandoned,
			    u->returns);
}

int check_stacks(const struct reader *r, const struct names *names, struct check *c, struct error *err)
{
	static const struct stacks_visitor visitor = { .enter = enter, .leave = leave, .spend = spend, .run = run };
	struct check_stacks_run v = { .dead = names_find(names, "do_task_dead"), .flow.reader = r,
				      .breakpoint = r->arch->breakpoint, .kernel_stack = r->kernel_stack };
	struct threads threads;
	const struct session session = { .reader = r, .names = names, .threads = &threads };
	cleanup_free bool *thunks = reader_lacks(r, "thunks") ? names_thunks(names) : NULL;
	struct stacks stacks;
	int result;

	v.flow.thunks = thunks;
	v.filtered = meta_get(&r->meta, "filtered") && !strcmp(meta_get(&r->meta, "filtered"), "yes");
	threads_init(&threads, r);
	running_init(&v.running, &session);
	result = stacks_replay(&stacks, &session, NULL, UINT64_MAX, &visitor, &v, err);
	if (result == 0) {
		if (stacks.unmatched.elsewhere != v.elsewhere)
			count_unmatched(&v, &stacks);
		c->unmatched = stacks.unmatched;
		c->unmatched_kernel = v.kernel;
		if (v.insns != c->insns)
			check_found(c, CHECK_CONSERVATION, 1,
				    "stacks hold %" PRIu64 " instructions, the vCPUs retired %" PRIu64, v.insns,
				    c->insns);
		running_end(&v.running, c);
		flow_end(&v.flow, names, c);
		tell_frames(&v, names, c);
		tell_unmatched(&v, stacks.count, reader_lacks(r, "exits"), c);
	}
	stacks_deinit(&stacks);
	running_deinit(&v.running);
	threads_deinit(&threads);
	return result;
}
