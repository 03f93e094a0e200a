/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel_sources.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "debuginfod.h"
#include "kernel_places.h"

enum { DISAGREE_MAX = 16 }; /* that many functions may be elsewhere: names that several functions have */

/* Each function's address by its name; 0: several have it. */
static void index_functions(const struct symbol_list *list, struct map *ret)
{
	for (size_t i = 0; i < list->count; i++) {
		uint64_t addr = list->symbols[i].addr, *known;

		if (!symbol_is_text(list->symbols[i].type))
			continue;
		known = map_put(ret, hash_text(0, symbol_list_name(list, i)), addr);
		if (*known != addr)
			*known = 0;
	}
}

/* Do two lists place the functions that both have at the same addresses? They must have some in common. */
static bool functions_agree(const struct symbol_list *a, const struct symbol_list *b)
{
	size_t same = 0, other = 0;
	struct map known = { 0 };

	index_functions(a, &known);
	for (size_t i = 0; i < b->count; i++) {
		const uint64_t *addr = symbol_is_text(b->symbols[i].type)
					       ? map_get(&known, hash_text(0, symbol_list_name(b, i)))
					       : NULL;

		if (addr && *addr)
			*(*addr == b->symbols[i].addr ? &same : &other) += 1;
	}
	map_free(&known);
	return same && (other <= DISAGREE_MAX || other < same / 64);
}

/* Is a banner where the map says? Its address moves with nearly every change of a kernel. */
static bool banner_is_at(const struct kernel_image *image, uint64_t addr)
{
	for (size_t i = 0; i < image->n_banners; i++)
		if (image->banner_addrs[i] == addr)
			return true;
	return false;
}

static bool has_functions(const struct kernel_image *image)
{
	for (size_t i = 0; i < image->symbols.count; i++)
		if (symbol_is_text(image->symbols.symbols[i].type))
			return true;
	return false;
}

static int not_the_same(const struct kernel_image *image, const struct kernel_image *other, struct error *err)
{
	if (other->banner && image->banner)
		return error_set(err, "is of another kernel than the one that boots: \"%.*s\", not \"%.*s\"",
				 (int)strcspn(other->banner, "(") - 1, other->banner,
				 (int)strcspn(image->banner, "(") - 1, image->banner);
	return error_set(err, "is of another kernel than the one that boots");
}

/* Is it of the same kernel? What there is to be compared decides. */
static int prove(const struct kernel_image *image, const struct kernel_image *other, struct error *err)
{
	const struct raw_symbol *banner;

	if (image->build_id.len && other->build_id.len) {
		if (build_id_same(&image->build_id, &other->build_id))
			return 0;
		if (!image->banner || !other->banner || strcmp(image->banner, other->banner) != 0)
			return not_the_same(image, other, err);
		return error_set(err, "is of another build than the one that boots: its build-id differs");
	}
	if (image->banner && other->banner)
		return strcmp(image->banner, other->banner) ? not_the_same(image, other, err) : 0;
	banner = symbol_list_find(&other->symbols, "linux_banner");
	if (banner && image->banner && !banner_is_at(image, banner->addr))
		return error_set(err,
				 "is of another kernel than the one that boots: linux_banner is not where it says");
	if (has_functions(image) && has_functions(other) && !functions_agree(&image->symbols, &other->symbols))
		return error_set(err, "is of another kernel than the one that boots: functions lie elsewhere");
	if (!banner && !has_functions(image))
		return error_set(
			err,
			"has no build-id, no banner and no symbol linux_banner: whether it is of the kernel that boots cannot be told");
	return 0;
}

bool kernel_types_fit(const struct kernel_image *image, const struct layout *layout)
{
	const struct first_task_marks *first = &image->first_task;
	int32_t comm = layout->offset[TASK_COMM], parent = layout->offset[TASK_REAL_PARENT];

	return !first->comm || ((comm == MEMBER_UNKNOWN || comm == (int32_t)first->comm) &&
				(parent == MEMBER_UNKNOWN || parent == (int32_t)first->real_parent));
}

/* What a file tells of types. It may have none. */
static void take_types(struct known_kernel *k, const char *path, const struct kernel_image *file,
		       enum layout_source from)
{
	struct layout layout;
	struct error ignored;

	if (k->layout.whole || k->learns)
		return;
	if (file->btf.len ? layout_from_btf(file->btf.data, file->btf.len, &layout, &ignored) == 0 :
			    layout_from_dwarf(path, &layout, &ignored) == 0)
		layout_add(&k->layout, &layout, from);
}

/* What was read of a file, which is empty afterwards. */
static int add_file(struct known_kernel *k, const char *path, struct kernel_image *file, struct error *err)
{
	if ((k->image.banner || has_functions(&k->image)) && prove(&k->image, file, err) < 0) {
		kernel_image_deinit(file);
		return error_prefix(err, "%s", path);
	}
	take_types(k, path, file, LAYOUT_VMLINUX);
	kernel_image_add(&k->image, file);
	return 0;
}

/* Code that is no Linux's. Files of types, and System.maps, have no code. */
static bool is_other_code(const struct kernel_image *file)
{
	return file->n_sections && has_functions(file) && !file->banner &&
	       !symbol_list_find(&file->symbols, "linux_banner");
}

static bool has_section(const struct kernel_image *image, const struct image_section *section)
{
	for (size_t i = 0; i < image->n_sections; i++)
		if (image->sections[i].addr == section->addr && image->sections[i].size == section->size)
			return true;
	return false;
}

/* Is it of the kernel of one's own that -kernel starts? If nothing is known of that one, the first file is. */
static bool is_own(const struct kernel_sources *s, const struct known_kernel *k, const struct kernel_image *file)
{
	if (!s->image || k->image.banner || k->own)
		return false;
	if (!k->image.n_sections)
		return true;
	return has_functions(&k->image) ? functions_agree(&k->image.symbols, &file->symbols)
					: has_section(&k->image, file->sections);
}

static int add_named_file(const struct kernel_sources *s, size_t i, struct known_kernel *k, struct error *err)
{
	struct kernel_image file;
	bool other, own;

	k->is_object[i] = s->symbols[i].placed;
	if (k->is_object[i])
		return 0;
	if (kernel_image_load(s->symbols[i].path, &file, err) < 0)
		return -1;
	other = is_other_code(&file);
	own = other && is_own(s, k, &file);
	k->is_object[i] = other && !own;
	if (k->is_object[i]) {
		kernel_image_deinit(&file);
		return 0;
	}
	if (own) { /* names that the user gives are meant, not those of the image */
		k->own = s->symbols[i].path;
		symbol_list_free(&k->image.symbols);
	}
	return add_file(k, s->symbols[i].path, &file, err);
}

static int add_named(const struct kernel_sources *s, struct known_kernel *k, struct error *err)
{
	for (size_t i = 0; i < s->n_symbols; i++)
		if (add_named_file(s, i, k, err) < 0)
			return -1;
	return 0;
}

/* Names of data are needed by none but what is read of the kernel's own variables. */
static bool is_enough(const struct known_kernel *k)
{
	return has_functions(&k->image) && (k->layout.whole || k->learns);
}

char *kernel_cache_path(const char *folder, const struct build_id *id)
{
	struct buf path = { 0 };

	if (!folder || !id->len)
		return NULL;
	buf_printf(&path, "%s/", folder);
	build_id_put(id, &path);
	buf_put(&path, ".btf", sizeof ".btf");
	return (char *)path.data;
}

static void add_cached(const struct kernel_sources *s, struct known_kernel *k)
{
	cleanup_free char *path = kernel_cache_path(s->cache, &k->image.build_id);
	struct layout layout;
	struct error ignored;

	if (path && !k->layout.whole && !k->learns && layout_from_file(path, &layout, &ignored) == 0 &&
	    kernel_types_fit(&k->image, &layout))
		layout_add(&k->layout, &layout, LAYOUT_CACHE);
}

static bool look_at(void *state, const char *path)
{
	struct known_kernel *k = state;
	struct kernel_image file;
	struct error ignored;

	if (kernel_image_load(path, &file, &ignored) == 0)
		add_file(k, path, &file, &ignored);
	return !is_enough(k);
}

static int add_types(const struct kernel_sources *s, struct known_kernel *k, struct error *err)
{
	struct layout layout;

	if (!s->types || k->learns)
		return 0;
	if (layout_from_file(s->types, &layout, err) < 0)
		return -1;
	if (!kernel_types_fit(&k->image, &layout))
		return error_set(
			err,
			"%s: has types of another kernel, or of another configuration, than the one that boots: there task_struct.comm is "
			"at %" PRId32 " and task_struct.real_parent at %" PRId32 ", here at %" PRIu32 " and %" PRIu32,
			s->types, layout.offset[TASK_COMM], layout.offset[TASK_REAL_PARENT], k->image.first_task.comm,
			k->image.first_task.real_parent);
	layout_add(&k->layout, &layout, LAYOUT_TYPES);
	return 0;
}

bool kernel_sources_learn(const struct kernel_sources *sources)
{
	return sources->types && !strcmp(sources->types, KERNEL_LEARN);
}

/* What lies on this host is not enough. */
static void add_fetched(struct known_kernel *k)
{
	cleanup_free char *path = debuginfod_fetch(&k->image.build_id);

	if (path)
		look_at(k, path);
}

int kernel_sources_read(const struct kernel_sources *s, struct known_kernel *ret, struct error *err)
{
	struct known_kernel k = { .learns = kernel_sources_learn(s) };
	bool image = s->image && kernel_image_load(s->image, &k.image, err) == 0;

	layout_init(&k.layout);
	if (!image && !s->n_symbols && s->image)
		return -1;
	if (image)
		take_types(&k, s->image, &k.image, LAYOUT_IMAGE);
	if (add_types(s, &k, err) < 0 || add_named(s, &k, err) < 0) {
		known_kernel_deinit(&k);
		return -1;
	}
	if (image && k.image.banner && !is_enough(&k))
		kernel_places(s->image, &k.image, look_at, &k);
	add_cached(s, &k);
	if (image && k.image.banner && !is_enough(&k))
		add_fetched(&k);
	*ret = k;
	return 0;
}

void known_kernel_deinit(struct known_kernel *k)
{
	kernel_image_deinit(&k->image);
}
