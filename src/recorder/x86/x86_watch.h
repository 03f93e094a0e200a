/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86's operations under translation, as struct cpu_ops (cpu.h) tells of them. */
#ifndef UPTO_RECORDER_X86_WATCH_H
#define UPTO_RECORDER_X86_WATCH_H

#include "recorder/cpu.h"

bool x86_looks_like_function(uint64_t addr);
struct insn_flow x86_watch_state(struct work *w, uint64_t addr, uint8_t length);
void x86_watch_transfer(struct work *w, uint64_t addr);
bool x86_watch_arrival(struct work *w);
/* Its vector, and above that, from bit 8 on, the enum idt_kind of the table that leads there. */
int x86_handler(const struct work *w);

#endif
