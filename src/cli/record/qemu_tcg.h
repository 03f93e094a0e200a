/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes of a command line for QEMU that other programs wrote one that can be recorded. */
#ifndef UPTO_CLI_RECORD_QEMU_TCG_H
#define UPTO_CLI_RECORD_QEMU_TCG_H

#include <stdbool.h>

#include "base/buf.h"

/* Is QEMU only asked something: its version, its help, what it offers (-machine none with QMP)? No guest runs then. */
bool qemu_only_asks(char *const *argv);

/*
 * The command line with TCG in place of other accelerators, and -cpu max of -cpu host; in new memory, words too. What
 * was changed is appended to
 * *said, in words; nothing: it was not.
 */
char **qemu_with_tcg(char *const *argv, struct buf *said);

void qemu_argv_free(char **argv);

#endif
