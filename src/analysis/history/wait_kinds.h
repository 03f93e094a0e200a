/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What functions of the kernel wait for, and what wake-ups come from, by their names. */
#ifndef UPTO_ANALYSIS_WAIT_KINDS_H
#define UPTO_ANALYSIS_WAIT_KINDS_H

#include "history.h"

/* By function number. */
struct wait_kinds {
	uint8_t *kinds;    /* enum wait_kind, and above WAIT_WEAK_SHIFT how little it tells */
	uint8_t *contexts; /* enum wake_context */
	uint8_t *hands_on; /* functions of the kernel that call others for an interrupt: a driver's, a timer's */
	uint8_t *scheduler; /* functions that all waits have in common: never what is waited in */
};

enum { WAIT_WEAK_SHIFT = 5, WAIT_KIND_MASK = (1 << WAIT_WEAK_SHIFT) - 1 };

void wait_kinds_init(struct wait_kinds *ret, const struct names *names);
void wait_kinds_deinit(struct wait_kinds *k);

/* What a stack waits for, its functions innermost first. *ret_at: which of them tells; `n`: none. */
enum wait_kind wait_kind_of(const struct wait_kinds *k, const uint32_t *functions, size_t n, size_t *ret_at);

#endif
