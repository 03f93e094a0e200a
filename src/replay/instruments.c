/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "instruments.h"

#include <string.h>

enum whose { OF_KERNEL = 1, OF_USER = 2, OF_ANY = 3 };

/*
 * Names by the option that brings them: Linux 6.12, gcc 12 and clang 19. A name stands for itself, or is a pattern. Of
 * the kernel's, the first is one that it has if it has the option at all. Options that distributions set, too, are
 * folded beside others only.
 */
static const struct {
	const char *name;
	enum whose whose;
	bool beside;
	const char *functions[18];
	const char *before; /* what older kernels have in place of the first; NULL: the same */
} kinds[] = {
	/* mm/kasan; CONFIG_KASAN_OUTLINE calls one for each access of memory. Linux 5.12 renamed the first. */
	{ "KASAN",
	  OF_KERNEL,
	  false,
	  { "kasan_check_range", "__asan_*", "__kasan_*", "kasan_*", "__hwasan_*", "asan.module_ctor",
	    "asan.module_dtor", "check_memory_region" },
	  "check_memory_region" },
	{ "KCSAN", OF_KERNEL, false, { "kcsan_setup_watchpoint", "__tsan_*", "__kcsan_*", "kcsan_*" } },
	{ "KMSAN", OF_KERNEL, false, { "kmsan_init_runtime", "__msan_*", "kmsan_*" } },
	{ "UBSAN", OF_KERNEL, true, { "__ubsan_*", "ubsan_*" } },
	{ "KCOV", OF_KERNEL, false, { "__sanitizer_cov_trace_pc", "__sanitizer_cov_*", "kcov_*" } },
	/*
	 * kernel/locking/lockdep.c, include/linux/lockdep.h, and what CONFIG_TRACE_IRQFLAGS adds to each change of the
	 * interrupt flag
	 */
	{ "lockdep",
	  OF_KERNEL,
	  false,
	  { "lock_acquire", "lock_release", "lock_acquired", "lock_contended", "lock_is_held*", "lockdep_*",
	    "*_lockdep_*", "lock_pin_lock", "lock_unpin_lock", "lock_repin_lock", "lock_downgrade", "lock_sync",
	    "trace_hardirqs_*", "*_lock_held", "*_lock_held_common", "rcu_read_lock_*held" } },
	/* kernel/sched/core.c: CONFIG_DEBUG_ATOMIC_SLEEP */
	{ "might_sleep", OF_KERNEL, false, { "__might_sleep", "__might_resched", "__might_fault" } },
	{ "kmemleak", OF_KERNEL, false, { "kmemleak_init", "kmemleak_*" } },
	/* lib/debugobjects.c */
	{ "debugobjects",
	  OF_KERNEL,
	  false,
	  { "debug_object_init", "debug_object_*", "__debug_object_*", "debug_check_no_obj_freed" } },
	/* lib/list_debug.c */
	{ "list checks", OF_KERNEL, true, { "__list_add_valid*", "__list_del_entry_valid*" } },
	/* lib/smp_processor_id.c, and the counter's checks in kernel/sched/core.c */
	{ "preempt checks",
	  OF_KERNEL,
	  true,
	  { "debug_smp_processor_id", "__this_cpu_preempt_check", "check_preemption_disabled", "preempt_count_add",
	    "preempt_count_sub" } },
	/* kernel/stackleak.c, which gcc's plugin calls */
	{ "stackleak", OF_KERNEL, true, { "stackleak_track_stack" } },
	{ "sanitizers",
	  OF_USER,
	  false,
	  { "__asan_*", "__tsan_*", "__msan_*", "__ubsan_*", "__hwasan_*", "__sanitizer_cov_*" } },
	{ "gcov", OF_ANY, false, { "__gcov_*", "llvm_gcov_*", "gcov_*" } },
	{ "profiling",
	  OF_ANY,
	  true,
	  { "__cyg_profile_func_*", "mcount", "_mcount", "__mcount_internal", "__fentry__" } },
};
enum { KINDS = sizeof kinds / sizeof *kinds };
static_assert((int)KINDS < (int)INSTRUMENTS, "numbers fit");

/*
 * Patterns have nothing special but asterisks. All names of a trace are held against all of them, so this is not
 * fnmatch().
 */
static bool matches(const char *pattern, const char *name)
{
	for (; *pattern != '*'; pattern++, name++)
		if (*pattern != *name)
			return false;
		else if (!*pattern)
			return true;
	if (!*++pattern)
		return true;
	for (; *name; name++)
		if (matches(pattern, name))
			return true;
	return false;
}

static bool is_called(const char *const *patterns, const char *name)
{
	for (; *patterns; patterns++)
		if (matches(*patterns, name))
			return true;
	return false;
}

/* Which kind the function is of; 0: none. */
static unsigned kind_of(const struct names *n, uint32_t function)
{
	enum whose whose = names_is_kernel(n, function) ? OF_KERNEL : names_is_user(n, function) ? OF_USER : 0;
	const char *name = names_function(n, function);
	char own[64]; /* without the module or file behind it: "asan.module_ctor [ext4]" */
	size_t len = strcspn(name, " ");
	bool in_module = whose == OF_KERNEL && name[len];

	if (!whose || names_is_group(n, function) || len >= sizeof own)
		return 0;
	memcpy(own, name, len);
	own[len] = 0;
	/* of a module there is only what registers it; others of such names are tests of the instruments */
	for (unsigned i = 0; i < KINDS; i++)
		if (kinds[i].whose & whose && (!in_module || kinds[i].whose != OF_KERNEL || !strncmp(own, "asan.", 5)) &&
		    is_called(kinds[i].functions, own))
			return i + 1;
	return 0;
}

static bool is_sign(const struct names *n, uint32_t function, unsigned kind)
{
	const char *name = names_function(n, function), *before = kinds[kind - 1].before;

	return kinds[kind - 1].whose != OF_KERNEL || kinds[kind - 1].beside ||
	       !strcmp(name, kinds[kind - 1].functions[0]) || (before && !strcmp(name, before));
}

bool instruments_mark(const struct names *n, uint8_t *kind_by_function)
{
	bool has[INSTRUMENTS] = { 0 }, any = false;

	for (uint32_t i = 0; i < names_count(n); i++) {
		unsigned kind = kind_by_function[i] = (uint8_t)kind_of(n, i);

		if (kind && is_sign(n, i, kind)) {
			has[kind] = true;
			any |= !kinds[kind - 1].beside;
		}
	}
	for (uint32_t i = 0; i < names_count(n); i++)
		if (!any || !has[kind_by_function[i]])
			kind_by_function[i] = 0;
	return any;
}

const char *instruments_name(unsigned kind)
{
	return kinds[kind - 1].name;
}
