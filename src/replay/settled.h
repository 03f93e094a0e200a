/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far a trace that is being recorded is known: up to when nothing more will come of any vCPU.
 *
 * Each vCPU's chunks are in order, so that one that runs is known up to its last chunk's last clock. One that is halted
 * writes nothing. The recorder ends a chunk when it is half a second old (docs/format.md), so that what is not in the
 * file some time later never was; on a host that is so loaded that it takes longer, events may come late, which is
 * found out.
 */
#ifndef UPTO_REPLAY_SETTLED_H
#define UPTO_REPLAY_SETTLED_H

#include "trace/reader.h"

enum { SETTLED_SEEN = 64 };

struct settled {
	struct {
		uint64_t host_ms, ns; /* so far did the trace reach at that time of the host's */
	} seen[SETTLED_SEEN];
	size_t count;
	uint64_t ns;         /* the last answer … */
	uint64_t *reached;   /* … and where each vCPU's chunks ended then */
	unsigned vcpus;
};

/* Guest time up to which all is known; 0: nothing. It is no later than the last event. */
uint64_t settled_ns(struct settled *s, const struct reader *r, uint64_t host_ms);

/* Has the trace events now that are from before the last answer, but were not there then? 1: yes; negative: error. */
int settled_is_late(const struct settled *s, const struct reader *r, struct error *err);
void settled_deinit(struct settled *s);

#endif
