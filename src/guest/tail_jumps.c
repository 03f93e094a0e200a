/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tail_jumps.h"

enum { LENGTH = 6 }; /* 0f 80 to 0f 8f, and the distance */

static void look_at(const uint8_t *p, uint64_t addr, tail_bounds *bounds, const void *functions, uint64_t span[2],
		    struct buf *out)
{
	uint64_t target, start, end;
	int32_t distance;

	memcpy(&distance, p + 2, sizeof distance);
	target = addr + LENGTH + (uint64_t)(int64_t)distance;
	if (addr - span[0] >= span[1] - span[0] && !bounds(functions, addr, &span[0], &span[1])) {
		span[0] = span[1] = 0;
		return;
	}
	if (target - span[0] < span[1] - span[0])
		return;
	if (bounds(functions, target, &start, &end))
		buf_put(out, &target, sizeof target);
}

/*
 * Does what ends there end with an instruction at which QEMU ends a block, and which leads on: mov to a control
 * register, or wrmsr?
 */
static bool ends_block(const uint8_t *end, size_t before)
{
	return (before >= 3 && end[-3] == 0x0f && end[-2] == 0x22) ||
	       (before >= 2 && end[-2] == 0x0f && end[-1] == 0x30);
}

/* Functions that others run on into. Those that are run into within a block are seen as that is translated. */
static void find_run_into(const uint8_t *code, size_t len, uint64_t addr, tail_bounds *bounds, const void *functions,
			  struct buf *out)
{
	enum { ALIGNMENT = 16 };
	uint64_t start, end, next, ignored;

	for (uint64_t at = addr; at - addr < len; at = end) {
		if (!bounds(functions, at, &start, &end) || end <= at)
			end = at + ALIGNMENT;
		else if (end - addr < len && ends_block(code + (end - addr), end - addr) &&
			 bounds(functions, end, &next, &ignored) && next == end)
			buf_put(out, &end, sizeof end);
	}
}

void tail_jumps_find(const uint8_t *code, size_t len, uint64_t addr, tail_bounds *bounds, const void *functions,
		     struct buf *out)
{
	const uint8_t *p = code, *end = code + len;
	uint64_t span[2] = { 0, 0 }; /* the function of the jump before */

	while (len >= LENGTH && (p = memchr(p, 0x0f, (size_t)(end - p))) && end - p >= LENGTH) {
		if (p[1] >> 4 == 8)
			look_at(p, addr + (uint64_t)(p - code), bounds, functions, span, out);
		p++;
	}
	find_run_into(code, len, addr, bounds, functions, out);
}
