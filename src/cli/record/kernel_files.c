/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

char *layout_cache(void)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (cache && *cache == '/')
		return xasprintf("%s/upto/layouts", cache);
	return home && *home == '/' ? xasprintf("%s/.cache/upto/layouts", home) : NULL;
}

/* FILE or FILE@ADDRESS; a name may have an '@' of its own. */
static void add_file(struct kernel_sources *sources, char *text)
{
	struct symbol_file *file = &sources->symbols[sources->n_symbols++];
	char *at = strrchr(text, '@'), *end;

	*file = (struct symbol_file){ .path = text };
	if (!at || at == text || strncmp(at + 1, "0x", 2) != 0)
		return;
	errno = 0;
	file->address = strtoull(at + 1, &end, 16);
	file->placed = !*end && end > at + 3 && !errno;
	if (file->placed)
		*at = '\0';
}

int kernel_files_init(const struct args *args, const char *image, struct kernel_files *ret, struct error *err)
{
	const char *symbols = arg_if_any(args, "symbols");
	char *rest, *path;

	*ret = (struct kernel_files){ .list = symbols ? xstrdup(symbols) : NULL, .cache = layout_cache() };
	ret->sources = (struct kernel_sources){
		.image = image, .types = arg_if_any(args, "types"), .cache = ret->cache,
	};
	rest = ret->list;
	while ((path = strsep(&rest, ":"))) {
		if (ret->sources.n_symbols == KERNEL_FILES_MAX) {
			kernel_files_deinit(ret);
			return error_set(err, "--symbols: more than %d files", KERNEL_FILES_MAX);
		}
		if (*path)
			add_file(&ret->sources, path);
	}
	return 0;
}

void kernel_files_deinit(struct kernel_files *f)
{
	free(f->list);
	free(f->cache);
	*f = (struct kernel_files){ 0 };
}

void layout_keep(const char *folder, const char *build_id, const struct layout *layout)
{
	cleanup_free char *path = xasprintf("%s/%s.btf", folder, build_id);
	struct buf out = { 0 };
	struct error ignored;

	if (!strchr(build_id, '/') && layout_put_btf(layout, &out, &ignored) == 0)
		file_keep(path, out.data, out.len);
	buf_free(&out);
}
