/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "meter.h"

/* How much of it is spent by then. */
static uint64_t spent_by(uint64_t from, uint64_t to, uint64_t amount, uint64_t ns)
{
	double part;

	if (ns == to)
		return amount;
	part = (double)amount * ((double)(ns - from) / (double)(to - from));
	return part < (double)amount ? (uint64_t)part : amount;
}

/* Spans that follow each other get all of it together. */
uint64_t meter_clip(const struct span *span, uint64_t from, uint64_t to, uint64_t amount)
{
	uint64_t low = from > span->from_ns ? from : span->from_ns, high = to < span->to_ns ? to : span->to_ns;

	if (low == from && high == to)
		return amount;
	if (low >= high || from == to)
		return from == to && from >= span->from_ns && from < span->to_ns ? amount : 0;
	return spent_by(from, to, amount, high) - spent_by(from, to, amount, low);
}
