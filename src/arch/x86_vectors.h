/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UPTO_ARCH_X86_VECTORS_H
#define UPTO_ARCH_X86_VECTORS_H

#include <stdint.h>

/* What exception a vector below 32 is ("#PF page fault"); NULL: an interrupt. */
const char *x86_vector_name(uint64_t vector);

#endif
