/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lockups.h"

#include <stdlib.h>

#include "arch/address.h"
#include "base/alloc.h"
#include "replay/walk.h"
#include "trace/thinned.h"

enum { SECOND = 1000000000 };

/* What the last events of a vCPU tell. */
struct last {
	bool open;     /* there is an event at which an interrupt was taken, or may have been; the last one was at … */
	uint64_t ns;
	uint64_t task, place;
	bool halted;
};

static bool may_interrupt(const struct session *s, const struct event *e)
{
	switch (e->kind) {
	case EVENT_INTERRUPT:
		return e->args[0] >= s->reader->arch->first_interrupt;
	case EVENT_HALT:   /* it waits for one, so that they are on */
	case EVENT_RESUME:
	case EVENT_GAP:    /* one may have been lost */
		return true;
	default:
		return false;
	}
}

static void take(const struct session *s, const struct event *e, uint64_t task, struct last *last)
{
	last->task = e->kind == EVENT_TASK_SWITCH ? e->args[1] : task;
	last->halted = e->kind == EVENT_HALT || (last->halted && e->kind == EVENT_CLOCK);
	if (e->target)
		last->place = e->target;
	if (may_interrupt(s, e)) {
		last->open = true;
		last->ns = e->ns;
	}
}

static int read_span(const struct session *s, const struct span *span, struct last *last, struct error *err)
{
	struct merged *m = merged_new(s->reader, span);
	const struct event *e;
	unsigned cpu;
	int r;

	*last = (struct last){ 0 };
	while ((r = merged_next(m, &e, &cpu, err)) > 0)
		take(s, e, merged_task(m, cpu), last);
	merged_free(m);
	return r;
}

/* Reads the trace's end, and as far back as it must. */
static int read_last(const struct session *s, unsigned cpu, uint64_t end_ns, struct last *last, struct error *err)
{
	struct span span = { .from_ns = UINT64_MAX, .to_ns = end_ns + (end_ns < UINT64_MAX), .cpu = (int)cpu };
	int r = 0;

	for (uint64_t length = SECOND; r >= 0 && span.from_ns && !last->open; length = longer_look_back(length)) {
		span.from_ns = span.to_ns > length ? span.to_ns - length : 0;
		r = read_span(s, &span, last, err);
	}
	return r;
}

static bool is_idle(const struct threads *threads, uint64_t task, uint64_t ns)
{
	const struct task_record *r = threads_record(threads, task, ns);

	return !r || r->pid == 0;
}

static bool is_lockup(const struct session *s, const struct last *last, uint64_t end_ns)
{
	const struct boots *boots = &s->reader->boots;

	if (!last->open || last->halted || last->ns + SECOND > end_ns ||
	    last->ns < boots->list[boots->count - 1].start_ns)
		return false;
	return last->task && addr_is_kernel(last->place) && !is_idle(s->threads, last->task, last->ns);
}

static bool has_events(const struct reader *r, unsigned cpu)
{
	for (size_t i = r->n_chunks; i--;)
		if (r->chunks[i].header.type == CHUNK_EVENTS && r->chunks[i].header.cpu == cpu)
			return true;
	return false;
}

int lockups_find(const struct session *s, uint64_t end_ns, struct lockups *ret, struct error *err)
{
	unsigned vcpus = reader_vcpus(s->reader);
	size_t cap = 0;

	*ret = (struct lockups){ 0 };
	if (!s->threads->count || thinned_by(&s->reader->meta))
		return 0;
	for (unsigned cpu = 0; cpu < vcpus; cpu++) {
		struct last last = { 0 };

		if (!has_events(s->reader, cpu))
			continue;
		if (read_last(s, cpu, end_ns, &last, err) < 0)
			return -1;
		if (!is_lockup(s, &last, end_ns))
			continue;
		ret->list = array_grow(ret->list, ret->count, &cap, sizeof *ret->list);
		ret->list[ret->count++] = (struct lockup){
			.cpu = cpu, .since_ns = last.ns, .task = last.task, .place = last.place,
		};
	}
	return 0;
}

void lockups_deinit(struct lockups *l)
{
	free(l->list);
	*l = (struct lockups){ 0 };
}
