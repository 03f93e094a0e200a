/* SPDX-License-Identifier: MIT */
/* The program's file and its libraries, where they lie in memory. Only the writer's thread is here. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "ring.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MODULES_MAX = 1024, ID_MAX = 64, PATH_BYTES = 4096 };

static struct {
	struct module {
		uint64_t base, from, to;
		int here;
	} list[MODULES_MAX];
	unsigned count;
	unsigned long long adds, subs;
	int looked;
} known;

/*
 * dl_iterate_phdr(3) takes a lock of the C library's, which a child would find taken for good if its parent forked
 * meanwhile. So whoever forks waits until it is not taken here, and nobody takes it up to the fork.
 */
enum { NOBODY, LOOKS, FORKS };
static int lock_is_for = NOBODY;

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
}

static int take_lock(int for_)
{
	int nobody = NOBODY;

	return __atomic_compare_exchange_n(&lock_is_for, &nobody, for_, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void leave_lock(void)
{
	__atomic_store_n(&lock_is_for, NOBODY, __ATOMIC_RELEASE);
}

void modules_hold(void)
{
	enum { NAPS_MAX = 50000 };

	/* not for ever: the program may fork in a callback of its own dl_iterate_phdr(), for which the look waits */
	for (int i = 0; !take_lock(FORKS) && i < NAPS_MAX; i++)
		nap();
}

void modules_go_on(void)
{
	leave_lock();
}

int modules_are_looked_at(void)
{
	return __atomic_load_n(&lock_is_for, __ATOMIC_RELAXED) == LOOKS;
}

struct look {
	struct file *file;
	unsigned long long adds, subs;
};

static int find_changes(struct dl_phdr_info *info, size_t size, void *data)
{
	struct look *l = data;

	(void)size;
	l->adds = info->dlpi_adds;
	l->subs = info->dlpi_subs;
	return 1;
}

static size_t build_id(const struct dl_phdr_info *info, uint8_t *id)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const char *at = (const char *)(info->dlpi_addr + p->p_vaddr), *end = at + p->p_memsz;

		while (p->p_type == PT_NOTE && at + sizeof(ElfW(Nhdr)) < end) {
			const ElfW(Nhdr) *note = (const void *)at;
			const char *name = at + sizeof *note, *desc = name + ((note->n_namesz + 3) & ~3u);

			if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && !memcmp(name, "GNU", 4) &&
			    note->n_descsz <= ID_MAX) {
				memcpy(id, desc, note->n_descsz);
				return note->n_descsz;
			}
			at = desc + ((note->n_descsz + 3) & ~3u);
		}
	}
	return 0;
}

static struct calls_module bounds(const struct dl_phdr_info *info)
{
	struct calls_module m = { .base = info->dlpi_addr, .from = UINT64_MAX };

	for (int i = 0; i < info->dlpi_phnum; i++) {
		uint64_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, to = from + info->dlpi_phdr[i].p_memsz;

		if (info->dlpi_phdr[i].p_type != PT_LOAD)
			continue;
		m.from = from < m.from ? from : m.from;
		m.to = to > m.to ? to : m.to;
	}
	return m;
}

static void put(struct file *f, const struct dl_phdr_info *info, const struct calls_module *bounds)
{
	struct calls_module m = *bounds;
	uint8_t more[ID_MAX + PATH_BYTES];
	const char *path = info->dlpi_name;
	char exe[PATH_BYTES];
	ssize_t n;

	if (!path || !*path) {
		n = readlink("/proc/self/exe", exe, sizeof exe - 1);
		exe[n < 0 ? 0 : n] = 0;
		path = exe;
	} else if (*path != '/' && realpath(path, exe)) { /* whoever reads the file is elsewhere */
		path = exe;
	}
	m.build_id_bytes = (uint32_t)build_id(info, more);
	m.path_bytes = (uint32_t)strnlen(path, PATH_BYTES);
	memcpy(more + m.build_id_bytes, path, m.path_bytes);
	file_put(f, CALLS_MODULE, &m, sizeof m, more, m.build_id_bytes + m.path_bytes);
}

static int look_at(struct dl_phdr_info *info, size_t size, void *data)
{
	struct calls_module m = bounds(info);
	struct look *l = data;

	(void)size;
	for (unsigned i = 0; i < known.count; i++)
		if (known.list[i].from == m.from && known.list[i].base == m.base) {
			known.list[i].here = 1;
			return 0;
		}
	if (m.to <= m.from || known.count == MODULES_MAX)
		return 0;
	known.list[known.count++] = (struct module){ .base = m.base, .from = m.from, .to = m.to, .here = 1 };
	put(l->file, info, &m);
	return 0;
}

static void look(struct file *f)
{
	struct look l = { .file = f };
	unsigned kept = 0;

	dl_iterate_phdr(find_changes, &l);
	if (known.looked && l.adds == known.adds && l.subs == known.subs)
		return;
	for (unsigned i = 0; i < known.count; i++)
		known.list[i].here = 0;
	/* one that is gone may have left its place to another, which is told behind it */
	if (known.looked && l.subs != known.subs) {
		dl_iterate_phdr(look_at, &(struct look){ .file = f });
		for (unsigned i = 0; i < known.count; i++) {
			if (known.list[i].here)
				known.list[kept++] = known.list[i];
			else
				file_put(f, CALLS_UNLOADED, &known.list[i].from, sizeof known.list[i].from, NULL, 0);
		}
		known.count = kept;
	}
	dl_iterate_phdr(look_at, &l);
	known.adds = l.adds;
	known.subs = l.subs;
	known.looked = 1;
}

void modules_look(struct file *f)
{
	while (!take_lock(LOOKS))
		nap();
	look(f);
	leave_lock();
}

int modules_have(uint64_t address)
{
	for (unsigned i = 0; i < known.count; i++)
		if (address >= known.list[i].from && address < known.list[i].to)
			return 1;
	return 0;
}

void modules_forget(void)
{
	known.count = 0;
	known.looked = 0;
}
