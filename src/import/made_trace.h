/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace that is made of what others recorded. It has one vCPU, and its counter counts the log's nanoseconds: a clock
 * and the counter are always equal, so that the time of each event is exact. What the log does not know is listed in
 * META's `absent`.
 *
 * Where the log has no addresses, these are made up:
 *
 *   ffff800000000000   functions, FUNCTION_ROOM bytes each
 *   ffffc00000000000   threads, THREAD_ROOM bytes each: the address of its task, and above it its stack
 */
#ifndef UPTO_IMPORT_MADE_TRACE_H
#define UPTO_IMPORT_MADE_TRACE_H

#include "base/map.h"
#include "symbols/symtab.h"
#include "trace/builder.h"
#include "trace/sites.h"
#include "trace/task_records.h"

#define FUNCTIONS_BASE UINT64_C(0xffff800000000000)
#define THREADS_BASE UINT64_C(0xffffc00000000000)
enum {
	FUNCTION_ROOM = 1 << 20,
	FUNCTIONS_MAX = 1 << 26,
	THREAD_ROOM = 1 << 20,
	THREADS_MAX = 1 << 26,
	STACK_SLOTS = THREAD_ROOM / 8,
	NAMES_MAX = 128 << 20,  /* bytes of all functions' names */
};

struct made_trace {
	struct sites sites;
	struct builder builder;
	struct encoder *encoder;
	uint64_t ns;                       /* of the last event … */
	uint64_t clock_ns;                 /* … and of the last that has a clock */
	unsigned unclocked;                /* events since then */
	struct symtab_function *functions; /* the caller's functions; it keeps their names until the end */
	size_t n_functions, functions_cap;
	struct symtab symbols;             /* its sections; number 0 has no name */
	size_t sections_cap;
	struct buf tasks;
};

struct made_facts {
	const char *of;      /* "a log of KFI or KFT" */
	const char *absent;  /* what it does not know: META's `absent` */
	const struct buf *more; /* lines of META; NULL: none */
};

struct made_trace *made_trace_new(const struct builder_sink *sink, const struct made_facts *facts);
void made_trace_free(struct made_trace *m);

/* The made-up address of function number `i`, below FUNCTIONS_MAX. */
static inline uint64_t made_function_address(uint64_t i)
{
	return FUNCTIONS_BASE + i * FUNCTION_ROOM;
}

/*
 * Those of thread number `i`, below THREADS_MAX: its task_struct, and where its call number `depth` has its return
 * address.
 */
static inline uint64_t made_task(uint64_t i)
{
	return THREADS_BASE + i * THREAD_ROOM;
}

static inline uint64_t made_slot(uint64_t i, uint64_t depth)
{
	return made_task(i) + THREAD_ROOM - 8 * (1 + depth % STACK_SLOTS);
}

void made_trace_add_function(struct made_trace *m, const struct symtab_function *function);
/* The index of a new section. At most 65535, with names of at most 31 bytes. */
uint16_t made_trace_add_section(struct made_trace *m, const char *name);

/* The log begins later than at 0. Only before the first event. */
void made_trace_begin_at(struct made_trace *m, uint64_t ns);

/* The next event, whose counter is set here. Its time is not before the last one's. */
void made_trace_put(struct made_trace *m, const struct event *e);

enum {
	MADE_CHUNK_EVENTS = 1 << 20,
	/* a clock at least so often, since readers look for one within a batch (codec.h) … */
	MADE_CLOCK_EVENTS = 3 * WINDOW_EVENTS - 1,
};
/* … and so often, since times between clocks must be below 2^48 ns */
#define MADE_CLOCK_NS (UINT64_C(1) << 40)

/* Clocks for the events so far, before one of that time; and the end of a chunk, if it is long. */
void made_trace_clocks(struct made_trace *m, uint64_t ns);

static inline bool made_trace_needs_clock(const struct made_trace *m, uint64_t ns)
{
	return __builtin_expect(m->unclocked >= MADE_CLOCK_EVENTS || ns - m->clock_ns >= MADE_CLOCK_NS, 0);
}

/* Control is in another function, at that place. The site is of kind ARRIVE. */
static inline void made_trace_move(struct made_trace *m, uint64_t ns, uint32_t site, uint64_t place)
{
	struct encoder *enc = m->encoder;

	if (made_trace_needs_clock(m, ns))
		made_trace_clocks(m, ns);
	*encoder_next(enc) = (struct event){
		.kind = EVENT_ARRIVE, .site = site, .insns = ns, .ns = ns, .from = place, .target = place,
	};
	encoder_added(enc);
	m->ns = ns;
	m->unclocked++;
}

void made_trace_add_task(struct made_trace *m, uint64_t thread, int32_t pid);

/* The last event was at that time or before. Write tables and END. */
void made_trace_end(struct made_trace *m, uint64_t ns);

#endif
