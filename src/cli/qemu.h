/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What has to be known of a QEMU, and of a command line for it, before it is started. */
#ifndef UPTO_CLI_QEMU_H
#define UPTO_CLI_QEMU_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

/* Can this program record? An error says why not and what to do. `ret_version`: its own words. */
int qemu_probe(const char *program, struct buf *ret_version, struct error *err);

/* Does the command line ask for what cannot be recorded? */
int qemu_refuse(char *const *argv, struct error *err);

/* The value behind the last "-name" of the command line ("kernel"), or NULL. */
const char *qemu_option(char *const *argv, const char *name);

/* Does the guest's console use the terminal that upto runs on? */
bool qemu_uses_terminal(char *const *argv);

/* May the recorder take out of its code what serves plugins alone (recorder/stores.h)? `version`: its own words. */
bool qemu_may_drop_stores(char *const *argv, const char *version);

/* How many vCPUs the command line asks for. */
unsigned qemu_vcpus(char *const *argv);

#endif
