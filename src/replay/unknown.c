/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unknown.h"

#include <stdlib.h>
#include <string.h>

/* The first boot whose kernel ran, and of which META has no such key, or has it; NULL: there is none. */
static const struct boot *first_boot(const struct reader *r, const char *key, bool has)
{
	char buffer[BOOT_KEY];

	for (size_t i = 0; i < r->boots.count; i++)
		if (r->boots.list[i].kernel_ns != UINT64_MAX &&
		    !meta_get(&r->meta, boot_key(r->boots.list[i].number, key, buffer)) != has)
			return &r->boots.list[i];
	return NULL;
}

static bool no_thread_has(const struct threads *t, bool (*has)(const struct thread *thread))
{
	for (size_t i = 0; i < t->count; i++)
		if (has(&t->list[i]))
			return false;
	return true;
}

static bool has_number(const struct thread *thread)
{
	return thread->pid != TASK_PID_UNKNOWN;
}

/* Was a member of the kernel's types never found out, of some boot? META's `lacks` has it then. */
static bool some_boot_lacks(const struct reader *r, enum member member)
{
	for (size_t i = 0; i < r->boots.count; i++) {
		char buffer[BOOT_KEY];
		const char *lacks = meta_get(&r->meta, boot_key(r->boots.list[i].number, "lacks", buffer));

		if (lacks && strstr(lacks, layout_member(member)))
			return true;
	}
	return false;
}

bool is_unknown(const struct reader *r, const struct threads *t, enum unknown what)
{
	if (meta_get(&r->meta, "imported"))
		return false;
	switch (what) {
	case UNKNOWN_KERNEL:
		return first_boot(r, "kernel_banner", false);
	case UNKNOWN_NAMES:
		return first_boot(r, "no_names", true);
	case UNKNOWN_THREADS:
		return t->count ? no_thread_has(t, has_number) : some_boot_lacks(r, TASK_PID);
	case UNKNOWN_PROGRAMS:
		return some_boot_lacks(r, TASK_MM) || some_boot_lacks(r, MM_EXE_FILE);
	case UNKNOWN_KINDS:
		break;
	}
	return false;
}

void unknown_put(const struct reader *r, enum unknown what, struct buf *out)
{
	const struct boot *boot;
	char key[BOOT_KEY];

	switch (what) {
	case UNKNOWN_KERNEL:
		buf_printf(
			out,
			"no kernel of Linux was found: its code is one row, [kernel]; give --symbols FILE with its functions");
		break;
	case UNKNOWN_NAMES:
		boot = first_boot(r, "no_names", true);
		buf_printf(
			out,
			"kernel without names: %s, and no vmlinux or System.map lies beside it; give --symbols vmlinux",
			boot ? meta_get(&r->meta, boot_key(boot->number, "no_names", key)) : "");
		break;
	case UNKNOWN_THREADS:
		buf_printf(
			out,
			"threads have no numbers and no names: where this kernel keeps them is not known; give --types, or --symbols with a "
			"vmlinux that has types");
		break;
	case UNKNOWN_PROGRAMS:
		buf_printf(
			out,
			"programs are not known: where this kernel keeps them is not known; give --types, or --symbols with a vmlinux that has types");
		break;
	case UNKNOWN_KINDS:
		break;
	}
}

/* "request.__sector 2, work_struct.func 1": the number behind that name; 0: it is not there. */
static uint64_t number_behind(const char *list, const char *name)
{
	const char *at = list ? strstr(list, name) : NULL;

	return at && at[strlen(name)] == ' ' ? strtoull(at + strlen(name), NULL, 10) : 0;
}

uint64_t early_facts(const struct reader *r, enum member member)
{
	uint64_t n = 0;

	for (size_t i = 0; i < r->boots.count; i++) {
		char key[BOOT_KEY];

		n += number_behind(meta_get(&r->meta, boot_key(r->boots.list[i].number, "early", key)),
				   layout_member(member));
	}
	return n;
}
