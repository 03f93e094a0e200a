/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of trace events and probes, as people and programs read them. */
#ifndef UPTO_CLI_PRINT_EVENT_PUT_H
#define UPTO_CLI_PRINT_EVENT_PUT_H

#include "analysis/events/event_sums.h"
#include "base/json.h"

/*
 * "cpu", "pid", "comm", "event" (system:name), "computed", "args" (an object with all fields) and "text", into the
 * object that is open. The fact is a record of one of the formats.
 */
void event_put_json(struct json *j, const struct event_sources *of, const struct fact *fact, struct buf *scratch);

/* JSON's keys, for legends. */
#define EVENT_TERMS                                                                                               \
	{ "event", "system:name" },                                                                               \
		{ "computed", "the guest had not enabled it: what it would have recorded was computed" },         \
		{ "args", "fields by name: numbers, addresses as strings, texts" },                               \
	{                                                                                                         \
		"text", "what the kernel's own print format makes of it"                                          \
	}

#endif
