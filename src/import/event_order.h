/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of events that a machine of the other order of bytes wrote. */
#ifndef UPTO_IMPORT_EVENT_ORDER_H
#define UPTO_IMPORT_EVENT_ORDER_H

#include "base/buf.h"

struct tep_event; /* libtraceevent's */

/* Put the record, each number of it in this machine's order, into *out. */
void event_order_put(const struct tep_event *event, const void *record, size_t size, struct buf *out);

#endif
