/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Everything that the host knows of a kernel, added up: the image that boots, the files that the user names, and those
 * that lie where a build or a distribution leaves them. What a file says counts only if it is proved to be of the same
 * kernel: by build-id, else by the banner; a System.map, which has neither, by the banner's address and by the
 * functions that both have.
 */
#ifndef UPTO_GUEST_KERNEL_SOURCES_H
#define UPTO_GUEST_KERNEL_SOURCES_H

#include "kernel_image.h"
#include "layout.h"

enum { KERNEL_FILES_MAX = 16 };

/* In place of a file of types: what there is of them does not count, and all is learnt from the running guest. */
#define KERNEL_LEARN "learn"

/* A file that the user names. */
struct symbol_file {
	const char *path;
	bool placed;                            /* its code lies at that address */
	uint64_t address;
};

struct kernel_sources {
	const char *image;                      /* what boots; NULL: not known, it comes from a disk */
	struct symbol_file symbols[KERNEL_FILES_MAX];
	size_t n_symbols;
	/* the user's file of types; NULL: none; KERNEL_LEARN: take none at all */
	const char *types;
	const char *cache;                      /* folder of layouts that were learnt, by build-id; NULL: none */
};

/* What is known of a kernel. */
struct known_kernel {
	struct kernel_image image;
	struct layout layout;
	bool learns;                            /* types do not count */
	/* of the files that the user names: it is no Linux, and not what -kernel starts either */
	bool is_object[KERNEL_FILES_MAX];
	/* the file of these that has the functions of what -kernel starts, if that is no Linux; or NULL */
	const char *own;
};

/*
 * Read all that there is. Fails if a file that the user named cannot be read, or is of another kernel; the text then
 * begins with its path. An image that cannot be read is an error, too, if there is nothing else. Call
 * known_kernel_deinit() only after success.
 */
int kernel_sources_read(const struct kernel_sources *sources, struct known_kernel *ret, struct error *err);

/* Are these types those of the image? Its first task's own bytes tell; where they do not, they may be. */
bool kernel_types_fit(const struct kernel_image *image, const struct layout *layout);

/* Is all to be learnt? */
bool kernel_sources_learn(const struct kernel_sources *sources);

/* Where the cache has the layout of a build; NULL: nowhere. The caller frees it. */
char *kernel_cache_path(const char *folder, const struct build_id *id);

void known_kernel_deinit(struct known_kernel *k);

#endif
