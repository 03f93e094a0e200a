/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which runs were recorded by this user on this host. A trace says how its guest was started (run_inputs.h), and may
 * come from anybody; nothing that it names is started unless the same words were kept here, outside it, when it was
 * recorded: $XDG_STATE_HOME/upto/runs, or below ~/.local/state.
 */
#ifndef UPTO_CLI_RECORD_RUN_REGISTER_H
#define UPTO_CLI_RECORD_RUN_REGISTER_H

#include "base/buf.h"
#include "trace/meta.h"

/*
 * Keep what these lines of the recorder's configuration ("meta.run.…") say, and append the line with the number that it
 * is kept by. Where nothing can be kept, nothing is appended.
 */
void run_register_put(struct buf *lines);

/* Is all that the trace says of its run what was kept? The error names the trace. */
int run_register_check(const struct meta *meta, const char *path, struct error *err);

#endif
