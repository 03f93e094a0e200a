/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "registers.h"

#include <string.h>

#include "recorder/kernel/guest_address.h"

bool registers_init(struct registers *r)
{
	g_autoptr(GArray) all = qemu_plugin_get_registers();

	r->bytes = g_byte_array_new();
	for (guint i = 0; i < all->len; i++) {
		const qemu_plugin_reg_descriptor *d = qemu_register_at(all, i);

		for (unsigned k = 0; k < REGS; k++)
			if (!strcmp(d->name, reg_names[k]))
				r->handles[k] = d->handle;
	}
	for (unsigned k = 0; k < REGS_NEEDED; k++)
		if (!r->handles[k])
			return false;
	return true;
}

uint64_t registers_ask(struct registers *r, enum reg reg)
{
	uint64_t value = 0;

	if (!r->handles[reg])
		return 0;
	g_byte_array_set_size(r->bytes, 0);
	qemu_plugin_read_register(r->handles[reg], r->bytes);
	memcpy(&value, r->bytes->data, MIN(r->bytes->len, sizeof value));
	return value;
}

static bool is_right(struct registers *r, const uint64_t *place)
{
	bool whole = true, in_32bit = true;

	for (enum reg i = 0; i < REGS_DIRECT; i++) {
		uint64_t value = registers_ask(r, i);

		whole &= value == place[i];
		in_32bit &= value == reg_shown_in_32bit(i, place[i]);
	}
	return whole || in_32bit;
}

static __attribute__((noinline)) uint64_t learn_rip(struct registers *r, struct value_place *place)
{
	uint64_t rip = registers_ask(r, REG_IP);

	if (place->state == VALUE_UNKNOWABLE)
		return rip;
	if (!r->place) {
		const uint64_t *where = value_learn(place, rip);

		r->place = where ? where - REG_IP : NULL;
	}
	if (r->place && is_right(r, r->place)) {
		r->direct = r->place;
	} else if (r->place) {
		r->place = NULL;
		value_distrust(place);
	}
	return rip;
}

uint64_t registers_rip(struct registers *r, struct value_place *place)
{
	return __builtin_expect(r->direct != NULL, 1) ? r->direct[REG_IP] : learn_rip(r, place);
}

bool guest_read(struct registers *r, uint64_t addr, void *data, size_t n)
{
	g_byte_array_set_size(r->bytes, 0);
	if (!qemu_plugin_read_memory_vaddr(guest_linear(addr), r->bytes, n) || r->bytes->len < n)
		return false;
	memcpy(data, r->bytes->data, n);
	return true;
}
