/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What KASAN is told of objects of the slab allocator, in kernels that have it: mm/kasan/generic.c. Called in a vCPU's
 * thread, at the entry of a function of the kernel.
 */
#ifndef UPTO_RECORDER_KASAN_OBJECTS_H
#define UPTO_RECORDER_KASAN_OBJECTS_H

#include "recorder/recorder.h"

/* An object of that struct kmem_cache is about to be handed out, or was given back. */
void kasan_allocated(struct vcpu *v, unsigned cpu, uint64_t cache);
void kasan_freed(struct vcpu *v, unsigned cpu, uint64_t cache);

#endif
