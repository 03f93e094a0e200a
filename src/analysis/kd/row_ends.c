/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "row_ends.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

enum { WINDOW = 1 << 20, STEP = WINDOW / 2 }; /* rows: in memory, and written at once */

void row_ends_init(struct row_ends *e)
{
	*e = (struct row_ends){ .fd = -1, .window = xmalloc(WINDOW * sizeof *e->window) };
}

void row_ends_deinit(struct row_ends *e)
{
	if (e->fd >= 0)
		close(e->fd);
	free(e->window);
}

/* A file without a name, where files may be large. -1: see errno. */
static int temporary_file(void)
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

/* pread() or pwrite() all of it. Returns 0 or an errno. */
static int transfer(struct row_ends *e, bool write, int64_t *ns, uint64_t row, uint64_t n)
{
	char *data = (char *)ns;
	size_t left = n * sizeof *ns;
	off_t at = (off_t)(row * sizeof *ns);

	while (left) {
		ssize_t done = write ? pwrite(e->fd, data, left, at) : pread(e->fd, data, left, at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? errno : EIO;
		data += done;
		at += done;
		left -= (size_t)done;
	}
	return 0;
}

static void put(struct row_ends *e, uint64_t row, int64_t *ns, uint64_t n)
{
	if (e->fd < 0 && !e->failed) {
		e->fd = temporary_file();
		e->failed = e->fd < 0 ? errno : 0;
	}
	if (!e->failed)
		e->failed = transfer(e, true, ns, row, n);
}

void row_ends_add(struct row_ends *e)
{
	if (e->count - e->first == WINDOW) {
		put(e, e->first, e->window, STEP);
		memmove(e->window, e->window + STEP, (WINDOW - STEP) * sizeof *e->window);
		e->first += STEP;
	}
	e->window[e->count++ - e->first] = ROW_ENDS_NONE;
}

void row_ends_set(struct row_ends *e, uint64_t row, int64_t ns)
{
	if (row >= e->first)
		e->window[row - e->first] = ns;
	else
		put(e, row, &ns, 1);
}

int row_ends_result(const struct row_ends *e, struct error *err)
{
	return e->failed ? error_set(err, "a temporary file, for when calls end: %s", strerror(e->failed)) : 0;
}

int row_ends_rewind(struct row_ends *e, struct error *err)
{
	if (e->first)
		put(e, e->first, e->window, e->count - e->first);
	e->read = 0;
	return row_ends_result(e, err);
}

int64_t row_ends_next(struct row_ends *e)
{
	uint64_t row = e->read++, left = row < e->count ? e->count - row : 0;

	if (!left || e->failed)
		return 0;
	if (e->fd < 0)
		return e->window[row];
	if (row % WINDOW == 0)
		e->failed = transfer(e, false, e->window, row, left < WINDOW ? left : WINDOW);
	return e->failed ? 0 : e->window[row % WINDOW];
}
