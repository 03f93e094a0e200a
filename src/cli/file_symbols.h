/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts the functions of programs and libraries that ran in a guest into its trace, so that it has their names wherever it is read. */
#ifndef UPTO_CLI_FILE_SYMBOLS_H
#define UPTO_CLI_FILE_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Where the guest's files are looked for, in this order. */
struct roots {
	char **list;
	bool fetch;          /* what is stripped may have its symbols at a server: that takes a while */
	size_t count, named; /* the first so many were named by the user: not to be able to read one of them is an error */
};

/* Add a root; those that the user names come first. */
void roots_add(struct roots *r, const char *path, size_t len, bool named);
/* A list with colons between them, as the user named them. */
void roots_add_list(struct roots *r, const char *list);
/* Can all that the user named be read? */
int roots_check(const struct roots *r, struct error *err);
/* What QEMU's command line gives the guest: its initramfs and its disks. */
void roots_add_guest(struct roots *r, char *const *argv);
void roots_deinit(struct roots *r);

struct file_symbols {
	size_t wanted, found; /* files that were mapped; of these, those of which the trace has more functions now */
};

int file_symbols_add(const char *trace, const struct roots *roots, struct file_symbols *ret, struct error *err);

#endif
