/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An initramfs, or the image of a file system, that a file is looked for in. */
#include "fuzz.h"

#include <unistd.h>

#include "base/file.h"
#include "guest/sysroot.h"

static bool take(void *state, const struct wanted_file *file, const struct buf *data)
{
	(void)state;
	must(data->len == file->size);
	return true;
}

enum { VISITS_MAX = 64, SIZE_WANTED = 1 << 20 }; /* a small image may show many large files */

static bool wants(void *state, const struct guest_file *file)
{
	unsigned *visits = state;

	must(*file->path == '/' && file->size);
	return file->size < SIZE_WANTED && ++*visits < VISITS_MAX;
}

static void visit(void *state, const struct guest_file *file, const struct buf *data)
{
	(void)state;
	must(data->len == file->size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wanted_file files[] = { { .path = "/bin/sh", .size = 5 },
				       { .path = "/lib/x", .size = 3 },
				       { .path = "no", .size = 1 } };
	unsigned visits = 0;
	const struct sysroot_visitor visitor = { .wants = wants, .take = visit, .state = &visits };
	struct error err;
	char path[64];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	must(fd >= 0 && write_all(fd, data, size) == 0);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	sysroot_search(path, files, sizeof files / sizeof *files, take, NULL, &err);
	must(!files[2].found);
	sysroot_walk(path, &visitor, &err);
	close(fd);
	return 0;
}
