/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's log of a trace that is being recorded: each line once, as soon as nothing can come before it any more,
 * or be added to it. What was told is forgotten, so that a long recording costs no more at its end than at its begin.
 */
#ifndef UPTO_ANALYSIS_LOG_FOLLOW_H
#define UPTO_ANALYSIS_LOG_FOLLOW_H

#include "base/buf.h"
#include "base/map.h"
#include "kernel_log.h"
#include "trace/reader.h"

struct log_follow {
	struct buf facts; /* packed: those of lines that were not told, and of the last one that was */
	struct map told;  /* lines, by when and where they were stored */
};

typedef void log_follow_tell(void *context, const struct log_line *line);

/* Take in what the trace's chunks from number `first` on have of the log. The lines are there during the call. */
int log_follow_take(struct log_follow *f, const struct reader *r, size_t first, log_follow_tell *tell, void *context,
		    struct error *err);
void log_follow_deinit(struct log_follow *f);

#endif
