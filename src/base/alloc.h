/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that is there or the process ends: upto asks for bounded amounts
 * only (counts from files are checked against the file before they get here),
 * so running out means that the host has none left.
 */
#ifndef UPTO_BASE_ALLOC_H
#define UPTO_BASE_ALLOC_H

#include <stddef.h>

void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size);
/*
 * Zeroed, and aligned to that power of two; free() frees it.
 * With HUGE_PAGE it is one if the host has it: fewer misses for what is read all over.
 */
enum { HUGE_PAGE = 2 << 20 };
/* Data that threads write to all the time share none of these. */
enum { CACHE_LINE = 64 };
void *xcalloc_aligned(size_t alignment, size_t n, size_t size);
/* These have the names and types that libiberty's have, whose demangler calls them. */
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

#endif
