/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "decimal.h"

#include <string.h>

bool decimal_parse(const char **text, unsigned exponent, uint64_t *ret)
{
	const char *p = *text;
	uint64_t value = 0;
	bool any = false, point = false;

	for (;; p++) {
		if (*p == '.' && !point) {
			point = true;
			continue;
		}
		if (*p < '0' || *p > '9')
			break;
		any = true;
		if (point && !exponent)
			continue;
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			return false;
		exponent -= point;
	}
	while (exponent--)
		if (__builtin_mul_overflow(value, 10, &value))
			return false;
	*text = p;
	*ret = value;
	return any;
}

bool time_parse(const char *text, uint64_t *ret_ns)
{
	static const struct { const char *unit; unsigned exponent; } units[] = {
		{ "", 9 }, { "s", 9 }, { "ms", 6 }, { "us", 3 }, { "µs", 3 }, { "ns", 0 },
	};
	/* tables have a space before the unit */
	const char *unit = text + strspn(text, "0123456789.");

	unit += strspn(unit, " ");
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		const char *number = text;
		uint64_t ns;

		if (strcmp(unit, units[i].unit) || !decimal_parse(&number, units[i].exponent, &ns) ||
		    ns == UINT64_MAX || number + strspn(number, " ") != unit)
			continue;
		*ret_ns = ns;
		return true;
	}
	return false;
}
