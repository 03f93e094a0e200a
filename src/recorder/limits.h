/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts what could not be watched or recorded since a table was full. The trace's
 * END has the counts by these names (docs/format.md).
 */
#ifndef UPTO_RECORDER_LIMITS_H
#define UPTO_RECORDER_LIMITS_H

#include "base/buf.h"

enum limit {
	LIMIT_BLOCKS,   /* translations of blocks: interrupts at them are not seen, and the counter is not corrected */
	LIMIT_MODULES,  /* loads of modules and BPF programs */
	LIMIT_STRINGS,  /* calls whose strings were not in memory yet when they were made */
	LIMIT_FILES,    /* mappings of files whose functions or content would have been read from memory */
	LIMITS,
};

/* Count once. Called from any thread. */
void limits_reached(enum limit limit);

/* The sum of all counts. */
uint64_t limits_sum(void);

/* Append lines for END, for the limits that were reached. */
void limits_put(struct buf *lines);

#endif
