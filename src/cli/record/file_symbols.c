/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "file_symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "cli/print/terminal.h"
#include "guest/packages.h"
#include "guest/sysroot.h"
#include "symbols/debug_file.h"
#include "symbols/elf_content.h"
#include "symbols/elf_symbols.h"
#include "symbols/source_name.h"
#include "symbols/symtab_codec.h"
#include "trace/append.h"
#include "trace/mapped_contents.h"

/* A file that was mapped: a content, or, where nothing of it was in memory, what has a path and size. */
struct wanted {
	uint64_t number;      /* of the content; 0: it is not known */
	const char *path;
	uint64_t size, inode;
	struct content content;
	size_t file;          /* the file that it is + 1; 0: not found yet */
	bool unsure;          /* it may as well be another one */
	bool by_inode;        /* the file has its inode, too */
	bool differs;         /* a file of its path and size is not it */
};

/* What a file of the roots tells. Files with the same functions are one. */
struct functions {
	struct buf symbols;
	size_t count;
	bool stripped; /* they are those that it offers to others, and the file with all was not found */
};

struct taking {
	const struct roots *roots;
	struct wanted *wanted;
	size_t count, cap;
	struct map numbers;   /* number of a content → its place in the list + 1 */
	struct map plain;     /* hash of path and size → likewise */
	struct functions *files;
	size_t n_files, files_cap;
	struct map by_symbols; /* hash of the functions → their place + 1 */
	struct map by_data;   /* hash of a whole file → likewise; 0: it has no functions */
	struct map had;       /* number of a content → how many functions the trace has of it */
	struct map had_plain; /* the same by hash of path and size */
	struct buf payload;
	size_t found, left_out;
};

static struct wanted *want(struct taking *t, struct map *known, uint64_t key, const struct code_record *r)
{
	uint64_t *place = map_put(known, key, 0);

	if (!*place) {
		t->wanted = array_grow(t->wanted, t->count, &t->cap, sizeof *t->wanted);
		t->wanted[t->count++] = (struct wanted){ .path = r->name, .size = r->file_size, .inode = r->inode };
		*place = t->count;
	}
	return &t->wanted[*place - 1];
}

/* All that were mapped. */
static void find_wanted(const struct reader *r, struct taking *t)
{
	uint64_t *numbers = mapped_contents(&r->code, &r->boots);

	for (size_t i = 0; i < r->code.count; i++) {
		const struct code_record *c = &r->code.records[i];

		if (c->change != CODE_MAPPED || *c->name != '/')
			continue;
		if (numbers[i])
			want(t, &t->numbers, numbers[i], c)->number = numbers[i];
		else
			want(t, &t->plain, hash_text(c->file_size, c->name), c);
	}
	free(numbers);
}

/* What is known of their contents. What is damaged counts as unknown. */
static void find_contents(const struct reader *r, struct taking *t)
{
	for (size_t i = 0; i < r->code.count; i++) {
		const struct code_record *c = &r->code.records[i];
		const uint64_t *place =
			c->change == CODE_CONTENT && c->symbols_len ? map_get(&t->numbers, c->size) : NULL;
		struct cursor in = cursor_over(c->symbols, c->symbols_len);

		if (place && !content_add(&t->wanted[*place - 1].content, &in))
			content_deinit(&t->wanted[*place - 1].content);
	}
}

/* Returns false if there is no room for more. */
static bool put_file(struct taking *t, const struct code_file *f)
{
	bool fits = t->payload.len + f->symbols_len + f->n_contents * 10 < CHUNK_UNPACKED_MAX / 2;

	if (fits)
		code_file_put(&t->payload, f);
	else
		t->left_out++;
	return fits;
}

static uint64_t hash_data(const void *data, size_t len)
{
	uint64_t hash = len, word;

	for (size_t i = 0; i < len; i += sizeof word) {
		word = 0;
		memcpy(&word, (const char *)data + i, len - i < sizeof word ? len - i : sizeof word);
		hash = hash64(hash ^ word);
	}
	return hash;
}

/* Returns -1 if it is no ELF file: a process may map others, too. */
static int read_functions(const struct taking *t, const struct buf *data, struct symtab *ret, bool *ret_stripped)
{
	struct buf debug = { 0 };
	struct build_id id;
	struct error ignored;
	int r;

	build_id_of(data->data, data->len, &id);
	*ret_stripped = elf_is_stripped(data->data, data->len) &&
			!debug_file_find(&id, t->roots->list, t->roots->named, t->roots->fetch, &debug);
	if (debug.len)
		r = elf_symbols(data->data, data->len, debug.data, debug.len, ret, &ignored);
	else
		r = elf_symbols(data->data, data->len, data->data, data->len, ret, &ignored);
	buf_free(&debug);
	return r;
}

static size_t add_functions(struct taking *t, const struct symtab *tab, bool stripped)
{
	struct functions f = { .count = tab->count, .stripped = stripped };
	uint64_t *place;

	symtab_encode(tab, &f.symbols);
	place = map_put(&t->by_symbols, hash_data(f.symbols.data, f.symbols.len), 0);
	if (*place) {
		buf_free(&f.symbols);
	} else {
		t->files = array_grow(t->files, t->n_files, &t->files_cap, sizeof *t->files);
		t->files[t->n_files++] = f;
		*place = t->n_files;
	}
	return *place;
}

/* The place of a file's functions + 1; 0: it has none. Each file is read once, wherever it is found again. */
static size_t functions_of(struct taking *t, const struct buf *data)
{
	uint64_t hash = hash_data(data->data, data->len);
	const uint64_t *known = map_get(&t->by_data, hash);
	struct symtab tab;
	size_t place = 0;
	bool stripped;

	if (known)
		return *known;
	if (read_functions(t, data, &tab, &stripped) == 0) {
		place = add_functions(t, &tab, stripped);
		symtab_deinit(&tab);
	}
	*map_put(&t->by_data, hash, 0) = place;
	return place;
}

/* The path is that of a layer, or of what is mounted somewhere: the root's may be longer. */
static bool ends_with(const char *path, const char *end)
{
	size_t n = strlen(path), m = strlen(end);

	return n >= m && !strcmp(path + n - m, end);
}

static bool has_inode(const struct wanted *w, const struct guest_file *f)
{
	const char *name = strrchr(w->path, '/');

	return f->inode && f->inode == w->inode && name && ends_with(f->path, name);
}

/* Might that be the file, before anything of it is read? A build-id leaves no doubt, once it was found. */
static bool may_be(const struct wanted *w, const struct guest_file *f)
{
	if (f->size != w->size || (w->file && w->content.id_len))
		return false;
	return content_known(&w->content) || ends_with(f->path, w->path) || has_inode(w, f);
}

/* Of files whose content was not seen, or may be that of several, one counts only if no other has other functions. */
static void settle(struct wanted *w, const struct guest_file *f, size_t file)
{
	bool by_inode = !content_known(&w->content) && has_inode(w, f);

	if (!w->file || (by_inode && !w->by_inode)) {
		w->file = file;
		w->by_inode = by_inode;
		w->unsure = false;
	} else if (w->file != file && by_inode == w->by_inode) {
		w->unsure = true;
	}
}

static void offer(struct taking *t, const struct guest_file *f, const struct buf *data)
{
	for (size_t i = 0; i < t->count; i++) {
		struct wanted *w = &t->wanted[i];
		size_t file;

		if (!may_be(w, f))
			continue;
		if (content_known(&w->content) && !elf_content_fits(&w->content, data->data, data->len)) {
			w->differs |= ends_with(f->path, w->path);
			continue;
		}
		file = functions_of(t, data);
		if (file)
			settle(w, f, file);
	}
}

static bool wants(void *state, const struct guest_file *f)
{
	const struct taking *t = state;

	for (size_t i = 0; i < t->count; i++)
		if (may_be(&t->wanted[i], f))
			return true;
	return false;
}

static void take(void *state, const struct guest_file *f, const struct buf *data)
{
	offer(state, f, data);
}

/*
 * A file that has the path. Others may have it in other roots, as long as something of that path and size is not found.
 */
static bool take_by_path(void *state, const struct wanted_file *f, const struct buf *data)
{
	struct taking *t = state;

	offer(t, &(struct guest_file){ .path = f->path, .size = f->size }, data);
	for (size_t i = 0; i < t->count; i++)
		if (!t->wanted[i].file && t->wanted[i].size == f->size && !strcmp(t->wanted[i].path, f->path))
			return false;
	return true;
}

/* Is anything left that a file elsewhere in the roots may be? */
static bool is_left(const struct taking *t)
{
	for (size_t i = 0; i < t->count; i++)
		if (!t->wanted[i].file || !t->wanted[i].content.id_len)
			return true;
	return false;
}

static int search_by_path(struct taking *t, struct error *err)
{
	struct wanted_file *files = xcalloc(t->count, sizeof *files);
	struct error ignored;
	int r = 0;

	for (size_t i = 0; i < t->count; i++)
		files[i] = (struct wanted_file){ .path = t->wanted[i].path, .size = t->wanted[i].size };
	for (size_t i = 0; i < t->roots->count && r == 0; i++) {
		bool named = i < t->roots->named;

		if (named || t->count)
			r = sysroot_search(t->roots->list[i], files, t->count, take_by_path, t, named ? err : &ignored);
		if (!named)
			r = 0;
	}
	free(files);
	return r;
}

static int search(struct taking *t, struct error *err)
{
	const struct sysroot_visitor visitor = { .wants = wants, .take = take, .state = t };
	struct error ignored;

	if (search_by_path(t, err) < 0)
		return -1;
	for (size_t i = 0; i < t->roots->count && is_left(t); i++)
		sysroot_walk(t->roots->list[i], &visitor, &ignored);
	return 0;
}

static uint64_t had_of(const struct taking *t, const struct wanted *w)
{
	const uint64_t *had =
		w->number ? map_get(&t->had, w->number) : map_get(&t->had_plain, hash_text(w->size, w->path));

	return had ? *had : 0;
}

static bool gains(const struct taking *t, const struct wanted *w)
{
	return w->file && !w->unsure && t->files[w->file - 1].count > had_of(t, w);
}

/* All contents that are one file are put together, under the first one's path. */
static void put_contents(struct taking *t, size_t file)
{
	struct code_file f = { .symbols = t->files[file].symbols.data, .symbols_len = t->files[file].symbols.len };
	uint64_t *numbers = xcalloc(t->count, sizeof *numbers);

	f.contents = numbers;
	for (size_t i = 0; i < t->count; i++) {
		const struct wanted *w = &t->wanted[i];

		if (w->file != file + 1 || !w->number || !gains(t, w))
			continue;
		if (!f.n_contents) {
			f.path = w->path;
			f.size = w->size;
		}
		numbers[f.n_contents++] = w->number;
	}
	if (f.n_contents && put_file(t, &f))
		t->found += f.n_contents;
	free(numbers);
}

static void put_found(struct taking *t)
{
	for (size_t i = 0; i < t->n_files; i++)
		put_contents(t, i);
	for (size_t i = 0; i < t->count; i++) {
		const struct wanted *w = &t->wanted[i];
		const struct functions *file = w->file ? &t->files[w->file - 1] : NULL;

		if (!w->number && gains(t, w))
			t->found += put_file(t, &(struct code_file){
				.path = w->path, .size = w->size, .symbols = file->symbols.data,
				.symbols_len = file->symbols.len,
			});
	}
}

/* Note how many functions the trace has of it. Returns false if a later entry counts instead. */
static bool note_had(struct taking *t, const struct code_file *f, size_t count)
{
	bool counts = false;

	for (size_t i = 0; i < (f->n_contents ? f->n_contents : 1); i++) {
		struct map *had = f->n_contents ? &t->had : &t->had_plain;
		uint64_t key = f->n_contents ? f->contents[i] : hash_text(f->size, f->path);

		counts |= !map_get(had, key);
		map_put(had, key, count);
	}
	return counts;
}

static void find_had(const struct reader *r, struct taking *t)
{
	for (size_t i = r->files.count; i-- > 0;) {
		const struct code_file *f = &r->files.list[i];
		struct cursor in = cursor_over(f->symbols, f->symbols_len);
		struct symtab tab;
		struct error ignored;

		if (!f->symbols_len || symtab_decode(&in, &tab, &ignored) < 0)
			continue;
		/* names that the recorder read from memory are the linker's */
		if (note_had(t, f, tab.count) && symtab_rename(&tab, source_name)) {
			struct buf symbols = { 0 };

			symtab_encode(&tab, &symbols);
			put_file(t, &(struct code_file){
				.path = f->path, .size = f->size, .contents = f->contents,
				.n_contents = f->n_contents, .symbols = symbols.data,
				.symbols_len = symbols.len,
			});
			buf_free(&symbols);
		}
		symtab_deinit(&tab);
	}
}

/* The first few are told by name. */
static void note_stripped(struct file_symbols *ret, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t len = strlen(ret->stripped_names);

	if (ret->stripped++ < STRIPPED_NAMED)
		snprintf(ret->stripped_names + len, sizeof ret->stripped_names - len, "%s%s", len ? ", " : "",
			 slash ? slash + 1 : path);
}

static bool is_stripped(const struct taking *t, const struct wanted *w)
{
	return w->file && !w->unsure && t->files[w->file - 1].stripped;
}

static void count_others(const struct taking *t, struct file_symbols *ret)
{
	for (size_t i = 0; i < t->count; i++) {
		ret->differ += !t->wanted[i].file && t->wanted[i].differs;
		ret->unsure += t->wanted[i].file && t->wanted[i].unsure;
		if (is_stripped(t, &t->wanted[i]))
			note_stripped(ret, t->wanted[i].path);
	}
}

static bool is_listed(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = list; (at = strstr(at, name)); at += n)
		if ((!at[n] || at[n] == ',') && (at == list || at[-1] == ' '))
			return true;
	return false;
}

static void note_package(struct file_symbols *ret, const char *package)
{
	cleanup_free char *name = package_of_symbols(package);
	size_t len = strlen(ret->packages), n = strlen(name);

	if (is_listed(ret->packages, name))
		return;
	if (len + n + sizeof ", , …" > sizeof ret->packages) {
		if (len && !strstr(ret->packages, "…"))
			snprintf(ret->packages + len, sizeof ret->packages - len, ", …");
		return;
	}
	snprintf(ret->packages + len, sizeof ret->packages - len, "%s%s", len ? ", " : "", name);
}

/* Which packages the symbols of stripped files are in. */
static void find_packages(const struct taking *t, struct file_symbols *ret)
{
	struct packaged_file *files = xcalloc(t->count + 1, sizeof *files);
	size_t n = 0;

	for (size_t i = 0; i < t->count; i++)
		if (is_stripped(t, &t->wanted[i]))
			files[n++].path = t->wanted[i].path;
	for (size_t i = 0; n && i < t->roots->count; i++)
		packages_find(t->roots->list[i], files, n);
	for (size_t i = 0; i < n; i++) {
		if (files[i].package)
			note_package(ret, files[i].package);
		free(files[i].package);
	}
	free(files);
}

static void taking_deinit(struct taking *t)
{
	for (size_t i = 0; i < t->n_files; i++)
		buf_free(&t->files[i].symbols);
	for (size_t i = 0; i < t->count; i++)
		content_deinit(&t->wanted[i].content);
	free(t->files);
	free(t->wanted);
	map_free(&t->numbers);
	map_free(&t->plain);
	map_free(&t->by_symbols);
	map_free(&t->by_data);
	map_free(&t->had);
	map_free(&t->had_plain);
	buf_free(&t->payload);
}

int file_symbols_add(const char *trace, const struct roots *roots, struct file_symbols *ret, struct error *err)
{
	struct taking t = { .roots = roots };
	struct reader *reader;
	int r;

	if (reader_open(trace, &reader, err) < 0)
		return -1;
	find_wanted(reader, &t);
	find_contents(reader, &t);
	find_had(reader, &t);
	r = search(&t, err);
	put_found(&t);
	if (r == 0 && t.payload.len)
		r = trace_append(reader, CHUNK_FILES, &t.payload, err);
	*ret = (struct file_symbols){ .wanted = t.count, .found = t.found, .left_out = t.left_out };
	count_others(&t, ret);
	find_packages(&t, ret);
	reader_free(reader);
	taking_deinit(&t);
	return r;
}

void file_symbols_put_packages(const struct file_symbols *s, struct buf *out)
{
	if (!s->packages[0])
		return;
	buf_printf(out, " (");
	terminal_escape(out, s->packages);
	buf_put_u8(out, ')');
}
