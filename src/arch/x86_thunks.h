/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Thunks are kernel functions that only pass control on to another function. Code that calls a thunk means that other
 * function, so thunks are noise in a list of calls.
 */
#ifndef UPTO_ARCH_X86_THUNKS_H
#define UPTO_ARCH_X86_THUNKS_H

#include <stdbool.h>

enum x86_thunk {
	X86_NO_THUNK,
	X86_THUNK,
	/* called or jumped to instead of what a register holds, and leaves by a jump or a return to that */
	X86_THUNK_INDIRECT,
	X86_THUNK_RETURN,   /* jumped to instead of a return, which it makes */
};

/* Which kind of thunk the function with that name is. The name may have a module behind it: "__SCT__foo [bar]". */
enum x86_thunk x86_thunk_kind(const char *function);

bool x86_is_thunk(const char *function);

#endif
