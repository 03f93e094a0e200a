/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "arch.h"

#include "x86_syscalls.h"
#include "x86_thunks.h"
#include "x86_vectors.h"

static const struct syscall_abi abis[] = {
	[X86_ABI_64] = { "x86-64", 64, 8, x86_syscall_name, x86_syscall_args },
	[X86_ABI_I386] = { "i386", 32, 4, i386_syscall_name, i386_syscall_args },
	/* its pointers have 32 bits, but its registers 64 */
	[X86_ABI_X32] = { "x32", 64, 4, x32_syscall_name, x32_syscall_args },
};

/* arch/x86/kernel/ftrace_64.S and ftrace_32.S; rethook.c since 6.1, kprobes/core.c by two names before */
#define X86_RETURN_TRAMPOLINES                                                                                   \
	{                                                                                                        \
		"return_to_handler", "arch_rethook_trampoline", "__kretprobe_trampoline", "kretprobe_trampoline" \
	}

/* The code segment's privilege level: Intel SDM vol. 3, 6.5. */
static bool is_user(uint64_t code_segment)
{
	return (code_segment & 3) == 3;
}

const struct arch arch_x86_64 = {
	.name = "x86_64",
	.abis = abis,
	.n_abis = sizeof abis / sizeof *abis,
	.syscall_length = 2,      /* syscall, sysenter, int $0x80 */
	.kernel_stack = 1 << 14,  /* arch/x86/include/asm/page_64_types.h */
	.switch_function = "__switch_to_asm",  /* arch/x86/entry/entry_64.S */
	.new_thread = { "ret_from_fork_asm", "ret_from_fork" }, /* likewise; the second before 6.5 */
	.return_trampolines = X86_RETURN_TRAMPOLINES,
	.timer = 0xec, /* LOCAL_TIMER_VECTOR: arch/x86/include/asm/irq_vectors.h */
	.first_interrupt = 32, /* Intel SDM vol. 3, 7.3.1 */
	.breakpoint = 3, /* #BP */
	.is_user = is_user,
	.is_thunk = x86_is_thunk,
	.interrupt_name = x86_vector_name,
};

const struct arch arch_i386 = {
	.name = "i386",
	.abis = abis,
	.n_abis = sizeof abis / sizeof *abis,
	.syscall_length = 2,
	.kernel_stack = 1 << 13,  /* arch/x86/include/asm/page_32_types.h */
	.switch_function = "__switch_to_asm",  /* arch/x86/entry/entry_32.S */
	.new_thread = { "ret_from_fork_asm", "ret_from_fork" }, /* likewise */
	.return_trampolines = X86_RETURN_TRAMPOLINES,
	.timer = 0xec, /* LOCAL_TIMER_VECTOR: arch/x86/include/asm/irq_vectors.h */
	.first_interrupt = 32,
	.breakpoint = 3,
	.is_user = is_user,
	.is_thunk = x86_is_thunk,
	.interrupt_name = x86_vector_name,
};
