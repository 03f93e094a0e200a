// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What bpftrace in the guest and upto from outside are to see alike: files that are opened, reads of many sizes, and
 * the calls that bpftrace's tools ask for.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static char buffer[8192];

static void read_all(const char *path, size_t step)
{
	int fd = open(path, O_RDONLY);
	size_t size = 1;

	while (fd >= 0 && read(fd, buffer, size) > 0)
		size = (size * 3 + step) % sizeof buffer + 1;
	close(fd);
}

static void ask(const char *path)
{
	struct statx more;
	struct statfs fs;
	struct stat st;

	syscall(SYS_stat, path, &st);
	syscall(SYS_lstat, path, &st);
	statx(AT_FDCWD, path, 0, STATX_SIZE, &more);
	statfs(path, &fs);
}

static void rest(long ms)
{
	const struct timespec time = { 0, ms * 1000000 };

	syscall(SYS_nanosleep, &time, NULL);
}

/* As long as others run, it comes to nothing that they see. */
static int become(void)
{
	return setresuid(1000, 0, 0) < 0 || setfsuid(7) < 0 || setuid(0) < 0;
}

int main(void)
{
	int fd;

	ask("/init");
	ask("/nowhere/at/all");
	kill(1, 0);
	kill(getpid(), SIGCONT);
	kill(999999, SIGTERM);
	rest(3);
	if (become())
		return 1;
	rest(12);

	read_all("/proc/version", 1);
	read_all("/init", 7);
	read_all("/nowhere", 1);
	read_all("/bin/busybox", 4096);
	fd = open("/tmp/made", O_CREAT | O_WRONLY, 0600);
	for (size_t i = 1; i < 40; i++)
		if (write(fd, buffer, i * i) < 0)
			return 1;
	fsync(fd);
	fdatasync(fd);
	close(fd);
	return 0;
}
