/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times as the kernel's tools print them: "19.120345", of microseconds or nanoseconds. */
#ifndef UPTO_IMPORT_TEXT_TIME_H
#define UPTO_IMPORT_TEXT_TIME_H

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* `ret_end`: what stands behind it. False: there is none, and nothing is set. */
static inline bool text_time_parse(const char *at, const char **ret_end, uint64_t *ret_ns)
{
	char *end;
	uint64_t s, rest;
	size_t digits;

	if (!isdigit((unsigned char)*at))
		return false;
	s = strtoull(at, &end, 10);
	if (*end != '.' || s > UINT32_MAX)
		return false;
	at = end + 1;
	digits = strspn(at, "0123456789");
	if (digits != 6 && digits != 9)
		return false;
	rest = strtoull(at, &end, 10);
	*ret_end = end;
	*ret_ns = s * 1000000000 + rest * (digits == 6 ? 1000 : 1);
	return true;
}

#endif
