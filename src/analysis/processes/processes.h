/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long each program of each of the guest's threads ran. */
#ifndef UPTO_ANALYSIS_PROCESSES_H
#define UPTO_ANALYSIS_PROCESSES_H

#include "replay/meter.h"
#include "replay/threads.h"

struct processes {
	/* one for each program, by number (threads.h), then one for what ran before there were threads */
	struct spent *spent;
	size_t count;           /* programs + 1 */
	struct spent sum;
};

int processes_analyse(const struct reader *r, const struct threads *threads, const struct span *span,
		      struct processes *ret, struct error *err);
void processes_deinit(struct processes *p);

#endif
