/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UPTO_ARCH_X86_VECTORS_H
#define UPTO_ARCH_X86_VECTORS_H

#include <stdint.h>

/* The name of the exception with that vector ("#PF page fault"); NULL: it is an interrupt. */
const char *x86_vector_name(uint64_t vector);

#endif
