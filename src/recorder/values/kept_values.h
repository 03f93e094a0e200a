/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers that one probe keeps for another: $keep() and $kept() of probes/probe_arg.h. The table has a bound: where it
 * is full, what was kept longest ago makes room. All vCPUs share it.
 */
#ifndef UPTO_RECORDER_KEPT_VALUES_H
#define UPTO_RECORDER_KEPT_VALUES_H

#include <stdbool.h>
#include <stdint.h>

void kept_values_put(uint64_t key, uint64_t value);

/* False: nothing was kept by that key, or it has made room. */
bool kept_values_get(uint64_t key, uint64_t *ret);

#endif
