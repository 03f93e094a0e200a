/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a page about a trace shows, as one object of JSON: its history, causes, sums and lists. web/src/data.ts has the
 * other end of it. What is many and small is left out or joined, so that a page of a long boot is a few megabytes; sums
 * are whole all the same.
 */
#ifndef UPTO_REPORT_REPORT_DATA_H
#define UPTO_REPORT_REPORT_DATA_H

#include "analysis/ending/kernel_log.h"
#include "analysis/events/event_sums.h"
#include "analysis/history/history.h"
#include "analysis/history/why.h"
#include "analysis/processes/processes.h"
#include "analysis/processes/syscall_list.h"
#include "analysis/sums/totals.h"
#include "base/json.h"
#include "flame.h"

enum { REPORT_VERSION = 1 };

struct report {
	const struct session *session; /* its thunks are folded */
	const char *title;             /* the trace's name */
	const char *ended;             /* how the guest's life ended, as a sentence's end; "" */
	/* records of trace events and probes among facts in the order of time; whoever sets it keeps it. NULL: none */
	const struct facts *records;
	const struct event_sources *records_of; /* what they say */
	struct history history;
	struct kernel_log log; /* of the history's facts */
	struct functions functions;
	struct function_total *totals;
	struct processes processes;
	struct syscalls syscalls;
	struct flame flame;
	unsigned reading; /* of a trace that grows, how often it had been read before; set by whoever knows */
	bool has_why; /* there is a moment that can be explained: */
	struct milestone until;
	struct why why;
};

/*
 * Ask all of it, besides records, which are set in *ret. The session must live as long as the report. `keep`: history
 * and index beside the trace are worth it. Call report_deinit() also after an error.
 */
int report_analyse(const struct session *session, bool keep, struct report *ret, struct error *err);
void report_deinit(struct report *r);
/* All that only report_put() needs: sums, and the call tree. */
void report_forget_sums(struct report *r);

void report_put(const struct report *r, struct json *j);

/*
 * Runs, spans and waits of a part of the time, as those of the whole, with as much as there is room for: what is joined
 * or left out there may be told apart here.
 */
void report_put_part(const struct report *r, const struct span *part, struct json *j);

#endif
