/* SPDX-License-Identifier: MIT */
/*
 * For kernels, boot loaders and programs without a C library, which are compiled with -finstrument-functions: add
 * upto_instrument.c and this to them. Calls are kept in memory that is given, and come out as KFI's log
 * (upto_instrument_log()), over a serial line or into memory; `upto import` makes a trace of it, `upto addr2sym -m
 * System.map` names its functions before that, and `upto kd` lists it as it is.
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

struct upto_instrument {
	struct upto_call *calls; /* the buffer … */
	uint32_t count;          /* … and how many calls it has room for */
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
