/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Images of file systems that no library reads which is kept: a tool of the distribution unpacks them into a folder of
 * its own, which is searched and then removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "sysroot_kinds.h"

extern char **environ;

enum { WORDS = 9 };

/* In its words, IMAGE and FOLDER stand for both. As in squashfs-tools 4.5, erofs-utils 1.5 and btrfs-progs 6.2. */
static const struct unpacker {
	const char *type;    /* blkid's name for it */
	const char *package;
	const char *words[WORDS];
} unpackers[] = {
	{ "squashfs", "squashfs-tools",
	  { "unsquashfs", "-quiet", "-no-progress", "-no-xattrs", "-force", "-dest", "FOLDER", "IMAGE" } },
	{ "erofs", "erofs-utils", { "fsck.erofs", "--no-preserve", "--overwrite", "--extract=FOLDER", "IMAGE" } },
	{ "btrfs", "btrfs-progs", { "btrfs", "restore", "--symlink", "--ignore-errors", "IMAGE", "FOLDER" } },
};

static const struct unpacker *find_unpacker(const char *type)
{
	for (size_t i = 0; i < sizeof unpackers / sizeof *unpackers; i++)
		if (!strcmp(unpackers[i].type, type))
			return &unpackers[i];
	return NULL;
}

bool sysroot_unpacks(const char *type)
{
#ifdef UPTO_SMALL_TABLES /* as in trace/model.h: no programs are started where there is a new input each millisecond */
	return type && false;
#else
	return find_unpacker(type);
#endif
}

static void remove_tree(const char *path)
{
	char *const roots[] = { (char *)path, NULL };
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	FTSENT *e;

	while (tree && (e = fts_read(tree))) {
		if (e->fts_info == FTS_D)
			chmod(e->fts_path, 0700); /* the image's folders may be closed to us */
		else if (e->fts_info == FTS_DP)
			rmdir(e->fts_path);
		else
			unlink(e->fts_path);
	}
	if (tree)
		fts_close(tree);
}

/*
 * The program may be one for administrators, whose folders are in few users' PATH. It has that mask of signals. Returns
 * an errno.
 */
static int start(char *const *argv, const sigset_t *mask, pid_t *ret)
{
	static const char *const folders[] = { "/usr/sbin", "/sbin" };
	posix_spawn_file_actions_t quiet;
	posix_spawnattr_t attributes;
	int failed;

	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, mask);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	failed = posix_spawnp(ret, argv[0], &quiet, &attributes, argv, environ);
	for (size_t i = 0; failed == ENOENT && i < sizeof folders / sizeof *folders; i++) {
		cleanup_free char *path = xasprintf("%s/%s", folders[i], argv[0]);

		failed = posix_spawn(ret, path, &quiet, &attributes, argv, environ);
	}
	posix_spawn_file_actions_destroy(&quiet);
	posix_spawnattr_destroy(&attributes);
	return failed;
}

static char *fill_in(const char *word, const char *image, const char *folder)
{
	const char *at = strstr(word, "FOLDER");

	if (!strcmp(word, "IMAGE"))
		return xstrdup(image);
	return at ? xasprintf("%.*s%s", (int)(at - word), word, folder) : xstrdup(word);
}

/* What could not be unpacked does not matter, if anything could: device nodes, for who is not root. */
static int unpack(const struct unpacker *u, const char *root, const char *image, const char *folder,
		  const sigset_t *mask, struct error *err)
{
	char *argv[WORDS + 1] = { NULL };
	int failed, status = 0;
	pid_t pid;

	for (size_t i = 0; i < WORDS && u->words[i]; i++)
		argv[i] = fill_in(u->words[i], image, folder);
	failed = start(argv, mask, &pid);
	while (!failed && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	for (size_t i = 0; i < WORDS; i++)
		free(argv[i]);
	if (failed == ENOENT)
		return error_set(err, "%s: %s is read with %s: install %s, or unpack it, and give that folder", root,
				 u->type, u->words[0], u->package);
	if (failed)
		return error_set(err, "%s: %s: %s", root, u->words[0], strerror(failed));
	/* where nothing could be, the folder cannot be removed, or is as empty as it was */
	if (status && (rmdir(folder) == 0 || errno == ENOENT))
		return error_set(err, "%s: %s cannot unpack it: it is damaged, or there is no room in %s", root,
				 u->words[0], folder);
	return 0;
}

/* A part of a disk as an image of its own. */
static int copy_out(int fd, uint64_t offset, uint64_t size, const char *path, struct error *err)
{
	enum { STEP = 1 << 20 };
	int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), r = to < 0 ? -1 : 0;
	uint8_t *step = xmalloc(STEP);

	while (r == 0 && size) {
		ssize_t n = pread(fd, step, size < STEP ? size : STEP, (off_t)offset);

		if (n <= 0)
			break; /* the disk is shorter than its partition says */
		r = write_all(to, step, (size_t)n);
		offset += (uint64_t)n;
		size -= (uint64_t)n;
	}
	if (r < 0)
		error_set(err, "%s: %s", path, strerror(errno));
	if (to >= 0)
		close(to);
	free(step);
	return r;
}

int search_unpacked(const char *root, int fd, const struct sysroot_part *part, const struct search *s,
		    struct error *err)
{
	const struct unpacker *u = find_unpacker(part->type);
	const char *tmp = getenv("TMPDIR");
	cleanup_free char *own = xasprintf("%s/upto-sysroot-XXXXXX", tmp && *tmp ? tmp : "/var/tmp");
	cleanup_free char *image = NULL, *folder = NULL;
	sigset_t ends, mask;
	int r;

	if (!search_wants_any(s))
		return 0;
	if (!mkdtemp(own))
		return error_set(err, "%s: %s", own, strerror(errno));
	/* Ctrl-C ends the tool, and upto once nothing of it is left */
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &ends, &mask);
	folder = xasprintf("%s/root", own);
	image = part->size ? xasprintf("%s/image", own) : realpath(root, NULL);
	r = image ? 0 : error_set(err, "%s: %s", root, strerror(errno));
	if (r == 0 && part->size)
		r = copy_out(fd, part->offset, part->size, image, err);
	if (r == 0 && mkdir(folder, 0700) < 0)
		r = error_set(err, "%s: %s", folder, strerror(errno));
	if (r == 0)
		r = unpack(u, root, image, folder, &mask, err);
	if (r == 0)
		r = search_folder(folder, s, err);
	remove_tree(own);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	return r;
}
