/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allocation that does not fail: if the host has no memory left, the process
 * ends. upto asks for bounded amounts only, since counts from files are checked
 * against the file first. Where such a check was forgotten, alloc_limit() is what
 * stands between a damaged file and the host's memory.
 */
#ifndef UPTO_BASE_ALLOC_H
#define UPTO_BASE_ALLOC_H

#include <stddef.h>

/*
 * From now on, whoever asks for more than `limit` bytes at once ends up in refuse(), which does not return. Not while
 * others allocate.
 */
void alloc_limit(size_t limit, void (*refuse)(size_t bytes, size_t limit));

void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size);
/*
 * Memory that is zeroed and aligned to a power of two; free() frees it. With the
 * alignment HUGE_PAGE the host uses huge pages if it can: a large table that is
 * read at random then has fewer TLB misses.
 */
enum { HUGE_PAGE = 2 << 20 };
/* Data that different threads write to all the time must not share a cache line. */
enum { CACHE_LINE = 64 };
void *xcalloc_aligned(size_t alignment, size_t n, size_t size);
/* As HUGE_PAGE has it, but not zeroed. */
void *xmalloc_huge(size_t size);
/* What lies there, of a large block, may be in huge pages, too, as far as it fills them. */
void use_huge_pages(void *p, size_t size);
/* What was freed, in whichever thread, goes back to the host, as far as that can be done. */
void give_back_memory(void);
/* Zeroed memory of which only what is used takes room. To be given back with unreserve(). */
void *xreserve(size_t size);
void unreserve(void *p, size_t size);
/* Names and types are those of libiberty's functions: its demangler calls these instead. */
void *xrealloc(void *p, size_t size);
void *xreallocarray(void *p, size_t n, size_t size);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* For the cleanup attribute: frees what the variable points to. */
void freep(void *p);
#define cleanup_free __attribute__((cleanup(freep)))

/*
 * Make room for one more element of an array that grows by doubling.
 * `*cap` counts elements; returns the (possibly moved) array.
 */
void *array_grow(void *array, size_t count, size_t *cap, size_t size);
/* The same for an array that is used by numbers in any order: make room for element `i`. New elements are zeroed. */
void *array_enlarge(void *array, size_t i, size_t *cap, size_t size);

static inline void *array_reach(void *array, size_t i, size_t *cap, size_t size)
{
	return __builtin_expect(i < *cap, 1) ? array : array_enlarge(array, i, cap, size);
}

#endif
