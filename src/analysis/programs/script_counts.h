/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that do nothing but count which functions were called: what `upto top` adds up is the answer then, many
 * times sooner than call by call.
 */
#ifndef UPTO_ANALYSIS_SCRIPT_COUNTS_H
#define UPTO_ANALYSIS_SCRIPT_COUNTS_H

#include "script_runner.h"

/* Is it such a program? */
bool script_counts_only(const struct script_runner *r);

/* Run each handler once for each function, as often as that was called. */
int script_count(struct script_runner *r, struct error *err);

#endif
