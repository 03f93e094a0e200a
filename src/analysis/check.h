/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Verifies what must hold of every trace. */
#ifndef UPTO_ANALYSIS_CHECK_H
#define UPTO_ANALYSIS_CHECK_H

#include "replay/names.h"
#include "replay/stacks.h"
#include "replay/walk.h"

enum { CHECK_FINDINGS_MAX = 64 };

struct finding {
	char text[256]; /* what is wrong, and where */
};

struct check {
	uint64_t events, chunks, insns, ns, halted_ns; /* what was looked at */
	struct unmatched unmatched; /* what stacks had to be guessed from; no findings */
	struct finding findings[CHECK_FINDINGS_MAX];
	size_t n_findings; /* may be more than are kept */
};

/*
 * 0 when the trace could be looked at, whatever was found. Verified are:
 * checksums and structure of every chunk; for each vCPU that chunks join
 * (clocks, place, task), that clocks never go back and that counts are as told;
 * conservation: self time of all functions and halted time sum to the clocks,
 * and those to what the recorder read off each vCPU at its end; with
 * `stacks`, that the threads' call stacks hold all of it.
 */
int check_analyse(const struct reader *r, const struct names *names, bool stacks, struct check *ret, struct error *err);

#endif
