/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a kernel is told to record its boot: by words on its command line, or by a file that its initramfs has. */
#ifndef UPTO_CLI_COMMANDS_HOST_BOOT_ARGS_H
#define UPTO_CLI_COMMANDS_HOST_BOOT_ARGS_H

#include "host_choice.h"

/* Print the words, and say what to do with them. */
void host_boot_args_print(const struct host_choice *choice);

/*
 * Print a bootconfig (the kernel's Documentation/admin-guide/bootconfig.rst and trace/boottime-trace.rst), and say what
 * to do with it. There, functions begin and end the run, too. An error: nothing was printed.
 */
int host_boot_args_print_config(const struct host_choice *choice, struct error *err);

#endif
