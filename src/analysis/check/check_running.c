/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check_running.h"

#include <inttypes.h>

#include "base/alloc.h"

enum { CLOCK_SLACK_NS = 100 }; /* of a boot, 5 were seen */

void running_init(struct running *r, const struct session *session)
{
	const char *clock = meta_get(&session->reader->meta, "clock");
	unsigned n = reader_vcpus(session->reader);

	*r = (struct running){
		.reader = session->reader, .threads = session->threads, .n_cpus = n,
		.boot = session->names->boots->list,
		.exact = n == 1 && clock && strstr(clock, "icount: exact"),
		.icount_shift = (unsigned)meta_get_u64(&session->reader->meta, "icount_shift", 0) & 63,
	};
	r->dead = xcalloc(session->threads->count + 1, sizeof *r->dead);
	r->cpus = xcalloc(n, sizeof *r->cpus);
}

void running_deinit(struct running *r)
{
	free(r->dead);
	free(r->cpus);
	*r = (struct running){ 0 };
}

static struct check_place place_of(const struct running *r, unsigned cpu, uint64_t ns)
{
	return (struct check_place){ .cpu = cpu, .ns = ns, .event = r->cpus[cpu].events };
}

static void fault(struct running *r, enum running_fault which, unsigned cpu, const struct event *e, uint64_t a,
		  uint64_t b)
{
	struct running_faults *f = &r->faults[which];

	if (!f->count++) {
		f->first = place_of(r, cpu, e->ns);
		f->what[0] = a;
		f->what[1] = b;
	}
}

/* Only the idle task of a vCPU may run there before it has a record. */
static void check_next(struct running *r, unsigned cpu, const struct event *e)
{
	long thread = threads_find(r->threads, e->args[1], e->ns);

	if (thread == THREAD_NONE)
		fault(r, FAULT_UNKNOWN_TASK, cpu, e, e->args[1], 0);
	else if (r->dead[thread])
		fault(r, FAULT_DEAD, cpu, e, e->args[1], (uint64_t)r->threads->list[thread].pid);
}

static void check_elsewhere(struct running *r, unsigned cpu, const struct event *e)
{
	for (unsigned i = 0; i < r->n_cpus; i++)
		if (i != cpu && r->cpus[i].task == e->args[1])
			r->cpus[i].twice_ns = e->ns;
}

static void switch_task(struct running *r, unsigned cpu, const struct event *e)
{
	struct running_cpu *now = &r->cpus[cpu];
	uint64_t previous = e->args[0];

	if (now->task && now->task != previous)
		fault(r, FAULT_PREVIOUS, cpu, e, previous, now->task);
	if (now->twice_ns && now->twice_ns < e->ns)
		fault(r, FAULT_TWICE, cpu, e, now->task, now->twice_ns);
	now->twice_ns = 0;
	if (now->dying) {
		long thread = threads_find(r->threads, previous, e->ns);

		if (thread != THREAD_NONE)
			r->dead[thread] = true;
		now->dying = false;
	}
	now->task = e->args[1];
	if (!now->task) { /* the vCPU begins anew, whatever it did before */
		now->place = 0;
		return;
	}
	if (r->threads->count)
		check_next(r, cpu, e);
	if (previous != now->task)
		check_elsewhere(r, cpu, e);
}

/*
 * The difference between the time awake and what its instructions take. QEMU's clock may begin before the guest
 * does, which the first clock tells.
 */
static void check_clock(struct running *r, unsigned cpu, const struct event *e)
{
	struct running_cpu *now = &r->cpus[cpu];
	uint64_t counted = e->insns << r->icount_shift, off;

	if (!now->clocked && now->awake_ns > counted)
		now->awake_ns = counted;
	now->clocked = true;
	off = now->awake_ns - counted;
	if (off + CLOCK_SLACK_NS > 2 * CLOCK_SLACK_NS)
		fault(r, FAULT_CLOCK, cpu, e, now->awake_ns, e->insns);
}

static bool is_early(const struct running *r, unsigned cpu, const struct event *e)
{
	const struct boot *b = r->boot;

	if (!addr_is_kernel(e->target) || b->kernel_ns == UINT64_MAX)
		return false;
	/*
	 * the boot vCPU's clocks were read when the kernel was found; between two clocks its instructions are more
	 * exact
	 */
	return cpu ? e->ns < b->kernel_ns : b->kernel_insns != UINT64_MAX && e->insns < b->kernel_insns;
}

static void go_past_gap(struct running *r, unsigned cpu, const struct event *e)
{
	struct running_cpu *now = &r->cpus[cpu];

	if (e->args[GAP_REASON] != GAP_NOT_ASKED)
		fault(r, FAULT_GAP, cpu, e, e->args[GAP_LOST], 0);
	now->task = e->args[GAP_TASK];
	now->place = e->args[GAP_PLACE];
	now->twice_ns = 0;
	now->dying = now->clocked = false;
	now->ns = e->ns;
	now->awake_ns = e->insns << r->icount_shift;
}

static void add_mark(struct running *r, unsigned cpu, const struct event *e)
{
	struct running_cpu *now = &r->cpus[cpu];

	if (e->kind == EVENT_RESUME && !now->halted)
		fault(r, FAULT_RESUMED, cpu, e, 0, 0);
	if (event_has_clock(e->kind)) {
		now->awake_ns += now->halted ? 0 : e->ns - now->ns;
		now->ns = e->ns;
		if (r->exact)
			check_clock(r, cpu, e);
	}
	if (e->kind == EVENT_TASK_SWITCH)
		switch_task(r, cpu, e);
	else if (e->kind == EVENT_GAP)
		go_past_gap(r, cpu, e);
	now->halted = e->kind == EVENT_HALT || (now->halted && e->kind == EVENT_CLOCK);
}

void running_add(struct running *r, unsigned cpu, const struct event *e)
{
	const struct boot *end = r->reader->boots.list + r->reader->boots.count;
	struct running_cpu *now = &r->cpus[cpu];

	if (__builtin_expect(r->boot + 1 < end && e->ns >= r->boot[1].start_ns, 0))
		r->boot++;
	if (__builtin_expect(e->kind >= EVENT_FIRST_SITELESS || now->halted, 0))
		add_mark(r, cpu, e);
	if (__builtin_expect(e->ns < r->boot->kernel_ns || e->insns < r->boot->kernel_insns, 0) && is_early(r, cpu, e))
		fault(r, FAULT_EARLY, cpu, e, e->target, 0);
	if (e->target)
		now->place = e->target;
	now->events++;
}

void running_dies(struct running *r, unsigned cpu)
{
	r->cpus[cpu].dying = true;
}

static void report(const struct running *r, struct check *c, enum running_fault which)
{
	const struct running_faults *f = &r->faults[which];
	const struct check_place *at = &f->first;
	uint64_t a = f->what[0], b = f->what[1];

	switch (which) {
	case FAULT_PREVIOUS:
		check_found_at(c, CHECK_SWITCH, f->count, at,
			       "a switch from task 0x%" PRIx64 ", but 0x%" PRIx64 " runs there", a, b);
		break;
	case FAULT_TWICE:
		check_found_at(c, CHECK_SWITCH, f->count, at,
			       "task 0x%" PRIx64 " still runs, though another vCPU switched to it at %" PRIu64 " ns", a,
			       b);
		break;
	case FAULT_UNKNOWN_TASK:
		check_found_at(c, CHECK_TASK, f->count, at, "a switch to task 0x%" PRIx64 ", which nothing told of", a);
		break;
	case FAULT_DEAD:
		check_found_at(c, CHECK_TASK, f->count, at,
			       "a switch to task 0x%" PRIx64 " (PID %" PRId64 "), which is dead", a, (int64_t)b);
		break;
	case FAULT_RESUMED:
		check_found_at(c, CHECK_HALT, f->count, at, "a resume, but the vCPU is not halted");
		break;
	case FAULT_EARLY:
		check_found_at(c, CHECK_EARLY, f->count, at, "kernel code at 0x%" PRIx64 " before there is a kernel",
			       a);
		break;
	case FAULT_GAP:
		check_found_at(c, CHECK_LOST, f->count, at, "a gap: %" PRIu64 " events are missing", a);
		break;
	case FAULT_CLOCK:
		check_found_at(c, CHECK_COUNTER, f->count, at,
			       "%" PRIu64 " ns passed awake, %" PRIu64 " instructions retired: more than %d apart", a,
			       b, CLOCK_SLACK_NS);
		break;
	case RUNNING_FAULTS:
		break;
	}
}

void running_end(const struct running *r, struct check *c)
{
	for (int i = 0; i < RUNNING_FAULTS; i++)
		if (r->faults[i].count)
			report(r, c, (enum running_fault)i);
}
