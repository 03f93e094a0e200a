/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks that a trace has what options name: times, vCPUs, processes. */
#ifndef UPTO_CLI_TRACE_HAS_H
#define UPTO_CLI_TRACE_HAS_H

#include "trace_arg.h"

/* Guest time of the last event. */
uint64_t trace_end_ns(const struct trace_arg *t);

/* Find the process of --pid, which may be a name that one process has, and check it, the vCPU of --cpu, and the times of --from and --at. Returns -1 with a message if one is missing. */
int trace_has_asked(const struct args *args, struct trace_arg *t, struct error *err);

#endif
