/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "loaded.h"

#include <stdlib.h>
#include <string.h>

#include "arch/address.h"
#include "base/alloc.h"
#include "recorder/limits.h"
#include "symbols/elf_loaded.h"
#include "symbols/symtab_codec.h"

enum { MAPPINGS_MAX = 1 << 14 };

struct mapping {
	uint64_t mm, start, size, offset, file_size;
	uint64_t content;     /* its number; 0: not known */
	char *path;
};

static struct {
	pthread_mutex_t lock;
	struct mapping list[MAPPINGS_MAX]; /* of files that are not known yet */
	size_t count;
	struct map known;     /* number of a content, or hash of path and size → 1 */
} loaded = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint64_t identity(const struct mapping *m)
{
	return m->content ? m->content : hash_text(m->file_size, m->path);
}

static void drop(size_t i)
{
	free(loaded.list[i].path);
	loaded.list[i] = loaded.list[--loaded.count];
}

/* Under the lock. With a size, only mappings in that range. */
static void drop_all(uint64_t mm, uint64_t start, uint64_t size)
{
	for (size_t i = loaded.count; i-- > 0;) {
		const struct mapping *m = &loaded.list[i];

		if (m->mm == mm && (!size || (m->start < start + size && start < m->start + m->size)))
			drop(i);
	}
}

void loaded_mapped(const struct code_record *r)
{
	if (!*r->name || r->offset > r->start)
		return;
	pthread_mutex_lock(&loaded.lock);
	drop_all(r->mm, r->start, r->size);
	if (loaded.count == MAPPINGS_MAX) {
		limits_reached(LIMIT_FILES);
	} else {
		loaded.list[loaded.count++] = (struct mapping){
			.mm = r->mm, .start = r->start, .size = r->size, .offset = r->offset, .file_size = r->file_size,
			.path = xstrdup(r->name),
		};
	}
	pthread_mutex_unlock(&loaded.lock);
}

void loaded_content(uint64_t mm, uint64_t start, uint32_t number)
{
	pthread_mutex_lock(&loaded.lock);
	for (size_t i = 0; i < loaded.count; i++) {
		struct mapping *m = &loaded.list[i];

		if (m->mm != mm || m->start != start)
			continue;
		m->content = number;
		/* nothing more is to be read of it */
		if (map_get(&loaded.known, number))
			drop(i);
		break;
	}
	pthread_mutex_unlock(&loaded.lock);
}

void loaded_forget(uint64_t mm)
{
	pthread_mutex_lock(&loaded.lock);
	drop_all(mm, 0, 0);
	pthread_mutex_unlock(&loaded.lock);
}

void loaded_forget_all(void)
{
	pthread_mutex_lock(&loaded.lock);
	while (loaded.count)
		drop(loaded.count - 1);
	pthread_mutex_unlock(&loaded.lock);
}

static bool read_memory(void *state, uint64_t addr, void *data, size_t n)
{
	struct vcpu *v = state;

	return !addr_is_kernel(addr) && guest_read(&v->regs, addr, data, n);
}

static void put_mapping(const struct mapping *m, const struct symtab *tab)
{
	struct buf symbols = { 0 }, out = { 0 };

	symtab_encode(tab, &symbols);
	code_file_put(&out, &(struct code_file){
		.path = m->path, .size = m->file_size, .contents = &m->content, .n_contents = m->content != 0,
		.symbols = symbols.data,
		.symbols_len = symbols.len,
	});
	drain_put(CHUNK_FILES, &out);
	buf_free(&symbols);
	buf_free(&out);
}

/* Another process may have been faster. */
static void read_one(struct vcpu *v, const struct mapping *m)
{
	struct symtab tab;

	if (map_get(&loaded.known, identity(m)) ||
	    !elf_loaded_symbols(m->start - m->offset, read_memory, v, &tab))
		return;
	*map_put(&loaded.known, identity(m), 1) = 1;
	put_mapping(m, &tab);
	symtab_deinit(&tab);
}

void loaded_exit(struct vcpu *v, uint64_t mm)
{
	pthread_mutex_lock(&loaded.lock);
	for (size_t i = 0; mm && i < loaded.count; i++)
		if (loaded.list[i].mm == mm)
			read_one(v, &loaded.list[i]);
	drop_all(mm, 0, 0);
	pthread_mutex_unlock(&loaded.lock);
}
