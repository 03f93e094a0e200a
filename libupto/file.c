/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct own_file own_file_of(int fd)
{
	struct own_file o = { .fd = fd };
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return (struct own_file){ .fd = -1 };
	o.device = st.st_dev;
	o.inode = st.st_ino;
	return o;
}

int own_file_is(const struct own_file *o, int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == o->device && st.st_ino == o->inode;
}

static void own_file_close(const struct own_file *o)
{
	if (own_file_is(o, o->fd))
		close(o->fd);
}

/* Low numbers are the program's, which closes what it does not know there, and has others take its place (dup2(2)). */
static struct own_file keep(int fd)
{
	static const int from[] = { 1000, 200, 40 };
	int up = -1;

	for (unsigned i = 0; up < 0 && i < sizeof from / sizeof *from; i++)
		up = fcntl(fd, F_DUPFD_CLOEXEC, from[i]);
	if (up >= 0)
		close(fd);
	return own_file_of(up >= 0 ? up : fd);
}

/* The program has closed it, but it is there still. Else -1, with errno. */
static int open_again(const struct own_file *o, const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);

	if (fd < 0)
		return -1;
	if (!own_file_is(o, fd)) {
		close(fd);
		errno = ESTALE;
		return -1;
	}
	return keep(fd).fd;
}

int file_ring_fd(const struct file *f)
{
	return own_file_is(&f->ring, f->ring.fd) ? f->ring.fd : open_again(&f->ring, f->ring_path, O_RDWR);
}

/* 0, or errno; *parts and *n are what was not written. */
static int write_all(int fd, struct iovec **parts, int *n)
{
	while (*n) {
		ssize_t done = writev(fd, *parts, *n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return errno;
		for (; *n && done >= (ssize_t)(*parts)->iov_len; ++*parts, --*n)
			done -= (ssize_t)(*parts)->iov_len;
		if (*n && done > 0) {
			(*parts)->iov_base = (char *)(*parts)->iov_base + done;
			(*parts)->iov_len -= (size_t)done;
		}
	}
	return 0;
}

/*
 * Disk for a ring is reserved all at once, and given back if that is not enough: meanwhile there may be none. `reserved`
 * is as it was before there was none.
 */
static int is_full_for_now(const struct file *f, unsigned reserved)
{
	const struct timespec little = { .tv_nsec = 100000 };
	unsigned now = __atomic_load_n(&f->reserved, __ATOMIC_SEQ_CST);

	if (now == reserved && now == __atomic_load_n(&f->reserving, __ATOMIC_SEQ_CST))
		return 0;
	syscall(SYS_nanosleep, &little, NULL);
	return 1;
}

/* What has our file's number may be the program's own by now, into which nothing may be written. */
static void write_own(struct file *f, struct iovec *parts, int n)
{
	int error = f->failed ? 0 : EBADF;
	unsigned reserved = 0;

	while (error == EBADF || (error == ENOSPC && is_full_for_now(f, reserved))) {
		reserved = __atomic_load_n(&f->reserved, __ATOMIC_SEQ_CST);
		if (!own_file_is(&f->own, f->own.fd))
			f->own.fd = open_again(&f->own, f->whole_path, O_WRONLY | O_APPEND);
		if (f->own.fd < 0) {
			f->failed = errno;
			return;
		}
		error = write_all(f->own.fd, &parts, &n);
		if (error == EBADF) /* it was closed just now */
			f->own.fd = -1;
	}
	if (error)
		f->failed = error;
}

void file_put(struct file *f, enum calls_block_kind kind, const void *head, size_t head_bytes, const void *more,
	      size_t more_bytes)
{
	struct calls_block block = {
		.magic = CALLS_BLOCK,
		.kind = (uint16_t)kind,
		.bytes = (uint32_t)(head_bytes + more_bytes),
		.number = f->number++,
	};
	struct iovec parts[] = {
		{ &block, sizeof block },
		{ (void *)head, head_bytes },
		{ (void *)more, more_bytes },
	};

	write_own(f, parts, 3);
}

/* The program's own name, without its folders. */
static void put_name(char *out, size_t size)
{
	char exe[4096];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
	const char *name = exe;

	exe[n < 0 ? 0 : n] = 0;
	if (strrchr(exe, '/'))
		name = strrchr(exe, '/') + 1;
	snprintf(out, size, "%.200s", *name ? name : "program");
}

/* UPTO_OUT, where %p is the process; a folder; or nothing. `again`: that name was taken so often. */
static void put_path(char *out, size_t size, unsigned again)
{
	const char *asked = getenv("UPTO_OUT"), *at = asked ? strstr(asked, "%p") : NULL;
	size_t n = asked ? strlen(asked) : 0;
	char name[256], count[16] = "";

	if (again)
		snprintf(count, sizeof count, ".%u", again);
	put_name(name, sizeof name);
	if (at)
		snprintf(out, size, "%.*s%d%s%s", (int)(at - asked), asked, (int)getpid(), count, at + 2);
	else if (n && asked[n - 1] != '/')
		snprintf(out, size, "%s%s", asked, count);
	else
		snprintf(out, size, "%s%s.%d%s.upto", n ? asked : "", name, (int)getpid(), count);
}

/* Where it is whatever folder the program goes to. */
static void put_whole_paths(struct file *f)
{
	char folder[4096];

	if (*f->path != '/' && getcwd(folder, sizeof folder))
		snprintf(f->whole_path, sizeof f->whole_path, "%s/%s", folder, f->path);
	else
		snprintf(f->whole_path, sizeof f->whole_path, "%s", f->path);
	snprintf(f->ring_path, sizeof f->ring_path, "%s.ring", f->whole_path);
}

static int open_new(struct file *f)
{
	enum { TRIES = 1000 };
	int fd;

	for (unsigned i = 0; i < TRIES; i++) {
		put_path(f->path, sizeof f->path - sizeof ".ring", i);
		fd = open(f->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
		if (fd >= 0) {
			f->own = keep(fd);
			put_whole_paths(f);
			return 0;
		}
		if (errno != EEXIST)
			return errno;
	}
	return EEXIST;
}

static void put_info(struct file *f)
{
	char lines[8192], exe[4096] = "", args[2048] = "";
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);

	exe[n < 0 ? 0 : n] = 0;
	n = fd < 0 ? 0 : read(fd, args, sizeof args - 1);
	if (fd >= 0)
		close(fd);
	for (ssize_t i = 0; i + 1 < n; i++)
		if (!args[i] || args[i] == '\n')
			args[i] = ' ';
	n = snprintf(lines, sizeof lines, "exe=%s\nargs=%s\nclock=%s\nshift=%d\nparent=%d\n", exe, args,
		     shared.by_clock ? "ns" : "ticks", CALLS_SHIFT, (int)getppid());
	n += (ssize_t)steering_info(lines + n, sizeof lines - (size_t)n, 0);
	file_put(f, CALLS_INFO, lines, (size_t)n, NULL, 0);
}

/* For whoever started the program, maybe in another folder: UPTO_FILES gets the file's path, with a NUL behind it. */
static void tell_path(const struct file *f)
{
	const char *list = getenv("UPTO_FILES");
	struct iovec path = { (void *)f->whole_path, strlen(f->whole_path) + 1 }, *parts = &path;
	int fd = list ? open(list, O_WRONLY | O_APPEND | O_CLOEXEC) : -1, n = 1;

	if (fd < 0)
		return;
	/* without it, they do not know of this file */
	write_all(fd, &parts, &n);
	close(fd);
}

int file_open(struct file *f)
{
	struct calls_header header = {
		.order = CALLS_ORDER,
		.version = CALLS_VERSION,
		.address_size = sizeof(void *),
		.pid = (uint32_t)getpid(),
	};
	int failed, fd;

	*f = (struct file){ .own = { .fd = -1 }, .ring = { .fd = -1 } };
	failed = open_new(f);
	if (failed)
		return failed;
	tell_path(f);
	memcpy(header.magic, CALLS_MAGIC, sizeof header.magic);
	write_own(f, &(struct iovec){ &header, sizeof header }, 1);
	put_info(f);
	fd = open(f->ring_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return errno;
	f->ring = keep(fd);
	return f->failed;
}

void file_close(struct file *f)
{
	own_file_close(&f->ring);
	own_file_close(&f->own);
}

void file_end(struct file *f)
{
	char lines[256];
	size_t n = steering_info(lines, sizeof lines, 1);

	if (n)
		file_put(f, CALLS_INFO, lines, n, NULL, 0);
	file_put(f, CALLS_END, NULL, 0, NULL, 0);
	/* what could not be written is in the ring file still */
	if (!f->failed)
		unlink(f->ring_path);
	file_close(f);
}
