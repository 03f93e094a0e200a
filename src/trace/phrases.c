/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "phrases.h"

#include "model.h"

/* A field that the kind does not have is 0, and its part of the phrase too: what is added to, by kind. */
static const struct base {
	uint64_t slot, from;
} has[EVENT_INTERRUPT_RETURN] = {
	[EVENT_CALL] = { ~UINT64_C(0), ~UINT64_C(0) },
	[EVENT_CALL_INDIRECT] = { ~UINT64_C(0), ~UINT64_C(0) },
	[EVENT_RETURN] = { .slot = ~UINT64_C(0) },
	[EVENT_JUMP] = { .from = ~UINT64_C(0) },
	[EVENT_JUMP_INDIRECT] = { .from = ~UINT64_C(0) },
	[EVENT_ARRIVE] = { .from = ~UINT64_C(0) },
};

/* Field by field: a structure that is put together elsewhere and copied waits for its parts. */
static inline void fill(struct event *e, const struct phrase_event *p, const struct event *call)
{
	enum event_kind kind = (enum event_kind)(p->site >> TAGGED_BITS);

	e->kind = kind;
	e->site = p->site & ((1u << TAGGED_BITS) - 1);
	e->insns = call->insns + p->insns;
	e->slot = (call->slot & has[kind].slot) + (uint64_t)(int64_t)p->slot;
	e->from = (call->from & has[kind].from) + (uint64_t)(int64_t)p->from;
	e->target = call->from + (uint64_t)(int64_t)p->target;
	e->ns = 0;
	e->args = NULL;
}

bool phrase_matches(const struct phrase *phrase, const struct event *call, size_t left)
{
	if (phrase->site != call->site || phrase->count > left)
		return false;
	for (unsigned i = 0; i < phrase->count; i++) {
		const struct event *is = call + 1 + i;
		struct event e;

		fill(&e, &phrase->events[i], call);
		if (is->site != e.site || is->insns != e.insns || is->slot != e.slot || is->from != e.from ||
		    is->target != e.target)
			return false;
	}
	return true;
}

struct event *phrase_write(const struct phrase *phrase, struct event *call)
{
	struct event *e = call + 1;

	for (unsigned i = 0; i < phrase->count; i++)
		fill(e++, &phrase->events[i], call);
	return e;
}

/* Not 0: the number has more bits than that, sign included. */
static inline uint64_t excess(uint64_t number, unsigned bits)
{
	return (number + (UINT64_C(1) << (bits - 1))) >> bits;
}

void phrase_learn(struct phrase *table, const struct event *call, const struct event *ret)
{
	struct phrase *phrase = phrase_of(table, call->site);
	uint64_t bad = 0;

	phrase->count = (uint32_t)(ret - call);
	for (unsigned i = 0; i < phrase->count; i++) {
		const struct event *e = call + 1 + i;
		uint64_t insns = e->insns - call->insns, slot = e->slot - (call->slot & has[e->kind].slot);
		uint64_t from = e->from - (call->from & has[e->kind].from), target = e->target - call->from;

		bad |= insns >> 16 | excess(slot, 16) | excess(from, 32) | excess(target, 32);
		phrase->events[i].site = tagged_site(e->site, e->kind);
		phrase->events[i].insns = (uint16_t)insns;
		phrase->events[i].slot = (int16_t)slot;
		phrase->events[i].from = (int32_t)from;
		phrase->events[i].target = (int32_t)target;
	}
	phrase->site = bad ? 0 : call->site;
}
