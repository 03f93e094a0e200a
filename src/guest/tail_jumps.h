/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Conditional jumps out of a function, to another one: compilers make them of calls in tail position (LLVM often, GCC
 * to the .cold part of a function). Whether such a jump is taken cannot be watched where it stands, so the places that
 * it leads to are watched; and they must be known before QEMU translates what is there. So code is looked through
 * before it runs.
 */
#ifndef UPTO_GUEST_TAIL_JUMPS_H
#define UPTO_GUEST_TAIL_JUMPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* The bounds of the function that holds an address; false: none does. */
typedef bool tail_bounds(const void *functions, uint64_t addr, uint64_t *ret_start, uint64_t *ret_end);

/*
 * Append the places, as 64-bit addresses, that conditional jumps with a 32-bit distance in these bytes of code, which
 * begin at `addr`, lead to in other functions. They are found by their bytes, wherever these stand: the few that are
 * none do no harm, since watching a place costs little and changes nothing where control comes otherwise. Shorter jumps
 * are not looked for: a function that is called in tail position is too far, or not known to be near when code is made.
 * Likewise the places that a function runs on to when its last instruction ends a block of QEMU's: common_startup_64()
 * is called by the first CPU, and run into by the others.
 */
void tail_jumps_find(const uint8_t *code, size_t len, uint64_t addr, tail_bounds *bounds, const void *functions,
		     struct buf *out);

#endif
