/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A section of an ELF file in memory, by its name. */
#ifndef UPTO_GUEST_ELF_SECTION_H
#define UPTO_GUEST_ELF_SECTION_H

#include <stdbool.h>

#include "base/buf.h"

/* Where in the file it is. False: there is none, or it does not lie within the file. */
bool elf_section(const struct buf *file, const char *name, size_t *ret_at, size_t *ret_len);

#endif
