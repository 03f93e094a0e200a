/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is not known of a guest, and why: a kernel that was not found, or that has no names of functions, threads
 * without numbers and names. Answers hold all the same, with less in them; whoever asks is told so first.
 */
#ifndef UPTO_REPLAY_UNKNOWN_H
#define UPTO_REPLAY_UNKNOWN_H

#include "guest/layout.h"
#include "threads.h"

enum unknown { UNKNOWN_KERNEL, UNKNOWN_NAMES, UNKNOWN_THREADS, UNKNOWN_PROGRAMS, UNKNOWN_KINDS };

/*
 * Is it not known, of some boot or of any thread at all? Traces that were not recorded by upto lack nothing here
 * (META's `imported`).
 */
bool is_unknown(const struct reader *r, const struct threads *t, enum unknown what);

/* "kernel without names: …; give --symbols vmlinux": what is not known, why, and the way out. */
void unknown_put(const struct reader *r, enum unknown what, struct buf *out);

/*
 * How many facts are missing, of all boots, since they came before it was learnt where the kernel has this member that
 * they are read from.
 */
uint64_t early_facts(const struct reader *r, enum member member);

#endif
