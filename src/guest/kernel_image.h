/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a kernel file tells about the kernel in it: symbols, sections and the
 * banner by which the running kernel is recognised. Addresses are link
 * addresses; where it really runs (the slide) is found in the guest.
 */
#ifndef UPTO_GUEST_KERNEL_IMAGE_H
#define UPTO_GUEST_KERNEL_IMAGE_H

#include "base/buf.h"
#include "base/error.h"
#include "symbol_list.h"

struct image_section {
	uint64_t addr, size;
	char name[32];
};

struct kernel_image {
	struct symbol_list symbols;
	struct image_section *sections; /* those with instructions */
	size_t n_sections;
	struct buf btf;                 /* types; empty: none */
	uint64_t banner_addr;           /* of linux_banner; 0: not a Linux kernel, or not told */
	char *banner;                   /* "Linux version 6.12…", or NULL */
};

/*
 * Read a bzImage, an ELF file (with a symbol table, or a vmlinux that has
 * kallsyms) or a System.map. Errors name the file.
 */
int kernel_image_load(const char *path, struct kernel_image *ret, struct error *err);

/* The same for bytes already in memory; errors do not name a file. */
int kernel_image_parse(const void *data, size_t len, struct kernel_image *ret, struct error *err);

void kernel_image_deinit(struct kernel_image *image);

#endif
