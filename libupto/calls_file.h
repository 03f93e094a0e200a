/* SPDX-License-Identifier: MIT */
/*
 * The file that a traced program writes, and the ring beside it, which has what was not written yet: whoever reads the
 * file of a program that was killed reads both. All numbers are in the byte order of the machine that wrote them.
 *
 * The file is a header, then blocks, each a head and so many bytes. A varint has seven bits a byte, the least first,
 * the highest bit set in all bytes but the last.
 *
 * An EVENTS block is struct calls_events, then a token a byte for each event of one thread:
 *
 *   CALLS_EXIT       the event is the end of a call, else the begin of one
 *   CALLS_OTHER      the function is not as predicted: behind the token, and behind its time, is a varint: the
 *                    difference of its address to that of the last function that came so, twice that if it is
 *                    positive, else twice its negative less one
 *   the other bits   time since the event before, in units of 2^shift ticks: below CALLS_LONG itself; CALLS_LONG: a
 *                    varint follows, which has the rest; CALLS_UNWIND: no event: a varint follows, so many calls were
 *                    left without an end, by longjmp(3) or the like
 *
 * The predictor begins anew in each block. It has a stack of functions and a table of CALLS_TABLE addresses. An end is
 * that of the function on top of the stack (0 if it is empty), and takes it off; UNWIND takes off so many. A begin is
 * that of the table's entry at calls_place(function on top, last function that ended or began); that entry becomes the
 * function, which goes onto the stack. The stack has at most CALLS_STACK functions: what goes onto a full one is only
 * counted, and an end is then predicted as 0.
 */
#ifndef UPTO_CALLS_FILE_H
#define UPTO_CALLS_FILE_H

#include <stdint.h>

#define CALLS_MAGIC "\x89uptoC\r\n"
enum { CALLS_VERSION = 1, CALLS_ORDER = 0x1234 };

struct calls_header {
	char magic[8];
	uint16_t order; /* CALLS_ORDER */
	uint8_t version;
	uint8_t address_size; /* of a pointer, in bytes */
	uint32_t pid;
};

#define CALLS_BLOCK 0x4b425055u /* "UPBK" */

enum calls_block_kind {
	CALLS_INFO = 1, /* lines KEY=VALUE: exe, args, clock, shift; thinned, left_out.REASON */
	CALLS_CLOCK,    /* struct calls_clock */
	CALLS_THREAD,   /* struct calls_thread: it has its first event now, or another name */
	CALLS_EVENTS,   /* struct calls_events, tokens */
	CALLS_MODULE,   /* struct calls_module, the build-id's bytes, the path: it is there from then on */
	CALLS_UNLOADED, /* uint64_t: the module that begins there is gone */
	CALLS_MARK,     /* struct calls_mark, text */
	CALLS_LOST,     /* struct calls_lost: so many events of a thread (CALLS_NO_THREAD: of some) are missing here */
	CALLS_LEFT,     /* uint32_t: the thread has ended */
	CALLS_END,      /* nothing: the program ended, and all is written */
};

struct calls_block {
	uint32_t magic; /* CALLS_BLOCK */
	uint16_t kind;
	uint16_t zero;
	uint32_t bytes;  /* behind this */
	uint32_t number; /* of the block, from 0 on: a reader sees what is missing */
};

/* Two clocks at the same moment. */
struct calls_clock {
	uint64_t ticks, ns; /* ns: CLOCK_MONOTONIC */
};

struct calls_thread {
	uint32_t thread; /* number, from 0 on; never used again */
	uint32_t tid;
	char name[16];
};

struct calls_events {
	uint32_t thread, events;
	uint64_t ticks; /* from which the first event's time is counted */
	uint64_t first; /* number of its first record in the thread's ring */
};

struct calls_module {
	uint64_t base;     /* what is added to the addresses in its ELF file */
	uint64_t from, to; /* its addresses in memory */
	uint32_t build_id_bytes, path_bytes;
};

struct calls_mark {
	uint64_t ticks;
	uint32_t thread, bytes;
};

enum { CALLS_NO_THREAD = 0x7fffffff };

struct calls_lost {
	uint64_t events;
	uint32_t thread, zero;
};

enum {
	CALLS_EXIT = 0x80,
	CALLS_OTHER = 0x40,
	CALLS_TIME = 0x3f,
	CALLS_LONG = 0x3e,
	CALLS_UNWIND = 0x3f,
	CALLS_TABLE = 1024,
	CALLS_STACK = 256,
	CALLS_SHIFT = 2,
};

/* Where in the table a function is expected. */
static inline unsigned calls_place(uint64_t top, uint64_t last)
{
	return (unsigned)(((top * 3 ^ last) * UINT64_C(0x9e3779b97f4a7c15)) >> 54);
}

/* Predicts; both who writes and who reads have one, zero at first. */
struct calls_model {
	uint64_t stack[CALLS_STACK];
	unsigned depth; /* may be above CALLS_STACK */
	uint64_t last, last_other;
	uint64_t table[CALLS_TABLE];
};

static inline uint64_t calls_top(const struct calls_model *m)
{
	return m->depth && m->depth <= CALLS_STACK ? m->stack[m->depth - 1] : 0;
}

static inline uint64_t *calls_expected(struct calls_model *m)
{
	return &m->table[calls_place(calls_top(m), m->last)];
}

static inline void calls_push(struct calls_model *m, uint64_t function)
{
	if (m->depth < CALLS_STACK)
		m->stack[m->depth] = function;
	m->depth++;
	m->last = function;
}

static inline void calls_pop(struct calls_model *m, uint64_t function)
{
	m->depth -= m->depth > 0;
	m->last = function;
}

/*
 * The ring file: rings, one behind the other, each a struct calls_ring and its records, rounded up to CALLS_RING_UNIT
 * bytes. Record number n is at n modulo their count. One whose ticks are 0 was not written yet, or the file has it. The file has all before
 * `taken`, and all that its last EVENTS block of the thread has.
 */
struct calls_record {
	uint64_t ticks;
	/*
	 * CALLS_RECORD_EXIT: the call ends; with address 0: longjmp() goes to where `stack` is, or, with
	 * CALLS_RECORD_FRAME in that: calls whose frames are below have ended unseen
	 */
	uint64_t function;
	uint64_t stack; /* of a begin: the stack pointer, in the hook, CALLS_HOOK bytes below the function's own */
};

enum { CALLS_RING_UNIT = 1 << 16 }; /* a multiple of all pages' sizes */

enum { CALLS_HOOK = 16 };

#define CALLS_RECORD_EXIT (UINT64_C(1) << 63)
#define CALLS_RECORD_FRAME (UINT64_C(1) << 63)

enum calls_ring_state {
	CALLS_RING_FREE,
	CALLS_RING_TAKEN, /* it is not said by whom yet */
	CALLS_RING_USED,
	CALLS_RING_LEFT, /* its thread has ended */
};

struct calls_ring {
	/* by the thread: */
	uint64_t reserved; /* records that were begun */
	uint64_t limit;    /* … may be begun without asking */
	uint64_t lost;     /* events that there was no room for, ever */
	uint32_t thread, tid;
	uint32_t state;   /* enum calls_ring_state */
	uint32_t records; /* a power of two */
	uint64_t lost_at; /* … the last of them, before this record */
	uint8_t pad[16];
	/* by who writes the file: */
	uint64_t taken;
	uint64_t lost_told;
	uint64_t taking; /* those before are in the file; from `taken` on their ticks become 0 now */
	/* of the first ring: events of threads that got none, ever; by any of them, and by who writes the file */
	uint64_t homeless, homeless_told;
	uint8_t pad2[24];
	struct calls_record record[];
};

#endif
