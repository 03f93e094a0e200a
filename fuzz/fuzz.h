/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What all targets share. Inputs are copied to just before memory that
 * cannot be read, so that libraries without sanitizers (libc, libelf, libarchive,
 * libzstd) are caught reading past the end too.
 */
#ifndef UPTO_FUZZ_FUZZ_H
#define UPTO_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <sanitizer/asan_interface.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Does replay_main.c run the target? The few inputs of a corpus are gone through with all that they may stand for;
 * libFuzzer has many, each of which stands for little.
 */
extern const bool fuzz_replays __attribute__((weak));

/* A property that must hold for every input. */
#define must(holds) ((holds) ? (void)0 : must_failed(#holds, __FILE__, __LINE__))

static inline void __attribute__((noreturn)) must_failed(const char *what, const char *file, int line)
{
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
	abort();
}

struct guarded {
	uint8_t *data;
	uint8_t *map;
	size_t room; /* bytes of the map in front of what cannot be read */
};

enum { PAGE = 4096, GUARD = 1 << 20, ROOM_LEAST = 1 << 16, GUARDED_KEPT = 4 };

/* Maps that are free: to make and unmap one for each copy took most of some targets' time. */
static struct guarded guarded_kept[GUARDED_KEPT];

static inline struct guarded guarded_map(size_t size)
{
	struct guarded g = { .room = ROOM_LEAST };

	for (size_t i = 0; i < GUARDED_KEPT; i++)
		if (guarded_kept[i].room >= size && guarded_kept[i].map) {
			g = guarded_kept[i];
			guarded_kept[i].map = NULL;
			return g;
		}
	while (g.room < size)
		g.room *= 2;
	g.map = mmap(NULL, g.room + GUARD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	must(g.map != MAP_FAILED);
	must(mprotect(g.map + g.room, GUARD, PROT_NONE) == 0);
	return g;
}

/* `align` is a power of two; above 1 it leaves up to align - 1 bytes (0xa5) between the end and the guard. */
static inline struct guarded guarded_copy(const uint8_t *data, size_t size, size_t align)
{
	size_t room = (size + align - 1) & ~(align - 1);
	struct guarded g = guarded_map(room);

	g.data = g.map + g.room - room;
	ASAN_POISON_MEMORY_REGION(g.map, (size_t)(g.data - g.map));
	ASAN_UNPOISON_MEMORY_REGION(g.data, room);
	if (size)
		memcpy(g.data, data, size);
	memset(g.data + size, 0xa5, room - size);
	return g;
}

/* With sanitizers, whoever reads it later is told. */
static inline void guarded_free(struct guarded *g)
{
	ASAN_POISON_MEMORY_REGION(g->map, g->room);
	for (size_t i = 0; i < GUARDED_KEPT; i++)
		if (!guarded_kept[i].map) {
			guarded_kept[i] = *g;
			return;
		}
	ASAN_UNPOISON_MEMORY_REGION(g->map, g->room);
	munmap(g->map, g->room + GUARD);
}

#endif
