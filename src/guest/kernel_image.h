/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a kernel file: its symbols, its sections, and the banner by which the
 * recorder recognises the running kernel. Addresses are link addresses; the
 * slide, by which the running kernel differs from them, is found in the guest.
 */
#ifndef UPTO_GUEST_KERNEL_IMAGE_H
#define UPTO_GUEST_KERNEL_IMAGE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"
#include "symbol_list.h"

struct image_section {
	uint64_t addr, size;
	bool writable;
	char name[32];
};

struct kernel_image {
	struct symbol_list symbols;
	struct image_section *sections; /* only sections with instructions */
	size_t n_sections;
	struct buf btf;                 /* types; empty: none */
	uint64_t banner_addr;           /* of linux_banner; 0: not a Linux kernel, or not known */
	char *banner;                   /* "Linux version 6.12…", or NULL */
};

/*
 * Read a bzImage, an ELF file (with a symbol table, or a vmlinux that has
 * kallsyms) or a System.map. Errors name the file. The caller calls
 * kernel_image_deinit() on *ret.
 */
int kernel_image_load(const char *path, struct kernel_image *ret, struct error *err);

/* The same for bytes in memory. Errors do not name a file. */
int kernel_image_parse(const void *data, size_t len, struct kernel_image *ret, struct error *err);

void kernel_image_deinit(struct kernel_image *image);

#endif
