/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Verifies call stacks while they are replayed: a callee's frame lies within its
 * caller's frame in time, in instructions and in memory, and returns match calls.
 */
#ifndef UPTO_ANALYSIS_CHECK_STACKS_H
#define UPTO_ANALYSIS_CHECK_STACKS_H

#include "findings.h"

/* Check the stacks of a trace. c->insns is set already. */
int check_stacks(const struct reader *r, const struct names *names, struct check *c, struct error *err);

#endif
