/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host_tasks.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_ROOM = 64, LINE_ROOM = 1024, NAME_ROOM = 256, EXE_ROOM = 4096 };

/* What a file of /proc has, as a text. False: it is not there any more. */
static bool read_text(const char *path, char text[LINE_ROOM])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, LINE_ROOM - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	return n > 0;
}

/* Of a process, without the note that its file has been removed. */
static size_t read_exe(const char *pid, char exe[EXE_ROOM])
{
	static const char removed[] = " (deleted)";
	char path[PATH_ROOM];
	ssize_t n;
	size_t end;

	snprintf(path, sizeof path, "/proc/%.20s/exe", pid);
	n = readlink(path, exe, EXE_ROOM - 1);
	end = n > 0 ? (size_t)n : 0;
	exe[end] = 0;
	if (end > strlen(removed) && !strcmp(exe + end - strlen(removed), removed))
		end -= strlen(removed);
	return end;
}

struct task {
	char name[NAME_ROOM];
	int ppid;
	bool user; /* it is no thread of the kernel's */
};

/*
 * proc(5), /proc/pid/stat: pid (name) state ppid … flags; names may have any bytes, parentheses too. False: it is gone.
 */
static bool read_task(const char *pid, const char *tid, struct task *ret)
{
	enum { IS_OF_KERNEL = 0x00200000 }; /* PF_KTHREAD, include/linux/sched.h */
	char path[PATH_ROOM], line[LINE_ROOM], *name, *end;
	unsigned flags = 0;

	snprintf(path, sizeof path, "/proc/%.20s/task/%.20s/stat", pid, tid);
	if (!read_text(path, line))
		return false;
	name = strchr(line, '(');
	end = strrchr(line, ')');
	if (!name || !end || end - name >= NAME_ROOM ||
	    sscanf(end + 1, " %*c %d %*d %*d %*d %*d %u", &ret->ppid, &flags) != 2)
		return false;
	memcpy(ret->name, name + 1, (size_t)(end - name - 1));
	ret->name[end - name - 1] = 0;
	ret->user = !(flags & IS_OF_KERNEL);
	return true;
}

static void put_task(struct buf *to, const char *pid, const char *tid, const char *exe, size_t exe_bytes)
{
	struct graph_record r = { .kind = GRAPH_THERE, .pid = atoi(pid), .other = atoi(tid) };
	char text[NAME_ROOM + EXE_ROOM];
	struct task task;
	size_t bytes;

	if (!read_task(pid, tid, &task))
		return;
	r.count = (uint64_t)task.ppid;
	r.depth = task.user;
	bytes = strlen(task.name) + 1;
	memcpy(text, task.name, bytes);
	memcpy(text + bytes, exe, exe_bytes);
	graph_record_put(to, &r, text, bytes + exe_bytes);
}

/* In a namespace of their own processes have other numbers than the tracer tells, and none is the kernel's. */
static bool has_kernels_numbers(void)
{
	struct task kthreadd;

	return read_task("2", "2", &kthreadd) && !kthreadd.user;
}

static void put_process(struct buf *to, const char *pid, bool begins)
{
	char path[PATH_ROOM], exe[EXE_ROOM];
	size_t exe_bytes = begins ? read_exe(pid, exe) : 0;
	const struct dirent *e;
	DIR *tasks;

	snprintf(path, sizeof path, "/proc/%.20s/task", pid);
	tasks = opendir(path);
	while (tasks && (e = readdir(tasks)))
		if (*e->d_name != '.')
			put_task(to, pid, e->d_name, exe, exe_bytes);
	if (tasks)
		closedir(tasks);
}

void host_tasks_read(bool begins, struct buf *to)
{
	DIR *proc = has_kernels_numbers() ? opendir("/proc") : NULL;
	const struct dirent *e;

	while (proc && (e = readdir(proc)))
		if (*e->d_name >= '1' && *e->d_name <= '9')
			put_process(to, e->d_name, begins);
	if (proc)
		closedir(proc);
}
