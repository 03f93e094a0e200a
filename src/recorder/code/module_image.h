/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a module consists of: where its code is, and its functions, at run-time addresses. It is read out of the
 * kernel's own kallsyms of the module or, where these are not there or not known, out of the kernel's copy of the
 * module's file, which needs no types of the kernel's. The functions below are called in a vCPU's thread, in a callback
 * with registers.
 */
#ifndef UPTO_RECORDER_MODULE_IMAGE_H
#define UPTO_RECORDER_MODULE_IMAGE_H

#include "guest/kernel_image.h"
#include "recorder/recorder.h"

enum { MODULE_NAME_LEN = 64 - 8 }; /* include/linux/moduleparam.h */

/*
 * module_finalize(), arch/x86/kernel/module.c: the module stands where it will run, its sections' headers and its
 * symbols say where. `file`: the address of the copy's ELF header; `sections`: of its sections' headers; `module`: of
 * its struct module. What is read is kept up to module_image_read(). Does nothing where the kernel's kallsyms will do.
 */
void module_image_keep(struct vcpu *v, uint64_t file, uint64_t sections, uint64_t module);

/* The module is about to be initialised. Returns false if nothing is known of it; else the caller frees *ret. */
bool module_image_read(struct vcpu *v, uint64_t module, char name[MODULE_NAME_LEN + 1], struct kernel_image *ret);

/* Add code to an image, unless that cannot be right. */
void module_image_add(struct kernel_image *image, const char *name, uint64_t addr, uint64_t size);

/* What was kept is of a kernel that runs no more. */
void module_image_forget(void);

#endif
