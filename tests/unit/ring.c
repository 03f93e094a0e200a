/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recorder's ring between two threads, built with ThreadSanitizer: the
 * producer goes round it several times, the consumer lets it become full first.
 * Each record has its number and its length, and words that follow from them.
 */
#include "recorder/ring/ring.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { RECORDS = 1500000, CAPACITY = RING_BLOCKS * RING_BLOCK_WORDS, PAUSE_EVERY = 4096 };

static struct ring ring;

static unsigned length_of(uint64_t number)
{
	return 1 + (unsigned)(number * 2654435761u >> 7) % RING_RECORD_MAX;
}

static uint64_t word_of(uint64_t number, unsigned i)
{
	return i ? number * 0x9e3779b97f4a7c15u + i : number;
}

/* As recorder/watch/watch_put.h writes records. */
static void *produce(void *unused)
{
	for (uint64_t number = 0; number < RECORDS; number++) {
		uint64_t *p = ring.head;
		unsigned n = length_of(number);

		for (unsigned i = 0; i < n; i++)
			p[i] = word_of(number, i);
		ring_publish(&ring, p + n);
		if (p + n >= ring.limit)
			ring_next_block(&ring);
	}
	return unused;
}

static void wrong(uint64_t number, unsigned i, uint64_t is)
{
	printf("record %ju, word %u: %#jx\n", (uintmax_t)number, i, (uintmax_t)is);
	exit(1);
}

/* Returns the number of the record that comes behind those words. */
static uint64_t consume(const uint64_t *w, uint64_t words, uint64_t number)
{
	const uint64_t *end = w + words;

	while (w < end) {
		unsigned n = length_of(number);

		for (unsigned i = 0; i < n; i++)
			if (w + i >= end || w[i] != word_of(number, i))
				wrong(number, i, w + i < end ? w[i] : 0);
		w += n;
		number++;
	}
	return number;
}

int main(void)
{
	uint64_t number = 0, words, peeks = 0, all = 0;
	pthread_t producer;

	ring_init(&ring);
	if (pthread_create(&producer, NULL, produce, NULL))
		return 2;
	/* the last block that is free is being filled: soon the producer waits */
	while (ring_backlog(&ring) < CAPACITY - RING_BLOCK_WORDS)
		usleep(1000);
	usleep(20000);
	while (number < RECORDS) {
		const uint64_t *w = ring_peek(&ring, &words);

		number = consume(w, words, number);
		ring_release(&ring, words);
		all += words;
		/* close behind the producer at times, far behind at others */
		if (++peeks % PAUSE_EVERY == 0)
			usleep(5000);
	}
	pthread_join(producer, NULL);
	ring_peek(&ring, &words);
	if (words || all < 3 * (uint64_t)CAPACITY)
		return 3;
	free(ring.words);
	printf("%ju records, %ju words, %ju times round\n", (uintmax_t)number, (uintmax_t)all,
	       (uintmax_t)(all / CAPACITY));
	return 0;
}
