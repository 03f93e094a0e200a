/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two threads that have a lock of the kernel's and never give it back, since the page that they write from never comes
 * (userfaultfd), and two that wait for those locks for ever: a file's semaphore, and a pipe's mutex. Tells the kernel's
 * log when all of them have hung for seconds.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096 };

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* A page that nobody ever fills. */
static char *missing_page(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register region = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	region.range.start = (unsigned long)page;
	region.range.len = PAGE;
	if (fd < 0 || page == MAP_FAILED || ioctl(fd, UFFDIO_API, &api) < 0 || ioctl(fd, UFFDIO_REGISTER, &region) < 0)
		fail("userfaultfd");
	return page;
}

static void begin(const char *name, int fd, int holds)
{
	if (fork())
		return;
	prctl(PR_SET_NAME, name);
	if (write(fd, holds ? missing_page() : "x", 1) < 0)
		fail("write");
	_exit(0);
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

int main(void)
{
	int file = open("/file", O_CREAT | O_RDWR, 0600), same = open("/file", O_RDWR), pipes[2],
	    log = open("/dev/kmsg", O_WRONLY);

	if (file < 0 || same < 0 || log < 0 || pipe(pipes) < 0)
		fail("open");
	begin("file-holder", file, 1);
	begin("pipe-holder", pipes[1], 1);
	pause_ms(200);
	begin("file-waiter", same, 0);
	begin("pipe-waiter", pipes[1], 0);
	for (int i = 0; i < 200; i++) /* somebody runs, so that time goes by in what is recorded */
		pause_ms(20);
	if (write(log, "hung: for long", 14) < 0)
		fail("write");
	pause_ms(100);
	return 0;
}
