/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "phrases.h"

#include "model.h"

static_assert(EVENT_CALL < EVENT_RETURN && EVENT_CALL_INDIRECT < EVENT_RETURN && EVENT_JUMP > EVENT_RETURN,
	      "kinds up to RETURN have a slot");

/* What an event's fields are relative to: those that its kind does not have are 0, and their differences too. */
static inline uint64_t slot_base(enum event_kind kind, uint64_t slot)
{
	return kind <= EVENT_RETURN ? slot : 0;
}

static inline uint64_t from_base(enum event_kind kind, uint64_t from)
{
	return kind != EVENT_RETURN ? from : 0;
}

/* Field by field: a structure that is put together elsewhere and copied waits for its parts. */
static inline void fill(struct event *e, const struct phrase_event *p, uint64_t insns, uint64_t slot, uint64_t from)
{
	enum event_kind kind = (enum event_kind)(p->site >> TAGGED_BITS);

	e->kind = kind;
	e->site = p->site & ((1u << TAGGED_BITS) - 1);
	e->insns = insns + p->insns;
	e->slot = slot_base(kind, slot) + (uint64_t)(int64_t)p->slot;
	e->from = from_base(kind, from) + (uint64_t)(int64_t)p->from;
	e->target = from + (uint64_t)(int64_t)p->target;
}

bool phrase_matches(const struct phrase *phrase, const struct event *call, size_t left)
{
	if (phrase->site != call->site || phrase->count > left)
		return false;
	for (unsigned i = 0; i < phrase->count; i++) {
		const struct event *is = call + 1 + i;
		struct event e;

		fill(&e, &phrase->events[i], call->insns, call->slot, call->from);
		if (is->site != e.site || is->insns != e.insns || is->slot != e.slot || is->from != e.from ||
		    is->target != e.target)
			return false;
	}
	return true;
}

struct event *phrase_write(const struct phrase *phrase, struct event *call)
{
	/* copies, which what is written cannot change */
	uint64_t insns = call->insns, slot = call->slot, from = call->from;
	struct event *e = call + 1;

	for (unsigned i = 0; i < phrase->count; i++)
		fill(e++, &phrase->events[i], insns, slot, from);
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
		uint64_t insns = e->insns - call->insns, slot = e->slot - slot_base(e->kind, call->slot);
		uint64_t from = e->from - from_base(e->kind, call->from), target = e->target - call->from;

		bad |= insns >> 16 | excess(slot, 16) | excess(from, 32) | excess(target, 32);
		phrase->events[i].site = tagged_site(e->site, e->kind);
		phrase->events[i].insns = (uint16_t)insns;
		phrase->events[i].slot = (int16_t)slot;
		phrase->events[i].from = (int32_t)from;
		phrase->events[i].target = (int32_t)target;
	}
	phrase->site = bad ? 0 : call->site;
}
