/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a trace without those of its events, and of what was noted beside them, that cannot be unpacked any more. */
#ifndef UPTO_TRACE_DAMAGE_H
#define UPTO_TRACE_DAMAGE_H

#include "reader.h"

/*
 * Unpack all chunks of events, and take out those that are damaged, and those whose model goes on with theirs
 * (docs/format.md). What follows them is read as behind a gap. Damaged chunks of facts and texts go, too. The reader's
 * `damages` tell what is missing. Takes about a second for 300 MB.
 */
void damage_take_out(struct reader *r);

/* What a damage takes away: "events", "facts (lines of the log, wake-ups …)". */
const char *damage_of(const struct damage *d);

/* The GAP at the begin of a chunk that has `missing`: its arguments. */
void damage_gap(const struct reader *r, size_t chunk, uint64_t args[GAP_ARGS]);

/* Is it one of these? What the others lack is in META's `lost`, too. */
bool damage_made_gap(const uint64_t args[GAP_ARGS]);

#endif
