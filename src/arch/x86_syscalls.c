/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "x86_syscalls.h"

#include <stddef.h>

static const char *const names[] = {
#include "x86_syscalls.inc"
};

const char *x86_syscall_name(uint64_t nr)
{
	return nr < sizeof names / sizeof *names ? names[nr] : NULL;
}
