/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "quiet.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "replay/walk.h"
#include "trace/thinned.h"

enum { SECOND = 1000000000 };

/* What ran on a vCPU when it was last looked at. */
struct running {
	uint64_t task;
	bool process;
};

static bool is_process(const struct threads *threads, uint64_t task, uint64_t ns)
{
	const struct thread *t = task ? threads_at(threads, threads_find(threads, task, ns)) : NULL;

	return t && (!t->kernel || t->tgid == 1);
}

/* The last time in the span that a process ran; UINT64_MAX: none did. */
static int last_process(const struct session *s, const struct span *span, uint64_t *ret_ns, struct error *err)
{
	unsigned vcpus = reader_vcpus(s->reader);
	struct running *running = xcalloc(vcpus, sizeof *running);
	struct merged *m = merged_new(s->reader, span);
	const struct event *e;
	unsigned cpu;
	int r;

	*ret_ns = UINT64_MAX;
	while ((r = merged_next(m, &e, &cpu, err)) > 0) {
		struct running *now = &running[cpu];
		uint64_t task = merged_task(m, cpu);

		if (now->process)
			*ret_ns = e->ns; /* up to here */
		if (task != now->task)
			*now = (struct running){ .task = task, .process = is_process(s->threads, task, e->ns) };
	}
	for (unsigned i = 0; i < vcpus; i++)
		if (running[i].process)
			*ret_ns = span->to_ns - 1; /* it goes on */
	merged_free(m);
	free(running);
	return r;
}

int quiet_since(const struct session *s, uint64_t end_ns, uint64_t *ret_ns, struct error *err)
{
	struct span span = { .to_ns = end_ns, .cpu = -1 };
	uint64_t last = UINT64_MAX;

	*ret_ns = UINT64_MAX;
	if (!s->threads->count || thinned_by(&s->reader->meta))
		return 0;
	for (uint64_t length = SECOND; last == UINT64_MAX && span.to_ns; length *= 4) {
		span.from_ns = span.to_ns > length ? span.to_ns - length : 0;
		if (last_process(s, &span, &last, err) < 0)
			return -1;
		span.to_ns = span.from_ns;
	}
	if (last != UINT64_MAX && last + SECOND <= end_ns)
		*ret_ns = last;
	return 0;
}
