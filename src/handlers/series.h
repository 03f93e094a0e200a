/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tseries(): what a value was in each interval of guest time, of which the last ones are kept. Intervals are counted
 * from the guest's begin, so that runs that are equal have equal ones.
 */
#ifndef UPTO_HANDLERS_SERIES_H
#define UPTO_HANDLERS_SERIES_H

#include "script.h"

struct series_slot {
	uint64_t interval; /* its number + 1; 0: nothing is kept here */
	uint64_t count;    /* values in it */
	int64_t value;     /* the last one, or what type.of says; of AVG, the sum */
};

/* In each of these functions: a series of that type has type->max slots. */
void series_add(const struct type *type, struct series_slot *slots, uint64_t ns, int64_t n);

/* The value in an interval. False: it has none. */
bool series_find(const struct type *type, const struct series_slot *slots, uint64_t interval, int64_t *ret);

/* The last interval that has a value. False: none has. */
bool series_last(const struct type *type, const struct series_slot *slots, uint64_t *ret);
/* The first one of those that are kept where that is the last of all. False: there is none. */
bool series_first(const struct type *type, const struct series_slot *slots, uint64_t last, uint64_t *ret);

#endif
