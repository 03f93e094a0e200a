/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What stands in the program of a QEMU: to run it only to be told takes as long as loading it. */
#ifndef UPTO_CLI_QEMU_PROGRAM_H
#define UPTO_CLI_QEMU_PROGRAM_H

#include <stdbool.h>

#include "base/buf.h"

/*
 * The line that it tells its version with, without a newline, into *out; `program` as execvp(3) finds it. False: it
 * does not stand there, or the program has no plugin interface, or is a script: it has to be asked.
 */
bool qemu_program_version(const char *program, struct buf *out);

#endif
