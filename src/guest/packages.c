/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "packages.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "sysroot.h"

static const char lists[] = "var/lib/dpkg/info/", ending[] = ".list"; /* in the root */

struct finding {
	struct packaged_file *files;
	size_t count;
};

/* Without the folder that /bin, /lib and the like are links into. */
static const char *without_usr(const char *path)
{
	return !strncmp(path, "/usr/", 5) ? path + 4 : path;
}

/* The package's name, of the list's: "libc6" of "/var/lib/dpkg/info/libc6:amd64.list"; 0: it is no list of one. */
static size_t name_of_list(const char *path, const char **ret)
{
	size_t len, n;

	path += *path == '/';
	if (strncmp(path, lists, sizeof lists - 1) != 0)
		return 0;
	*ret = path + sizeof lists - 1;
	len = strlen(*ret);
	if (len < sizeof ending || strcmp(*ret + len - (sizeof ending - 1), ending) != 0)
		return 0;
	n = strcspn(*ret, ":");
	return n < len ? n : len - (sizeof ending - 1);
}

/* By hashes of paths: the number + 1 of a file. Files of the same path have the same package. */
static struct map paths_of(const struct packaged_file *files, size_t count)
{
	struct map paths = { 0 };

	for (size_t i = 0; i < count; i++)
		*map_put(&paths, hash_text(0, without_usr(files[i].path)), 0) = i + 1;
	return paths;
}

static void take_line(const char *package, size_t len, const char *line, const struct map *paths,
		      struct packaged_file *files)
{
	const uint64_t *number = map_get(paths, hash_text(0, without_usr(line)));
	struct packaged_file *file = number ? &files[*number - 1] : NULL;

	if (file && !file->package && !strcmp(without_usr(file->path), without_usr(line)))
		file->package = xstrndup(package, len);
}

void packages_take(const char *path, const char *data, size_t len, struct packaged_file *files, size_t count)
{
	const char *package;
	size_t n = name_of_list(path, &package);
	struct map paths;

	if (!n)
		return;
	paths = paths_of(files, count);
	for (const char *at = data, *end = data + len; at < end;) {
		const char *next = memchr(at, '\n', (size_t)(end - at));
		cleanup_free char *line = xstrndup(at, (size_t)((next ? next : end) - at));

		take_line(package, n, line, &paths, files);
		at = next ? next + 1 : end;
	}
	map_free(&paths);
}

static bool wants(void *state, const struct guest_file *file)
{
	const char *package;

	(void)state;
	return name_of_list(file->path, &package);
}

static void take(void *state, const struct guest_file *file, const struct buf *data)
{
	struct finding *f = state;

	packages_take(file->path, (const char *)data->data, data->len, f->files, f->count);
}

void packages_find(const char *root, struct packaged_file *files, size_t count)
{
	struct finding f = { files, count };
	const struct sysroot_visitor visitor = {
		.wants = wants, .take = take, .state = &f, .below = "/var/lib/dpkg/info",
	};
	struct error ignored;

	sysroot_walk(root, &visitor, &ignored);
}

/* Debian's and Ubuntu's: -dbgsym is made for all but what has had a package of its own since before that was. */
char *package_of_symbols(const char *package)
{
	return xasprintf("%s%s", package, strcmp(package, "libc6") ? "-dbgsym" : "-dbg");
}
