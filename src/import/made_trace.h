/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace that is made of what others recorded. The counter of each CPU counts the log's nanoseconds that it was not
 * halted for: a clock and the counter go on together, so that the time of each event is exact. What the log does not
 * know is listed in META's `absent`.
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
	NAMES_MAX = 128 << 20, /* bytes of all functions' names */
};

/* A CPU. */
struct made_cpu {
	struct encoder *encoder; /* NULL: it has had nothing */
	uint64_t ns;             /* of the last event … */
	uint64_t clock_ns;       /* … and of the last that has a clock */
	unsigned unclocked;      /* events since then */
	uint64_t halted_ns;      /* for so long it was, but for the time since then if it is */
	bool halted;
};

struct made_trace {
	struct sites sites;
	struct map site_numbers; /* by a hash of the site */
	uint64_t lost, gaps;     /* events, and where they are */
	bool full;               /* there were more sites than a trace can have */
	struct builder builder;
	struct made_cpu *cpus;
	unsigned n_cpus;
	struct symtab_function *functions; /* the caller's functions; it keeps their names until the end */
	size_t n_functions, functions_cap;
	struct symtab symbols; /* its sections; number 0 has no name */
	size_t sections_cap;
	struct buf tasks;
};

struct made_facts {
	const char *of;         /* "a log of KFI or KFT" */
	const char *absent;     /* what it does not know: META's `absent` */
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

/* The log begins later than at 0. Only before the first event, if there is one CPU. */
void made_trace_begin_at(struct made_trace *m, uint64_t ns);

/*
 * The next event of a CPU, below CPUS_MAX, whose counter is set here. Its time is not before that of the CPU's last
 * one. Its first HALT may be later than at 0; other CPUs are halted from 0 on.
 */
void made_trace_put(struct made_trace *m, unsigned cpu, const struct event *e);

/* The same of an event at a site. Where there is no room for more sites, `full` is set, and nothing is put. */
void made_trace_put_at(struct made_trace *m, unsigned cpu, const struct event *e, const struct site *site);

/* The CPU is halted from then on, or goes on; nothing is done if it is so already. */
void made_trace_halt(struct made_trace *m, unsigned cpu, uint64_t ns);
void made_trace_resume(struct made_trace *m, unsigned cpu, uint64_t ns);

/* Events are missing before that moment: a gap. The CPU runs that task from then on, at a place that is not known. */
void made_trace_lose(struct made_trace *m, unsigned cpu, uint64_t ns, uint64_t events, uint64_t task);

/* Its counter at that moment, which is not before its last event. */
uint64_t made_trace_counter(const struct made_trace *m, unsigned cpu, uint64_t ns);

/* When the CPU's last event was. */
uint64_t made_trace_ns(const struct made_trace *m, unsigned cpu);

enum {
	MADE_CHUNK_EVENTS = 1 << 20,
	/* a clock at least so often, since readers look for one within a batch (codec.h) … */
	MADE_CLOCK_EVENTS = 3 * WINDOW_EVENTS - 1,
};
/* … and so often, since times between clocks must be below 2^48 ns */
#define MADE_CLOCK_NS (UINT64_C(1) << 40)

/* Clocks for the CPU's events so far, before one of that time; and the end of a chunk, if it is long. */
void made_trace_clocks(struct made_trace *m, unsigned cpu, uint64_t ns);

static inline bool made_trace_needs_clock(const struct made_cpu *c, uint64_t ns)
{
	return __builtin_expect(c->unclocked >= MADE_CLOCK_EVENTS || ns - c->clock_ns >= MADE_CLOCK_NS, 0);
}

/* Control of the first CPU, which never was halted, is in another function, at that place. The site is of kind ARRIVE.
 */
static inline void made_trace_move(struct made_trace *m, uint64_t ns, uint32_t site, uint64_t place)
{
	struct made_cpu *c = m->cpus;

	if (made_trace_needs_clock(c, ns))
		made_trace_clocks(m, 0, ns);
	*encoder_next(c->encoder) = (struct event){
		.kind = EVENT_ARRIVE,
		.site = site,
		.insns = ns,
		.ns = ns,
		.from = place,
		.target = place,
	};
	encoder_added(c->encoder);
	c->ns = ns;
	c->unclocked++;
}

struct made_task {
	enum task_change change;
	uint64_t thread, maker; /* maker: NEW: the thread that made it, + 1; 0: not known */
	int32_t pid, tgid, ppid;
	bool user;              /* it has memory of its own: it is none of the kernel's */
	const char *name, *exe; /* may be anything; exe: its program's path; NULL: not known */
};

/* That happened to a thread, at that time, which is not before the CPU's last event. */
void made_trace_add_task(struct made_trace *m, unsigned cpu, uint64_t ns, const struct made_task *task);

/* The trace ends at that time, or at the last event, if that is later. Write tables and END. */
void made_trace_end(struct made_trace *m, uint64_t ns);

#endif
