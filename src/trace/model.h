/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the encoder and the decoder both expect to come next. Both feed it the
 * same events, so both hold the same expectations, and only surprises are
 * written. It starts empty with each unit of chunks (codec.h), so that units can
 * be decoded in parallel. The fields that an event needs most share half a cache
 * line, since decoding waits for memory.
 *
 *   contexts     where we are (and came from) → the next site, the last two that
 *                came, each with its Δinsns and Δslot
 *   memory       stack slot → the call that pushed a return address there:
 *                what a return will load, on whatever stack, in any thread;
 *                likewise the interrupt that pushed a frame there
 *   shifts       address space and place → run-time address - site's address
 *   targets      indirect site and where we came from → last target
 *   phrases      call site → what calls did, up to their returns (phrases.h)
 */
#ifndef UPTO_TRACE_MODEL_H
#define UPTO_TRACE_MODEL_H

#include <assert.h>
#include <stdbool.h>

#include "arch/address.h"
#include "base/map.h"
#include "phrases.h"
#include "sites.h"

#ifdef UPTO_SMALL_TABLES
/*
 * To fuzz (fuzz/meson.build): clearing the real ones takes all the time. Traces made with these cannot be read without.
 */
enum { MODEL_CONTEXTS = 256, MODEL_MEMORY = 64, MODEL_SHIFTS = 32, MODEL_TARGETS = 64 };
#else
enum {
	MODEL_CONTEXTS = 1 << 16,
	MODEL_MEMORY = 1 << 13,
	MODEL_SHIFTS = 1 << 12,
	MODEL_TARGETS = 1 << 14,
};
#endif

static_assert(MODEL_CONTEXTS <= 1 << 16, "a trail is made of uint16_t");

/* A site that came next, and what it came with. */
struct way {
	uint32_t site;         /* tagged */
	uint16_t step, second; /* of insns: the last one, and the last one that was another */
	int32_t dslot;
	bool elsewhere;        /* RETURN: it did not go where its call came from, the last time */
	uint8_t phrase;        /* CALL…: the number of the phrase that came after it, the last time; 0: none */
};

struct context {
	struct way ways[2]; /* the last one, and the last one that was another */
};
static_assert(sizeof(struct context) == 32, "two contexts share a cache line");

/* Steps from this on are not remembered. */
enum { STEP_MAX = UINT16_MAX };

/* Of which it is known whether they were written (written_pieces.h). */
enum { MODEL_PIECE = 32 }; /* entries */
static_assert(MODEL_CONTEXTS % MODEL_PIECE == 0 && MODEL_MEMORY % MODEL_PIECE == 0 && MODEL_SHIFTS % MODEL_PIECE == 0 &&
	      MODEL_TARGETS % MODEL_PIECE == 0, "tables are whole pieces");

struct model_written {
	bool contexts[MODEL_CONTEXTS / MODEL_PIECE], memory[MODEL_MEMORY / MODEL_PIECE],
		shifts[MODEL_SHIFTS / MODEL_PIECE], targets[MODEL_TARGETS / MODEL_PIECE];
};

struct memory {
	uint64_t slot, addr;
	uint32_t site; /* of the call; an interrupt: its kind; 0: nothing here */
};

struct shift {
	uint64_t key;
	int64_t shift;
};

struct model {
	uint64_t insns, slot, ns;
	uint64_t space;           /* ADDRESS_SPACE last seen */
	uint64_t place, before;   /* context: a number for where control is, and was */
	uint64_t trail;           /* numbers of the last four contexts, 16 bits each, the latest lowest */
	uint64_t shift_key;       /* the last one that was learned, */
	int64_t last_shift;       /* and its shift */
	uint64_t resume;          /* where user code was left, by a system call or an interrupt */
	struct context *contexts;
	uint16_t *ahead;          /* by context: the one that came four events later, the last time */
	struct memory *memory;
	struct shift *shifts;
	uint64_t *targets;
	struct phrases *phrases;
	struct model_written *written;
};

void model_init(struct model *m);
void model_deinit(struct model *m);
/* Forget everything except the state of the vCPU. */
void model_reset(struct model *m, uint64_t insns, uint64_t ns, uint64_t space);

/*
 * The context that the next event is looked up in. The table does not fit into the
 * cache, so this also prefetches the context that came four events later last time.
 */
static inline struct context *model_context(struct model *m)
{
	uint16_t i = (uint16_t)(hash64(m->place) % MODEL_CONTEXTS);

	__builtin_prefetch(&m->contexts[m->ahead[i]], 1);
	m->ahead[m->trail >> 48] = i;
	m->trail = m->trail << 16 | i;
	return &m->contexts[i];
}

/* Make `tagged` the site of the first way. It is not yet; so a context that was ever written has been here. */
static inline struct way *context_turn(struct model *m, struct context *c, uint32_t tagged)
{
	struct way second = c->ways[1];

	m->written->contexts[(size_t)(c - m->contexts) / MODEL_PIECE] = true;
	c->ways[1] = c->ways[0];
	c->ways[0] = second.site == tagged ? second : (struct way){ .site = tagged };
	return &c->ways[0];
}

/* Kernel stacks are the same memory in all address spaces. */
static inline size_t model_memory_index(const struct model *m, uint64_t slot)
{
	uint64_t key = addr_is_kernel(slot) ? slot : slot ^ m->space << 1;

	return hash64(key >> 1) % MODEL_MEMORY;
}

static inline const struct memory *model_memory(const struct model *m, uint64_t slot)
{
	return &m->memory[model_memory_index(m, slot)];
}

/* Code at user addresses moves with each process's mapping; kernel code does not. */
static inline uint64_t model_shift_key(const struct model *m, const struct site *site)
{
	return (site->addr >> 16) ^ m->space << 20;
}

static inline int64_t model_expect_shift(struct model *m, const struct site *site)
{
	const struct shift *s;
	uint64_t key;

	if (addr_is_kernel(site->addr))
		return 0;
	key = model_shift_key(m, site);
	if (key == m->shift_key)
		return m->last_shift;
	s = &m->shifts[hash64(key) % MODEL_SHIFTS];
	return s->key == key ? s->shift : m->last_shift;
}

static inline void model_learn_shift(struct model *m, const struct site *site, int64_t shift)
{
	uint64_t key = model_shift_key(m, site);
	size_t i = hash64(key) % MODEL_SHIFTS;

	/* then it is in the table already */
	if (key == m->shift_key && shift == m->last_shift)
		return;
	m->shift_key = key;
	m->last_shift = shift;
	m->shifts[i] = (struct shift){ .key = key, .shift = shift };
	m->written->shifts[i / MODEL_PIECE] = true;
}

static inline size_t model_target_index(const struct model *m, uint32_t site)
{
	return hash64((uint64_t)site << 20 ^ m->before) % MODEL_TARGETS;
}

static inline uint64_t model_target(const struct model *m, uint32_t site)
{
	return m->targets[model_target_index(m, site)];
}

static inline void model_learn_target(struct model *m, const struct event *e)
{
	size_t i = model_target_index(m, e->site);

	m->targets[i] = e->target;
	m->written->targets[i / MODEL_PIECE] = true;
}

static inline void model_move(struct model *m, uint64_t place)
{
	m->before = m->place;
	m->place = place;
}

/* Remember the return address for the matching return. Not called for a call that a phrase covers. */
static inline void model_pushed(struct model *m, const struct event *e)
{
	size_t i = model_memory_index(m, e->slot);

	m->memory[i] = (struct memory){ .slot = e->slot, .addr = e->from, .site = e->site };
	m->written->memory[i / MODEL_PIECE] = true;
}

/*
 * Learn from an event whose fields are all known. `kind` is the event's kind, as a constant where the caller knows it.
 */
static inline __attribute__((always_inline)) void model_learn(struct model *m, struct way *way,
							       const struct site *site, const struct event *e,
							       enum event_kind kind)
{
	uint64_t dinsns = e->insns - m->insns;
	int64_t dslot = (int64_t)(e->slot - m->slot);
	const struct memory *mem;

	if (way->step != dinsns) {
		way->second = way->step;
		way->step = dinsns < STEP_MAX ? (uint16_t)dinsns : STEP_MAX;
	}
	m->insns = e->insns;
	switch (kind) {
	case EVENT_CALL:
	case EVENT_CALL_INDIRECT:
		way->dslot = (int32_t)dslot;
		m->slot = e->slot;
		if (!addr_is_kernel(site->addr))
			model_learn_shift(m, site, (int64_t)(e->from - site->addr - site->length));
		if (kind == EVENT_CALL_INDIRECT) {
			model_learn_target(m, e);
			model_move(m, (uint64_t)e->site << 14 | (e->target & 0xfff) << 2 | 1);
		} else {
			model_move(m, (uint64_t)e->site << 14 | 1);
		}
		break;
	case EVENT_RETURN:
		way->dslot = (int32_t)dslot;
		m->slot = e->slot;
		mem = model_memory(m, e->slot);
		if (mem->site && mem->slot == e->slot && mem->addr == e->target) {
			way->elsewhere = false;
			model_move(m, (uint64_t)mem->site << 14 | 2);
		} else {
			way->elsewhere = true;
			model_learn_target(m, e);
			model_move(m, (e->target & 0xfff) << 2 | 2);
		}
		break;
	case EVENT_JUMP:
	case EVENT_ARRIVE:
		model_move(m, (uint64_t)e->site << 14 | 1);
		break;
	case EVENT_JUMP_INDIRECT:
		model_learn_target(m, e);
		model_move(m, (uint64_t)e->site << 14 | (e->target & 0xfff) << 2 | 1);
		break;
	case EVENT_INTERRUPT_RETURN:
		way->dslot = (int32_t)dslot;
		m->slot = e->slot;
		model_move(m, (e->target & 0xfff) << 2 | 2);
		break;
	case EVENT_INTERRUPT:
		way->dslot = (int32_t)dslot;
		m->slot = e->slot;
		model_pushed(m, e);
		if (!addr_is_kernel(e->from))
			m->resume = e->from;
		model_learn_target(m, e);
		model_move(m, (e->target & 0xfff) << 2 | 1);
		break;
	case EVENT_SYSCALL:
		m->resume = e->from;
		model_learn_target(m, e);
		model_move(m, e->args[0] << 2 | 3);
		break;
	case EVENT_SYSCALL_RETURN:
		model_move(m, (e->target & 0xfff) << 2 | 2);
		break;
	case EVENT_ADDRESS_SPACE:
		m->space = e->args[0] >> 12;
		break;
	default:
		break;
	}
}

/* Go past a call's phrase, which ends at `insns`. The model is then as after the call's return. */
static inline void model_skip(struct model *m, uint32_t call_site, uint64_t insns)
{
	m->insns = insns;
	model_move(m, (uint64_t)call_site << 14 | 2);
}

#endif
