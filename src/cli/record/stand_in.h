/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * upto in the place of a QEMU that another program starts: it was called by that one's name. Questions go to QEMU as
 * they are; a guest is recorded, with 'upto record'. All that the other program sees (output, exit status, descriptors,
 * process number) is QEMU's.
 */
#ifndef UPTO_CLI_RECORD_STAND_IN_H
#define UPTO_CLI_RECORD_STAND_IN_H

#include <stdbool.h>

/* Names by which QEMU is started, ended by NULL. */
extern const char *const stand_in_names[];

/* Is there a command of that name without upto? What looks for it finds no more and no fewer than it would. */
bool stand_in_stands_for(const char *name);

/*
 * The program that is meant by a path, or by a name in PATH, if it is not upto itself: absolute, in memory of the
 * caller's; NULL: there is none.
 */
char *stand_in_find(const char *named);

/* Was upto called as a QEMU, or as upto-qemu-system-x86_64? */
bool stand_in_is(const char *argv0);

/* Returns an exit status; mostly it becomes QEMU, or upto record, and does not return. */
int stand_in_run(char **argv);

/*
 * Environment:
 *   UPTO_DIR      where traces go; unset: the working folder
 *   UPTO_OPTIONS  options of upto record, with spaces between them; '…' and "…" keep what is in them together
 *   UPTO_QEMU     the QEMU that records; unset: the first qemu-system-x86_64 in PATH that is not upto
 *   UPTO_SAID     file that gets what upto says, and
 *   UPTO_TRACES   one that gets the traces' names, each with a 0 behind it: set by upto run
 */
#define STAND_IN_MAN \
	".TP\n.B UPTO_DIR\nwhere the traces of 'upto run' and upto-qemu-system-x86_64 go (default: the working folder)\n" \
	".TP\n.B UPTO_OPTIONS\noptions of 'upto record' for them, with spaces between them\n" \
	".TP\n.B UPTO_QEMU\nthe QEMU that they run (default: the first qemu-system-x86_64 in PATH that is not upto)\n"

#endif
