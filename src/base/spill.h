/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An array of items of one size that may have more of them than memory has room for: the last ones are in memory, those
 * before them in a file without a name ($TMPDIR, else /var/tmp), once there are so many. Whoever writes calls in the
 * order in which they were entered needs it: a call's end comes long after its entry.
 */
#ifndef UPTO_BASE_SPILL_H
#define UPTO_BASE_SPILL_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

struct spill {
	size_t size;            /* of an item, in bytes */
	size_t window;          /* so many items at most are in memory: a power of two */
	int fd;                 /* -1: nothing had to be written yet */
	char *tail;             /* the items from `first` on */
	size_t cap;             /* of `tail`, in items */
	uint64_t first, count;
	char *again;            /* items that were read again: `n_again` from `from` on; NULL: none were */
	uint64_t from, n_again;
	int failed;             /* errno of the first read or write that failed; 0: none did */
};

void spill_init(struct spill *s, size_t size, size_t window);
void spill_deinit(struct spill *s);

/* Append a copy of an item. */
void spill_add(struct spill *s, const void *item);

/* Item number `i` becomes this one. */
void spill_set(struct spill *s, uint64_t i, const void *item);

/* Drop all items from number `count` on. */
void spill_truncate(struct spill *s, uint64_t count);

/*
 * Item number `i`, valid until the next call. It is quick for those that are read one after the other. NULL: there is
 * no such item, or it could not be read.
 */
const void *spill_get(struct spill *s, uint64_t i);

/* 0, or -1: something could not be written or read. `what` it is that is kept there. */
int spill_result(const struct spill *s, const char *what, struct error *err);

#endif
