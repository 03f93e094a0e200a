/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a function of the kernel is called. Compilers and the linker's script add to names; one rule says what counts,
 * for hooks, spans, conditions, filters and output:
 *
 * vfs_read.llvm.1234     is shown as vfs_read: the kernel's own lookups drop that ending, too (cleanup_symbol_name(),
 * kernel/kallsyms.c)
 * vfs_read.isra.0        is shown as it is, and is vfs_read in the source: .constprop.N, .part.N, .cold and several of
 * them likewise
 *   __initstub__kmod_….…   is shown as the initcall that it runs (___initcall_stub(), include/linux/init.h)
 *   __pfx_f, __cfi_f       are bytes before f, and no functions
 * _etext, …_text_end     mark an end, and are no functions; _stext, …_text_start are the name of code that has no other
 */
#ifndef UPTO_GUEST_FUNCTION_NAME_H
#define UPTO_GUEST_FUNCTION_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* The part of a symbol's name that is shown. */
struct function_name {
	const char *text;
	size_t len;
};

struct function_name function_name_shown(const char *symbol);

/* How many bytes of what is shown are the function's name in the source: "vfs_read" of "vfs_read.isra.0.cold". */
size_t function_name_source(const char *shown, size_t len);

/* Is it padding before a function, or the end of something? Nothing executes it under that name. */
bool function_name_is_none(const char *symbol);

/* Is it a mark of the linker's script: a name only where there is no other? */
bool function_name_is_mark(const char *symbol);

#endif
