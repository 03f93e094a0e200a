/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "quiet.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "replay/walk.h"
#include "trace/thinned.h"

enum { SECOND = 1000000000 };

/* What a vCPU runs. */
struct running {
	uint64_t task;
	bool process;
	bool halted;
	bool seen;         /* the span has events of it */
	uint64_t first_ns; /* of what is behind the span: its first event, or the end */
};

static bool is_process(const struct threads *threads, uint64_t task, uint64_t ns)
{
	const struct thread *t = task ? threads_at(threads, threads_find(threads, task, ns)) : NULL;

	return t && (!t->kernel || t->tgid == 1);
}

/* Up to the event, or from it on, the vCPU runs that task. */
static void run_task(const struct session *s, struct running *now, uint64_t task, uint64_t ns)
{
	if (now->seen && task == now->task)
		return;
	now->seen = true;
	now->task = task;
	now->process = is_process(s->threads, task, ns);
}

/* The last time that a process ran which ran in the span, also if it went on behind that; UINT64_MAX: none did. */
static int last_process(const struct session *s, const struct span *span, struct running *running, uint64_t *ret_ns,
			struct error *err)
{
	unsigned vcpus = reader_vcpus(s->reader), cpu;
	uint64_t *first_ns = xcalloc(vcpus, sizeof *first_ns);
	struct merged *m = merged_new(s->reader, span);
	const struct event *e;
	int r;

	*ret_ns = UINT64_MAX;
	for (unsigned i = 0; i < vcpus; i++)
		running[i] = (struct running){ .first_ns = running[i].first_ns };
	while ((r = merged_next(m, &e, &cpu, err)) > 0) {
		struct running *now = &running[cpu];

		if (!now->seen)
			first_ns[cpu] = e->ns;
		run_task(s, now, merged_task(m, cpu), e->ns);
		if (now->process && e->kind != EVENT_GAP && e->kind != EVENT_RESUME && !now->halted)
			*ret_ns = e->ns; /* up to here */
		now->halted = e->kind == EVENT_HALT || (now->halted && e->kind == EVENT_CLOCK);
		if (e->kind == EVENT_TASK_SWITCH)
			run_task(s, now, e->args[1], e->ns);
	}
	for (unsigned i = 0; i < vcpus; i++) {
		/* it went on up to its next event */
		if (running[i].process && !running[i].halted &&
		    (*ret_ns == UINT64_MAX || running[i].first_ns > *ret_ns))
			*ret_ns = running[i].first_ns;
		if (running[i].seen)
			running[i].first_ns = first_ns[i];
	}
	merged_free(m);
	free(first_ns);
	return r;
}

int quiet_since(const struct session *s, uint64_t end_ns, uint64_t *ret_ns, struct error *err)
{
	/* the guest's last events may be at its very end: clocks */
	struct span span = { .to_ns = end_ns + (end_ns < UINT64_MAX), .cpu = -1 };
	unsigned vcpus = reader_vcpus(s->reader);
	struct running *running;
	uint64_t last = UINT64_MAX;
	int r = 0;

	*ret_ns = UINT64_MAX;
	if (!s->threads->count || thinned_by(&s->reader->meta))
		return 0;
	running = xcalloc(vcpus, sizeof *running);
	for (unsigned i = 0; i < vcpus; i++)
		running[i].first_ns = end_ns;
	for (uint64_t length = SECOND; r >= 0 && last == UINT64_MAX && span.to_ns; length = longer_look_back(length)) {
		span.from_ns = span.to_ns > length ? span.to_ns - length : 0;
		r = last_process(s, &span, running, &last, err);
		span.to_ns = span.from_ns;
	}
	free(running);
	if (r < 0)
		return -1;
	if (last != UINT64_MAX && last + SECOND <= end_ns)
		*ret_ns = last;
	return 0;
}
