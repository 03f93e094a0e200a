/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which package of the guest's distribution a file came with, and what the package is called that has its symbols. Read
 * from what dpkg keeps (/var/lib/dpkg/info/PACKAGE.list) in the guest's files.
 */
#ifndef UPTO_GUEST_PACKAGES_H
#define UPTO_GUEST_PACKAGES_H

#include <stddef.h>

struct packaged_file {
	const char *path; /* in the guest; also without its /usr, since links lead from /lib and /bin to there */
	char *package;    /* "libc6"; NULL: not known. The caller frees it */
};

/* Set what a root (sysroot.h) tells of the files whose package is not known. What cannot be read tells nothing. */
void packages_find(const char *root, struct packaged_file *files, size_t count);

/* Likewise what one file of dpkg's tells, `path` in the root. */
void packages_take(const char *path, const char *data, size_t len, struct packaged_file *files, size_t count);

/* "libc6-dbg": the package that has the symbols of another one. The caller frees it. */
char *package_of_symbols(const char *package);

#endif
