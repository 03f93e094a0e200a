/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel_places.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

char *kernel_release(const char *banner)
{
	static const char words[] = "Linux version ";

	if (!banner || strncmp(banner, words, sizeof words - 1))
		return NULL;
	banner += sizeof words - 1;
	return xstrndup(banner, strcspn(banner, " "));
}

/* "/usr/lib/debug/.build-id/5f/2c….debug" */
static char *by_build_id(const struct build_id *id)
{
	struct buf text = { 0 };
	char *path;

	if (id->len < 2)
		return NULL;
	build_id_put(id, &text);
	buf_put_u8(&text, 0);
	path = xasprintf("/usr/lib/debug/.build-id/%.2s/%s.debug", (char *)text.data, (char *)text.data + 2);
	buf_free(&text);
	return path;
}

void kernel_places(const char *path, const struct kernel_image *image, bool (*look)(void *state, const char *path),
		   void *state)
{
	cleanup_free char *real = realpath(path, NULL), *release = kernel_release(image->banner);
	cleanup_free char *folder = xstrdup(real ? dirname(real) : ".");
	const char *r = release ? release : "?";
	char *const places[] = {
		/* in a build tree arch/x86/boot/bzImage is four folders deep */
		xasprintf("%s/vmlinux", folder), xasprintf("%s/../../../vmlinux", folder),
		xasprintf("%s/vmlinux-%s", folder, r), xasprintf("/lib/modules/%s/build/vmlinux", r),
		xasprintf("/usr/lib/debug/boot/vmlinux-%s", r), xasprintf("/usr/lib/debug/lib/modules/%s/vmlinux", r),
		xasprintf("/boot/vmlinux-%s", r), by_build_id(&image->build_id),
		xasprintf("%s/System.map", folder), xasprintf("%s/../../../System.map", folder),
		xasprintf("%s/System.map-%s", folder, r), xasprintf("/lib/modules/%s/build/System.map", r),
		xasprintf("/lib/modules/%s/System.map", r), xasprintf("/boot/System.map-%s", r),
	};
	bool goes_on = true;

	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		if (goes_on && places[i] && access(places[i], R_OK) == 0)
			goes_on = look(state, places[i]);
		free(places[i]);
	}
}
