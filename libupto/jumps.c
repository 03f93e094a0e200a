/* SPDX-License-Identifier: MIT */
/*
 * longjmp(3) and its kin leave calls without an end. Where they go is in the jmp_buf: the stack pointer, which glibc
 * keeps turned and mixed with a secret of the thread's (sysdeps/unix/sysv/linux/x86_64/__longjmp.S, PTR_DEMANGLE). On
 * other machines it is not known, and whoever reads the file sees such calls end when one below them does.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "ring.h"

#include <dlfcn.h>
#include <features.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__ILP32__)
/* of a jmp_buf: eight registers, and struct __jmp_buf_tag's other members */
enum { RBX, RBP, R12, R13, R14, R15, RSP, RIP, HAS_MASK, MASK };

static uint64_t found(const void *env, int which)
{
	enum { TURN = 17 };
	uint64_t place = ((const uint64_t *)env)[which], secret;

	__asm__("movq %%fs:0x30, %0" : "=r"(secret));
	return (place >> TURN | place << (64 - TURN)) ^ secret;
}

static void note(void *env)
{
	jump_put(found(env, RSP));
}

/* A program that has its C library within has no other longjmp() than these. */
static void go_alone(const void *env, int value)
{
	const uint64_t *registers = env;
	uint64_t to[] = { found(env, RBP), found(env, RSP), found(env, RIP) };

	if ((int)registers[HAS_MASK])
		pthread_sigmask(SIG_SETMASK, (const sigset_t *)&registers[MASK], NULL);
	__asm__ volatile("movq (%0), %%rbx\n"
			 "movq 16(%0), %%r12\n"
			 "movq 24(%0), %%r13\n"
			 "movq 32(%0), %%r14\n"
			 "movq 40(%0), %%r15\n"
			 "movq 16(%1), %%rdx\n"
			 "movq 8(%1), %%rcx\n"
			 "movq (%1), %%rbp\n"
			 "movq %%rcx, %%rsp\n"
			 "jmp *%%rdx\n"
			 :
			 : "D"(registers), "S"(to), "a"(value ? value : 1)
			 : "rcx", "rdx", "memory");
}
#else
static void note(void *env)
{
	(void)env;
}

static void go_alone(const void *env, int value)
{
	(void)env;
	(void)value;
}
#endif

/* They are found when the library is loaded: no handler of signals may call dlsym(3). */
typedef void jump(void *env, int value);
static jump *jumps[4];
static const char *const names[] = { "longjmp", "_longjmp", "siglongjmp", "__longjmp_chk" };

void jumps_find(void)
{
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		jumps[i] = (jump *)dlsym(RTLD_NEXT, names[i]);
}

static __attribute__((noreturn)) void go(unsigned i, void *env, int value)
{
	if (!jumps[i])
		jumps_find();
	note(env);
	if (jumps[i])
		jumps[i](env, value);
	go_alone(env, value);
	abort();
}

EXPORTED __attribute__((noreturn)) void longjmp(void *env, int value);
EXPORTED __attribute__((noreturn)) void _longjmp(void *env, int value);
EXPORTED __attribute__((noreturn)) void siglongjmp(void *env, int value);
EXPORTED __attribute__((noreturn)) void __longjmp_chk(void *env, int value);

void longjmp(void *env, int value)
{
	go(0, env, value);
}

void _longjmp(void *env, int value)
{
	go(1, env, value);
}

void siglongjmp(void *env, int value)
{
	go(2, env, value);
}

void __longjmp_chk(void *env, int value)
{
	go(3, env, value);
}
