/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spill.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "file.h"

void spill_init(struct spill *s, size_t size, size_t window)
{
	*s = (struct spill){ .size = size, .window = window, .fd = -1 };
}

void spill_deinit(struct spill *s)
{
	if (s->fd >= 0)
		close(s->fd);
	free(s->tail);
	free(s->again);
}

/* pread() or pwrite() all of it. Returns 0 or an errno. */
static int transfer(const struct spill *s, bool write, char *items, uint64_t i, uint64_t n)
{
	return file_transfer(s->fd, write, items, n * s->size, i * s->size);
}

static void put(struct spill *s, uint64_t i, const void *items, uint64_t n)
{
	if (s->fd < 0 && !s->failed) {
		s->fd = file_open_temporary();
		s->failed = s->fd < 0 ? errno : 0;
	}
	if (!s->failed)
		s->failed = transfer(s, true, (char *)items, i, n);
}

/* Half of what is in memory goes to the file. */
static void make_room(struct spill *s)
{
	size_t step = s->window / 2;

	put(s, s->first, s->tail, step);
	memmove(s->tail, s->tail + step * s->size, (s->window - step) * s->size);
	s->first += step;
}

void spill_add(struct spill *s, const void *item)
{
	if (s->count - s->first == s->window)
		make_room(s);
	s->tail = array_reach(s->tail, s->count - s->first, &s->cap, s->size);
	memcpy(s->tail + (s->count++ - s->first) * s->size, item, s->size);
}

void spill_set(struct spill *s, uint64_t i, const void *item)
{
	if (i >= s->first) {
		memcpy(s->tail + (i - s->first) * s->size, item, s->size);
		return;
	}
	put(s, i, item, 1);
	s->n_again = 0;
}

/* What is dropped may have been all that is in memory: then what comes before it is brought back. */
void spill_truncate(struct spill *s, uint64_t count)
{
	uint64_t back;

	s->count = count;
	s->n_again = 0;
	if (count >= s->first)
		return;
	back = count < s->window / 2 ? count : s->window / 2;
	s->first = count - back;
	if (!s->failed)
		s->failed = transfer(s, false, s->tail, s->first, back);
}

const void *spill_get(struct spill *s, uint64_t i)
{
	if (i >= s->count || s->failed)
		return NULL;
	if (i >= s->first)
		return s->tail + (i - s->first) * s->size;
	if (i < s->from || i - s->from >= s->n_again) {
		if (!s->again)
			s->again = xmalloc(s->window / 2 * s->size);
		s->from = i;
		s->n_again = s->first - i < s->window / 2 ? s->first - i : s->window / 2;
		s->failed = transfer(s, false, s->again, i, s->n_again);
	}
	return s->failed ? NULL : s->again + (i - s->from) * s->size;
}

int spill_result(const struct spill *s, const char *what, struct error *err)
{
	return s->failed ? error_set(err, "a temporary file, for %s: %s", what, strerror(s->failed)) : 0;
}
