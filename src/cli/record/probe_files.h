/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files with debug information that definitions of probes are looked for in. */
#ifndef UPTO_CLI_RECORD_PROBE_FILES_H
#define UPTO_CLI_RECORD_PROBE_FILES_H

#include "symbols/dwarf_file.h"
#include "probes/probe_definition.h"

enum { PROBE_FILES = 64 };

struct probe_files {
	struct dwarf_file *list[PROBE_FILES];
	size_t count;
};

/*
 * Open them: `names` with ':' between; NULL: none. `image`: the kernel's, beside which its vmlinux may lie, if no file
 * of a kernel is named; NULL: none. An error: a named one cannot be used. Call probe_files_deinit() in either case.
 */
int probe_files_init(struct probe_files *ret, const char *names, const char *image, struct error *err);
void probe_files_deinit(struct probe_files *f);

/* The file in which a definition has its place. NULL: none of them; `err` says what to give. */
struct dwarf_file *probe_file_of(const struct probe_files *f, const struct probe_definition *d, struct error *err);

/*
 * The file of a program that a definition names by its path in the guest: one of them, or it is opened, below one of
 * the folders `roots` (with ':' between; NULL: none), or where the host has it. NULL: there is none.
 */
struct dwarf_file *probe_program_of(struct probe_files *f, const struct probe_definition *d, const char *roots,
				    struct error *err);

/* One or the other, as the definition's place is in a program or not. */
struct dwarf_file *probe_file_meant(struct probe_files *f, const struct probe_definition *d, const char *roots,
				    struct error *err);

#endif
