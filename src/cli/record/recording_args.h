/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --args: functions of programs become probes at their begin and their returns. The recorder finds the kernel's. */
#ifndef UPTO_CLI_RECORD_RECORDING_ARGS_H
#define UPTO_CLI_RECORD_RECORDING_ARGS_H

#include "probe_lines.h"

/* Append those of programs: "/lib/libc.so.6:open*". An error: there are none, or too many. */
int recording_args_put(struct probe_lines *l, struct error *err);

/* Of --args, what is the kernel's: the caller frees it. NULL: nothing. */
char *recording_args_of_kernel(const struct args *args);

#endif
