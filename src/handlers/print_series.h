/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tseries() as bpftrace prints it: a line for each interval, with the value's place between the least and the most. */
#ifndef UPTO_HANDLERS_PRINT_SERIES_H
#define UPTO_HANDLERS_PRINT_SERIES_H

#include "printer.h"

/* The last interval of all entries, for the two below; 0: there is none. */
uint64_t print_series_last(const struct script_map *m);
/* Append an entry's lines; values are divided by div. */
void print_series(const struct printer *p, const struct script_map *m, const struct map_entry *e, uint64_t last,
		  uint64_t div);
void print_series_json(const struct printer *p, const struct script_map *m, const struct map_entry *e, uint64_t last);

#endif
