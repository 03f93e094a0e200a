/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "folder_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

static int append(int folder, const char *name, struct buf *text, struct error *err)
{
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666), r;

	if (fd < 0)
		return error_set(err, "%s: %s", name, strerror(errno));
	r = write_all(fd, text->data, text->len);
	text->len = 0;
	if (close(fd) < 0 && r == 0)
		r = -errno;
	return r < 0 ? error_set(err, "%s: %s", name, strerror(-r)) : 0;
}

int folder_file_append(struct folder *folder, const char *name, struct buf *text, struct error *err)
{
	if (folder->fd >= 0)
		return append(folder->fd, name, text, err);
	folder->bytes += text->len;
	text->len = 0;
	return folder->bytes <= folder->max_bytes ? 0 : error_set(err, "too large");
}
