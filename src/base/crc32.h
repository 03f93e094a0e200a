/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CRC-32 as in zlib and Ethernet (reflected polynomial 0xedb88320). */
#ifndef UPTO_BASE_CRC32_H
#define UPTO_BASE_CRC32_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32_of(const void *data, size_t n);

#endif
