/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One struct for each CPU whose guests can be recorded, with everything in which
 * CPUs, and Linux on them, differ. The rooms below use this struct and know no CPU
 * themselves; what the recorder needs beside it is struct cpu_ops (recorder/cpu.h).
 *
 * A new CPU is a file with its struct, a line in arch.c, a folder like
 * recorder/x86/, and its system call tables.
 */
#ifndef UPTO_ARCH_ARCH_H
#define UPTO_ARCH_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RETURN_TRAMPOLINES = 4 };

/* How a task goes on after a system call. */
enum syscall_role {
	SYSCALL_PLAIN,
	SYSCALL_EXEC,      /* returns to another program */
	SYSCALL_EXIT,      /* does not return */
	SYSCALL_SIGRETURN, /* returns to the place where a signal came, with the registers of that place */
};

/* An interface through which programs make system calls. */
struct syscall_abi {
	const char *name;                       /* "i386" */
	unsigned bits;                          /* of an argument and of a result */
	unsigned pointer;                       /* bytes of a pointer in memory */
	const char *(*call_name)(uint64_t nr);  /* "openat"; NULL: not known */
	const char *(*call_args)(uint64_t nr);  /* a kind (syscall_args.h) for each argument; NULL: not known */
};

struct arch {
	const char *name;                       /* as QEMU calls it */
	const struct syscall_abi *abis;         /* their indexes are their numbers in a trace */
	unsigned n_abis;
	/* bytes of an instruction that makes a system call: a call is made again from there */
	unsigned syscall_length;
	uint64_t kernel_stack;                  /* THREAD_SIZE: size of a task's kernel stack, and its alignment */
	/* the function that changes from a task's kernel stack to the next one's */
	const char *switch_function;
	/* the function that new tasks return to first: its name, and its name in older kernels */
	const char *new_thread[2];
	/*
	 * what the kernel's own tracers and probes put in place of a call's return address, by any of their names:
	 * control goes there, and then on
	 */
	const char *return_trampolines[RETURN_TRAMPOLINES];
	uint64_t timer;                         /* vector of the interrupt of a CPU's own timer */
	uint64_t first_interrupt;               /* vectors below are exceptions */
	uint64_t breakpoint;                    /* vector of the exception that a breakpoint instruction raises */
	/* was a program's code cut into, by what an event of an interrupt's return has of the CPU's state? */
	bool (*is_user)(uint64_t state);
	/* is the kernel's function of that name one that only passes control on? */
	bool (*is_thunk)(const char *function);
	const char *(*interrupt_name)(uint64_t vector); /* of an exception; NULL: not known, or an interrupt */
};

extern const struct arch arch_x86_64;
extern const struct arch arch_i386; /* the same machine with a kernel of 32 bits */

/* The CPU with that name, or NULL. */
const struct arch *arch_find(const char *name);

/* The interface with that number in a trace. For a number that only a damaged trace has: the first interface. */
static inline const struct syscall_abi *arch_abi(const struct arch *arch, uint64_t number)
{
	return &arch->abis[number < arch->n_abis ? number : 0];
}

enum syscall_role syscall_role(const struct syscall_abi *abi, uint64_t nr);

/* The result of a call, from the register that has it. Results narrower than 64 bits are unsigned, except errors. */
int64_t syscall_result(const struct syscall_abi *abi, uint64_t value);

/* Linux returns errors as -4095 … -1: include/linux/err.h. */
static inline bool syscall_is_error(int64_t result)
{
	return result < 0 && result >= -4095;
}

#endif
