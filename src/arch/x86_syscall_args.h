/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the arguments of x86-64 system calls are, and how people read them. */
#ifndef UPTO_ARCH_X86_SYSCALL_ARGS_H
#define UPTO_ARCH_X86_SYSCALL_ARGS_H

#include <stdint.h>

#include "base/buf.h"

/* An argument's kind. */
enum {
	ARG_ADDRESS = 'x',  /* a pointer, or bits that nothing here names */
	ARG_PATH = 'p',     /* pointer to a string that ends with a NUL */
	ARG_BYTES = 's',    /* pointer to as many bytes as the next argument says, read by the kernel */
	ARG_FD = 'f',
	ARG_FOLDER = 'd',   /* descriptor of a folder, or AT_FDCWD */
	ARG_INT = 'i',      /* 32 bits with a sign */
	ARG_LONG = 'l',     /* 64 bits with a sign */
	ARG_SIZE = 'u',
	ARG_MODE = 'm',     /* file permissions */
	ARG_OPEN = 'o',     /* O_… */
	ARG_AT = 'a',       /* AT_… */
	ARG_ACCESS = 'r',   /* R_OK … */
	ARG_PROTECTION = 'P',
	ARG_MAPPING = 'M',  /* MAP_… */
	ARG_CLONE = 'c',    /* CLONE_… */
	ARG_SIGNAL = 'S',
	ARG_WHENCE = 'w',   /* SEEK_… */
};

/* Bits of O_CREAT and O_TMPFILE: with one of them permissions follow. */
enum { ARG_OPEN_CREATES = 0100 | 020000000 };

/* A kind for each argument, in their order; NULL: the call is not known here. */
const char *x86_syscall_args(uint64_t nr);

/* One argument as text: 3, AT_FDCWD, O_RDONLY|O_CLOEXEC, 0x7f… */
void x86_syscall_arg(char kind, uint64_t value, struct buf *out);

/* "ENOENT" of -2, or NULL. */
const char *x86_syscall_error(int64_t result);

#endif
