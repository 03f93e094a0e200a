/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel is looked for while its first blocks are translated, and told of in the trace: what it is called, where it
 * lies, what it lacks, and its functions. All is called with the recorder's lock held, until the kernel is found.
 */
#ifndef UPTO_RECORDER_KERNEL_SEEN_H
#define UPTO_RECORDER_KERNEL_SEEN_H

#include <stdint.h>

/* A block at that address is translated, which may be the kernel's. */
void kernel_seen_look(uint64_t addr);

/* The same of firmware, which may start the kernel as a program of its own: so begins the kernel image's loader. */
void kernel_seen_look_for_efi(uint64_t addr);

#endif
