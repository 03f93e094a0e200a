/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts the events of each kind, and sums up the clocks of all vCPUs. */
#ifndef UPTO_ANALYSIS_SUMMARY_H
#define UPTO_ANALYSIS_SUMMARY_H

#include "replay/walk.h"

struct summary {
	uint64_t kinds[EVENT_KINDS];
	uint64_t stored[CHUNK_TYPES]; /* bytes in the file by type of chunk, headers included */
	uint64_t events;
	uint64_t lost;          /* events lost, as counted by GAP events and by the recorder in END */
	uint64_t insns;         /* of all vCPUs */
	uint64_t duration_ns;   /* last clock of any vCPU */
	uint64_t halted_ns;     /* of all vCPUs */
	unsigned vcpus;
};

int summary_analyse(const struct reader *r, struct summary *ret, struct error *err);

#endif
