/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decimal numbers and times as people write them, exactly. */
#ifndef UPTO_BASE_DECIMAL_H
#define UPTO_BASE_DECIMAL_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Read a decimal number times 10^`exponent`, exactly; finer digits are cut off. *text is then behind it. False: it is
 * no number, or too large.
 */
bool decimal_parse(const char **text, unsigned exponent, uint64_t *ret);

/*
 * A whole text that is a time: 1.5s, 20ms, 300us, 12ns; without a unit it is seconds. False: it is none, and *ret_ns
 * stays as it was.
 */
bool time_parse(const char *text, uint64_t *ret_ns);

#endif
