/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a guest's run depended on, kept in its trace (docs/format.md, keys run.…), so that it can be run again as it
 * was: the command line word by word, the folder, and the files that it names.
 */
#ifndef UPTO_CLI_RECORD_RUN_INPUTS_H
#define UPTO_CLI_RECORD_RUN_INPUTS_H

#include "base/buf.h"
#include "trace/meta.h"

/* Append lines of the recorder's configuration that become META's. Files are read as they are before the guest starts.
 */
void run_inputs_put(char *const *argv, struct buf *lines);

/* The command line, ended by NULL; NULL: the trace has none. The caller frees it, in one piece. */
char **run_inputs_argv(const struct meta *meta);

/* Are the folder and all files as they were? The error names the first that is not, and is the trace's `path`'s. */
int run_inputs_check(const struct meta *meta, const char *path, struct error *err);

#endif
