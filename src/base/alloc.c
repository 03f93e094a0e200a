/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "alloc.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <string.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

static struct {
	size_t bytes;
	void (*refuse)(size_t bytes, size_t limit);
} limit = { .bytes = SIZE_MAX };

void alloc_limit(size_t bytes, void (*refuse)(size_t bytes, size_t limit))
{
	limit.bytes = bytes;
	limit.refuse = refuse;
}

static inline void check_limit(size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes))
		bytes = SIZE_MAX;
	if (__builtin_expect(bytes > limit.bytes, 0) && limit.refuse)
		limit.refuse(bytes, limit.bytes);
}

static void *checked(void *p)
{
	if (!p) {
		static const char msg[] = "upto: out of memory\n";
		fputs(msg, stderr);
		abort();
	}
	return p;
}

void *xmalloc(size_t size)
{
	check_limit(1, size);
	return checked(malloc(size ? size : 1));
}

void *xcalloc(size_t n, size_t size)
{
	check_limit(n, size);
	return checked(calloc(n ? n : 1, size ? size : 1));
}

void *xcalloc_aligned(size_t alignment, size_t n, size_t size)
{
	size_t bytes;
	void *p;

	check_limit(n, size);
	/* a table smaller than half a huge page would waste most of one */
	if (alignment == HUGE_PAGE && n * size < HUGE_PAGE / 2)
		alignment = CACHE_LINE;
	bytes = (n * size + alignment - 1) / alignment * alignment;
	p = checked(aligned_alloc(alignment, bytes));

	if (alignment >= HUGE_PAGE)
		madvise(p, bytes, MADV_HUGEPAGE); /* failing does no harm */
	return memset(p, 0, n * size);
}

void *xmalloc_huge(size_t size)
{
	void *p;

	check_limit(1, size);
	size = (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	p = checked(aligned_alloc(HUGE_PAGE, size));
	madvise(p, size, MADV_HUGEPAGE); /* failing does no harm */
	return p;
}

void use_huge_pages(void *p, size_t size)
{
	enum { PAGE = 4096 };
	/* whole pages, also at the ends: a mapping of which a part is otherwise cannot be moved when it grows */
	uintptr_t from = (uintptr_t)p / PAGE * PAGE, to = ((uintptr_t)p + size + PAGE - 1) / PAGE * PAGE;

	madvise((void *)from, to - from, MADV_HUGEPAGE);
}

void give_back_memory(void)
{
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

void *xreserve(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return checked(p == MAP_FAILED ? NULL : p);
}

void unreserve(void *p, size_t size)
{
	munmap(p, size);
}

void *xrealloc(void *p, size_t size)
{
	return xreallocarray(p, 1, size);
}

void *xreallocarray(void *p, size_t n, size_t size)
{
	check_limit(n, size);
	return checked(reallocarray(p, n ? n : 1, size));
}

char *xstrdup(const char *s)
{
	return checked(strdup(s));
}

char *xstrndup(const char *s, size_t n)
{
	return checked(strndup(s, n));
}

char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		s = NULL;
	va_end(ap);
	return checked(s);
}

void freep(void *p)
{
	free(*(void **)p);
}

void *array_grow(void *array, size_t count, size_t *cap, size_t size)
{
	if (count < *cap)
		return array;
	*cap = *cap ? *cap * 2 : 16;
	return xreallocarray(array, *cap, size);
}

void *array_enlarge(void *array, size_t i, size_t *cap, size_t size)
{
	size_t before = *cap;

	while (*cap <= i)
		*cap = *cap ? *cap * 2 : 16;
	array = xreallocarray(array, *cap, size);
	memset((char *)array + before * size, 0, (*cap - before) * size);
	return array;
}
