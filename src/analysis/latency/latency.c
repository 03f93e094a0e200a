/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "latency.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/search.h"

static const char *const kind_names[LATENCY_KINDS] = {
	[LATENCY_INTERRUPTS_OFF] = "interrupts-off",
	[LATENCY_PREEMPTION_OFF] = "preemption-off",
	[LATENCY_SOFTIRQ] = "softirq",
	[LATENCY_TIMER] = "timer",
	[LATENCY_WAKEUP] = "wakeup",
};

const char *latency_kind_name(enum latency_kind kind)
{
	return kind_names[kind];
}

/* What a function of the kernel does, from its entry on. */
enum role {
	ROLE_LOCK = 1,       /* preemption is off */
	ROLE_UNLOCK = 2,
	ROLE_IRQ_OFF = 4,    /* interrupts are off */
	ROLE_IRQ_RESTORE = 8, /* as they were before the last IRQ_OFF */
	ROLE_IRQ_ON = 16,
	ROLE_RAISE = 32,     /* a softirq is wanted */
	ROLE_SOFTIRQ = 64,   /* softirqs are run, with interrupts on */
	ROLE_DEFER = 128,    /* softirqs are left to ksoftirqd */
	ROLE_EXIT = 256,     /* the handler of an interrupt is done: interrupts and preemption may be on from here */
};

/* kernel/locking/spinlock.c, kernel/softirq.c, kernel/entry/common.c of Linux 5.10 to 7.2; @: spin, read or write. */
static const struct {
	const char *name;
	uint16_t roles;
} functions[] = {
	{ "_raw_@_lock", ROLE_LOCK },
	{ "_raw_@_lock_bh", ROLE_LOCK },
	{ "_raw_@_lock_irq", ROLE_LOCK | ROLE_IRQ_OFF },
	{ "_raw_@_lock_irqsave", ROLE_LOCK | ROLE_IRQ_OFF },
	{ "_raw_@_unlock", ROLE_UNLOCK },
	{ "_raw_@_unlock_bh", ROLE_UNLOCK },
	{ "_raw_@_unlock_irq", ROLE_UNLOCK | ROLE_IRQ_ON },
	{ "_raw_@_unlock_irqrestore", ROLE_UNLOCK | ROLE_IRQ_RESTORE },
	{ "raise_softirq", ROLE_RAISE },
	{ "raise_softirq_irqoff", ROLE_RAISE },
	{ "__raise_softirq_irqoff", ROLE_RAISE },
	{ "handle_softirqs", ROLE_SOFTIRQ },
	{ "__do_softirq", ROLE_SOFTIRQ },
	{ "wakeup_softirqd", ROLE_DEFER },
	{ "irqentry_exit", ROLE_EXIT },
	{ "irqentry_exit_to_user_mode", ROLE_EXIT },
	{ "exit_to_user_mode_prepare", ROLE_EXIT },
	{ "exit_to_user_mode_loop", ROLE_EXIT },
	{ "preempt_schedule_irq", ROLE_EXIT },
};

/* What each kind cannot do without. */
static const char *const needs[LATENCY_KINDS] = {
	[LATENCY_INTERRUPTS_OFF] = "_raw_spin_unlock_irqrestore", [LATENCY_PREEMPTION_OFF] = "_raw_spin_unlock",
	[LATENCY_SOFTIRQ] = "__raise_softirq_irqoff",
};

/* A time that is under way, or none. */
struct open_time {
	bool open;
	unsigned depth;        /* so many times was it begun */
	struct latency begun;
};

struct vcpu {
	struct open_time off[2]; /* INTERRUPTS_OFF and PREEMPTION_OFF */
	bool in_interrupt;       /* the time with interrupts off is a handler's */
	struct open_time softirq;
	bool in_softirqs;        /* they are run: what is wanted then is run, too, but for … */
	struct latency wanted;   /* … what was wanted in there first, if it is left to ksoftirqd */
	bool has_wanted;
	uint64_t due_ns;         /* its timer is set for that time; 0: it is not, or it ran out */
};

struct latency_run {
	const struct latency_options *options;
	const struct threads *threads;
	uint64_t timer;          /* vector of the interrupt */
	struct facts facts;      /* only with TIMER … */
	size_t next_fact;        /* … of which this one was not looked at yet */
	uint16_t *roles;         /* by function */
	struct vcpu *cpus;
	unsigned n_cpus;
	const struct boots *boots;
	size_t boot;             /* number of the one that runs */
	struct latencies *found;
	size_t n[LATENCY_KINDS]; /* of each, from list[kind * each] on */
};

static struct latency *of_kind(const struct latency_run *run, enum latency_kind kind)
{
	return &run->found->list[kind * run->options->each];
}

static bool is_marked(const bool *threads, const struct thread *thread, uint32_t number)
{
	return !threads || (thread && threads[number]);
}

static bool is_asked(const struct latency_run *run, const struct latency *l)
{
	const struct latency_options *o = run->options;
	const struct thread *thread = threads_at(run->threads, l->thread);

	if (!o->kinds[l->kind] || run->found->lacks[l->kind] || l->end_ns <= l->start_ns ||
	    l->start_ns < o->span.from_ns || l->start_ns >= o->span.to_ns)
		return false;
	if ((o->span.cpu >= 0 && (unsigned)o->span.cpu != l->cpu) || !intervals_have(o->intervals, l->start_ns))
		return false;
	return is_marked(o->processes, thread, l->thread) && is_marked(o->threads, thread, l->thread);
}

/* Keep it, if it is one of the longest. */
static void keep(struct latency_run *run, const struct latency *l)
{
	struct latency *list = of_kind(run, l->kind);
	size_t each = run->options->each, at = run->n[l->kind];
	uint64_t ns = l->end_ns - l->start_ns; /* of what is asked for, more than 0 */

	if ((at == each && ns <= list[each - 1].end_ns - list[each - 1].start_ns) || !is_asked(run, l))
		return;
	if (at < each)
		run->n[l->kind]++;
	else
		at--;
	for (; at && ns > list[at - 1].end_ns - list[at - 1].start_ns; at--)
		list[at] = list[at - 1];
	list[at] = *l;
}

/* `depth`: of the frames, those up to the function that it begins in. */
static struct latency begun(enum latency_kind kind, const struct stacks *s, const struct stack *stack, size_t depth)
{
	struct latency l = {
		.kind = kind, .cpu = (unsigned)stack->cpu, .thread = (uint32_t)(stack - s->list), .start_ns = s->ns,
		.start_insns = s->insns,
		.end = HISTORY_NONE, .held_by = HISTORY_NONE,
	};

	while (depth && l.n_stack < LATENCY_STACK)
		l.stack[l.n_stack++] = stack->frames[--depth].function;
	return l;
}

static void begin(struct open_time *t, enum latency_kind kind, const struct stacks *s, const struct stack *stack,
		  size_t depth)
{
	t->depth++;
	if (t->open)
		return;
	t->open = true;
	t->begun = begun(kind, s, stack, depth);
}

/* `end`: the function that ends it. */
static void end(struct latency_run *run, struct open_time *t, const struct stacks *s, uint32_t end)
{
	if (t->open) {
		t->begun.end_ns = s->ns;
		t->begun.end_insns = s->insns;
		t->begun.end = end;
		keep(run, &t->begun);
	}
	t->open = false;
	t->depth = 0;
}

static void end_one(struct latency_run *run, struct open_time *t, const struct stacks *s, uint32_t function)
{
	if (t->depth > 1)
		t->depth--;
	else
		end(run, t, s, function);
}

/* It shows that it was over before: since when is not known. */
static void drop(struct open_time *t)
{
	t->open = false;
	t->depth = 0;
}

/* Exceptions leave the flag off where it is off. */
static bool is_maskable(const struct frame *frame)
{
	enum { FIRST_MASKABLE = 32 };

	return frame->kind == FRAME_INTERRUPT && frame->role >= FIRST_MASKABLE;
}

/* An interrupt that can be kept off has come: none was. */
static void begin_interrupt(struct vcpu *cpu, const struct stacks *s, const struct stack *stack)
{
	struct open_time *irqs = &cpu->off[LATENCY_INTERRUPTS_OFF];

	drop(irqs);
	begin(irqs, LATENCY_INTERRUPTS_OFF, s, stack, stack->depth);
	cpu->in_interrupt = true;
	begin(&cpu->off[LATENCY_PREEMPTION_OFF], LATENCY_PREEMPTION_OFF, s, stack, stack->depth);
}

/* What an interrupt's frame has in its data, once it was seen. */
enum { SEEN = 1, PREEMPTIBLE = 2 };

static void end_interrupt(struct latency_run *run, struct vcpu *cpu, const struct stacks *s, const struct frame *frame)
{
	end(run, &cpu->off[LATENCY_INTERRUPTS_OFF], s, frame->function);
	cpu->in_interrupt = false;
	if (frame->data != PREEMPTIBLE)
		end_one(run, &cpu->off[LATENCY_PREEMPTION_OFF], s, frame->function);
}

/* The interrupt that this is in, but not if an exception or a system call came in between; NULL: none. */
static struct frame *interrupt_around(struct stack *stack)
{
	for (size_t i = stack->depth; i--;) {
		struct frame *f = &stack->frames[i];

		if (f->kind == FRAME_INTERRUPT || f->kind == FRAME_SYSCALL)
			return is_maskable(f) ? f : NULL;
	}
	return NULL;
}

/* The handler is done. What the kernel does then before it returns to a program can be preempted, and interrupted. */
static void exit_interrupt(struct latency_run *run, struct vcpu *cpu, const struct stacks *s, struct stack *stack)
{
	uint32_t function = stack->frames[stack->depth - 1].function;
	struct frame *interrupt = interrupt_around(stack);

	if (cpu->in_interrupt)
		end(run, &cpu->off[LATENCY_INTERRUPTS_OFF], s, function);
	cpu->in_interrupt = false;
	if (!interrupt || interrupt->data == PREEMPTIBLE)
		return;
	interrupt->data = PREEMPTIBLE;
	end_one(run, &cpu->off[LATENCY_PREEMPTION_OFF], s, function);
}

static void want_softirq(struct vcpu *cpu, const struct stacks *s, const struct stack *stack)
{
	if (!cpu->in_softirqs) {
		if (!cpu->softirq.open)
			begin(&cpu->softirq, LATENCY_SOFTIRQ, s, stack, stack->depth);
	} else if (!cpu->has_wanted) {
		cpu->has_wanted = true;
		cpu->wanted = begun(LATENCY_SOFTIRQ, s, stack, stack->depth);
	}
}

static void defer_softirqs(struct vcpu *cpu)
{
	if (!cpu->in_softirqs || !cpu->has_wanted)
		return;
	cpu->softirq = (struct open_time){ .open = true, .depth = 1, .begun = cpu->wanted };
	cpu->has_wanted = false;
}

static void begin_softirqs(struct latency_run *run, struct vcpu *cpu, const struct stacks *s, const struct stack *stack)
{
	uint32_t function = stack->frames[stack->depth - 1].function;

	end(run, &cpu->softirq, s, function);
	end(run, &cpu->off[LATENCY_INTERRUPTS_OFF], s, function);
	cpu->in_interrupt = false;
	cpu->in_softirqs = true;
	cpu->has_wanted = false;
	begin(&cpu->off[LATENCY_PREEMPTION_OFF], LATENCY_PREEMPTION_OFF, s, stack, stack->depth);
}

static void end_softirqs(struct latency_run *run, struct vcpu *cpu, const struct stacks *s, const struct frame *frame)
{
	cpu->in_softirqs = cpu->has_wanted = false;
	end_one(run, &cpu->off[LATENCY_PREEMPTION_OFF], s, frame->function);
}

/* The function that called the one on top: who takes a lock, or gives it back. */
static uint32_t caller(const struct stack *stack)
{
	return stack->frames[stack->depth - (stack->depth > 1 ? 2 : 1)].function;
}

static void play(struct latency_run *run, struct vcpu *cpu, const struct stacks *s, struct stack *stack,
		 unsigned roles)
{
	struct open_time *irqs = &cpu->off[LATENCY_INTERRUPTS_OFF], *preemption = &cpu->off[LATENCY_PREEMPTION_OFF];

	if (roles & ROLE_LOCK)
		begin(preemption, LATENCY_PREEMPTION_OFF, s, stack, stack->depth - 1);
	if (roles & ROLE_IRQ_OFF)
		begin(irqs, LATENCY_INTERRUPTS_OFF, s, stack, stack->depth - 1);
	if (roles & ROLE_UNLOCK)
		end_one(run, preemption, s, caller(stack));
	if (roles & ROLE_IRQ_RESTORE && irqs->depth)
		end_one(run, irqs, s, caller(stack));
	if (roles & ROLE_IRQ_ON && !cpu->in_interrupt)
		end(run, irqs, s, caller(stack));
	if (roles & ROLE_EXIT)
		exit_interrupt(run, cpu, s, stack);
	if (roles & ROLE_RAISE)
		want_softirq(cpu, s, stack);
	if (roles & ROLE_DEFER)
		defer_softirqs(cpu);
	if (roles & ROLE_SOFTIRQ)
		begin_softirqs(run, cpu, s, stack);
}

/* Timers that were set up to now, or before. */
static void set_timers(struct latency_run *run, uint64_t ns)
{
	for (; run->next_fact < run->facts.count && run->facts.list[run->next_fact].ns <= ns; run->next_fact++) {
		const struct fact *f = &run->facts.list[run->next_fact];

		if (f->kind == FACT_DUE && f->cpu < run->n_cpus)
			run->cpus[f->cpu].due_ns = f->numbers[0];
	}
}

static void end_at_end(struct latency_run *run, struct open_time *t, uint64_t ns)
{
	if (!t->open)
		return;
	t->begun.end_ns = ns;
	t->begun.goes_on = true;
	keep(run, &t->begun);
}

/* What is not over where the trace or the boot ends: the worst of all, where the guest hangs. */
static void end_all(struct latency_run *run, uint64_t ns)
{
	for (unsigned i = 0; i < run->n_cpus; i++) {
		struct vcpu *cpu = &run->cpus[i];

		end_at_end(run, &cpu->off[0], ns);
		end_at_end(run, &cpu->off[1], ns);
		end_at_end(run, &cpu->softirq, ns);
		if (cpu->due_ns && cpu->due_ns < ns)
			keep(run, &(struct latency){ .kind = LATENCY_TIMER,
						     .cpu = i,
						     .thread = HISTORY_NONE,
						     .start_ns = cpu->due_ns,
						     .end_ns = ns,
						     .goes_on = true,
						     .end = HISTORY_NONE,
						     .held_by = HISTORY_NONE });
	}
}

/* Nothing that was under way goes on in the next boot, and no timer runs out there. */
static void begin_boot(struct latency_run *run)
{
	uint64_t ns = run->boots->list[++run->boot].start_ns;

	set_timers(run, ns - 1);
	end_all(run, ns);
	for (unsigned i = 0; i < run->n_cpus; i++)
		run->cpus[i] = (struct vcpu){ 0 };
}

static inline void heed_boots(struct latency_run *run, const struct stacks *s)
{
	while (__builtin_expect(run->boot + 1 < run->boots->count &&
				s->ns >= run->boots->list[run->boot + 1].start_ns, 0))
		begin_boot(run);
}

/* The interrupt on top of the stack is the timer's. */
static void run_out(struct latency_run *run, struct vcpu *cpu, const struct stacks *s, const struct stack *stack)
{
	struct latency l = begun(LATENCY_TIMER, s, stack, stack->depth - 1);

	set_timers(run, s->ns);
	l.start_ns = cpu->due_ns;
	l.end_ns = s->ns;
	l.end = stack->frames[stack->depth - 1].function;
	if (cpu->due_ns && cpu->due_ns < s->ns)
		keep(run, &l);
	cpu->due_ns = 0;
}

static void enter(void *state, struct stacks *s, struct stack *stack, struct frame *frame)
{
	struct latency_run *run = state;
	struct vcpu *cpu = &run->cpus[stack->cpu < 0 ? 0 : stack->cpu];

	heed_boots(run, s);
	if (__builtin_expect(frame->kind == FRAME_INTERRUPT || frame->kind == FRAME_SYSCALL, 0)) {
		/* user code had it: all is on. A jump goes on in the same frame */
		if (frame->kind == FRAME_SYSCALL && !frame->data) {
			drop(&cpu->off[LATENCY_INTERRUPTS_OFF]);
			drop(&cpu->off[LATENCY_PREEMPTION_OFF]);
		} else if (is_maskable(frame) && !frame->data) {
			begin_interrupt(cpu, s, stack);
			if (frame->role == run->timer && s->event)
				run_out(run, cpu, s, stack);
		}
		if (!frame->data)
			frame->data = SEEN;
	}
	if (__builtin_expect(run->roles[frame->function] && frame_is_called(frame) && frame->at_start, 0))
		play(run, cpu, s, stack, run->roles[frame->function]);
}

static void leave(void *state, struct stacks *s, struct stack *stack, const struct frame *frame)
{
	struct latency_run *run = state;
	struct vcpu *cpu;

	/* where events are missing, the machine begins anew, or a thread does not run, nothing ends by itself */
	if (stack->cpu < 0 || s->end == FRAME_LOST || s->end == FRAME_DIED)
		return;
	cpu = &run->cpus[stack->cpu];
	if (__builtin_expect(is_maskable(frame) && s->end != FRAME_JUMPED, 0))
		end_interrupt(run, cpu, s, frame);
	else if (__builtin_expect(run->roles[frame->function] & ROLE_SOFTIRQ && frame_is_called(frame), 0))
		end_softirqs(run, cpu, s, frame);
}

static void drop_all(struct vcpu *cpu)
{
	*cpu = (struct vcpu){ 0 };
}

/* A vCPU halts with interrupts on, and where it may be preempted; what is wanted of softirqs is still wanted. */
static void halt(void *state, struct stacks *s, struct stack *stack, bool goes_on)
{
	struct latency_run *run = state;
	struct vcpu *cpu = &run->cpus[stack->cpu < 0 ? 0 : stack->cpu];

	(void)goes_on;
	heed_boots(run, s);
	drop(&cpu->off[LATENCY_INTERRUPTS_OFF]);
	drop(&cpu->off[LATENCY_PREEMPTION_OFF]);
}

static void gap(void *state, struct stacks *s, const struct stack *stack, uint64_t from_ns)
{
	struct latency_run *run = state;

	(void)from_ns;
	heed_boots(run, s);
	set_timers(run, s->ns); /* when those from before it ran out is not known */
	drop_all(&run->cpus[stack->cpu < 0 ? 0 : stack->cpu]);
}

/* The scheduler itself has one lock, which the thread gives back that comes next; all other ones are given back. */
static void switched(void *state, struct stacks *s, const struct stack *from, const struct stack *to, unsigned number)
{
	struct latency_run *run = state;
	struct vcpu *cpu = &run->cpus[number];

	heed_boots(run, s);
	if (from == to)
		return;
	if (cpu->off[LATENCY_PREEMPTION_OFF].depth == 1)
		end(run, &cpu->off[LATENCY_PREEMPTION_OFF], s,
		    from->depth ? from->frames[from->depth - 1].function : HISTORY_NONE);
	drop(&cpu->off[LATENCY_PREEMPTION_OFF]);
	drop(&cpu->off[LATENCY_INTERRUPTS_OFF]);
	cpu->in_interrupt = cpu->in_softirqs = cpu->has_wanted = false;
}

/* Is it the name, in which @ stands for a kind of lock? */
static bool is_named(const char *name, const char *pattern)
{
	static const char *const locks[] = { "spin", "read", "write" };
	size_t before = strcspn(pattern, "@");

	if (!pattern[before])
		return !strcmp(name, pattern);
	if (strncmp(name, pattern, before))
		return false;
	for (size_t i = 0; i < sizeof locks / sizeof *locks; i++)
		if (!strncmp(name + before, locks[i], strlen(locks[i])) &&
		    !strcmp(name + before + strlen(locks[i]), pattern + before + 1))
			return true;
	return false;
}

static uint16_t roles_of(const char *name)
{
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (is_named(name, functions[i].name))
			return functions[i].roles;
	return 0;
}

static bool ends_in(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n >= m && !strcmp(name + n - m, end);
}

static void give_roles(struct latency_run *run, const struct names *names)
{
	bool is_inlined = names_find(names, "_raw_spin_unlock_irq") == UINT32_MAX;

	run->roles = xcalloc(names_count(names), sizeof *run->roles);
	for (uint32_t f = 0; f < names_count(names); f++)
		run->roles[f] = *names_object(names, f) ? 0 : roles_of(names_function(names, f));
	/* where that is a part of its callers, as in kernels without preemption, nothing tells when they are on */
	for (uint32_t f = 0; is_inlined && f < names_count(names); f++)
		if (ends_in(names_function(names, f), "_lock_irq"))
			run->roles[f] &= (uint16_t)~ROLE_IRQ_OFF;
	for (int kind = 0; kind < LATENCY_KINDS; kind++)
		run->found->lacks[kind] = needs[kind] && names_find(names, needs[kind]) == UINT32_MAX;
}

/* The first slice of the thread from that time on; NULL: there is none. */
static const struct slice *slice_from(const struct history *h, uint32_t thread, uint64_t ns)
{
	uint32_t end = h->first_slice[thread + 1];
	size_t at = first_not(i, h->first_slice[thread], end, h->slices[h->by_thread[i]].start_ns < ns);

	return at < end ? &h->slices[h->by_thread[at]] : NULL;
}

/* It was not over where the trace, or the boot, ended. */
static bool away_goes_on(const struct away *a, const struct boots *boots)
{
	size_t next = boots_at(boots, a->start_ns) + 1;

	return a->end_ns == (next < boots->count ? boots->list[next].start_ns : UINT64_MAX);
}

/* The vCPU is that on which the thread runs then. */
static void find_wakeups(struct latency_run *run, const struct history *h)
{
	for (size_t i = 0; i < h->n_aways; i++) {
		const struct away *a = &h->aways[i];
		const struct slice *slice;

		if ((a->wake_ns <= a->start_ns && a->context != WAKE_FORK) || a->wake_ns > a->end_ns ||
		    a->wake_ns == UINT64_MAX)
			continue;
		if (away_goes_on(a, run->boots)) {
			keep(run, &(struct latency){ .kind = LATENCY_WAKEUP,
						     .cpu = run->n_cpus > 1 ? LATENCY_NO_CPU : 0,
						     .thread = a->thread,
						     .start_ns = a->wake_ns,
						     .end_ns = away_end(a, h->end_ns),
						     .goes_on = true,
						     .end = HISTORY_NONE,
						     .held_by = HISTORY_NONE });
			continue;
		}
		slice = slice_from(h, a->thread, a->end_ns);
		if (slice && slice->start_ns == a->end_ns) /* else it ended in a gap: when, is not known */
			keep(run, &(struct latency){ .kind = LATENCY_WAKEUP,
						     .cpu = slice->cpu,
						     .thread = a->thread,
						     .start_ns = a->wake_ns,
						     .end_ns = a->end_ns,
						     .end = HISTORY_NONE,
						     .held_by = HISTORY_NONE });
	}
}

/* Has any time begun in the span, that is not over? */
static bool is_open(const struct latency_run *run)
{
	uint64_t to_ns = run->options->span.to_ns;

	for (unsigned i = 0; i < run->n_cpus; i++) {
		const struct vcpu *cpu = &run->cpus[i];
		const struct open_time *times[] = { &cpu->off[0], &cpu->off[1], &cpu->softirq };

		if (cpu->due_ns && cpu->due_ns < to_ns)
			return true;
		for (size_t k = 0; k < sizeof times / sizeof *times; k++)
			if (times[k]->open && times[k]->begun.start_ns < to_ns)
				return true;
	}
	return false;
}

static void due(void *state, struct stacks *s)
{
	enum { EVERY_NS = 1000000 };
	struct latency_run *run = state;
	uint64_t to_ns = run->options->span.to_ns;

	heed_boots(run, s);
	if (s->ns >= to_ns)
		set_timers(run, s->ns);
	s->stop = s->ns >= to_ns && !is_open(run);
	s->due_ns = s->ns < to_ns ? to_ns : s->ns + EVERY_NS;
}

static int find_in_calls(struct latency_run *run, const struct session *session, struct error *err)
{
	static const struct stacks_visitor visitor = {
		.enter = enter, .leave = leave, .halt = halt, .gap = gap, .switched = switched, .due = due,
	};
	struct stacks stacks;
	int result = stacks_replay(&stacks, session, NULL, UINT64_MAX, &visitor, run, err);

	if (result == 0 && !stacks.stop) {
		set_timers(run, stacks.ns);
		end_all(run, stacks.ns);
	}
	stacks_deinit(&stacks);
	return result;
}

/* Those of all kinds one behind the other. */
static void close_up(struct latency_run *run)
{
	struct latencies *l = run->found;

	for (int kind = 0; kind < LATENCY_KINDS; kind++) {
		memmove(&l->list[l->count], of_kind(run, (enum latency_kind)kind), run->n[kind] * sizeof *l->list);
		l->count += run->n[kind];
	}
}

static int read_timers(struct latency_run *run, const struct session *session, struct error *err)
{
	bool *lacks = &run->found->lacks[LATENCY_TIMER];

	run->timer = session->reader->arch->timer;
	if (!run->options->kinds[LATENCY_TIMER])
		return 0;
	*lacks = true;
	if (facts_read(session->reader, &run->facts, err) < 0)
		return -1;
	for (size_t i = 0; i < run->facts.count; i++)
		*lacks &= run->facts.list[i].kind != FACT_DUE;
	return 0;
}

int latency_analyse(const struct session *session, const struct history *history, const struct latency_options *options,
		    struct latencies *ret, struct error *err)
{
	struct latency_run run = {
		.options = options, .threads = session->threads, .found = ret, .boots = session->names->boots,
	};
	int result;

	*ret = (struct latencies){ .list = xcalloc(options->each * LATENCY_KINDS + 1, sizeof *ret->list) };
	run.n_cpus = reader_vcpus(session->reader);
	run.cpus = xcalloc(run.n_cpus, sizeof *run.cpus);
	give_roles(&run, session->names);
	result = read_timers(&run, session, err);
	if (result == 0 && (options->kinds[LATENCY_INTERRUPTS_OFF] || options->kinds[LATENCY_PREEMPTION_OFF] ||
			    options->kinds[LATENCY_SOFTIRQ] || options->kinds[LATENCY_TIMER]))
		result = find_in_calls(&run, session, err);
	if (history)
		find_wakeups(&run, history);
	close_up(&run);
	if (result == 0)
		result = latency_find_holders(session, ret->list, ret->count, err);
	facts_deinit(&run.facts);
	free(run.cpus);
	free(run.roles);
	return result;
}

void latencies_deinit(struct latencies *l)
{
	free(l->list);
	*l = (struct latencies){ 0 };
}
