/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What records of probes are called, and their numbers. A place that is armed again has those that it had: of a module
 * that is loaded again, and of a kernel that boots again, records are those of the same event. Under `lock`.
 */
#ifndef UPTO_RECORDER_PROBE_EVENTS_H
#define UPTO_RECORDER_PROBE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "probes/probe_definition.h"
#include "probes/probe_values.h"

/* Places are looked for anew, in all that there is or in one module. */
void probe_events_begin(void);

struct probed_place {
	const struct probe_definition *definition; /* stays where it is */
	const char *module, *function;             /* "": the kernel or a program; none */
	bool returns;
};

/* The number of its records. What says so, if it is new, is appended to META's `lines`. */
uint32_t probe_event(const struct probed_place *p, const struct probe_values *values, struct buf *lines);

#endif
