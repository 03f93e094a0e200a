/* SPDX-License-Identifier: MIT */
/*
 * C++ exceptions, and the end of a thread by pthread_exit(3), unwind the stack by its return addresses, of which
 * profile.c has replaced some. These functions stand before those that do it. They are in the shared library alone:
 * a program that has the unwinder within cannot have another one.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "ring.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

/* What is thrown goes past these; whoever has them may have been loaded after this library, and only for some. */
static void *next(const char *name, const char *library)
{
	void *found = dlsym(RTLD_NEXT, name), *handle;

	if (!found && (handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD)))
		found = dlsym(handle, name);
	if (!found)
		abort();
	return found;
}

#define FROM ((uint64_t)(uintptr_t)__builtin_frame_address(0))

EXPORTED int _Unwind_RaiseException(void *exception);
EXPORTED int _Unwind_RaiseException(void *exception)
{
	int (*real)(void *) = (int (*)(void *))next("_Unwind_RaiseException", "libgcc_s.so.1");

	profile_pass(FROM);
	return real(exception);
}

EXPORTED int _Unwind_Resume_or_Rethrow(void *exception);
EXPORTED int _Unwind_Resume_or_Rethrow(void *exception)
{
	int (*real)(void *) = (int (*)(void *))next("_Unwind_Resume_or_Rethrow", "libgcc_s.so.1");

	profile_pass(FROM);
	return real(exception);
}

EXPORTED void _Unwind_Resume(void *exception);
EXPORTED void _Unwind_Resume(void *exception)
{
	void (*real)(void *) = (void (*)(void *))next("_Unwind_Resume", "libgcc_s.so.1");

	profile_pass(FROM);
	real(exception);
	abort();
}

EXPORTED int _Unwind_ForcedUnwind(void *exception, void *stop, void *argument);
EXPORTED int _Unwind_ForcedUnwind(void *exception, void *stop, void *argument)
{
	int (*real)(void *, void *, void *) =
		(int (*)(void *, void *, void *))next("_Unwind_ForcedUnwind", "libgcc_s.so.1");

	profile_pass(FROM);
	return real(exception, stop, argument);
}

EXPORTED __attribute__((noreturn)) void pthread_exit(void *result)
{
	void (*real)(void *) = (void (*)(void *))next("pthread_exit", "libc.so.6");

	profile_pass(FROM);
	real(result);
	abort();
}

/* It was caught in the function that calls this: what it passed has ended. */
EXPORTED void *__cxa_begin_catch(void *exception);
EXPORTED void *__cxa_begin_catch(void *exception)
{
	enum { FRAME = 16 };
	void *(*real)(void *) = (void *(*)(void *))next("__cxa_begin_catch", "libstdc++.so.6");
	uint64_t to = FROM + FRAME;

	if (profile_caught(to))
		jump_put(to);
	return real(exception);
}
