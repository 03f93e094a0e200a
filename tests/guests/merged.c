/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads and writes in two threads: how many system calls each function makes is in its name. */
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#define APART __attribute__((noipa))

static char text[4096];

APART static void three_reads(int fd)
{
	for (int i = 0; i < 3; i++)
		if (pread(fd, text, sizeof text, 0) < 0)
			_exit(1);
}

APART static void two_writes(int fd)
{
	for (int i = 0; i < 2; i++)
		if (pwrite(fd, text, 512, 0) != 512)
			_exit(1);
}

APART static void no_call(void)
{
	text[0]++;
}

static void *writes(void *path)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	for (int i = 0; i < 40; i++) {
		two_writes(fd);
		no_call();
		usleep(500);
	}
	close(fd);
	return NULL;
}

int main(void)
{
	int fd = open("/proc/version", O_RDONLY);
	pthread_t thread;

	pthread_create(&thread, NULL, writes, "/tmp/written");
	for (int i = 0; i < 50; i++) {
		three_reads(fd);
		no_call();
		usleep(300);
	}
	pthread_join(thread, NULL);
	return 0;
}
