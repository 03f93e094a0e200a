/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Passes raw records from a vCPU's thread to the drain thread: 64-bit words in blocks
 * that are reused in turn. There is one producer and one consumer, and no lock. A
 * record never crosses a block's end. If the ring is full the producer waits, so that
 * nothing is lost.
 */
#ifndef UPTO_RECORDER_RING_H
#define UPTO_RECORDER_RING_H

#include <stdbool.h>
#include <stdint.h>

enum {
	RING_BLOCK_WORDS = 1 << 11,
	RING_BLOCKS = 1024,
	/* words: the longest has 12; without a clock, a block may have half of this behind `limit` */
	RING_RECORD_MAX = 24,
	RING_AHEAD = 256,     /* the cache line so many bytes ahead of the head is fetched */
};

struct ring {
	/* the producer's, on the hot path */
	uint64_t *head;   /* next word to write; published by each store to it */
	uint64_t *limit;  /* at or past this, a record may not fit */
	/* shared */
	uint64_t block;   /* number of the block that is being filled; it only rises */
	uint64_t used[RING_BLOCKS];
	uint64_t *words;
	/* the consumer's */
	uint64_t consumed __attribute__((aligned(64))); /* blocks wholly consumed */
	uint64_t offset;  /* words consumed of block `consumed` */
};

void ring_init(struct ring *r);

/* Go on to the next block. Waits until it is free. */
void ring_next_block(struct ring *r);

/* The words that are ready, in one piece. The consumer calls ring_release() afterwards. */
const uint64_t *ring_peek(struct ring *r, uint64_t *ret_words);
void ring_release(struct ring *r, uint64_t words);

/* About how many words are written and not yet consumed. */
uint64_t ring_backlog(const struct ring *r);

/*
 * Fetch a cache line for writing. A line fetched for reading would have to be fetched again for the write, and
 * compilers fetch for reading unless they know the CPU.
 */
static inline void ring_fetch(const void *p)
{
#ifdef __x86_64__
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)p));
#else
	__builtin_prefetch(p, 1);
#endif
}

static inline void ring_publish(struct ring *r, uint64_t *head)
{
	/* the next words were read last by the consumer, so they are in its cache */
	ring_fetch((const char *)head + RING_AHEAD);
	__atomic_store_n(&r->head, head, __ATOMIC_RELEASE);
}

#endif
