/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All stacks at many moments, in one pass. */
#ifndef UPTO_ANALYSIS_MOMENTS_H
#define UPTO_ANALYSIS_MOMENTS_H

#include "replay/index.h"
#include "replay/stacks.h"

/* The stacks as they are at moment number `i`, before what happens then. */
typedef void (*moments_taker)(void *state, size_t i, struct stacks *stacks);

/*
 * Call `take` for each of n moments, given by guest time in their order. With an index only those parts of the trace
 * are replayed that moments lie in.
 */
int moments_analyse(const struct session *session, const uint64_t *moments, size_t n, moments_taker take, void *state,
		    struct error *err);

#endif
