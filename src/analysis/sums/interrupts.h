/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds up interrupts and exceptions by vector: how often each came, and how long its handler ran. */
#ifndef UPTO_ANALYSIS_INTERRUPTS_H
#define UPTO_ANALYSIS_INTERRUPTS_H

#include "replay/stacks.h"
#include "replay/walk.h"

struct interrupt_sum {
	uint32_t vector;
	uint32_t entry;       /* number of the function that most of them led to first */
	uint32_t action;      /* number of the driver's function that most of them were handed to; UINT32_MAX: none */
	uint64_t count;
	uint64_t finished;    /* of those, how many returned; what follows is of these */
	uint64_t insns, ns;   /* from entry to return, with all that ran in it, also other interrupts */
	uint64_t longest_ns;
};

struct interrupts {
	struct interrupt_sum *list; /* by vector */
	size_t count;
};

/* Of those that came in the span. Firmware's own are left out. Call interrupts_deinit() also after an error. */
int interrupts_analyse(const struct session *session, const struct span *span,
		       struct interrupts *ret, struct error *err);
void interrupts_deinit(struct interrupts *i);

#endif
