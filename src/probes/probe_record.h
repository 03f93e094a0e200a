/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of probes look like those that the kernel makes for its own (kernel/trace/trace_kprobe.c): an event's header,
 * where the probe is, its values. So they are read as the kernel's trace events are.
 */
#ifndef UPTO_PROBES_PROBE_RECORD_H
#define UPTO_PROBES_PROBE_RECORD_H

#include "probe_values.h"

enum { PROBE_TEXT = 256, PROBE_COMM_LEN = 16 };

/* Append "group:event", a line's end, and the text that tracefs would have as the event's `format` file. */
void probe_format_put(const struct probe_values *v, const char *group, const char *event, bool returns,
		      struct buf *out);

struct probe_hit {
	int32_t pid;
	uint64_t address;    /* of the probe; RETURNS: where the function begins … */
	uint64_t returns_to; /* … and what it returns to */
	bool returns;
	const char *comm; /* what the task is called */
};

/*
 * Append the record. A number that cannot be computed is 0, a string "(fault)", as the kernel has it. Returns how many
 * cannot.
 */
size_t probe_record_put(const struct probe_values *v, const struct probe_hit *hit, const struct probe_guest *guest,
			struct buf *out);

#endif
