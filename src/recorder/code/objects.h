/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code that is no Linux and whose functions the user has given: firmware, boot loaders, kernels of one's own. Where an
 * object's code lies is seen when it runs there: the bytes of its functions do. It may lie in several places, and move
 * parts of itself:
 *
 *   rom.o   linked at   0xd19e0 ─────────────────── 0x100000
 *           seen at  0xfffd19e0 ─── (in flash)
 *                                0xe8d40 ────────── 0x100000   a piece: functions in a row, all moved by as much
 *           0x3ffa5020 ──── (what is needed once)
 *
 * Each piece becomes a record of code in the trace, and functions that translation knows the bounds of (modules.h).
 */
#ifndef UPTO_RECORDER_OBJECTS_H
#define UPTO_RECORDER_OBJECTS_H

#include "guest/kernel_sources.h"

/* Read those of the files that are no Linux. Before the first block. */
int objects_start(const struct kernel_sources *sources, const struct known_kernel *known, struct error *err);

/* May code of an object run now? Not once Linux does. Under the recorder's lock, as the others. */
bool objects_awaited(void);

/* A block of vCPU 0 that begins there is about to be translated: is it an object's? */
void objects_look(uint64_t addr);

/* The machine begins anew: what lies where is not known any more. */
void objects_forget(void);

/* Tell, in the statistics, whose code never ran. */
void objects_finish(void);

#endif
