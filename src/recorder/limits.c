/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "limits.h"

#include <inttypes.h>

static uint64_t counts[LIMITS];

void limits_reached(enum limit limit)
{
	__atomic_fetch_add(&counts[limit], 1, __ATOMIC_RELAXED);
}

uint64_t limits_sum(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < LIMITS; i++)
		sum += __atomic_load_n(&counts[i], __ATOMIC_RELAXED);
	return sum;
}

void limits_put(struct buf *lines)
{
	static const char *const names[LIMITS] = {
		[LIMIT_BLOCKS] = "blocks", [LIMIT_MODULES] = "modules",
		[LIMIT_STRINGS] = "strings", [LIMIT_FILES] = "files",
	};

	for (int i = 0; i < LIMITS; i++) {
		uint64_t n = __atomic_load_n(&counts[i], __ATOMIC_RELAXED);

		if (n)
			buf_printf(lines, "limit.%s=%" PRIu64 "\n", names[i], n);
	}
}
