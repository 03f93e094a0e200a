/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the guest's files are on the host. */
#ifndef UPTO_CLI_RECORD_ROOTS_H
#define UPTO_CLI_RECORD_ROOTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Places to look for the guest's files, in this order. */
struct roots {
	char **list;
	bool fetch;          /* symbols of stripped files may be fetched from a server, which takes a while */
	/* how many of them, at the front, the user named; it is an error if one of these cannot be read */
	size_t count, named;
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

#endif
