/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What chosen functions of the kernel are given and give back: read at their first instruction, and where they return.
 * What that means, their prototypes tell (trace/prototypes.h), which are written once for each function.
 */
#ifndef UPTO_RECORDER_ARGUMENTS_H
#define UPTO_RECORDER_ARGUMENTS_H

#include "guest/prototypes_btf.h"
#include "recorder/recorder.h"

/* Names as a shell's patterns, with commas between them: "vfs_read,*open*"; NULL: none. */
void arguments_init(const char *list);

/* The kernel was found: choose from its functions, and write their prototypes. */
void arguments_found(struct buf *lines);

/* A module was loaded: choose from its functions, too. `types`: its own; NULL: there are none. In a vCPU's thread. */
void arguments_module(const struct btf_prototypes *types, const struct symtab *tab);

/* Choose a program's function, by its prototype's line: its number, + 1; 0: there is no room. */
uint64_t arguments_choose(const char *prototype, struct buf *lines);

/*
 * A chosen function of a program begins: its first instruction is to run. `behind`: instructions of the block from
 * there on. In a vCPU's thread.
 */
void arguments_enters(struct vcpu *v, uint64_t number, uint64_t behind);
/* A chosen function returns: by its number. In a vCPU's thread. */
void arguments_returns(struct vcpu *v, uint64_t number);

/* The guest has ended: say which names no function had. */
void arguments_finish(void);

/* The number of a chosen function that begins at this run-time address, + 1; 0: none does. */
uint64_t arguments_at(uint64_t addr);

#endif
