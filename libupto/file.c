/* SPDX-License-Identifier: MIT */
#include "ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static void write_all(struct file *f, struct iovec *parts, int n)
{
	while (n && !f->failed) {
		ssize_t done = writev(f->fd, parts, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			f->failed = errno;
		for (; n && done >= (ssize_t)parts->iov_len; parts++, n--)
			done -= (ssize_t)parts->iov_len;
		if (n && done > 0) {
			parts->iov_base = (char *)parts->iov_base + done;
			parts->iov_len -= (size_t)done;
		}
	}
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

	write_all(f, parts, 3);
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

static int open_new(struct file *f)
{
	enum { TRIES = 1000 };

	for (unsigned i = 0; i < TRIES; i++) {
		put_path(f->path, sizeof f->path - sizeof ".ring", i);
		f->fd = open(f->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
		if (f->fd >= 0)
			return 0;
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

/* For whoever started the program: UPTO_FILES gets the file's name, with a NUL behind it. */
static void tell_path(const struct file *f)
{
	const char *list = getenv("UPTO_FILES");
	int fd = list ? open(list, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;

	if (fd < 0)
		return;
	/* without it, they do not know of this file */
	write_all(&(struct file){ .fd = fd }, &(struct iovec){ (void *)f->path, strlen(f->path) + 1 }, 1);
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
	char ring[4096 + 8];
	int failed;

	*f = (struct file){ .ring_fd = -1 };
	failed = open_new(f);
	if (failed)
		return failed;
	tell_path(f);
	memcpy(header.magic, CALLS_MAGIC, sizeof header.magic);
	write_all(f, &(struct iovec){ &header, sizeof header }, 1);
	put_info(f);
	snprintf(ring, sizeof ring, "%s.ring", f->path);
	f->ring_fd = open(ring, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (f->ring_fd < 0)
		return errno;
	return f->failed;
}

void file_end(struct file *f)
{
	char ring[4096 + 8], lines[256];
	size_t n = steering_info(lines, sizeof lines, 1);

	snprintf(ring, sizeof ring, "%s.ring", f->path);
	if (n)
		file_put(f, CALLS_INFO, lines, n, NULL, 0);
	file_put(f, CALLS_END, NULL, 0, NULL, 0);
	/* what could not be written is in the ring file still */
	if (!f->failed)
		unlink(ring);
	close(f->ring_fd);
	close(f->fd);
}
