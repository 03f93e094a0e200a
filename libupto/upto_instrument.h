/* SPDX-License-Identifier: MIT */
/*
 * For kernels, boot loaders and programs without a C library, which are compiled with -finstrument-functions: add
 * upto_instrument.c and this to them. Calls are kept in memory that is given, and come out as KFI's log
 * (upto_instrument_log()), over a serial line or into memory; `upto import -m System.map` makes a trace of it, and
 * `upto kd` lists it as it is. Or that memory is taken out as it is, by a debugger or with all other memory of the
 * machine, also of one that hangs: `upto import -m System.map memory.bin` finds the calls in it.
 *
 * One CPU, and one flow of control: what an interrupt calls while a hook is at work is counted, and is not in the log.
 * Functions that the clock and the output call must not be instrumented (-finstrument-functions-exclude-file-list, or
 * UPTO_NOT_INSTRUMENTED).
 */
#ifndef UPTO_INSTRUMENT_H
#define UPTO_INSTRUMENT_H

#include <stdint.h>

#define UPTO_NOT_INSTRUMENTED __attribute__((no_instrument_function))

/* A call: filled in here. */
struct upto_call {
	uintptr_t function, caller;
	uint64_t begin;  /* ticks since the log began */
	uint64_t ticks;  /* how long it took; UPTO_NO_END: it has not ended */
};

#define UPTO_NO_END UINT64_MAX

/* At the buffer's begin: what is in it, for whoever reads the memory. In the machine's own order of bytes. */
struct upto_instrument_head {
	char magic[8];
	uint16_t order; /* UPTO_INSTRUMENT_ORDER */
	uint8_t version, address_size;
	uint32_t call_size, calls_at; /* bytes of a call; where the first one is, from here on */
	uint32_t count, used;         /* room for so many; so many were begun, of which the last `count` are there */
	uint32_t ticks_per_us, min_us;
	uint32_t flags;
	uint64_t began, ended;            /* ticks of the clock; since then */
	uint64_t started_by, stopped_by;  /* functions; 0: none */
	uint64_t too_short, not_found, in_hook; /* calls that are not there */
};

#define UPTO_INSTRUMENT_MAGIC "\x89uptoM\r\n"
enum {
	UPTO_INSTRUMENT_ORDER = 0x1234,
	UPTO_INSTRUMENT_VERSION = 1,
	UPTO_HEAD_CALLS = (sizeof(struct upto_instrument_head) + sizeof(struct upto_call) - 1) / sizeof(struct upto_call),
	/* flags */
	UPTO_RING = 1,
	UPTO_STOPPED = 2,
	UPTO_STARTED_BY_EXIT = 4,
	UPTO_STOPPED_BY_EXIT = 8,
};

struct upto_instrument {
	struct upto_call *calls; /* the buffer, 8 bytes aligned … */
	uint32_t count;          /* … and how many calls it has room for; the first UPTO_HEAD_CALLS have its head */
	int ring;                /* when it is full: 0: stop; 1: forget the earliest */
	uint64_t (*clock)(void); /* ticks; they never go back */
	uint32_t ticks_per_us;   /* 0 counts as 1 */
	/* The log begins, ends when that function is entered or left; 0: at once, never. */
	uintptr_t start_entry, start_exit, stop_entry, stop_exit;
	uint32_t min_us;         /* calls that took less are left out */
};

/* The configuration must live as long as anything is recorded. */
void upto_instrument_begin(const struct upto_instrument *config);
/* Nothing more is recorded. */
void upto_instrument_stop(void);

/* Write the log, letter by letter. Recording stops. */
void upto_instrument_log(void (*put)(char c));

#endif
