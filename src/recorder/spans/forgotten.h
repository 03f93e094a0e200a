/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What remains of the events that a flight recorder forgets (hold.h): the calls of each thread that have not returned.
 * Where the events that are kept begin, they tell what each thread is in the middle of, also those that slept all the
 * time. Where several starts are waited for, what is in the file between them is gone through, too: a thread may sleep
 * from before one of them to behind the next.
 *
 * A vCPU's events are forgotten by chunks, and chunks of several vCPUs do not end at the same time. So what is
 * forgotten waits here until no vCPU can have anything that is older; then events are gone through in the order of
 * time, as far as it matters: from one switch of threads to the next. All are called by the packing thread.
 */
#ifndef UPTO_RECORDER_FORGOTTEN_H
#define UPTO_RECORDER_FORGOTTEN_H

#include "trace/builder.h"
#include "trace/stack_records.h"

/* Before anything else; `sites` are the recorder's. */
void forgotten_begin(const struct sites *sites);

/*
 * A vCPU's next chunk is forgotten, or in the file. `packed` is as writer_pack() makes it; its memory is taken over.
 */
void forgotten_add(const struct chunk_header *header, struct buf *packed, bool in_file);

/* Likewise a chunk of facts: of each thread the lock remains that it waited for last. */
void forgotten_facts(const struct chunk_header *header, struct buf *packed);

/* Go through what is no later than that: no vCPU will have anything older. */
void forgotten_until(uint64_t ns);

/*
 * Append what threads are in the middle of where forgotten_until() has come to (stack_records.h), for gaps of that
 * number, and the facts of locks that they may wait for.
 */
void forgotten_tell(uint64_t gap, struct buf *out, struct buf *facts);

/*
 * Hand over the vCPU's events behind that time that are not in the file, as a chunk that begins with a gap of that
 * number: from here on they are. There may be none.
 */
void forgotten_rest(unsigned cpu, uint64_t gap, const struct builder_sink *sink);

/* Free everything. */
void forgotten_end(void);

#endif
