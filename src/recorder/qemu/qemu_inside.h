/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Everything that the recorder uses inside QEMU beside the plugin interface: names
 * that QEMU's program exports for its own modules, found with dlsym(). QEMU does
 * not promise them. So each of them may be absent, is listed in META
 * (`qemu_inside`) if used, and can be switched off by `upto record --qemu-inside`:
 *
 *   clock      qemu_clock_get_ns(): guest time. Without it, it is the host's. And
 *              qemu_add_vm_change_state_handler(), since a snapshot sets it while vCPUs stand.
 *   shutdown   qemu_shutdown_requested_get() and a notifier: the recording ends
 *              at the power-off, not when QEMU gets round to stopping its vCPUs.
 *   suspend    notifiers: the guest suspended to RAM, and was woken by a reset that begins no other boot
 *   values     where QEMU keeps the value of the memory access under way
 *   registers  where it keeps rax … rip
 *   stores     the stores of values that no callback asks for
 *   turns      that translated code asks which vCPU runs it, where they share a thread
 *
 * Values, registers and stores only save time: without them all answers are the same. Without turns, several vCPUs that
 * share a thread are not recorded.
 */
#ifndef UPTO_RECORDER_QEMU_INSIDE_H
#define UPTO_RECORDER_QEMU_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum inside {
	INSIDE_CLOCK,
	INSIDE_SHUTDOWN,
	INSIDE_SUSPEND,
	INSIDE_VALUES,
	INSIDE_REGISTERS,
	INSIDE_STORES,
	INSIDE_TURNS,
	INSIDES
};

/*
 * Use those parts that are in `list` (names with commas between them) and that QEMU
 * has. Called while the plugin is installed. *ret_used gets the list of the parts
 * that are used, ended by NUL.
 */
void inside_init(const char *list, struct buf *ret_used);
bool inside_has(enum inside what);

/* Guest time, or the host's monotonic clock. */
uint64_t inside_ns(void);

/* Has a snapshot set guest time to another one, forward or back, since this was asked last? */
bool inside_clock_was_set(void);

/* How often all vCPUs have been stopped. False: nobody tells. */
bool inside_stops(unsigned *ret);

/* Has the guest been powered off? False if that cannot be known. */
bool inside_shut_down(void);

/* Called, once it is set, when the guest has suspended to RAM: vCPUs stand, and this is not a thread of theirs. */
void inside_on_suspend(void (*suspended)(void));

/* Has it been woken since this was asked last? Its vCPUs are reset then. False if that cannot be known. */
bool inside_woken(void);

/*
 * Finds the place where QEMU keeps the value that a memory access has loaded.
 *
 * qemu_plugin_mem_get_value() needs 10 ns (it copies its answer, and the copy waits
 * for the stores before it), which is a fifteenth of a boot. QEMU keeps the value
 * at a fixed place of its CPU state, and exports current_cpu. The first returns show
 * where that place is. A place is used only if it alone had the right value 256
 * times; for each block of the ring it is compared with QEMU's own answer again.
 * Without current_cpu, or in any doubt, QEMU is asked each time. Reading a register
 * needs 13 ns, and user code needs one for each jump: the place of rip is learnt in
 * the same way.
 */
enum { VALUE_CANDIDATES = 64 };

struct value_place {
	enum { VALUE_NEW, VALUE_LEARNING, VALUE_KNOWN, VALUE_UNKNOWABLE } state;
	unsigned samples;
	uint32_t candidates[VALUE_CANDIDATES]; /* offsets into the CPU state */
	unsigned n_candidates;
	uint64_t last;
};

/* Begin to learn a place, if `what` is used; otherwise it is never learnt. */
void value_place_init(struct value_place *place, enum inside what);

/*
 * Learn from a value that QEMU gave, in a vCPU's callback. Returns the place where
 * this vCPU's next values can be read; NULL: not known (yet).
 */
const uint64_t *value_learn(struct value_place *place, uint64_t value);

/* A place was wrong: do not use one again. */
void value_distrust(struct value_place *place);

/*
 * Drop the stores of values in a block, except at instructions with `wanted` set.
 * Called under `lock`, while QEMU shows the block to the plugin. Returns how many.
 *
 * In a block that a plugin watches, QEMU's translator stores the value of every
 * memory access, in case that it is asked for (qemu_plugin_mem_get_value()):
 * a twentieth of a boot. The recorder asks at few instructions; everywhere else
 * the store is taken out again before code is made of the block. The layout of
 * a TCGOp (include/tcg/tcg.h) is promised by nobody: `upto record` lists
 * `stores` only for the versions whose layout is known, and what is found must
 * look as expected: else the stores stay, which costs time and nothing more.
 */
size_t stores_drop(const bool *wanted, size_t n_insns);

/*
 * Several vCPUs take turns in one thread (thread=single, -icount). QEMU 10 and 11 then write the number of the vCPU for
 * which a block is translated into its code, also where another vCPU comes to run it (gen_cpu_index(),
 * accel/tcg/plugin-gen.c); but not into code that may run in parallel. So ask for such code, for each vCPU, before it
 * executes anything. It costs what atomic instructions cost.
 */
void turns_tell(unsigned vcpu);

/* Is it this one that runs in this thread? Called in a callback that was told so. */
bool turns_are_told(unsigned vcpu);

#endif
