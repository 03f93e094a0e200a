/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace of a log of KFI or KFT: calls and returns of each thread, put into each other by kd_nest, and switches
 * between threads. The log does not tell what ran outside of its calls: that is the function KFI_OUTSIDE, below all
 * others on each stack.
 */
#ifndef UPTO_IMPORT_KFI_TRACE_H
#define UPTO_IMPORT_KFI_TRACE_H

#include "kfi/log.h"
#include "trace/builder.h"

#define KFI_OUTSIDE "[not logged]"

struct kfi_trace_counts {
	uint64_t calls, no_exit;
	uint64_t shortened; /* calls that end earlier than the log says, since another one overlaps them */
};

/* `path` is for messages. Call with a log that kfi_log_parse() has read. */
int kfi_trace_write(const struct kfi_log *log, const char *path, const struct builder_sink *sink,
		    struct kfi_trace_counts *ret, struct error *err);

#endif
