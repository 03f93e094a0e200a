/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of x86's modes a vCPU is in. */
#ifndef UPTO_RECORDER_CPU_MODE_H
#define UPTO_RECORDER_CPU_MODE_H

#include <stdbool.h>

#include "recorder/qemu/registers.h"

/* Does the vCPU use page tables, and no 64-bit mode? So does the code of a kernel of 32 bits, but no firmware's. */
bool cpu_is_paged_32(struct registers *r);

#endif
