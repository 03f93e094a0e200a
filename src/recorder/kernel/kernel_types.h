/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The types (BTF) of the kernel that runs, and of its modules. */
#ifndef UPTO_RECORDER_KERNEL_TYPES_H
#define UPTO_RECORDER_KERNEL_TYPES_H

#include "guest/prototypes_btf.h"
#include "recorder/recorder.h"

/* They will be asked for. Before the kernel is found. */
void kernel_types_want(void);

/* The kernel was found. Under `lock`. */
void kernel_types_found(void);

/* NULL: it has none, or nobody wanted them. Valid until another kernel is found. */
const struct btf_prototypes *kernel_types(void);

/* Those of a module that was loaded, which the caller frees. NULL: likewise. In a vCPU's thread. */
struct btf_prototypes *kernel_types_of_module(struct vcpu *v, uint64_t module);

#endif
