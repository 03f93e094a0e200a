/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Learns where a kernel of 32 bits keeps what learn.h does not find there, since a pointer has 4 bytes: who made a
 * task, and its memory. Everything else of learn_switch() is of the same size in both.
 */
#ifndef UPTO_GUEST_NARROW_TASKS_H
#define UPTO_GUEST_NARROW_TASKS_H

#include "arch/narrow.h"
#include "learn.h"

/* After learn_switch(): real_parent, once pids are known. True: it has been learnt now. */
bool narrow_learn_parent(struct learner *l, const struct learn_memory *m);

/* A task has a new program: its mm. `space` is the physical address of the page tables that are in use. */
bool narrow_learn_mm(struct learner *l, const struct learn_memory *m, const struct narrow *narrow, uint64_t task,
		     uint64_t space);

#endif
