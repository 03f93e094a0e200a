/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Measures the time from event to event: instructions retired, and guest time,
 * either running or halted. Only time in the span counts.
 */
#ifndef UPTO_REPLAY_METER_H
#define UPTO_REPLAY_METER_H

#include "walk.h"

struct meter {
	const struct span *span;
	uint64_t insns, ns; /* at the event before */
	bool halted;
};

struct spent {
	uint64_t insns, ns, halted_ns;
};

static inline void meter_begin(struct meter *m, const struct chunk_header *h)
{
	m->insns = h->first_insns;
	m->ns = h->first_ns;
	m->halted = h->flags & CHUNK_HALTED;
}

/* The part of [from, to) that is in the span, out of `amount` spent evenly in it. */
uint64_t meter_clip(const struct span *span, uint64_t from, uint64_t to, uint64_t amount);

/*
 * The time from the event before up to `e`. `now` is the time of `e`, in the same unit as the times of the meter and
 * the span.
 */
static inline struct spent meter_step_at(struct meter *m, const struct event *e, uint64_t now)
{
	uint64_t insns = e->insns - m->insns, ns = now - m->ns;
	struct spent spent;

	if (__builtin_expect(m->ns < m->span->from_ns || now >= m->span->to_ns, 0)) {
		insns = meter_clip(m->span, m->ns, now, insns);
		ns = meter_clip(m->span, m->ns, now, ns);
	}
	spent = (struct spent){ .insns = insns, .ns = m->halted ? 0 : ns, .halted_ns = m->halted ? ns : 0 };
	m->insns = e->insns;
	m->ns = now;
	if (__builtin_expect(e->kind >= EVENT_HALT, 0))
		m->halted = e->kind == EVENT_HALT || (m->halted && e->kind == EVENT_CLOCK);
	else
		m->halted = false;
	return spent;
}

static inline struct spent meter_step(struct meter *m, const struct event *e)
{
	return meter_step_at(m, e, e->ns);
}

#endif
