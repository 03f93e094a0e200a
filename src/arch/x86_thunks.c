/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "x86_thunks.h"

#include <stddef.h>
#include <string.h>

/* Names of Linux on x86; those that end in * are beginnings of names. */
static const struct {
	const char *name;
	enum x86_thunk kind;
} thunks[] = {
	/*
	 * arch/x86/lib/retpoline.S: indirect calls and jumps, since 4.15; those that count call depth, since 6.2; ITS,
	 * since 6.15
	 */
	{ "__x86_indirect_thunk_*", X86_THUNK_INDIRECT },
	{ "__x86_indirect_call_thunk_*", X86_THUNK_INDIRECT },
	{ "__x86_indirect_jump_thunk_*", X86_THUNK_INDIRECT },
	{ "__x86_indirect_its_thunk_*", X86_THUNK_INDIRECT },
	/* the same file: returns, since 5.19; of single mitigations, since 6.6 */
	{ "__x86_return_thunk", X86_THUNK_RETURN },
	{ "__x86_return_skl", X86_THUNK_RETURN },
	{ "call_depth_return_thunk", X86_THUNK_RETURN },
	{ "its_return_thunk", X86_THUNK_RETURN },
	{ "retbleed_return_thunk", X86_THUNK_RETURN },
	{ "srso_return_thunk", X86_THUNK_RETURN },
	{ "srso_alias_return_thunk", X86_THUNK_RETURN },
	{ "srso_safe_ret", X86_THUNK_RETURN },
	{ "srso_alias_safe_ret", X86_THUNK_RETURN },
	/* the same file: entries to the kernel call these; zen_untrain_ret() became retbleed_untrain_ret() in 6.6 */
	{ "entry_untrain_ret", X86_THUNK },
	{ "zen_untrain_ret", X86_THUNK },
	{ "retbleed_untrain_ret", X86_THUNK },
	{ "srso_untrain_ret", X86_THUNK },
	{ "srso_alias_untrain_ret", X86_THUNK },
	/* arch/x86/kernel/ftrace_64.S: called by each function until ftrace takes the calls out, early in the boot */
	{ "__fentry__", X86_THUNK },
	/* include/linux/static_call.h: trampolines that jump to what is set, since 5.10 */
	{ "__SCT__*", X86_THUNK },
};

static bool is_called(const char *function, const char *thunk)
{
	size_t len = strlen(thunk);

	if (thunk[len - 1] == '*')
		return !strncmp(function, thunk, len - 1);
	return !strncmp(function, thunk, len) && (!function[len] || !strncmp(function + len, " [", 2));
}

enum x86_thunk x86_thunk_kind(const char *function)
{
	/*
	 * arch/x86/boot/startup/exports.h, since 6.17: code that runs before the kernel is mapped has names of its own
	 * for the same places
	 */
	if (!strncmp(function, "__pi_", 5))
		function += 5;
	for (size_t i = 0; i < sizeof thunks / sizeof *thunks; i++)
		if (is_called(function, thunks[i].name))
			return thunks[i].kind;
	return X86_NO_THUNK;
}

bool x86_is_thunk(const char *function)
{
	return x86_thunk_kind(function) != X86_NO_THUNK;
}
