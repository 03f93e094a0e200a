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

static inline bool same(const struct event *a, const struct event *b)
{
	return a->site == b->site && a->insns == b->insns && a->slot == b->slot && a->from == b->from &&
	       a->target == b->target;
}

bool phrase_matches(const struct phrase *phrase, const struct event *call, size_t left)
{
	if (phrase->site != call->site || phrase->count > left)
		return false;
	for (unsigned i = 0; i < phrase->count; i++) {
		struct event e;

		fill(&e, &phrase->events[i], call);
		if (!same(&e, call + 1 + i))
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

void phrase_learn(struct phrase *table, const struct event *call, const struct event *ret)
{
	struct phrase *phrase = phrase_of(table, call->site);

	phrase->site = 0;
	phrase->count = (uint32_t)(ret - call);
	for (unsigned i = 0; i < phrase->count; i++) {
		const struct event *e = call + 1 + i;
		struct phrase_event *p = &phrase->events[i];
		struct event again;

		*p = (struct phrase_event){
			.site = tagged_site(e->site, e->kind),
			.insns = (uint16_t)(e->insns - call->insns),
			.slot = (int16_t)(e->slot - (call->slot & has[e->kind].slot)),
			.from = (int32_t)(e->from - (call->from & has[e->kind].from)),
			.target = (int32_t)(e->target - call->from),
		};
		fill(&again, p, call);
		if (!same(&again, e))
			return; /* too far apart */
	}
	phrase->site = call->site;
}
