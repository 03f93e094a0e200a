/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the version from the file of a QEMU program, since running the program takes a while. */
#ifndef UPTO_CLI_RECORD_QEMU_PROGRAM_H
#define UPTO_CLI_RECORD_QEMU_PROGRAM_H

#include <stdbool.h>

#include "base/buf.h"

/*
 * Append the line with its version, without a newline. `program` is found as by execvp(3). Returns false if the line is
 * not in the file, if the program has no plugin interface, or if it is a script: then the program must be run.
 */
bool qemu_program_version(const char *program, struct buf *out);

#endif
