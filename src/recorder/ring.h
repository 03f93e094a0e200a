/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Raw records from a vCPU's thread to the drain thread: 64-bit words in blocks
 * that are reused in turn. One producer, one consumer, no locks. A record never
 * straddles blocks. When the ring is full the producer waits: nothing is lost.
 */
#ifndef UPTO_RECORDER_RING_H
#define UPTO_RECORDER_RING_H

#include <stdbool.h>
#include <stdint.h>

enum {
	RING_BLOCK_WORDS = 1 << 11,
	RING_BLOCKS = 1024,
	RING_RECORD_MAX = 16, /* words */
	RING_AHEAD = 256,     /* bytes that are fetched ahead of what is written */
};

struct ring {
	/* the producer's, on the hot path */
	uint64_t *head;   /* next word to write; published by each store to it */
	uint64_t *limit;  /* at or past this, a record may not fit */
	/* shared */
	uint64_t block;   /* number of the block being filled, ever rising */
	uint64_t used[RING_BLOCKS];
	uint64_t *words;
	/* the consumer's */
	uint64_t consumed __attribute__((aligned(64))); /* blocks wholly consumed */
	uint64_t offset;  /* words consumed of block `consumed` */
};

void ring_init(struct ring *r);
void ring_deinit(struct ring *r);

/* Go on to the next block, waiting until it is free. */
void ring_next_block(struct ring *r);

/* Words ready to be consumed, in one piece; the consumer must call ring_release() afterwards. */
const uint64_t *ring_peek(struct ring *r, uint64_t *ret_words);
void ring_release(struct ring *r, uint64_t words);

/* Words written and not yet consumed, about. */
uint64_t ring_backlog(const struct ring *r);

/* To be written: what is fetched to be read has to be asked for again. Compilers take the latter unless told which CPU it is. */
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
	/* what is written next was read by the consumer last, in its own cache */
	ring_fetch((const char *)head + RING_AHEAD);
	__atomic_store_n(&r->head, head, __ATOMIC_RELEASE);
}

#endif
