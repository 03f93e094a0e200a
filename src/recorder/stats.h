/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the recorder tells upto while QEMU runs: memory shared by both
 * processes. Numbers are written by one thread each and read without locks.
 */
#ifndef UPTO_RECORDER_STATS_H
#define UPTO_RECORDER_STATS_H

#include <stdint.h>

enum { STATS_VERSION = 1 };

struct stats {
	uint32_t version;     /* set once the recorder runs */
	uint32_t finished;    /* the trace has its END */
	uint64_t events;
	uint64_t insns;
	uint64_t guest_ns;
	uint64_t bytes;       /* of the trace so far */
	uint64_t lost;        /* events that could not be written */
	int32_t write_error;  /* errno; 0: none */
	uint32_t names;       /* 1: the kernel's symbols are in the trace */
	char message[256];    /* one line for the user; empty: none */
};

#endif
