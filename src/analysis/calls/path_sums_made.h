/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums of paths as they are in memory, for those who make and keep them. */
#ifndef UPTO_ANALYSIS_PATH_SUMS_MADE_H
#define UPTO_ANALYSIS_PATH_SUMS_MADE_H

#include "path_sums.h"

struct path {
	uint32_t parent, function;
	uint64_t at; /* where its records are; of the one behind the last, where they end */
};

struct path_sums {
	uint64_t *cuts; /* where segments from number 1 on begin */
	size_t n_cuts;
	struct path *paths; /* number 0 is the root; a parent comes before its children */
	size_t count;
	/* of each path, by segment: how many segments later than the record before, and what struct amounts has */
	struct buf records;
	uint64_t insns, ns; /* of all */
};

#endif
