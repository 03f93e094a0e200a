/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What all targets share. Inputs are copied to just before memory that
 * cannot be read, so that libraries without sanitizers (libc, libelf, libarchive,
 * libzstd) are caught reading past the end too.
 */
#ifndef UPTO_FUZZ_FUZZ_H
#define UPTO_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
	size_t map_len;
};

enum { PAGE = 4096, GUARD = 1 << 20 };

/* `align` is a power of two; above 1 it leaves up to align - 1 bytes (0xa5) between the end and the guard. */
static inline struct guarded guarded_copy(const uint8_t *data, size_t size, size_t align)
{
	size_t room = (size + align - 1) & ~(align - 1), pages = (room + PAGE - 1) & ~(size_t)(PAGE - 1);
	struct guarded g = { .map_len = pages + GUARD };

	g.map = mmap(NULL, g.map_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	must(g.map != MAP_FAILED);
	must(mprotect(g.map + pages, GUARD, PROT_NONE) == 0);
	g.data = g.map + pages - room;
	if (size)
		memcpy(g.data, data, size);
	memset(g.data + size, 0xa5, room - size);
	return g;
}

static inline void guarded_free(struct guarded *g)
{
	munmap(g->map, g->map_len);
}

#endif
