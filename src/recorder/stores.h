/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * In a block that a plugin watches, QEMU's translator stores the value of every
 * memory access, in case that it is asked for (qemu_plugin_mem_get_value()):
 * a twentieth of a boot. The recorder asks at few instructions; everywhere else
 * the store is taken out again before code is made of the block.
 *
 * That is QEMU's inside (include/tcg/tcg.h): it exports what is needed, but the
 * layout of a TCGOp is promised by nobody. So it is done only where the command
 * line asks for it, which it does for the versions whose layout is known, and
 * what is found must look as expected: else the stores stay, which costs time
 * and nothing more.
 */
#ifndef UPTO_RECORDER_STORES_H
#define UPTO_RECORDER_STORES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Before any block is translated. Whether stores can be dropped. */
bool stores_init(void);

/*
 * While QEMU tells the plugin of a block: drop the stores of its instructions
 * but for those with `wanted`. Returns how many. Under `lock`.
 */
size_t stores_drop(const bool *wanted, size_t n_insns);

#endif
