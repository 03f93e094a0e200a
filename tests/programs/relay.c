/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads, each with a name of its own, that hand a byte on from one to the next: `relay THREADS`. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static int (*pipes)[2];

static void *hand_on(void *number)
{
	long i = (long)number;
	char name[16], byte;

	snprintf(name, sizeof name, "runner-%ld", i);
	pthread_setname_np(pthread_self(), name);
	if (read(pipes[i][0], &byte, 1) != 1 || write(pipes[i + 1][1], &byte, 1) != 1)
		abort();
	return NULL;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1;
	struct rlimit files = { 2 * (rlim_t)n + 64, 2 * (rlim_t)n + 64 };
	pthread_attr_t attr;
	pthread_t thread;
	char byte = 0;

	setrlimit(RLIMIT_NOFILE, &files);
	pipes = calloc((size_t)n + 1, sizeof *pipes);
	for (long i = 0; i <= n; i++)
		if (pipe(pipes[i]))
			abort();
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 32 << 10);
	for (long i = 0; i < n; i++)
		if (pthread_create(&thread, &attr, hand_on, (void *)i))
			abort();
	usleep(100000);
	if (write(pipes[0][1], &byte, 1) != 1 || read(pipes[n][0], &byte, 1) != 1)
		abort();
	return 0;
}
