/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "guest/kernel_places.h"
#include "guest/kernel_sources.h"
#include "probes/dwarf_places.h"

static int add(struct probe_files *f, const char *path, struct error *err)
{
	if (f->count == PROBE_FILES)
		return error_set(err, "%s: more than %d files with debug information", path, PROBE_FILES);
	if (dwarf_file_open(path, &f->list[f->count], err) < 0)
		return -1;
	f->count++;
	return 0;
}

/* Files that may belong to a kernel: the one of the same build counts. */
struct looking {
	struct probe_files *files;
	const struct build_id *id;
};

static bool look_at(void *state, const char *path)
{
	struct looking *l = state;
	struct probe_files *f = l->files;
	struct error ignored;

	if (add(f, path, &ignored) < 0)
		return true;
	if (f->list[f->count - 1]->kind == DWARF_KERNEL && dwarf_file_is_build(f->list[f->count - 1], l->id))
		return false;
	dwarf_file_close(f->list[--f->count]);
	return true;
}

static struct dwarf_file *named_kernel(const struct probe_files *f)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->list[i]->kind == DWARF_KERNEL)
			return f->list[i];
	return NULL;
}

/* A file that was named has to be of the image's build; if none was, look for one beside it. */
static int fit_image(struct probe_files *f, const char *path, struct error *err)
{
	const struct kernel_sources sources = { .image = path };
	const struct dwarf_file *named = named_kernel(f);
	struct known_kernel kernel;
	struct error ignored;
	int ret = 0;

	if (kernel_sources_read(&sources, &kernel, &ignored) < 0)
		return 0;
	if (!named)
		kernel_places(path, &kernel.image, look_at, &(struct looking){ f, &kernel.image.build_id });
	else if (kernel.image.build_id.len && !dwarf_file_is_build(named, &kernel.image.build_id))
		ret = error_set(err, "%s: is of another build than %s", named->path, path);
	known_kernel_deinit(&kernel);
	return ret;
}

int probe_files_init(struct probe_files *ret, const char *names, const char *image, struct error *err)
{
	*ret = (struct probe_files){ 0 };
	for (size_t n; names && *names; names += n + (names[n] == ':')) {
		n = strcspn(names, ":");
		cleanup_free char *path = xstrndup(names, n);

		if (n && add(ret, path, err) < 0)
			return -1;
	}
	return image ? fit_image(ret, image, err) : 0;
}

void probe_files_deinit(struct probe_files *f)
{
	for (size_t i = 0; i < f->count; i++)
		dwarf_file_close(f->list[i]);
	*f = (struct probe_files){ 0 };
}

static const char *base_name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool has_only_programs(const struct probe_files *f)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->list[i]->kind != DWARF_PROGRAM)
			return false;
	return true;
}

/*
 * A path means a file of that name; a module's name a module; nothing the kernel, then modules, and programs if there
 * is nothing else.
 */
static bool is_meant(const struct probe_files *all, const struct dwarf_file *f, const char *target)
{
	if (!target)
		return f->kind != DWARF_PROGRAM || has_only_programs(all);
	if (*target == '/')
		return f->kind == DWARF_PROGRAM && !strcmp(base_name_of(f->path), base_name_of(target));
	return f->kind == DWARF_MODULE && !strcmp(f->module_name, target);
}

/* Below a root, or as this host has it. */
static int open_program(struct probe_files *f, const char *path, const char *roots, struct error *err)
{
	for (size_t n; roots && *roots; roots += n + (roots[n] == ':')) {
		n = strcspn(roots, ":");
		cleanup_free char *below = xasprintf("%.*s%s", (int)n, roots, path);
		struct error ignored;

		if (add(f, below, &ignored) == 0)
			return 0;
	}
	return add(f, path, err);
}

struct dwarf_file *probe_program_of(struct probe_files *f, const struct probe_definition *d, const char *roots,
				    struct error *err)
{
	for (size_t i = 0; i < f->count; i++)
		if (d->target ? is_meant(f, f->list[i], d->target) : f->list[i]->kind == DWARF_PROGRAM)
			return f->list[i];
	if (!d->target) {
		error_set(err, "%s: in which program? /PATH:%s, or --debug FILE", d->text, d->text);
		return NULL;
	}
	return open_program(f, d->target, roots, err) == 0 ? f->list[f->count - 1] : NULL;
}

struct dwarf_file *probe_file_of(const struct probe_files *f, const struct probe_definition *d, struct error *err)
{
	struct dwarf_file *first = NULL;

	for (size_t i = 0; i < f->count; i++) {
		if (!is_meant(f, f->list[i], d->target))
			continue;
		first = first ? first : f->list[i];
		if (!d->function || dwarf_has_function(f->list[i], d->function, d->source))
			return f->list[i];
	}
	if (!first)
		error_set(
			err,
			"%s: lines and variables are in debug information: give the file of %s that has it with --debug FILE",
			d->text, d->target ? d->target : "the kernel (vmlinux)");
	return first;
}

struct dwarf_file *probe_file_meant(struct probe_files *f, const struct probe_definition *d, const char *roots,
				    struct error *err)
{
	return probe_definition_in_program(d) ? probe_program_of(f, d, roots, err) : probe_file_of(f, d, err);
}
