/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sysroot_kinds.h"

/* Symbolic links are followed as in the guest: `/` is the root of the sysroot. */
static int open_in(int root, const char *path)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK, .resolve = RESOLVE_IN_ROOT };

	return (int)syscall(SYS_openat2, root, path, &how, sizeof how);
}

static void read_fd(int fd, uint64_t size, struct buf *out)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size != size)
		return;
	buf_reserve(out, size);
	while (out->len < size) {
		ssize_t n = read(fd, out->data + out->len, size - out->len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		out->len += (size_t)n;
	}
}

static int look_up(const char *root, const struct search *s, struct error *err)
{
	int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (folder < 0)
		return error_set(err, "%s: %s", root, strerror(errno));
	for (size_t i = 0; i < s->count; i++) {
		struct buf data = { 0 };
		int fd = search_wants(&s->files[i]) ? open_in(folder, s->files[i].path) : -1;

		if (fd < 0)
			continue;
		read_fd(fd, s->files[i].size, &data);
		search_hand_over(s, &s->files[i], &data);
		buf_free(&data);
		close(fd);
	}
	close(folder);
	return 0;
}

static void visit(int folder, const char *path, const struct stat *st, const struct search *s)
{
	const struct guest_file f = { .path = path, .size = (uint64_t)st->st_size };
	struct buf data = { 0 };
	int fd = search_visits(s, &f) ? open_in(folder, path) : -1;

	if (fd < 0)
		return;
	read_fd(fd, f.size, &data);
	search_visit(s, &f, &data);
	buf_free(&data);
	close(fd);
}

/* What is mounted in it is no part of it: a folder may be the root of the host. */
static int walk(const char *root, const struct search *s, struct error *err)
{
	size_t all = strlen(root), len = all - (all && root[all - 1] == '/');
	cleanup_free char *from = xasprintf("%.*s%s", (int)len, root, s->visitor->below ? s->visitor->below : "/");
	char *const roots[] = { from, NULL };
	int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	FTS *tree = folder < 0 ? NULL : fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	FTSENT *e;

	while (tree && (e = fts_read(tree)))
		if (e->fts_info == FTS_F)
			visit(folder, e->fts_path + len, e->fts_statp, s);
	if (tree)
		fts_close(tree);
	if (folder < 0)
		return error_set(err, "%s: %s", root, strerror(errno));
	close(folder);
	return 0;
}

int search_folder(const char *root, const struct search *s, struct error *err)
{
	return s->visitor ? walk(root, s, err) : look_up(root, s, err);
}
