/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does the kernel that is about to boot have the functions that --start, --stop, the filters and --kfi name? A name
 * that it does not have may be a module's or a program's, which only the trace can tell; so that is no error, but for a
 * name that is said to be the kernel's.
 */
#ifndef UPTO_CLI_RECORD_KERNEL_NAMES_H
#define UPTO_CLI_RECORD_KERNEL_NAMES_H

#include "base/buf.h"
#include "cli/command.h"
#include "guest/kernel_sources.h"

/*
 * Before the boot: fails if the kernel does not have a function kernel:NAME. Reads the image, a tenth of a second, only
 * if there is such a name.
 */
int kernel_names_check(const struct args *args, const struct kernel_sources *sources, struct error *err);

/*
 * Beside the boot: append a line for each other name that it does not have. An image that cannot be read tells nothing.
 */
void kernel_names_lacking(const struct args *args, const struct kernel_sources *sources, struct buf *out);

#endif
