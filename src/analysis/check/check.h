/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Verifies what must hold of every trace. */
#ifndef UPTO_ANALYSIS_CHECK_H
#define UPTO_ANALYSIS_CHECK_H

#include "findings.h"
#include "replay/names.h"

/*
 * Check a trace. Returns 0 if it could be read, whatever was found. It verifies:
 * checksums and structure of every chunk; for each vCPU, that its chunks join
 * (clocks, place, task), that clocks never go back and that counts are as the
 * headers say; conservation: self time of all functions and halted time sum to the
 * clocks, and the clocks are what the recorder read from each vCPU at its end; that
 * most kernel code has names. With `stacks` it also goes through all events in the
 * order of time: which task runs where (check_running.h), where control goes
 * (check_flow.h), and the call stacks (check_stacks.h).
 */
int check_analyse(const struct reader *r, const struct names *names, bool stacks, struct check *ret, struct error *err);

#endif
