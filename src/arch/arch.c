/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "arch.h"

#include <string.h>

static const struct arch *const all[] = { &arch_x86_64, &arch_i386 };

const struct arch *arch_find(const char *name)
{
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (!strcmp(all[i]->name, name))
			return all[i];
	return NULL;
}

enum syscall_role syscall_role(const struct syscall_abi *abi, uint64_t nr)
{
	static const struct {
		const char *name;
		enum syscall_role role;
	} roles[] = {
		{ "execve", SYSCALL_EXEC }, { "execveat", SYSCALL_EXEC },
		{ "exit", SYSCALL_EXIT }, { "exit_group", SYSCALL_EXIT },
		{ "rt_sigreturn", SYSCALL_SIGRETURN }, { "sigreturn", SYSCALL_SIGRETURN },
	};
	const char *name = abi->call_name(nr);

	for (size_t i = 0; name && i < sizeof roles / sizeof *roles; i++)
		if (!strcmp(name, roles[i].name))
			return roles[i].role;
	return SYSCALL_PLAIN;
}

int64_t syscall_result(const struct syscall_abi *abi, uint64_t value)
{
	if (abi->bits == 64)
		return (int64_t)value;
	return syscall_is_error((int32_t)value) ? (int32_t)value : (int64_t)(uint32_t)value;
}
