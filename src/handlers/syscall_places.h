/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tracepoints of system calls whose handlers read memory. Every trace has the calls with their numbers, but memory is
 * read by probes: so the call's function in the kernel, __x64_sys_openat(), which is called right behind the tracepoint
 * sys_enter_openat, stands for it, and its return for sys_exit_openat.
 */
#ifndef UPTO_HANDLERS_SYSCALL_PLACES_H
#define UPTO_HANDLERS_SYSCALL_PLACES_H

#include "arch/arch.h"
#include "base/buf.h"
#include "script.h"

/* Is it a system call's tracepoint, or several calls'? */
bool syscall_place_is(const struct place_asked *place);

/*
 * The kind (arch/syscall_args.h) of the argument of that name, of the first call that it is the begin of and that has
 * one; 0: none has.
 */
char syscall_place_kind(const struct place_asked *place, const struct syscall_abi *abi, const char *name, size_t len);
/* Is what an argument points to a text that every trace has, or is it no argument of one call? */
bool syscall_place_keeps(const struct place_asked *place, const char *name);

/* Does a value, in a probe's words, take memory? */
bool syscall_place_reads(const char *text);

/* All of the handler's places become functions. An error: one of them is no system call's. */
int syscall_places_move(const struct script *p, struct handler *h, struct error *err);

/* Append args.NAME of such a place, as reads.h has values. */
void syscall_place_put_argument(const struct place_asked *place, const char *name, struct buf *out);
/* Is there an argument of each name that the value has? Else the error says what there is. */
bool syscall_place_has(const struct place_asked *place, const char *text, struct error *err);
/* Append the value for this place's function, as a probe has it. */
void syscall_place_put(const struct place_asked *place, const char *text, struct buf *out);

#endif
