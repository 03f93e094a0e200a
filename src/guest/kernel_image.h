/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a kernel file: its symbols, its sections, and the banner by which the
 * recorder recognises the running kernel. Addresses are link addresses, those of
 * a kernel of 32 bits extended (arch/narrow.h); the slide, by which the running
 * kernel differs from them, is found in the guest.
 */
#ifndef UPTO_GUEST_KERNEL_IMAGE_H
#define UPTO_GUEST_KERNEL_IMAGE_H

#include <stdbool.h>

#include "arch/narrow.h"
#include "base/buf.h"
#include "base/error.h"
#include "build_id.h"
#include "kernel_marks.h"
#include "symbol_list.h"

struct image_section {
	uint64_t addr, size;
	bool writable;
	char name[32];
};

struct image_code {
	uint64_t addr;
	struct buf bytes;
};

enum { BANNER_COPIES = 4 };

struct kernel_image {
	struct narrow narrow;           /* of a kernel of 32 bits */
	struct symbol_list symbols;     /* none: see no_names */
	struct image_section *sections; /* only sections with instructions */
	size_t n_sections;
	struct buf btf;                 /* types; empty: none */
	/* the bytes of code, for those who look through it; see kernel_image_drop_code() */
	struct image_code *code;
	size_t n_code;
	struct build_id build_id;
	char *banner;                   /* "Linux version 6.12…\n"; NULL: not a Linux kernel, or not known */
	uint64_t banner_addrs[BANNER_COPIES]; /* where linux_banner, and copies that the compiler made, are */
	size_t n_banners;
	uint64_t switch_addr;           /* of __switch_to_asm(), found by its instructions; 0: not found */
	struct first_task_marks first_task; /* where its bytes tell; looked for where there is no BTF */
	struct error no_names;          /* why there are no symbols */
};

/*
 * Read a bzImage, an ELF file (with a symbol table, or a vmlinux that has
 * kallsyms) or a System.map. A kernel without symbols is no error; a System.map
 * without is. Errors name the file. The caller calls kernel_image_deinit() on *ret.
 */
int kernel_image_load(const char *path, struct kernel_image *ret, struct error *err);

/* The same for bytes in memory. Errors do not name a file. */
int kernel_image_parse(const void *data, size_t len, struct kernel_image *ret, struct error *err);

/*
 * The same for a kernel as it lies in memory, from its first byte on, which is at `addr`. Addresses are those of run
 * time. `narrow` has the addresses of a kernel of 32 bits.
 */
void kernel_image_from_memory(const void *data, size_t len, uint64_t addr, const struct narrow *narrow,
			      struct kernel_image *ret);

/*
 * Add what the other one knows and the first one does not; the other one is empty afterwards. Of a kernel that has
 * functions only symbols of data are added: its own names stay what they are.
 */
void kernel_image_add(struct kernel_image *image, struct kernel_image *other);

/* The bytes of code are not needed any more. */
void kernel_image_drop_code(struct kernel_image *image);

void kernel_image_deinit(struct kernel_image *image);

#endif
