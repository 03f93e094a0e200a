/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tasks that end, or begin, in ways that are easily taken for others': killed in
 * the middle of a call, whose task_struct the next one gets; with a parent that
 * did not make them. Prints what tests/test_lives.py compares.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define APART __attribute__((noipa))

enum { READERS = 60, OPENERS = 300, CROWD = 300, ADOPTED = 7, PAGE = 4096 };

#define PLACE ((char *)0x10000000)

static volatile int sum;

APART void adopted(void)
{
	sum++;
}

/* Until it waits for what never comes. */
static void wait_for(pid_t pid)
{
	char path[32], state[64] = "";

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	for (int i = 0; i < 1000 && !strstr(state, ") S"); i++) {
		int fd = open(path, O_RDONLY);

		sched_yield();
		state[fd < 0 ? 0 : read(fd, state, sizeof state - 1)] = '\0';
		close(fd);
	}
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void kill_when_it_waits(pid_t pid)
{
	wait_for(pid);
	end(pid);
}

/* Each is killed in a read; the next one begins by coming out of the kernel, maybe with its task_struct. */
static void readers(void)
{
	int ends[2];
	char byte;

	if (pipe(ends) < 0)
		exit(1);
	for (int i = 0; i < READERS; i++) {
		pid_t pid = fork();

		if (!pid) {
			if (read(ends[0], &byte, 1) >= 0)
				abort();
		}
		kill_when_it_waits(pid);
	}
}

static void map_file(const char *name, int flags)
{
	int fd = open(name, O_RDONLY);

	if (mmap(PLACE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | flags, fd, 0) != PLACE)
		exit(1);
	if (fd >= 0)
		close(fd);
}

/*
 * Each is killed while it opens a FIFO that nobody writes to. The path is in a
 * file's page that it has not touched: only the kernel has read it. Other tasks
 * have another text there.
 */
static void openers(void)
{
	int fd = open("/tmp/path", O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (write(fd, "/tmp/fifo", 10) != 10 || mkfifo("/tmp/fifo", 0600) < 0)
		exit(1);
	close(fd);
	map_file("none", MAP_ANONYMOUS);
	strcpy(PLACE, "false");
	for (int i = 0; i < OPENERS; i++) {
		pid_t pid = fork();

		if (!pid) {
			map_file("/tmp/path", 0);
			syscall(SYS_open, PLACE, O_RDONLY);
			abort();
		}
		kill_when_it_waits(pid);
	}
	/* a text that is read late, after all of those */
	if (!fork()) {
		unlink("/tmp/fifo");
		map_file("/tmp/path", 0);
		syscall(SYS_open, PLACE, O_RDONLY);
		_exit(0);
	}
	wait(NULL);
}

/* More of those at the same time than a recorder remembers. */
static void crowd(void)
{
	pid_t pids[CROWD];

	if (mkfifo("/tmp/fifo", 0600) < 0)
		exit(1);
	for (int i = 0; i < CROWD; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			int fd = open("/tmp/path", O_RDONLY);

			mmap(PLACE + PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0);
			syscall(SYS_open, PLACE + PAGE, O_RDONLY);
			abort();
		}
	}
	for (int i = 0; i < CROWD; i++)
		wait_for(pids[i]);
	for (int i = 0; i < CROWD; i++)
		end(pids[i]);
}

/* A child of this process's parent, which has another program: what runs in it is this one's. */
static void sibling(void)
{
	int ends[2];
	char byte;

	if (pipe(ends) < 0)
		exit(1);
	if (syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0) == 0) {
		for (int i = 0; i < ADOPTED; i++)
			adopted();
		_exit(0);
	}
	close(ends[1]);
	if (read(ends[0], &byte, 1))
		exit(1);
}

int main(void)
{
	printf("pid %d\n", getpid());
	fflush(stdout);
	readers();
	openers();
	crowd();
	sibling();
	return 0;
}
