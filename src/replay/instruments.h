/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that a compiler or a debug option put into code to watch it: KASAN's checks, lockdep's books. They are not
 * what the code does, so they are folded into their callers (fold.h), with all that is called in them, unless somebody
 * wants to see them.
 */
#ifndef UPTO_REPLAY_INSTRUMENTS_H
#define UPTO_REPLAY_INSTRUMENTS_H

#include "names.h"

enum { INSTRUMENTS = 20 }; /* kinds of them, at most; numbers from 1 on */

/* Sets of which kind each function is, of names_count(); 0: it is no instrument. False: none is. */
bool instruments_mark(const struct names *n, uint8_t *kind_by_function);

/* "KASAN" */
const char *instruments_name(unsigned kind);

#endif
