/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers for people. */
#ifndef UPTO_CLI_PRINT_QUANTITY_H
#define UPTO_CLI_PRINT_QUANTITY_H

#include <stdbool.h>

#include "base/buf.h"

/* "6,238,375" */
void put_count(struct buf *out, uint64_t n);

/*
 * Append three digits and a unit: "1.07 G", "742 M", "52.3 k", "128"; "19.7 s", "271 ms", "3.52 µs", "845 ns". In a
 * column the units are aligned.
 */
void put_amount(struct buf *out, uint64_t n, bool in_column);
void put_duration(struct buf *out, uint64_t ns, bool in_column);

/* Append a moment in seconds, rounded down to a microsecond, so that --from with it includes the moment: "1.500000" */
void put_moment(struct buf *out, uint64_t ns);
/* "1.500000123" */
void put_exact_seconds(struct buf *out, uint64_t ns);
/* Append a time as short as possible: "1.5 s" */
void put_short_moment(struct buf *out, uint64_t ns);

#endif
