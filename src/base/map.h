/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hash map from 64-bit keys to 64-bit values: open addressing, no deletion.
 * A slot whose key is 0 is free; the key 0 itself has a place apart.
 */
#ifndef UPTO_BASE_MAP_H
#define UPTO_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot {
	uint64_t key, value;
};

struct map {
	struct map_slot *slots;
	size_t mask, count; /* mask + 1 slots, or none at all; those that are used */
	bool has_zero;
	uint64_t zero;      /* the value of key 0 */
};

void map_free(struct map *m);

/* The value's place, or NULL. Valid until the next map_put(). */
uint64_t *map_get(const struct map *m, uint64_t key);

/* The value's place, made (as `init`) when it is not there. Valid until the next map_put(). */
uint64_t *map_put(struct map *m, uint64_t key, uint64_t init);

/*
 * One key and its value after the other, in no order. *at is 0 at first; nothing may be put meanwhile. False: there are
 * no more.
 */
bool map_next(const struct map *m, size_t *at, uint64_t *key, uint64_t *value);

static inline uint64_t hash64(uint64_t x)
{
	x *= 0x9e3779b97f4a7c15u;
	return x ^ x >> 32;
}

/* Of a text, its end included; what is hashed before it, or tells it from other texts, goes into `seed`. */
static inline uint64_t hash_text(uint64_t seed, const char *text)
{
	do
		seed = hash64(seed ^ (uint8_t)*text);
	while (*text++);
	return seed;
}

static inline uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		seed = hash64(seed ^ ((const uint8_t *)bytes)[i]);
	return hash64(seed ^ n);
}

#endif
