/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes: at chosen instructions of the kernel, and where chosen functions return, values are read, and kept as records
 * of an event (probes/probe_record.h). The guest runs nothing of it.
 */
#ifndef UPTO_RECORDER_PROBES_H
#define UPTO_RECORDER_PROBES_H

#include "guest/prototypes_btf.h"
#include "recorder/recorder.h"

/* Of the definitions probe.0, probe.1 … of the configuration. After kernel_start(). */
int probes_init(const struct meta *config, struct error *err);

/* Where to write is known. */
void probes_begin(void);

/* The kernel was found: look for the places in it. Under `lock`. */
void probes_found(struct buf *lines);

/* A module was loaded: look in it, too. `types`: its own; NULL: there are none. In a vCPU's thread. */
void probes_module(struct vcpu *v, const struct btf_prototypes *types, const char *module, const struct symtab *tab);

/*
 * Tell of that probe, and of those behind it, by number + 1. `entry`: in a program, where the place, or the begin of
 * the function that returns, is at run time; else 0. `behind`: instructions of the block from there on.
 */
void probes_hit(struct vcpu *v, uint32_t number, uint64_t entry, uint64_t behind);

/* The guest has ended: say which probes found no place, and count what could not be read. */
void probes_finish(void);

/* In translation, under `lock`: the number of the first probe at an instruction, + 1; 0: there is none. */
uint32_t probes_at(uint64_t addr);
/*
 * The number, from `from` on, of a probe that is at that instruction of a program, + 1; 0: there is none. The code
 * there tells which program it is.
 */
uint32_t probes_in_program(uint64_t addr, uint32_t from);
/* Are there any of programs? */
bool probes_watch_programs(void);
/* Is the one with that number + 1 where a function returns? */
bool probe_returns(uint32_t number);
/* Are registers to be kept where that function begins, since a probe in it asks for them? */
bool probes_want_entry(uint64_t function);

#endif
