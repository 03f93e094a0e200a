/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "crc32.h"

uint32_t crc32_of(const void *data, size_t n)
{
	const uint8_t *p = data;
	uint32_t crc = ~0u;

	while (n--) {
		crc ^= *p++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (0xedb88320u & -(crc & 1));
	}
	return ~crc;
}
