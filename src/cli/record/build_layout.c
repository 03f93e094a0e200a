/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "build_layout.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/map.h"

enum { CONFIG_MAX = 4 << 20, LOG_MAX = 16 << 20 };

/* Headers that are not there, as in packages of headers, leave what is in them to be learnt. */
static const char *const headers[] = {
	"linux/sched.h",
	"linux/mm_types.h",
	"linux/mm.h",
	"linux/fs.h",
	"linux/path.h",
	"linux/dcache.h",
	"linux/mount.h",
	"linux/module.h",
	"linux/filter.h",
	"linux/bpf.h",
	"linux/device.h",
	"linux/device/driver.h",
	"linux/device/bus.h",
	"linux/kobject.h",
	"linux/blkdev.h",
	"linux/blk-mq.h",
	"linux/workqueue.h",
	"linux/timer.h",
	"linux/cgroup-defs.h",
	"linux/kernfs.h",
	"linux/tracepoint.h",
	"linux/trace_events.h",
	"trace/syscall.h",
	"fs/mount.h",
	"kernel/printk/printk_ringbuffer.h",
};

static void put_source(struct buf *out)
{
	struct map known = { 0 };

	for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
		buf_printf(out, "#if __has_include(\"%s\")\n#include \"%s\"\n#endif\n", headers[i], headers[i]);
	for (int i = 0; i < MEMBERS; i++) {
		const char *member = layout_member((enum member)i);
		int n = (int)strcspn(member, ".");
		uint64_t *here = map_put(&known, hash_bytes(0, member, (size_t)n), 0);

		/* a pointer to it keeps its description */
		if (!*here)
			buf_printf(out, "struct %.*s *upto_keep_%.*s;\n", n, member, n, member);
		*here = 1;
	}
	map_free(&known);
}

static int write_file(const char *folder, const char *name, const struct buf *text, struct error *err)
{
	cleanup_free char *path = xasprintf("%s/%s", folder, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	int r = fd < 0 ? -errno : write_all(fd, text->data, text->len);

	if (fd >= 0)
		close(fd);
	return r < 0 ? error_set(err, "%s: %s", path, strerror(-r)) : 0;
}

static int write_module(const char *folder, struct error *err)
{
	static const char makefile[] = "obj-m := upto_layout.o\nCFLAGS_upto_layout.o := -g -gdwarf-4 -I$(srctree)\n";
	struct buf source = { 0 }, make = { .data = (uint8_t *)makefile, .len = sizeof makefile - 1 };
	int r;

	put_source(&source);
	r = write_file(folder, "upto_layout.c", &source, err);
	buf_free(&source);
	return r < 0 ? r : write_file(folder, "Makefile", &make, err);
}

/* A kernel that clang built is built by LLVM's tools. */
static bool is_clangs(const char *folder)
{
	cleanup_free char *path = xasprintf("%s/.config", folder),
			  *other = xasprintf("%s/include/config/auto.conf", folder);
	struct buf config = { 0 };
	struct error ignored;
	bool is = (file_read(path, CONFIG_MAX, &config, &ignored) == 0 ||
		   file_read(other, CONFIG_MAX, &config, &ignored) == 0) &&
		  memmem(config.data, config.len, "CONFIG_CC_IS_CLANG=y", 20);

	buf_free(&config);
	return is;
}

/* LLVM=1, or, where clang has only a name with its version, LLVM=-19. */
static char *llvm_word(const char *folder)
{
	const char *asked = getenv("LLVM");

	if (!is_clangs(folder))
		return NULL;
	return xasprintf("LLVM=%s", asked && *asked ? asked : "1");
}

static int run_make(const char *folder, const char *module, struct error *err)
{
	cleanup_free char *m = xasprintf("M=%s", module), *log = xasprintf("%s/log", module), *llvm = llvm_word(folder);
	char *const argv[] = { "make", "-s", "-C", (char *)folder, m, "upto_layout.o", llvm, NULL };
	struct buf said = { 0 };
	struct error ignored;
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0644);

		dup2(fd, STDOUT_FILENO);
		dup2(fd, STDERR_FILENO);
		execvp(*argv, argv);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (file_read(log, LOG_MAX, &said, &ignored) == 0)
		fwrite(said.data, 1, said.len, stderr);
	buf_free(&said);
	return error_set(
		err,
		"%s: an object could not be compiled there: is it a kernel's build tree, built or prepared (make modules_prepare)?",
		folder);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static void remove_folder(const char *folder)
{
	enum { FOLDERS_OPEN = 16 };

	if (nftw(folder, remove_one, FOLDERS_OPEN, FTW_DEPTH | FTW_PHYS) != 0)
		fprintf(stderr, "upto: %s: was left there\n", folder);
}

int build_layout(const char *folder, struct layout *ret, struct error *err)
{
	char module[] = "/tmp/upto-layout-XXXXXX";
	cleanup_free char *real = realpath(folder, NULL), *object = NULL;
	int r;

	if (!real)
		return error_set(err, "%s: %s", folder, strerror(errno));
	if (!mkdtemp(module))
		return error_set(err, "%s: %s", module, strerror(errno));
	object = xasprintf("%s/upto_layout.o", module);
	r = write_module(module, err);
	if (r == 0)
		r = run_make(real, module, err);
	if (r == 0)
		r = layout_from_dwarf(object, ret, err);
	/* headers alone lack what only the kernel's own files have: that may yet be learnt */
	if (r == 0)
		ret->whole = ret->offset[MOUNT_MNT] != MEMBER_UNKNOWN;
	for (int i = 0; i < MEMBERS && r == 0; i++)
		ret->from[i] = LAYOUT_TYPES;
	remove_folder(module);
	return r;
}
