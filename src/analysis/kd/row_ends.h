/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long each call took, in the order in which calls were entered, for whoever writes calls in that order: a call's end comes long after its
 * entry. The last ones are in memory, all others in a file without a name.
 */
#ifndef UPTO_ANALYSIS_ROW_ENDS_H
#define UPTO_ANALYSIS_ROW_ENDS_H

#include <stdint.h>

#include "base/error.h"

enum { ROW_ENDS_NONE = -1 }; /* the call's end is not known */

struct row_ends {
	int fd;          /* -1: nothing had to be written yet */
	int64_t *window; /* of the rows from `first` on */
	uint64_t first, count;
	uint64_t read;   /* rows that were read again */
	int failed;      /* errno of the first read or write that failed; 0: none did */
};

void row_ends_init(struct row_ends *e);
void row_ends_deinit(struct row_ends *e);

/* The next call begins; its number is `count` before. */
void row_ends_add(struct row_ends *e);

/* That call, by number, has taken so many ns. */
void row_ends_set(struct row_ends *e, uint64_t row, int64_t ns);

/* No more will come: read them from the first on. Returns 0, or -1: something could not be written. */
int row_ends_rewind(struct row_ends *e, struct error *err);

/* 0, or -1: something could not be written or read. */
int row_ends_result(const struct row_ends *e, struct error *err);

/* The next call's ns, or ROW_ENDS_NONE. 0 if `failed`. */
int64_t row_ends_next(struct row_ends *e);

#endif
