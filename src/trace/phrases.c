/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "phrases.h"

#include "base/alloc.h"
#include "sites.h"
#include "written_pieces.h"

/* The bits above the site's number: the kind, and the bases that the differences are added to. */
enum {
	KIND_MASK = 7, /* phrases have no kinds above this */
	FROM_SHIFT = TAGGED_BITS + 3, /* 2 bits: enum base */
	TARGET_SHIFT = FROM_SHIFT + 2, /* 1 bit: NEAR or FAR */
	SLOT_SHIFT = TARGET_SHIFT + 1, /* 1 bit: the slot is relative to the call's; else it is 0 */
};
static_assert(EVENT_CALL < EVENT_RETURN && EVENT_CALL_INDIRECT < EVENT_RETURN && EVENT_JUMP > EVENT_RETURN,
	      "kinds up to RETURN have a slot");

enum base {
	NEAR,    /* the call's `from` */
	FAR,     /* that and the phrase's `far` */
	NOTHING, /* 0: the kind does not have the field, and the difference is 0 too */
	BASES,
};

/* What the differences of a phrase are added to. */
struct bases {
	uint64_t insns, slot, addrs[BASES];
};

struct phrases *phrases_new(void)
{
	struct phrases *phrases = xcalloc_aligned(CACHE_LINE, 1, sizeof *phrases);

	phrases->lines = xreserve((size_t)PHRASE_LINES_MAX * PHRASE_LINE);
	phrases->n_lines = 1;
	return phrases;
}

void phrases_free(struct phrases *phrases)
{
	unreserve(phrases->lines, (size_t)PHRASE_LINES_MAX * PHRASE_LINE);
	free(phrases);
}

void phrases_reset(struct phrases *phrases)
{
	clear_written(phrases->sets, sizeof *phrases->sets, phrases->written, PHRASE_SETS);
	memset(phrases->freed, 0, sizeof phrases->freed);
	phrases->n_lines = 1;
}

static unsigned lines_for(unsigned events)
{
	return (unsigned)((sizeof(struct phrase) + events * sizeof(struct phrase_event) + PHRASE_LINE - 1) /
			  PHRASE_LINE);
}

/* Where a phrase of so many events will lie. The phrase that is there has `old` events; 0: there is none. */
static struct phrase *make_room(struct phrases *phrases, unsigned place, unsigned old, unsigned events)
{
	unsigned had = old ? lines_for(old) : 0, want = lines_for(events);
	uint32_t *line = &phrases->places[place].line;

	if (had == want)
		return phrase_at(phrases, place);
	if (had) {
		memcpy(phrase_at(phrases, place), &phrases->freed[had], sizeof *line);
		phrases->freed[had] = *line;
	}
	*line = phrases->freed[want];
	if (*line) {
		memcpy(&phrases->freed[want], phrase_at(phrases, place), sizeof *line);
	} else {
		*line = phrases->n_lines;
		phrases->n_lines += want;
	}
	return phrase_at(phrases, place);
}

static inline struct bases bases_of(const struct phrase *phrase, const struct event *call)
{
	return (struct bases){
		.insns = call->insns, .slot = call->slot, .addrs = { call->from, call->from + phrase->far },
	};
}

/* Write field by field: copying a structure that was just written would wait for its stores. */
static inline void fill(struct event *e, const struct phrase_event *p, const struct bases *b)
{
	e->kind = (enum event_kind)(p->site >> TAGGED_BITS & KIND_MASK);
	e->site = p->site & ((1u << TAGGED_BITS) - 1);
	e->insns = b->insns + p->insns;
	e->slot = (b->slot & -(uint64_t)(p->site >> SLOT_SHIFT)) + (uint64_t)(int64_t)p->slot;
	e->from = b->addrs[p->site >> FROM_SHIFT & 3] + (uint64_t)(int64_t)p->from;
	e->target = b->addrs[p->site >> TARGET_SHIFT & 1] + (uint64_t)(int64_t)p->target;
}

static bool matches(const struct phrase *phrase, unsigned count, const struct event *call)
{
	const struct bases bases = bases_of(phrase, call);

	for (unsigned i = 0; i < count; i++) {
		const struct event *is = call + 1 + i;
		struct event e;

		fill(&e, &phrase->events[i], &bases);
		if (is->site != e.site || is->insns != e.insns || is->slot != e.slot || is->from != e.from ||
		    is->target != e.target)
			return false;
	}
	return true;
}

static bool comes(const struct phrases *phrases, const struct event *call, size_t left, unsigned number)
{
	const struct phrase_set *set = &phrases->sets[call->site % PHRASE_SETS];
	unsigned count;

	if (!phrase_set_has(set, call->site, number))
		return false;
	count = set->counts[number - 1];
	/* compare this first: most other phrases differ here, and loading the phrase itself may miss the cache */
	return count <= left && call[count].insns - call->insns == set->insns[number - 1] &&
	       matches(phrase_at(phrases, phrase_place(call->site, number)), count, call);
}

unsigned phrases_find(const struct phrases *phrases, const struct event *call, size_t left, unsigned likely)
{
	if (comes(phrases, call, left, likely))
		return likely;
	for (unsigned number = 1; number <= PHRASE_WAYS; number++)
		if (number != likely && comes(phrases, call, left, number))
			return number;
	return 0;
}

void phrase_write(const struct phrases *phrases, unsigned place, struct event *call)
{
	const struct phrase *phrase = phrase_at(phrases, place);
	/* local copies: the compiler must not reload them after each store */
	const struct bases bases = bases_of(phrase, call);
	const struct phrase_event *p = phrase->events, *end = p + phrase_count(phrases, place);
	struct event *e = call + 1;

	while (p < end)
		fill(e++, p++, &bases);
}

/* Not 0 if the signed number needs more than `bits` bits. */
static inline uint64_t excess(uint64_t number, unsigned bits)
{
	return (number + (UINT64_C(1) << (bits - 1))) >> bits;
}

/* An address as a difference from one of the bases, which *base gets. */
static inline uint64_t difference_of(struct phrase *phrase, uint64_t difference, enum base *base)
{
	*base = NEAR;
	if (__builtin_expect(!excess(difference, 32), 1))
		return difference;
	if (!phrase->far)
		phrase->far = difference;
	*base = FAR;
	return difference - phrase->far;
}

/* Not 0 if some differences do not fit. */
static inline uint64_t describe(struct phrase *phrase, struct phrase_event *p, const struct event *e,
				const struct event *call)
{
	bool has_slot = e->kind <= EVENT_RETURN;
	enum base from_base = NOTHING, target_base;
	uint64_t insns = e->insns - call->insns, slot = has_slot ? e->slot - call->slot : 0, from = 0, target;

	if (e->kind != EVENT_RETURN)
		from = difference_of(phrase, e->from - call->from, &from_base);
	target = difference_of(phrase, e->target - call->from, &target_base);
	p->site = tagged_site(e->site, e->kind) | (uint32_t)from_base << FROM_SHIFT |
		  (uint32_t)target_base << TARGET_SHIFT | (uint32_t)has_slot << SLOT_SHIFT;
	p->insns = (uint16_t)insns;
	p->slot = (int16_t)slot;
	p->from = (int32_t)from;
	p->target = (int32_t)target;
	return insns >> 16 | excess(slot, 16) | excess(from, 32) | excess(target, 32);
}

void phrases_learn(struct phrases *phrases, const struct event *call, const struct event *ret)
{
	struct phrase_set *set = phrases_set(phrases, call->site);
	unsigned place = phrase_place(call->site, set->next + 1), count = (unsigned)(ret - call);
	struct phrase *phrase = make_room(phrases, place, phrase_count(phrases, place), count);
	uint64_t bad = 0;

	phrases->written[call->site % PHRASE_SETS] = true;
	phrase->far = 0;
	for (unsigned i = 0; i < count; i++)
		bad |= describe(phrase, &phrase->events[i], call + 1 + i, call);
	phrases->places[place].serial = ++phrases->learned;
	set->sites[set->next] = bad ? 0 : call->site;
	set->insns[set->next] = (uint16_t)(ret->insns - call->insns);
	set->counts[set->next] = (uint8_t)count;
	set->next = (uint8_t)((set->next + !bad) % PHRASE_WAYS);
}
