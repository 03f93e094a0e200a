/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The value that the memory access under way has loaded.
 *
 * qemu_plugin_mem_get_value() takes 10 ns for it (it copies its answer so that
 * the copy waits for the stores before it), which is a fifteenth of a boot.
 * QEMU keeps the value at a fixed place of its CPU state, and exports
 * current_cpu: where that place is, the first returns give away. It is taken
 * only if one place alone had the right value 256 times, and is held against
 * QEMU's own answer again with every block of the ring. Without current_cpu, or
 * with any doubt, QEMU is asked each time.
 */
#ifndef UPTO_RECORDER_VALUE_H
#define UPTO_RECORDER_VALUE_H

#include <stdbool.h>
#include <stdint.h>

enum { VALUE_CANDIDATES = 64 };

struct value_place {
	enum { VALUE_NEW, VALUE_LEARNING, VALUE_KNOWN, VALUE_UNKNOWABLE } state;
	unsigned samples;
	uint32_t candidates[VALUE_CANDIDATES]; /* offsets into the CPU state */
	unsigned n_candidates;
	uint64_t last;
};

/*
 * In a vCPU's callback: take note of a value that QEMU told. The place where
 * this vCPU's next values can be read, or NULL: not known (yet).
 */
const uint64_t *value_learn(struct value_place *place, uint64_t value);

/* A place was wrong: never believe in one again. */
void value_distrust(struct value_place *place);

#endif
