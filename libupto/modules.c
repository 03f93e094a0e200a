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
		uint64_t key; /* hash of its build-id and path: another may have come to the same place */
		int here;     /* else it was unloaded, and that is not told yet */
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

/* Looks that began, and the last one that ended: there is one at a time. */
static unsigned begun, ended;

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

unsigned modules_next_look(void)
{
	return __atomic_load_n(&begun, __ATOMIC_ACQUIRE) + 1;
}

int modules_looked(unsigned look)
{
	return (int)(__atomic_load_n(&ended, __ATOMIC_ACQUIRE) - look) >= 0;
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

static uint64_t hash(uint64_t h, const void *bytes, size_t n)
{
	const uint8_t *b = bytes;

	while (n--)
		h = (h ^ *b++) * 0x100000001b3; /* FNV-1a */
	return h;
}

static uint64_t key(const struct dl_phdr_info *info)
{
	uint8_t id[ID_MAX];
	uint64_t h = hash(0xcbf29ce484222325, id, build_id(info, id));

	return info->dlpi_name ? hash(h, info->dlpi_name, strlen(info->dlpi_name)) : h;
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

/* Mark it as there. 0: it is not known. */
static int is_known(const struct dl_phdr_info *info, const struct calls_module *m)
{
	uint64_t k = key(info);

	for (unsigned i = 0; i < known.count; i++)
		if (known.list[i].from == m->from && known.list[i].base == m->base && known.list[i].key == k)
			return known.list[i].here = 1;
	return 0;
}

static int mark(struct dl_phdr_info *info, size_t size, void *unused)
{
	struct calls_module m = bounds(info);

	(void)size;
	(void)unused;
	is_known(info, &m);
	return 0;
}

/* Forget those that are gone, and lay there: it is told only now, for most come again to where they were. */
static void put_gone(struct file *f, uint64_t from, uint64_t to)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < known.count; i++) {
		const struct module m = known.list[i];

		if (m.here || m.from >= to || m.to <= from)
			known.list[kept++] = m;
		else
			file_put(f, CALLS_UNLOADED, &m.from, sizeof m.from, NULL, 0);
	}
	known.count = kept;
}

static int add(struct dl_phdr_info *info, size_t size, void *data)
{
	struct calls_module m = bounds(info);
	struct look *l = data;

	(void)size;
	if (m.to <= m.from || is_known(info, &m))
		return 0;
	put_gone(l->file, m.from, m.to);
	if (known.count == MODULES_MAX)
		put_gone(l->file, 0, UINT64_MAX);
	if (known.count == MODULES_MAX)
		return 0;
	known.list[known.count++] = (struct module){ m.base, m.from, m.to, .key = key(info), .here = 1 };
	put(l->file, info, &m);
	return 0;
}

static void look(struct file *f)
{
	struct look l = { .file = f };

	dl_iterate_phdr(find_changes, &l);
	if (known.looked && l.adds == known.adds && l.subs == known.subs)
		return;
	for (unsigned i = 0; i < known.count; i++)
		known.list[i].here = 0;
	dl_iterate_phdr(mark, NULL);
	dl_iterate_phdr(add, &l);
	known.adds = l.adds;
	known.subs = l.subs;
	known.looked = 1;
}

void modules_look(struct file *f)
{
	while (!take_lock(LOOKS))
		nap();
	__atomic_fetch_add(&begun, 1, __ATOMIC_SEQ_CST);
	look(f);
	__atomic_store_n(&ended, begun, __ATOMIC_RELEASE);
	leave_lock();
}

int modules_have(uint64_t address)
{
	for (unsigned i = 0; i < known.count; i++)
		if (known.list[i].here && address >= known.list[i].from && address < known.list[i].to)
			return 1;
	return 0;
}

void modules_forget(void)
{
	known.count = 0;
	known.looked = 0;
}
