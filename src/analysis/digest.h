/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One number for a whole event stream. */
#ifndef UPTO_ANALYSIS_DIGEST_H
#define UPTO_ANALYSIS_DIGEST_H

#include "replay/walk.h"

/*
 * Equal for recordings that are equal event for event: kind, instruction
 * counter, addresses and arguments of every event of each vCPU in its order.
 * Times are left out: those between clocks are interpolated.
 */
int digest_analyse(const struct reader *r, uint64_t *ret, struct error *err);

#endif
