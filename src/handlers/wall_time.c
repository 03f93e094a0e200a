/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wall_time.h"

#include <stdio.h>
#include <time.h>

enum { FORMAT_MAX = 1024, DIGITS = 6 };

/* The format with the microseconds in it, which strftime() does not know. */
static void put_microseconds(const char *format, unsigned us, char *ret, size_t size)
{
	size_t n = 0;

	for (; *format && n + DIGITS + 1 < size; format++) {
		if (format[0] == '%' && format[1] == 'f') {
			n += (size_t)snprintf(ret + n, size - n, "%06u", us);
			format++;
			continue;
		}
		if (format[0] == '%' && format[1])
			ret[n++] = *format++;
		ret[n++] = *format;
	}
	ret[n] = 0;
}

size_t wall_time(const char *format, uint64_t ns, char *text, size_t size)
{
	time_t seconds = (time_t)(ns / 1000000000);
	char full[FORMAT_MAX];
	struct tm tm;

	if (!localtime_r(&seconds, &tm))
		return 0;
	put_microseconds(format, (unsigned)(ns % 1000000000 / 1000), full, sizeof full);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	return strftime(text, size, full, &tm);
#pragma GCC diagnostic pop
}
