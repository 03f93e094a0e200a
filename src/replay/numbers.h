/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What functions and stacks of a session are in a later session of the same trace, which has grown meanwhile: threads
 * and code that came have moved the numbers of others.
 */
#ifndef UPTO_REPLAY_NUMBERS_H
#define UPTO_REPLAY_NUMBERS_H

#include "base/buf.h"
#include "stacks.h"

#define NUMBER_NONE SIZE_MAX

struct numbers {
	unsigned vcpus;
	uint32_t *functions; /* by function: its number in the other session */
	size_t n_functions;
	size_t *stacks; /* by stack: likewise; NUMBER_NONE: it is not there */
	size_t n_stacks;
	size_t first_vcpu; /* in the other session: number of vCPU 0's own stack */
};

void numbers_init(struct numbers *n, const struct session *from, const struct session *to);
void numbers_deinit(struct numbers *n);

/* A checkpoint of the one session as the other has it. False: it is damaged. */
bool stacks_renumber(const struct numbers *n, const struct buf *checkpoint, struct buf *ret);

#endif
