/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "value.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

enum {
	STATE_BYTES = 16384, /* less than any x86 CPU state of QEMU 9.2 to 10.2 */
	SAMPLES = 256,
	SMALL = 1 << 16,
};

/* QEMU's CPUState of the vCPU that runs in this thread. */
static const uint8_t *cpu_state(void)
{
	void **current = dlsym(RTLD_DEFAULT, "current_cpu");

	return current ? *current : NULL;
}

static bool has(const uint8_t *cpu, uint32_t offset, uint64_t value)
{
	return !memcmp(cpu + offset, &value, sizeof value);
}

static void begin(struct value_place *place, const uint8_t *cpu, uint64_t value)
{
	for (uint32_t at = 0; at < STATE_BYTES; at += 8)
		if (has(cpu, at, value) && place->n_candidates < VALUE_CANDIDATES)
			place->candidates[place->n_candidates++] = at;
	place->state = VALUE_LEARNING;
}

static void narrow(struct value_place *place, const uint8_t *cpu, uint64_t value)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < place->n_candidates; i++)
		if (has(cpu, place->candidates[i], value))
			place->candidates[kept++] = place->candidates[i];
	place->n_candidates = kept;
}

const uint64_t *value_learn(struct value_place *place, uint64_t value)
{
	const uint8_t *cpu = place->state == VALUE_UNKNOWABLE ? NULL : cpu_state();

	if (!cpu) {
		place->state = VALUE_UNKNOWABLE;
		return NULL;
	}
	if (place->state == VALUE_KNOWN)
		return (const uint64_t *)(cpu + place->candidates[0]);
	/* only values that tell places apart */
	if (value < SMALL || value == place->last)
		return NULL;
	place->last = value;
	if (place->state == VALUE_NEW)
		begin(place, cpu, value);
	else
		narrow(place, cpu, value);
	if (!place->n_candidates)
		place->state = VALUE_UNKNOWABLE;
	else if (++place->samples >= SAMPLES && place->n_candidates == 1)
		place->state = VALUE_KNOWN;
	return NULL;
}

void value_distrust(struct value_place *place)
{
	place->state = VALUE_UNKNOWABLE;
}
