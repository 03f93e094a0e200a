/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values as uftrace's -A and -R say them (its manual page of uftrace-record: "Arguments"): "malloc@arg1/u",
 * "open@arg1/s,arg2/x", "read@retval". They say the same in the words of perf probe, which probe_definition.h has.
 */
#ifndef UPTO_PROBES_PROBE_UFTRACE_H
#define UPTO_PROBES_PROBE_UFTRACE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

/* Is what is behind the @ of this definition that, and not a file of the source? */
bool probe_is_uftrace(const char *text);

/* Append that definition in the words of perf probe, and a NUL. An error: no such format, or floating point. */
int probe_uftrace_words(const char *text, struct buf *out, struct error *err);

#endif
