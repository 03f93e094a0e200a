/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds up time by module or section of the functions, or by process or thread. */
#ifndef UPTO_ANALYSIS_SUMS_H
#define UPTO_ANALYSIS_SUMS_H

#include "functions.h"
#include "replay/session.h"

enum sums_by { BY_FUNCTION, BY_MODULE, BY_SECTION, BY_PROCESS, BY_THREAD, BY_INTERRUPT };

/* The sum of one module or section, or of one program of a process or thread. */
struct sum {
	const char *name;
	const char *exe;      /* for processes and threads: path of the program */
	int32_t pid;
	bool is_task, has_pid;
	uint64_t calls, insns, ns;
};

struct sums {
	struct sum *list;
	size_t count, cap;
	uint64_t insns, ns, halted_ns; /* of the whole span */
};

/*
 * `by` is neither BY_FUNCTION nor BY_INTERRUPT: functions.h and interrupts.h do these. Call sums_deinit() also after an
 * error.
 */
int sums_analyse(const struct session *session, const struct span *span,
		 enum sums_by by, struct sums *ret, struct error *err);
void sums_deinit(struct sums *s);

#endif
