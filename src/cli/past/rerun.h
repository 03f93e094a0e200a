/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest that a trace was recorded of is run again, as it ran then, and more of it is recorded, into another trace. */
#ifndef UPTO_CLI_PAST_RERUN_H
#define UPTO_CLI_PAST_RERUN_H

#include "base/buf.h"
#include "cli/command.h"
#include "trace/reader.h"

/* Between rerun_init() and rerun_deinit() the working folder is that of the first run. */
struct rerun {
	struct buf words; /* of upto record */
	char **argv;      /* likewise */
	struct args args; /* what they mean */
	const char *log;  /* QEMU's, that is replayed; NULL: none. The reader's */
	char *here;       /* the working folder of before */
};

/*
 * Can that run be made again? `argv`: QEMU's command line, as the user gives it; NULL: the trace's, which must be known
 * to be this user's own (run_register.h). The error says why not, and what to record instead.
 */
int rerun_possible(const struct reader *r, char *const *argv, struct error *err);

/*
 * `path`, absolute: of the trace that is made. `options`: of upto record, each word with a 0 behind it: what is
 * recorded besides. Call rerun_deinit() in either case.
 */
int rerun_init(struct rerun *run, const struct reader *r, char *const *argv, const char *path,
	       const struct buf *options, struct error *err);
void rerun_deinit(struct rerun *run);

/* Append the probes' definitions as the recorder gets them: lines of META's form, "probe.N". */
int rerun_definitions(const struct rerun *run, struct buf *lines, struct error *err);

int rerun_record(const struct rerun *run, struct error *err);

#endif
