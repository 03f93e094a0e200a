/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Puts the functions of programs and libraries that ran in a guest into its trace, so that the trace has their names on
 * any machine.
 */
#ifndef UPTO_CLI_RECORD_FILE_SYMBOLS_H
#define UPTO_CLI_RECORD_FILE_SYMBOLS_H

#include <stddef.h>

#include "base/buf.h"
#include "roots.h"

enum { STRIPPED_NAMED = 3 };

struct file_symbols {
	size_t wanted, found; /* files that were mapped; how many of them the trace now has more functions of */
	size_t left_out;      /* those whose functions did not fit into the trace */
	size_t differ;        /* those where only another file has their path and size: what ran is not in the roots */
	size_t unsure;        /* those that may be one of several files with different functions */
	/* those that have no names but what they offer to others: the rest is in a file that was not found */
	size_t stripped;
	char stripped_names[128]; /* some of them: "libc.so.6, udevadm" */
	char packages[160];   /* that have those symbols, as far as the roots tell: "libc6-dbg, udev-dbgsym"; or "" */
};

/* Append " (libc6-dbg, …)", escaped; nothing if they are not known. */
void file_symbols_put_packages(const struct file_symbols *s, struct buf *out);

int file_symbols_add(const char *trace, const struct roots *roots, struct file_symbols *ret, struct error *err);

#endif
