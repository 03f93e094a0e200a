/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Texts of the kernel that records of its trace events have as addresses (tracepoint_string() in
 * include/linux/tracepoint.h; tracefs has them in `printk_formats`). In META (docs/format.md, key event_strings).
 */
#ifndef UPTO_TRACE_EVENT_STRINGS_H
#define UPTO_TRACE_EVENT_STRINGS_H

#include "meta.h"

struct event_strings {
	struct event_string {
		uint64_t addr;
		char *text; /* NULL: it is another one in another boot */
	} *list; /* by address */
	size_t count;
};

/* Append one to the value. A text of more than a line is left out. */
void event_string_put(struct buf *out, uint64_t addr, const char *text);

/* Those of all boots. Call event_strings_deinit() also after an error. */
int event_strings_read(const struct meta *meta, struct event_strings *ret, struct error *err);
/* NULL: none is there, or not the same one in all boots. */
const char *event_strings_find(const struct event_strings *s, uint64_t addr);
void event_strings_deinit(struct event_strings *s);

#endif
