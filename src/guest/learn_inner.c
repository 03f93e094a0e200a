/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "learn_inner.h"

#include <string.h>

enum { PAGE = 4096 };

void piece_read(struct piece *p, const struct learn_memory *m, uint64_t addr, size_t max)
{
	p->addr = addr;
	p->len = 0;
	if (max > sizeof p->data)
		max = sizeof p->data;
	while (addr && p->len < max) {
		size_t step = PAGE - (addr + p->len) % PAGE;

		if (step > max - p->len)
			step = max - p->len;
		if (!m->read(m->context, addr + p->len, p->data + p->len, step))
			break;
		p->len += step;
	}
}

uint64_t piece_u64(const struct piece *p, size_t at)
{
	uint64_t value = 0;

	if (at <= p->len && p->len - at >= sizeof value)
		memcpy(&value, p->data + at, sizeof value);
	return value;
}

uint32_t piece_u32(const struct piece *p, size_t at)
{
	uint32_t value = 0;

	if (at <= p->len && p->len - at >= sizeof value)
		memcpy(&value, p->data + at, sizeof value);
	return value;
}

uint64_t read_u64(const struct learn_memory *m, uint64_t addr)
{
	uint64_t value = 0;

	return addr && m->read(m->context, addr, &value, sizeof value) ? value : 0;
}

uint32_t read_u32(const struct learn_memory *m, uint64_t addr)
{
	uint32_t value = 0;

	return addr && m->read(m->context, addr, &value, sizeof value) ? value : 0;
}

bool is_pointer(uint64_t value)
{
	/* canonical with four or five levels of page tables, and no error number */
	return value >= 0xff00000000000000u && value < 0xfffffffffffff000u;
}

bool read_name(const struct learn_memory *m, uint64_t addr, char *name, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (!addr || !m->read(m->context, addr + i, &name[i], 1))
			return false;
		if (!name[i])
			return i > 0;
		if (name[i] < ' ' || name[i] > '~')
			return false;
	}
	return false;
}

void add_candidate(int *found, int at)
{
	*found = *found == NOT_FOUND ? at : SEVERAL;
}

int learnt(struct learner *l, enum member member, int at)
{
	if (at < 0 || knows(l, member))
		return 0;
	__atomic_store_n(&l->layout->offset[member], at, __ATOMIC_RELEASE);
	l->layout->from[member] = LAYOUT_LEARNT;
	return 1;
}
