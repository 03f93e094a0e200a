/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What calls were given, by number: those that were given the same have the same one, by the text that people read, so
 * that addresses which name nothing make no difference. Several threads may ask at once.
 */
#ifndef UPTO_ANALYSIS_GIVEN_H
#define UPTO_ANALYSIS_GIVEN_H

#include <pthread.h>

#include "base/name_table.h"
#include "replay/value_text.h"

enum { GIVEN_NONE = 0 }; /* the number of what was not recorded */

struct given {
	const struct call_values *values;
	pthread_mutex_t lock;
	struct name_table texts; /* by number - 1 */
};

/* `values` must outlive it. */
void given_init(struct given *g, const struct call_values *values);
void given_deinit(struct given *g);

/* `args`: a fact ARGS, or NULL. */
uint32_t given_number(struct given *g, const struct fact *args);

/* "(file=/etc/passwd, count=4096)"; NULL: of NONE. Nobody may be asking for a number. */
const char *given_text(const struct given *g, uint32_t number);

#endif
