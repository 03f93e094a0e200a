/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds existing names that are similar to one that does not exist, for messages like "similar: a, b". */
#ifndef UPTO_BASE_NEAR_H
#define UPTO_BASE_NEAR_H

#include "base/buf.h"

enum { NEAR_MAX = 3 };

struct near {
	char *wanted;
	struct near_name {
		char *name;
		unsigned distance; /* 0: differs only in case */
	} best[NEAR_MAX];          /* the nearest first */
	size_t count;
};

void near_init(struct near *n, const char *wanted, size_t len);
void near_deinit(struct near *n);

/*
 * Compare a name with the wanted one. It is kept if it differs by a few letters,
 * begins with the wanted name, or contains it. " [" and what follows is not
 * compared: "ext4_mount [ext4]".
 */
void near_offer(struct near *n, const char *name);

/* Append "; similar: a, b", or nothing. */
void near_put(const struct near *n, struct buf *out);

/* The nearest of some names, which end with NULL; NULL: none is near. */
const char *near_best(const char *wanted, size_t len, const char *const *names);

#endif
