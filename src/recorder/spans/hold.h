/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flight recorder's memory: until what is waited for happens (waiting.h), chunks of events are kept here for a while,
 * packed, and then forgotten. Once it has happened they go to the file, and all that come after them, until
 * hold_again(). Where some are missing before a vCPU's next one, a gap says so, and what threads were in the middle of
 * there is told (forgotten.h). Facts and texts are held beside them: their chunks come here with the times of the first
 * and the last one.
 *
 * hold_chunk() is called by the packing thread only, hold_end() when that has nothing to do.
 */
#ifndef UPTO_RECORDER_HOLD_H
#define UPTO_RECORDER_HOLD_H

#include <stdbool.h>

#include "trace/sites.h"
#include "trace/writer.h"

/*
 * From now on, keep what is no older than so long: before anything is recorded. `sites` are the recorder's. `again`:
 * hold_again() may be called.
 */
void hold_begin(uint64_t ns, const struct sites *sites, bool again);

/* From any thread: write what is kept, and what comes. */
void hold_release(void);

/* In the drain thread: keep again what begins at that time or later. */
void hold_again(uint64_t ns);

/* From any thread: is what comes kept, and not written? */
bool hold_holds(void);

/*
 * Write the chunk, or keep it packed; its payload stays the caller's. Returns 0, or a negative errno if it could not be
 * packed or, where nothing is ever held, written. What could not be written later is counted (hold_lost()).
 */
int hold_chunk(struct writer *w, const struct chunk_header *header, const struct buf *payload, int level);

/* No chunk will come any more: write what is kept if that was asked for, else forget it. */
void hold_end(struct writer *w);

/*
 * From any thread: events in chunks that were forgotten, less the gaps that tell of them; and in chunks that could not
 * be written.
 */
int64_t hold_forgotten(void);
uint64_t hold_lost(void);

/*
 * After hold_end(), if chunks were ever held: the vCPU's counter at the last of its events that is in the file. Else
 * *insns remains.
 */
void hold_last_insns(unsigned cpu, uint64_t *insns);

#endif
