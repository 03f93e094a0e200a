/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unpacks a bzImage of the x86 boot protocol: a setup header, then a payload
 * that is the packed ELF vmlinux (Documentation/arch/x86/boot.rst; protocol 2.08
 * and later have payload_offset and payload_length).
 */
#ifndef UPTO_GUEST_BZIMAGE_H
#define UPTO_GUEST_BZIMAGE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

bool bzimage_is(const void *data, size_t len);

/* Unpack the payload. The caller owns *ret_vmlinux. */
int bzimage_unpack(const void *data, size_t len, struct buf *ret_vmlinux, struct error *err);

#endif
