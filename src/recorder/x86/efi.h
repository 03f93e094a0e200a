/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How UEFI firmware enters a kernel: as a program of its own, of which the first instruction is looked for. */
#ifndef UPTO_RECORDER_EFI_H
#define UPTO_RECORDER_EFI_H

#include "recorder/qemu/registers.h"

/*
 * Is that the first instruction of a bzImage which firmware, or a boot loader, starts as a UEFI program? To be asked
 * before the instruction is executed. Its arguments say so (UEFI specification, 4.1: the image's handle and the system
 * table), and its headers (Documentation/arch/x86/boot.rst).
 */
bool efi_enters_kernel(struct registers *regs, uint64_t addr);

#endif
