/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What arguments of system calls are called in the kernel's tracepoints (syscalls:sys_enter_openat), by the names that
 * SYSCALL_DEFINE has them by in Linux 6.12 and 6.18. Those of mincore, io_getevents and io_pgetevents are left out:
 * their vec and events are other structures than those that syscall_structure() knows by these names.
 */
#ifndef UPTO_ARCH_SYSCALL_FIELDS_H
#define UPTO_ARCH_SYSCALL_FIELDS_H

#include <stddef.h>

/* "dfd filename flags mode" of openat; NULL: not known here. */
const char *syscall_fields(const char *call);

/* The argument, from 0 on, of that name; -1: it has none. */
int syscall_field(const char *call, const char *field, size_t len);

/* What the call is called in a tracepoint's name: "newstat" of stat, else its own name. */
const char *syscall_tracepoint(const char *call);

/* Of that name, the call: "stat" of "newstat". */
const char *syscall_of_tracepoint(const char *name);

/* What an argument of that name points to: "__kernel_timespec" of rqtp; NULL: no structure, or none that is known. */
const char *syscall_structure(const char *field);

#endif
