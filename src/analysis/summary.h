/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many events of each kind, and the clocks of each vCPU. */
#ifndef UPTO_ANALYSIS_SUMMARY_H
#define UPTO_ANALYSIS_SUMMARY_H

#include "replay/walk.h"

struct summary {
	uint64_t kinds[EVENT_KINDS];
	uint64_t stored[CHUNK_TYPES]; /* bytes of the file, by what they tell of; headers of chunks included */
	uint64_t events;
	uint64_t lost;          /* counted by gap events and by the recorder at its end */
	uint64_t insns;         /* of all vCPUs */
	uint64_t duration_ns;   /* last clock of any vCPU */
	uint64_t halted_ns;     /* of all vCPUs */
	unsigned vcpus;
};

int summary_analyse(const struct reader *r, struct summary *ret, struct error *err);

#endif
