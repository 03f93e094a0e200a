/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Puts the functions of programs and libraries that ran in a guest into its trace, so that the trace has their names on any
 * machine.
 */
#ifndef UPTO_CLI_FILE_SYMBOLS_H
#define UPTO_CLI_FILE_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Places to look for the guest's files, in this order. */
struct roots {
	char **list;
	bool fetch;          /* symbols of stripped files may be fetched from a server, which takes a while */
	size_t count, named; /* how many of them, at the front, the user named; it is an error if one of these cannot be read */
};

/* Add a root. Roots that the user names come first. */
void roots_add(struct roots *r, const char *path, size_t len, bool named);
/* Add the user's list of roots, with colons between them. */
void roots_add_list(struct roots *r, const char *list);
/* Can all roots that the user named be read? */
int roots_check(const struct roots *r, struct error *err);
/* Add the initramfs and the disks on QEMU's command line. */
void roots_add_guest(struct roots *r, char *const *argv);
void roots_deinit(struct roots *r);

struct file_symbols {
	size_t wanted, found; /* files that were mapped; how many of them the trace now has more functions of */
	size_t left_out;      /* those whose functions did not fit into the trace */
};

int file_symbols_add(const char *trace, const struct roots *roots, struct file_symbols *ret, struct error *err);

#endif
