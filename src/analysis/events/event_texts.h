/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text that a trace event's own print format makes of a record. libtraceevent knows how; what it cannot be trusted
 * with does not get there.
 */
#ifndef UPTO_ANALYSIS_EVENT_TEXTS_H
#define UPTO_ANALYSIS_EVENT_TEXTS_H

#include "event_decoder.h"
#include "trace/event_fields.h"

struct event_texts;

/* All must outlive it; layouts are by number of event. `names`: for addresses of functions; NULL: none. */
struct event_texts *event_texts_new(const struct event_formats *formats, const struct names *names,
				    const struct event_layout *layouts);
void event_texts_free(struct event_texts *t);

/* Append the text of a record that has all its fields. False: its print format is not understood. */
bool event_texts_put(struct event_texts *t, const struct event_record *r, struct buf *out);

#endif
