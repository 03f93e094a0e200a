/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the recorder is told as it begins: lines of META's form, in memory that QEMU inherits. */
#ifndef UPTO_CLI_RECORD_RECORDING_CONFIG_H
#define UPTO_CLI_RECORD_RECORDING_CONFIG_H

#include "kernel_files.h"
#include "recording.h"

/* What belongs to a recording besides what it was asked for. */
struct recording_parts {
	int out, stats_fd;
	const char *version; /* of QEMU */
	const char *inside;  /* what of it may be used */
	const struct kernel_sources *sources;
	const struct buf *probes;
};

/* Returns a file descriptor of it, or -1. */
int recording_config(const struct recording *rec, const struct recording_parts *parts, struct error *err);

#endif
