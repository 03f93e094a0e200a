/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host_tasks.h"

#include <dirent.h>
#include <fcntl.h>
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

/* proc(5), /proc/pid/stat: pid (name) state ppid … flags; names may have any bytes, parentheses too. */
static void put_task(struct buf *to, const char *pid, const char *tid, const char *exe, size_t exe_bytes)
{
	enum { IS_OF_KERNEL = 0x00200000 }; /* PF_KTHREAD, include/linux/sched.h */
	char path[PATH_ROOM], line[LINE_ROOM], text[NAME_ROOM + EXE_ROOM], *name, *end;
	struct graph_record r = { .kind = GRAPH_THERE, .pid = atoi(pid), .other = atoi(tid) };
	unsigned flags = 0;
	size_t bytes;
	int ppid = 0;

	snprintf(path, sizeof path, "/proc/%.20s/task/%.20s/stat", pid, tid);
	if (!read_text(path, line))
		return;
	name = strchr(line, '(');
	end = strrchr(line, ')');
	if (!name || !end || end - name >= NAME_ROOM || sscanf(end + 1, " %*c %d %*d %*d %*d %*d %u", &ppid, &flags) != 2)
		return;
	r.count = (uint64_t)ppid;
	r.depth = !(flags & IS_OF_KERNEL);
	bytes = (size_t)(end - name - 1);
	memcpy(text, name + 1, bytes);
	text[bytes++] = 0;
	memcpy(text + bytes, exe, exe_bytes);
	graph_record_put(to, &r, text, bytes + exe_bytes);
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
	DIR *proc = opendir("/proc");
	const struct dirent *e;

	while (proc && (e = readdir(proc)))
		if (*e->d_name >= '1' && *e->d_name <= '9')
			put_process(to, e->d_name, begins);
	if (proc)
		closedir(proc);
}
