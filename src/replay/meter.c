/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "meter.h"

uint64_t meter_clip(const struct span *span, uint64_t from, uint64_t to, uint64_t amount)
{
	uint64_t low = from > span->from_ns ? from : span->from_ns, high = to < span->to_ns ? to : span->to_ns;
	double part;

	if (low == from && high == to)
		return amount;
	if (low >= high || from == to)
		return from == to && from >= span->from_ns && from < span->to_ns ? amount : 0;
	part = (double)amount * ((double)(high - low) / (double)(to - from));
	return part < (double)amount ? (uint64_t)part : amount;
}
