/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "file_symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/map.h"
#include "guest/sysroot.h"
#include "symbols/debug_file.h"
#include "symbols/elf_symbols.h"
#include "symbols/source_name.h"
#include "symbols/symtab_codec.h"
#include "trace/append.h"

void roots_add(struct roots *r, const char *path, size_t len, bool named)
{
	r->list = xreallocarray(r->list, r->count + 1, sizeof *r->list);
	r->list[r->count++] = xstrndup(path, len);
	r->named += named;
}

void roots_add_list(struct roots *r, const char *list)
{
	while (list && *list) {
		size_t len = strcspn(list, ":");

		if (len)
			roots_add(r, list, len, true);
		list += len + (list[len] == ':');
	}
}

int roots_check(const struct roots *r, struct error *err)
{
	for (size_t i = 0; i < r->named; i++)
		if (access(r->list[i], R_OK) < 0)
			return error_set(err, "%s: %s", r->list[i], strerror(errno));
	return 0;
}

/* "if=virtio,file=root.img,format=raw" */
static void add_drive(struct roots *r, const char *drive)
{
	const char *file = strncmp(drive, "file=", 5) ? strstr(drive, ",file=") : drive - 1;

	if (file)
		roots_add(r, file + 6, strcspn(file + 6, ","), false);
}

void roots_add_guest(struct roots *r, char *const *argv)
{
	for (; *argv && argv[1]; argv++) {
		const char *word = *argv + (**argv == '-') + !strncmp(*argv, "--", 2);

		if (**argv != '-')
			continue;
		if (!strcmp(word, "initrd"))
			roots_add(r, argv[1], strcspn(argv[1], ","), false);
		else if (!strcmp(word, "drive"))
			add_drive(r, argv[1]);
		else if (strlen(word) == 3 && !strncmp(word, "hd", 2) && word[2] >= 'a' && word[2] <= 'd')
			roots_add(r, argv[1], strlen(argv[1]), false);
	}
}

void roots_deinit(struct roots *r)
{
	for (size_t i = 0; i < r->count; i++)
		free(r->list[i]);
	free(r->list);
	*r = (struct roots){ 0 };
}

struct wanted {
	struct wanted_file *files;
	size_t count, cap;
	struct map known; /* hash of path and size → 1 */
};

static void want(struct wanted *w, const char *path, uint64_t size)
{
	uint64_t *known = map_put(&w->known, hash_text(size, path), 0);

	if (*known || *path != '/')
		return;
	*known = 1;
	w->files = array_grow(w->files, w->count, &w->cap, sizeof *w->files);
	w->files[w->count++] = (struct wanted_file){ .path = path, .size = size };
}

/* All that were mapped. */
static void find_wanted(const struct reader *r, struct wanted *w)
{
	for (size_t i = 0; i < r->code.count; i++)
		if (r->code.records[i].change == CODE_MAPPED)
			want(w, r->code.records[i].name, r->code.records[i].file_size);
}

struct taking {
	const struct roots *roots;
	struct map had;   /* hash of path and size → how many functions the trace has of it */
	struct buf payload;
	size_t found, left_out;
};

/* Returns false if there is no room for more. */
static bool put_file(struct taking *t, const char *path, uint64_t size, const struct symtab *tab)
{
	struct buf symbols = { 0 };
	bool fits;

	symtab_encode(tab, &symbols);
	fits = t->payload.len + symbols.len < CHUNK_UNPACKED_MAX / 2;
	if (fits)
		code_file_put(&t->payload, &(struct code_file){
			.path = path, .size = size, .symbols = symbols.data, .symbols_len = symbols.len,
		});
	else
		t->left_out++;
	buf_free(&symbols);
	return fits;
}

static void add_file(void *state, const struct wanted_file *f, const struct buf *data)
{
	struct taking *t = state;
	struct buf debug = { 0 };
	const uint64_t *had;
	struct build_id id;
	struct symtab tab;
	struct error err;
	int r;

	/* a process may also map a file that is no ELF file */
	build_id_of(data->data, data->len, &id);
	if (elf_is_stripped(data->data, data->len) && debug_file_find(&id, t->roots->list, t->roots->named, t->roots->fetch, &debug))
		r = elf_symbols(data->data, data->len, debug.data, debug.len, &tab, &err);
	else
		r = elf_symbols(data->data, data->len, data->data, data->len, &tab, &err);
	buf_free(&debug);
	if (r < 0)
		return;
	had = map_get(&t->had, hash_text(f->size, f->path));
	if (tab.count > (had ? *had : 0))
		t->found += put_file(t, f->path, f->size, &tab);
	symtab_deinit(&tab);
}

static void find_had(const struct reader *r, struct taking *t)
{
	for (size_t i = r->files.count; i-- > 0;) {
		const struct code_file *f = &r->files.list[i];
		struct cursor in = cursor_over(f->symbols, f->symbols_len);
		uint64_t key = hash_text(f->size, f->path);
		struct symtab tab;
		struct error ignored;

		/* the last one counts */
		if (map_get(&t->had, key) || !f->symbols_len || symtab_decode(&in, &tab, &ignored) < 0)
			continue;
		*map_put(&t->had, key, 0) = tab.count;
		/* names that the recorder read from memory are the linker's */
		if (symtab_rename(&tab, source_name))
			put_file(t, f->path, f->size, &tab);
		symtab_deinit(&tab);
	}
}

static int search(const struct roots *roots, struct wanted *w, struct taking *t, struct error *err)
{
	struct error ignored;

	for (size_t i = 0; i < roots->count; i++) {
		bool named = i < roots->named;

		if (!named && !w->count)
			break;
		if (sysroot_search(roots->list[i], w->files, w->count, add_file, t, named ? err : &ignored) < 0 && named)
			return -1;
	}
	return 0;
}

int file_symbols_add(const char *trace, const struct roots *roots, struct file_symbols *ret, struct error *err)
{
	struct taking t = { .roots = roots };
	struct wanted w = { 0 };
	struct reader *reader;
	int r;

	if (reader_open(trace, &reader, err) < 0)
		return -1;
	find_wanted(reader, &w);
	find_had(reader, &t);
	r = search(roots, &w, &t, err);
	if (r == 0 && t.payload.len)
		r = trace_append(reader, CHUNK_FILES, &t.payload, err);
	*ret = (struct file_symbols){ .wanted = w.count, .found = t.found, .left_out = t.left_out };
	reader_free(reader);
	map_free(&w.known);
	map_free(&t.had);
	free(w.files);
	buf_free(&t.payload);
	return r;
}
