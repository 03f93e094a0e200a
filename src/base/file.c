/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"

static int read_fd(int fd, const char *path, size_t limit, struct buf *ret, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_set(err, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return error_set(err, "%s: not a regular file", path);
	if ((uint64_t)st.st_size > limit)
		return error_set(err, "%s: %lld bytes, more than the %zu that can be right", path,
				 (long long)st.st_size, limit);
	buf_reserve(ret, (size_t)st.st_size + 1);
	for (;;) {
		ssize_t n;

		buf_reserve(ret, 1);
		n = read(fd, ret->data + ret->len, ret->cap - ret->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_set(err, "%s: %s", path, strerror(errno));
		if (n == 0)
			return 0;
		ret->len += (size_t)n;
		if (ret->len > limit)
			return error_set(err, "%s: grows past %zu bytes while it is read", path, limit);
	}
}

int file_read(const char *path, size_t limit, struct buf *ret_data, struct error *err)
{
	struct buf data = { 0 };
	int fd, r;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return error_set(err, "%s: %s", path, strerror(errno));
	r = read_fd(fd, path, limit, &data, err);
	close(fd);
	if (r < 0)
		buf_free(&data);
	else
		*ret_data = data;
	return r;
}

int write_all(int fd, const void *data, size_t n)
{
	const char *p = data;

	while (n) {
		ssize_t w = write(fd, p, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return -errno;
		p += w;
		n -= (size_t)w;
	}
	return 0;
}

/* Make all folders of a path, but for the last part of it, which is a file. */
static void make_folders(const char *path)
{
	cleanup_free char *part = xstrdup(path);

	for (char *slash = part + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = '\0';
		mkdir(part, 0777);
	}
}

int file_keep(const char *path, const void *data, size_t n)
{
	cleanup_free char *part = xasprintf("%s.%d", path, (int)getpid());
	int fd, ret;

	make_folders(part);
	fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	ret = write_all(fd, data, n);
	if (close(fd) < 0 && ret == 0)
		ret = -errno;
	if (ret == 0 && rename(part, path) < 0)
		ret = -errno;
	if (ret < 0)
		unlink(part);
	return ret;
}

int file_open_temporary(void)
{
	const char *folder = getenv("TMPDIR") && *getenv("TMPDIR") ? getenv("TMPDIR") : "/var/tmp";
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char path[4096];

	if (fd >= 0 || errno != EOPNOTSUPP)
		return fd;
	/* not every file system has them */
	if (snprintf(path, sizeof path, "%s/upto-XXXXXX", folder) >= (int)sizeof path)
		return errno = ENAMETOOLONG, -1;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

int file_transfer(int fd, bool write, void *data, size_t n, uint64_t at)
{
	char *left = data;

	while (n) {
		ssize_t done = write ? pwrite(fd, left, n, (off_t)at) : pread(fd, left, n, (off_t)at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? errno : EIO;
		left += done;
		at += (uint64_t)done;
		n -= (size_t)done;
	}
	return 0;
}
