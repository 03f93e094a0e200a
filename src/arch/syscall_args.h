/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kinds of arguments of system calls, and their text. Flags have the values that they have on x86. */
#ifndef UPTO_ARCH_SYSCALL_ARGS_H
#define UPTO_ARCH_SYSCALL_ARGS_H

#include <stdint.h>

#include "arch.h"
#include "base/buf.h"

/* An argument's kind. */
enum {
	ARG_ADDRESS = 'x',  /* a pointer, or bits without names here */
	ARG_PATH = 'p',     /* pointer to a string that ends with a NUL */
	ARG_BYTES = 's',    /* pointer to bytes that the kernel reads; the next argument is their number */
	ARG_DATAGRAM = 'D', /* the same, of which more is worth keeping */
	ARG_VECTOR = 'v',   /* pointer to struct iovec; the next argument is how many */
	ARG_MESSAGE = 'h',  /* pointer to struct msghdr */
	ARG_ARGUMENTS = 'A', /* pointer to a program's arguments */
	ARG_FD = 'f',
	ARG_FOLDER = 'd',   /* descriptor of a folder, or AT_FDCWD */
	ARG_INT = 'i',      /* 32 bits with a sign */
	ARG_LONG = 'l',     /* a register with a sign */
	ARG_SIZE = 'u',
	ARG_MODE = 'm',     /* file permissions */
	ARG_OPEN = 'o',     /* O_… */
	ARG_AT = 'a',       /* AT_… */
	ARG_EACCESS = 'e',  /* AT_…, of which one means something else for access */
	ARG_ACCESS = 'r',   /* R_OK … */
	ARG_PROTECTION = 'P',
	ARG_MAPPING = 'M',  /* MAP_… */
	ARG_CLONE = 'c',    /* CLONE_… */
	ARG_SIGNAL = 'S',
	ARG_WHENCE = 'w',   /* SEEK_… */
};

/* The bits of O_CREAT and O_TMPFILE: with one of them the next argument is the permissions. */
enum { ARG_OPEN_CREATES = 0100 | 020000000 };

/* Append an argument as text: 3, AT_FDCWD, O_RDONLY|O_CLOEXEC, 0x7f… */
void syscall_arg(const struct syscall_abi *abi, char kind, uint64_t value, struct buf *out);

/* The name of an error: "ENOENT" for -2; NULL if it has none. */
const char *syscall_error(int64_t result);

#endif
