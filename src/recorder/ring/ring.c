/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ring.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"

static uint64_t *block_start(const struct ring *r, uint64_t block)
{
	return r->words + block % RING_BLOCKS * RING_BLOCK_WORDS;
}

static void open_block(struct ring *r, uint64_t block)
{
	uint64_t *start = block_start(r, block);

	r->limit = start + RING_BLOCK_WORDS - RING_RECORD_MAX;
	__atomic_store_n(&r->head, start, __ATOMIC_RELEASE);
	__atomic_store_n(&r->block, block, __ATOMIC_RELEASE);
}

void ring_init(struct ring *r)
{
	/* nobody reads what was not written, so it is not cleared: of memory that is never used there is none */
	*r = (struct ring){ .words = xmalloc_huge((size_t)RING_BLOCKS * RING_BLOCK_WORDS * sizeof *r->words) };
	open_block(r, 0);
}

void ring_next_block(struct ring *r)
{
	uint64_t block = r->block;

	__atomic_store_n(&r->used[block % RING_BLOCKS], (uint64_t)(r->head - block_start(r, block)),
			 __ATOMIC_RELEASE);
	while (block + 1 - __atomic_load_n(&r->consumed, __ATOMIC_ACQUIRE) >= RING_BLOCKS)
		usleep(100);
	open_block(r, block + 1);
}

const uint64_t *ring_peek(struct ring *r, uint64_t *ret_words)
{
	for (;;) {
		uint64_t block = __atomic_load_n(&r->block, __ATOMIC_ACQUIRE);
		uint64_t *start = block_start(r, r->consumed), *head;
		uint64_t end;

		if (r->consumed < block) {
			end = __atomic_load_n(&r->used[r->consumed % RING_BLOCKS], __ATOMIC_ACQUIRE);
			if (r->offset == end) {
				r->offset = 0;
				__atomic_store_n(&r->consumed, r->consumed + 1, __ATOMIC_RELEASE);
				continue;
			}
		} else {
			head = __atomic_load_n(&r->head, __ATOMIC_ACQUIRE);
			/*
			 * The producer may have moved on between the two loads, or be about to: its head may
			 * already be in the next block, which can begin right where this one ends. A head in
			 * this block never gets there.
			 */
			if (__atomic_load_n(&r->block, __ATOMIC_ACQUIRE) != block || head < start ||
			    head >= start + RING_BLOCK_WORDS)
				continue;
			end = (uint64_t)(head - start);
		}
		*ret_words = end - r->offset;
		return start + r->offset;
	}
}

void ring_release(struct ring *r, uint64_t words)
{
	r->offset += words;
}

uint64_t ring_backlog(const struct ring *r)
{
	return (__atomic_load_n(&r->block, __ATOMIC_RELAXED) - r->consumed) * RING_BLOCK_WORDS;
}
