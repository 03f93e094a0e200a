/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table of functions to and from its form in a trace (docs/format.md, chunk SYMBOLS).
 */
#ifndef UPTO_SYMBOLS_SYMTAB_CODEC_H
#define UPTO_SYMBOLS_SYMTAB_CODEC_H

#include "base/buf.h"
#include "base/cursor.h"
#include "base/error.h"
#include "symtab.h"

/* Appends to *out. */
void symtab_encode(const struct symtab *tab, struct buf *out);

/* Reads also what format 6 and earlier had. The caller owns *ret, which is not set after an error. */
int symtab_decode(struct cursor *in, struct symtab *ret, struct error *err);

#endif
