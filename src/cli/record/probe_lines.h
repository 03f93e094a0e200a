/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Definitions of probes as lines of the recorder's configuration (recorder/values/probes.h). */
#ifndef UPTO_CLI_RECORD_PROBE_LINES_H
#define UPTO_CLI_RECORD_PROBE_LINES_H

#include "base/buf.h"
#include "cli/command.h"
#include "probe_files.h"

/* Where definitions are looked for; the files are opened when they are asked for first. */
struct probe_lines {
	const struct args *args;
	const char *image; /* the kernel's; NULL: it is not known */
	struct probe_files files;
	bool opened;
	size_t count;
	struct buf *lines;
};

int probe_lines_open(struct probe_lines *l, struct error *err);

/* Append a definition in the kernel's words. */
void probe_lines_put(struct probe_lines *l, const char *text);
/*
 * Append, for the next one, by what code the recorder knows the program that it is in, whose file that is. An error:
 * there is too little code.
 */
int probe_lines_put_code(struct probe_lines *l, const struct dwarf_file *f, const char *text, struct error *err);
/* Append, for the next one, that it tells what a function is given, or gives back (trace/prototypes.h). */
void probe_lines_put_prototype(struct probe_lines *l, const char *prototype);

#endif
