/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Thunks are kernel functions that only pass control on to another function. Code that calls a thunk means that other
 * function, so thunks are noise in a list of calls.
 */
#ifndef UPTO_ARCH_X86_THUNKS_H
#define UPTO_ARCH_X86_THUNKS_H

#include <stdbool.h>

/* Is the function with that name a thunk? The name may have a module behind it: "__SCT__foo [bar]". */
bool x86_is_thunk(const char *function);

#endif
