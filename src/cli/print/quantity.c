/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "quantity.h"

#include <inttypes.h>

enum { SECOND = 1000000000 };

void put_count(struct buf *out, uint64_t n)
{
	uint64_t part = 1;

	while (n / part >= 1000)
		part *= 1000;
	buf_printf(out, "%" PRIu64, n / part);
	while (part > 1) {
		part /= 1000;
		buf_printf(out, ",%03" PRIu64, n / part % 1000);
	}
}

/* Append three digits of n / unit: "1.07", "10.7", "107". Returns false if it would round to 1000. */
static bool put_digits(struct buf *out, uint64_t n, uint64_t unit)
{
	double value = (double)n / (double)unit;

	if (value >= 999.5)
		return false;
	buf_printf(out, "%.*f", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value);
	return true;
}

void put_amount(struct buf *out, uint64_t n, bool in_column)
{
	static const char units[] = "kMGTPE";
	uint64_t unit = 1000;

	if (n < 1000) {
		buf_printf(out, "%" PRIu64 "%s", n, in_column ? "  " : "");
		return;
	}
	for (size_t i = 0; i < sizeof units - 1; i++, unit *= 1000)
		if (put_digits(out, n, unit)) {
			buf_printf(out, " %c", units[i]);
			return;
		}
}

void put_duration(struct buf *out, uint64_t ns, bool in_column)
{
	static const char *const units[] = { "µs", "ms" };
	uint64_t unit = 1000;

	if (ns < 1000) {
		buf_printf(out, "%" PRIu64 " ns", ns);
		return;
	}
	for (size_t i = 0; i < sizeof units / sizeof *units; i++, unit *= 1000)
		if (put_digits(out, ns, unit)) {
			buf_printf(out, " %s", units[i]);
			return;
		}
	if (!put_digits(out, ns, SECOND))
		buf_printf(out, "%" PRIu64, ns / SECOND);
	buf_printf(out, in_column ? "  s" : " s");
}

void put_moment(struct buf *out, uint64_t ns)
{
	buf_printf(out, "%" PRIu64 ".%06" PRIu64, ns / SECOND, ns % SECOND / 1000);
}

void put_exact_seconds(struct buf *out, uint64_t ns)
{
	buf_printf(out, "%" PRIu64 ".%09" PRIu64, ns / SECOND, ns % SECOND);
}

void put_short_moment(struct buf *out, uint64_t ns)
{
	put_exact_seconds(out, ns);
	while (out->data[out->len - 1] == '0')
		out->len--;
	if (out->data[out->len - 1] == '.')
		out->len--;
	buf_printf(out, " s");
}
