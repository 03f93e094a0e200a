/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An event's format as tracefs has it in `format`, from what libtraceevent made of that text: a trace.dat has it
 * packed, and no library gives it out.
 */
#ifndef UPTO_IMPORT_EVENT_FORMAT_TEXT_H
#define UPTO_IMPORT_EVENT_FORMAT_TEXT_H

#include "base/buf.h"

struct tep_event; /* libtraceevent's */

/* Put it. Where the library did not understand how the event is printed, there is no "print fmt". */
void event_format_put_text(const struct tep_event *event, struct buf *out);

#endif
