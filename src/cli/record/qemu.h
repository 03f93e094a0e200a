/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Examines a QEMU and a command line for it before the start. */
#ifndef UPTO_CLI_RECORD_QEMU_H
#define UPTO_CLI_RECORD_QEMU_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

/* Can this program record? The error says why not and what to do. *ret_version is the line that QEMU prints. */
int qemu_probe(const char *program, struct buf *ret_version, struct error *err);

/* A machine that hangs without KVM, whoever starts it, is an error. */
int qemu_hangs(char *const *argv, struct error *err);

/* Does the command line ask for something that cannot be recorded? Such a machine is that, too. */
int qemu_refuse(char *const *argv, struct error *err);

/* Append the words of what is no part of the machine: what it does is not the same the next time. */
void qemu_outside(char *const *argv, struct buf *out);

/* The value behind the last "-name" of the command line ("kernel"), or NULL. */
const char *qemu_option(char *const *argv, const char *name);

/* Does the guest's console use the terminal that upto runs on? */
bool qemu_uses_terminal(char *const *argv);

/*
 * What the recorder may use inside this QEMU (recorder/qemu/qemu_inside.h), as names
 * with commas between them. `asked`: the user's choice of them, "all" or "none";
 * what this QEMU or its other plugins do not allow is left out. `version`: its own words.
 */
int qemu_inside(char *const *argv, const char *version, const char *asked, struct buf *ret, struct error *err);

/* The words of the last -incoming or -loadvm, by which a guest goes on from a snapshot, and its value; NULL: none. */
char *const *qemu_snapshot(char *const *argv);

/* Of -icount: how often 1 ns is doubled to make an instruction's time; -1: it is not fixed. */
int qemu_icount_shift(char *const *argv);

/* How many vCPUs the command line asks for. */
unsigned qemu_vcpus(char *const *argv);
/* … that there may ever be, with those that are plugged in later. */
unsigned qemu_vcpus_max(char *const *argv);

#endif
