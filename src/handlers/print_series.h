/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tseries() as bpftrace prints it: a line for each interval, with the value's place between the least and the most. */
#ifndef UPTO_HANDLERS_PRINT_SERIES_H
#define UPTO_HANDLERS_PRINT_SERIES_H

#include "base/buf.h"
#include "script_map.h"

/* The last interval of all entries, for the two below; 0: there is none. */
uint64_t print_series_last(const struct script_map *m);
/* Append an entry's lines; values are divided by div. began_ns: the wall clock where guest time begins. */
void print_series(const struct script_map *m, const struct map_entry *e, uint64_t last, uint64_t div,
		  uint64_t began_ns, struct buf *out);
void print_series_json(const struct script_map *m, const struct map_entry *e, uint64_t last, uint64_t began_ns,
		       struct buf *out);

#endif
