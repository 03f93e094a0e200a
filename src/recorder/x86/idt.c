/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "idt.h"

#include <string.h>

enum { ENTRIES = 256 };

static unsigned entry_size(enum idt_kind kind)
{
	return kind == IDT_REAL ? 4 : kind == IDT_32 ? 8 : 16;
}

static uint64_t le(const uint8_t *p, unsigned n)
{
	uint64_t v = 0;

	memcpy(&v, p, n);
	return v;
}

/* The handler's address in an entry of the table; 0 if the entry is empty. AMD APM vol. 2, 8.2 and 4.8. */
static uint64_t handler_of(enum idt_kind kind, const uint8_t *p)
{
	switch (kind) {
	case IDT_REAL:
		return le(p + 2, 2) * 16 + le(p, 2);
	case IDT_32:
		return p[5] & 0x80 ? le(p, 2) | le(p + 6, 2) << 16 : 0;
	case IDT_64:
		return p[5] & 0x80 ? le(p, 2) | le(p + 6, 2) << 16 | le(p + 8, 4) << 32 : 0;
	}
	return 0;
}

void idts_init(struct idts *t)
{
	*t = (struct idts){ 0 };
	idts_add(t, &(struct idt){ .base = 0, .limit = 0x3ff, .kind = IDT_REAL });
}

void idts_add(struct idts *t, const struct idt *idt)
{
	for (unsigned i = 0; i < t->count; i++)
		if (t->tables[i].base == idt->base && t->tables[i].kind == idt->kind) {
			t->tables[i].limit = idt->limit;
			return;
		}
	if (t->count < IDTS_MAX) {
		t->tables[t->count++] = *idt;
	} else {
		t->tables[t->oldest] = *idt;
		t->oldest = (t->oldest + 1) % IDTS_MAX;
	}
}

static int vector_in(const struct idt *idt, struct registers *regs, uint64_t addr)
{
	uint8_t table[ENTRIES * 16];
	unsigned size = entry_size(idt->kind), n = (idt->limit + 1) / size;

	if (n > ENTRIES)
		n = ENTRIES;
	if (!n || !guest_read(regs, idt->base, table, (size_t)n * size))
		return -1;
	for (unsigned i = 0; i < n; i++)
		if (handler_of(idt->kind, table + i * size) == addr)
			return (int)i;
	return -1;
}

int idts_vector_of(struct idts *t, struct registers *regs, uint64_t addr, enum idt_kind *ret_kind)
{
	for (unsigned i = t->count; i-- > 0;) {
		int vector = -1;

		/* a table of 64-bit gates serves kernel addresses, and the early identity mapping */
		if (t->tables[i].kind == IDT_64 || addr <= UINT32_MAX)
			vector = vector_in(&t->tables[i], regs, addr);
		if (vector < 0)
			continue;
		*ret_kind = t->tables[i].kind;
		*map_put(&t->handlers, addr, 0) = i << 8 | (unsigned)vector;
		return vector;
	}
	return -1;
}

static bool is_at(const struct idt *idt, unsigned vector, struct registers *regs, uint64_t addr)
{
	unsigned size = entry_size(idt->kind);
	uint8_t entry[16];

	return (vector + 1) * size <= idt->limit + 1 && guest_read(regs, idt->base + vector * size, entry, size) &&
	       handler_of(idt->kind, entry) == addr;
}

int idts_handler(struct idts *t, struct registers *regs, uint64_t addr, enum idt_kind *ret_kind)
{
	const uint64_t *found = map_get(&t->handlers, addr);
	const struct idt *idt = found ? &t->tables[*found >> 8] : NULL;

	if (!idt || !is_at(idt, *found & 0xff, regs, addr))
		return idts_vector_of(t, regs, addr, ret_kind);
	*ret_kind = idt->kind;
	return *found & 0xff;
}
