/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Computes one number from all events of a trace. */
#ifndef UPTO_ANALYSIS_DIGEST_H
#define UPTO_ANALYSIS_DIGEST_H

#include "replay/walk.h"

/*
 * The number is equal for recordings that are equal event for event: kind,
 * instruction counter, addresses and arguments of every event of each vCPU, in its
 * order. Times do not count.
 */
int digest_analyse(const struct reader *r, uint64_t *ret, struct error *err);

#endif
