/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files that tell of the kernel that is recorded: QEMU's -kernel, --symbols, --types, and what earlier recordings
 * learnt.
 */
#ifndef UPTO_CLI_RECORD_KERNEL_FILES_H
#define UPTO_CLI_RECORD_KERNEL_FILES_H

#include "cli/command.h"
#include "guest/kernel_sources.h"

struct kernel_files {
	struct kernel_sources sources; /* of strings below, and of the arguments' */
	char *list, *cache;
};

/* `image`: what QEMU boots, or NULL. Errors name the option. */
int kernel_files_init(const struct args *args, const char *image, struct kernel_files *ret, struct error *err);
void kernel_files_deinit(struct kernel_files *f);

/*
 * The folder of layouts by build-id: $XDG_CACHE_HOME/upto/layouts, or below ~/.cache; NULL: there is no such place. The
 * caller frees it.
 */
char *layout_cache(void);

/* Keep a layout there for the build of that id, in place of an earlier one. Folders are made. */
void layout_keep(const char *folder, const char *build_id, const struct layout *layout);

#endif
