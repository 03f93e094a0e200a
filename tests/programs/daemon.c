// SPDX-License-Identifier: GPL-2.0-or-later
/* Closes all descriptors, and has its own file there: daemon close|over|gone FILE FOLDER. gone: calls.upto is, too. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NUMBERS = 1100, THREADS = 20, CALLS = 20000 };

static volatile int sink;

__attribute__((noinline)) static void before(void) { sink++; }
__attribute__((noinline)) static void after(void) { sink++; }

static void *work(void *arg)
{
	errno = ENXIO;
	after();
	return errno == ENXIO ? arg : NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	int fd;

	for (int i = 0; i < CALLS; i++)
		before();
	fd = argc > 3 ? open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0666) : -1;
	if (fd < 0 || write(fd, "its own\n", 8) != 8)
		return 3;
	if (chdir(argv[3]) < 0)
		return 4;
	if (!strcmp(argv[1], "gone") && (unlink("../calls.upto") < 0 || unlink("../calls.upto.ring") < 0))
		return 5;
	for (int i = 0; i < NUMBERS; i++)
		if (i != fd && strcmp(argv[1], "close"))
			dup2(fd, i);
		else if (i != fd)
			close(i);
	/* those that are opened next have the lowest numbers */
	for (int i = 0; i < 10 && !strcmp(argv[1], "close"); i++)
		if (open(argv[2], O_RDWR) < 0)
			return 6;
	for (int i = 0; i < CALLS; i++)
		after();
	/* each thread has a buffer of its own */
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work, thread);
	for (int i = 0; i < THREADS; i++) {
		void *same;

		pthread_join(thread[i], &same);
		if (!same)
			return 7;
	}
	return 0;
}
