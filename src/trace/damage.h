/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a trace without those of its events, and of what was noted beside them, that cannot be unpacked any more. */
#ifndef UPTO_TRACE_DAMAGE_H
#define UPTO_TRACE_DAMAGE_H

#include "reader.h"

/*
 * Unpack all chunks of events, and take out those that are damaged, those whose model goes on with theirs
 * (docs/format.md), and those at sites that are missing. What follows them, or a hole, is read as behind a gap. Damaged
 * chunks of facts, texts, sums and held calls go, too; other types' are not there in any case (reader.h). The reader's
 * `damages` tell what is missing. Takes about a second for 300 MB, or, where sites are missing, for 100 million events.
 */
void damage_take_out(struct reader *r);

/* Some of what a damage takes away: "events", "facts (lines of the log, wake-ups …)" */
const char *damage_of(const struct damage *d);

/* "is damaged at byte 1234" */
void damage_put_place(struct buf *out, const struct damage *d);

/* META's line of a part of the trace: which kinds of what is beside the events are missing; none: no line. */
void damage_put_meta(const struct reader *r, struct buf *lines);

/* The GAP at the begin of a chunk that is `behind_gap`: its arguments. */
void damage_gap(const struct reader *r, size_t chunk, uint64_t args[GAP_ARGS]);

/* Is it one of these? What the others lack is in META's `lost`, too. */
bool damage_made_gap(const uint64_t args[GAP_ARGS]);

#endif
