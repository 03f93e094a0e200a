/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tasks.h"

#include <string.h>

enum {
	COMM_LEN = 16,        /* TASK_COMM_LEN, include/linux/sched.h */
	PATH_LEN = 4096,
	NAME_LEN = 255,       /* NAME_MAX, include/uapi/linux/limits.h */
	PATH_DEPTH = 256,     /* directories and mounts that are gone through for one path */
};

/* A task that has exited still runs to its last switch. */
enum told { TOLD_NOTHING, TOLD_LIVING, TOLD_EXITED };

static struct {
	pthread_mutex_t lock;
	struct map known;     /* task_struct → enum told */
} tasks = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int32_t at(enum member member)
{
	return recorder.kernel.layout.offset[member];
}

/* A member of a structure in guest memory; 0 when it cannot be had. */
static uint64_t read_member(struct vcpu *v, uint64_t structure, enum member member, size_t size)
{
	uint64_t value = 0;

	if (!structure || at(member) == MEMBER_UNKNOWN ||
	    !guest_read(&v->regs, structure + (uint64_t)at(member), &value, size))
		return 0;
	return value;
}

static uint64_t pointer(struct vcpu *v, uint64_t structure, enum member member)
{
	return read_member(v, structure, member, 8);
}

/* Put "/name" before what is in the path's buffer already. Returns where it begins now. */
static char *prepend_name(struct vcpu *v, uint64_t dentry, char *path, char *begin)
{
	uint64_t text;
	char name[NAME_LEN + 1] = "";
	size_t n;

	if (at(DENTRY_NAME) == MEMBER_UNKNOWN || at(QSTR_NAME) == MEMBER_UNKNOWN ||
	    !guest_read(&v->regs, dentry + (uint64_t)at(DENTRY_NAME) + (uint64_t)at(QSTR_NAME), &text, sizeof text))
		return begin;
	/* a name may end right before memory that is not there */
	for (size_t got = 0; got < NAME_LEN; got += 32) {
		size_t step = NAME_LEN - got < 32 ? NAME_LEN - got : 32;

		if (!guest_read(&v->regs, text + got, name + got, step) || memchr(name + got, 0, step))
			break;
	}
	name[NAME_LEN] = '\0';
	n = strlen(name);
	if ((size_t)(begin - path) < n + 1)
		return begin;
	begin -= n;
	memcpy(begin, name, n);
	*--begin = '/';
	return begin;
}

/* As fs/d_path.c does it. `path` has PATH_LEN bytes; returns where in it the text begins. */
static const char *read_path(struct vcpu *v, uint64_t file, char *path)
{
	char *begin = path + PATH_LEN - 1;
	uint64_t where = file + (uint64_t)at(FILE_PATH), dentry, mnt;

	*begin = '\0';
	if (!file || at(FILE_PATH) == MEMBER_UNKNOWN || at(MOUNT_MNT) == MEMBER_UNKNOWN)
		return begin;
	dentry = pointer(v, where, PATH_DENTRY);
	mnt = pointer(v, where, PATH_MNT);
	for (int i = 0; i < PATH_DEPTH && dentry && mnt; i++) {
		uint64_t parent = pointer(v, dentry, DENTRY_PARENT);

		if (dentry == pointer(v, mnt, VFSMOUNT_ROOT)) {
			uint64_t mount = mnt - (uint64_t)at(MOUNT_MNT), above = pointer(v, mount, MOUNT_PARENT);

			if (!above || above == mount)
				break;
			dentry = pointer(v, mount, MOUNT_MOUNTPOINT);
			mnt = above + (uint64_t)at(MOUNT_MNT);
			continue;
		}
		if (parent == dentry)
			break;
		begin = prepend_name(v, dentry, path, begin);
		dentry = parent;
	}
	return begin;
}

static void note(uint64_t task, enum task_change change)
{
	pthread_mutex_lock(&tasks.lock);
	*map_put(&tasks.known, task, TOLD_NOTHING) = change == TASK_EXIT ? TOLD_EXITED : TOLD_LIVING;
	pthread_mutex_unlock(&tasks.lock);
}

void tasks_tell(struct vcpu *v, unsigned cpu, enum task_change change, uint64_t task)
{
	uint64_t parent = pointer(v, task, TASK_REAL_PARENT), mm = pointer(v, task, TASK_MM);
	char comm[COMM_LEN + 1] = "", path[PATH_LEN];
	struct task_record record = {
		.change = change, .cpu = cpu, .ns = recorder_ns(), .insns = v->insns, .task = task,
		.pid = (int32_t)read_member(v, task, TASK_PID, 4), .tgid = (int32_t)read_member(v, task, TASK_TGID, 4),
		.ppid = (int32_t)read_member(v, parent, TASK_TGID, 4), .kernel = !mm,
		.comm = comm, .exe = "",
	};
	struct buf out = { 0 };

	if (at(TASK_PID) == MEMBER_UNKNOWN || !task)
		return;
	if (at(TASK_COMM) != MEMBER_UNKNOWN)
		guest_read(&v->regs, task + (uint64_t)at(TASK_COMM), comm, COMM_LEN);
	if (mm)
		record.exe = read_path(v, pointer(v, mm, MM_EXE_FILE), path);
	note(task, change);
	task_record_put(&out, &record);
	drain_tasks(&out);
	buf_free(&out);
}

void tasks_meet(struct vcpu *v, unsigned cpu, uint64_t task)
{
	const uint64_t *known;
	bool met;

	pthread_mutex_lock(&tasks.lock);
	known = map_get(&tasks.known, task);
	met = known && *known;
	pthread_mutex_unlock(&tasks.lock);
	if (!met)
		tasks_tell(v, cpu, TASK_SEEN, task);
}
