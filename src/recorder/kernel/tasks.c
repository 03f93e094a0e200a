/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tasks.h"

#include "base/alloc.h"
#include "recorder/code/mapped_files.h"
#include "recorder/qemu/guest_time.h"
#include "recorder/spans/waiting.h"
#include "recorder/watch/watch.h"
#include "structures.h"

enum {
	COMM_LEN = 16,        /* TASK_COMM_LEN, include/linux/sched.h */
};

/* A task that has exited still runs to its last switch. */
enum told { TOLD_NOTHING, TOLD_LIVING, TOLD_EXITED };

/* How a task was seen last, of a kernel that does not tell of changes. */
struct looked {
	uint64_t state, pid, mm;
};

static struct {
	pthread_mutex_t lock;
	struct looked *looks;
	size_t n_looks, looks_cap;
	struct map looked;    /* task_struct → its number in looks + 1 */
	struct map known;     /* task_struct → enum told */
	struct map named;     /* task_struct of a process → its pid, and a hash of the name that was told last */
	struct map user_from; /* task_struct that does not run → where it left user code */
	struct map spaces;    /* task_struct → mm_struct that it was told to have … */
	struct map users;     /* … and of each of these how many tasks have it */
} tasks = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void note(uint64_t task, enum task_change change)
{
	pthread_mutex_lock(&tasks.lock);
	if (change == TASK_NEW) /* another had the address before */
		*map_put(&tasks.user_from, task, 0) = 0;
	*map_put(&tasks.known, task, TOLD_NOTHING) = change == TASK_EXIT ? TOLD_EXITED : TOLD_LIVING;
	pthread_mutex_unlock(&tasks.lock);
}

/* `fresh`: the address space is a new one. Is the task, which exits, the last that has it? */
static bool note_space(uint64_t task, uint64_t mm, bool exits, bool fresh)
{
	uint64_t *has, *users, before, now = exits ? 0 : mm;
	bool last;

	pthread_mutex_lock(&tasks.lock);
	has = map_put(&tasks.spaces, task, 0);
	before = *has;
	*has = now;
	users = before && before != now ? map_get(&tasks.users, before) : NULL;
	if (users && *users)
		--*users;
	if (now && fresh)
		*map_put(&tasks.users, now, 0) = 1;
	else if (now && now != before)
		++*map_put(&tasks.users, now, 0);
	users = map_get(&tasks.users, mm);
	last = !users || !*users;
	pthread_mutex_unlock(&tasks.lock);
	return last;
}

/* Has a process given itself another name than it had, by the record? As task_records_named() has it. */
static bool is_renamed(const struct task_record *r)
{
	uint64_t now = (uint64_t)(uint32_t)r->pid << 32 | (uint32_t)hash_text(1, r->comm) | 1, *last, before;

	pthread_mutex_lock(&tasks.lock);
	last = map_put(&tasks.named, r->task, 0);
	before = *last;
	*last = now;
	pthread_mutex_unlock(&tasks.lock);
	return r->change == TASK_NAME && r->mm && r->pid == r->tgid && before >> 32 == now >> 32 && before != now;
}

void tasks_tell(struct vcpu *v, unsigned cpu, enum task_change change, uint64_t task)
{
	uint64_t parent = structure_pointer(v, task, TASK_REAL_PARENT), mm = structure_pointer(v, task, TASK_MM);
	char comm[COMM_LEN + 1] = "", path[STRUCTURE_PATH];
	struct task_record record = {
		.change = change, .cpu = cpu, .ns = guest_time(v), .insns = v->live->insns, .task = task,
		/* where changes are only looked for, who made a task is not seen */
		.maker = change == TASK_NEW && !recorder.kernel.no_names ? v->task : 0,
		.pid = (int32_t)structure_read(v, task, TASK_PID, 4),
		.tgid = (int32_t)structure_read(v, task, TASK_TGID, 4),
		.ppid = (int32_t)structure_read(v, parent, TASK_TGID, 4), .mm = mm,
		.comm = comm, .exe = "",
	};
	struct buf out = { 0 };
	bool renamed, fresh, last;

	if (!task)
		return;
	if (structure_at(TASK_REAL_PARENT) == MEMBER_UNKNOWN)
		record.ppid = TASK_PID_UNKNOWN;
	if (structure_at(TASK_PID) == MEMBER_UNKNOWN) /* who it is may be learnt later: that it is somebody is known */
		record.pid = record.tgid = record.ppid = TASK_PID_UNKNOWN;
	if (structure_at(TASK_COMM) != MEMBER_UNKNOWN)
		guest_read(&v->regs, task + (uint64_t)structure_at(TASK_COMM), comm, COMM_LEN);
	if (mm)
		record.exe = structure_path(v, structure_pointer(v, mm, MM_EXE_FILE), path);
	renamed = is_renamed(&record);
	if (renamed)
		watch_clock(cpu);
	if ((change == TASK_EXEC || renamed) && waiting_exec(v, comm, record.exe, renamed))
		record.ns = watch_clock(cpu); /* within the span that it begins */
	note(task, change);
	fresh = change == TASK_EXEC || (change == TASK_NEW && mm != structure_pointer(v, v->task, TASK_MM));
	last = note_space(task, mm, change == TASK_EXIT, fresh);
	/* a thread that ends leaves to the others what they have in memory */
	if (change == TASK_EXIT && last)
		mapped_files_exit(v, mm);
	else if (fresh)
		mapped_files_forget(mm);
	task_record_put(&out, &record);
	drain_put(CHUNK_TASKS, &out);
	buf_free(&out);
}

void tasks_name_all(struct vcpu *v, unsigned cpu)
{
	struct buf living = { 0 };
	uint64_t task;

	pthread_mutex_lock(&tasks.lock);
	for (size_t i = 0; tasks.known.slots && i <= tasks.known.mask; i++)
		if (tasks.known.slots[i].key && tasks.known.slots[i].value == TOLD_LIVING)
			buf_put(&living, &tasks.known.slots[i].key, sizeof task);
	pthread_mutex_unlock(&tasks.lock);
	for (size_t at = 0; at < living.len; at += sizeof task) {
		memcpy(&task, living.data + at, sizeof task);
		tasks_tell(v, cpu, TASK_NAME, task);
	}
	buf_free(&living);
}

void tasks_forget(void)
{
	pthread_mutex_lock(&tasks.lock);
	map_free(&tasks.known);
	map_free(&tasks.named);
	map_free(&tasks.looked);
	tasks.n_looks = 0;
	map_free(&tasks.user_from);
	map_free(&tasks.spaces);
	map_free(&tasks.users);
	pthread_mutex_unlock(&tasks.lock);
}

void tasks_forget_left(void)
{
	pthread_mutex_lock(&tasks.lock);
	map_free(&tasks.user_from);
	pthread_mutex_unlock(&tasks.lock);
}

uint64_t tasks_switch(uint64_t previous, uint64_t user_from, uint64_t next)
{
	const uint64_t *known;
	uint64_t from;

	pthread_mutex_lock(&tasks.lock);
	*map_put(&tasks.user_from, previous, 0) = user_from;
	known = map_get(&tasks.user_from, next);
	from = known ? *known : 0;
	pthread_mutex_unlock(&tasks.lock);
	return from;
}

static bool is_met(uint64_t task)
{
	const uint64_t *known;
	bool met;

	pthread_mutex_lock(&tasks.lock);
	known = map_get(&tasks.known, task);
	met = known && *known;
	pthread_mutex_unlock(&tasks.lock);
	return met;
}

void tasks_meet(struct vcpu *v, unsigned cpu, uint64_t task)
{
	if (!is_met(task))
		tasks_tell(v, cpu, TASK_SEEN, task);
}

/* What a task is, apart from what changes all the time. */
static uint64_t state_of(struct vcpu *v, uint64_t task, uint64_t *ret_pid, uint64_t *ret_mm)
{
	char comm[COMM_LEN + 1] = "";

	*ret_pid = structure_read(v, task, TASK_PID, 4);
	*ret_mm = structure_pointer(v, task, TASK_MM);
	if (structure_at(TASK_COMM) != MEMBER_UNKNOWN)
		guest_read(&v->regs, task + (uint64_t)structure_at(TASK_COMM), comm, COMM_LEN);
	return hash_text(hash64(*ret_pid + 1) ^ hash64(*ret_mm), comm) | 1;
}

/* Another pid: another task has its place. Other memory: it has a new program. */
static enum task_change change_of(const struct looked *before, uint64_t pid, uint64_t mm)
{
	if (before->pid != pid)
		return TASK_NEW;
	return before->mm != mm && mm ? TASK_EXEC : TASK_NAME;
}

void tasks_look(struct vcpu *v, unsigned cpu, uint64_t task)
{
	uint64_t pid, mm, state, *number;
	struct looked before;

	if (!task || structure_at(TASK_PID) == MEMBER_UNKNOWN)
		return;
	state = state_of(v, task, &pid, &mm);
	pthread_mutex_lock(&tasks.lock);
	number = map_put(&tasks.looked, task, 0);
	if (!*number) {
		tasks.looks = array_grow(tasks.looks, tasks.n_looks, &tasks.looks_cap, sizeof *tasks.looks);
		tasks.looks[tasks.n_looks++] = (struct looked){ .state = state, .pid = pid, .mm = mm };
		*number = tasks.n_looks;
	}
	before = tasks.looks[*number - 1];
	tasks.looks[*number - 1] = (struct looked){ .state = state, .pid = pid, .mm = mm };
	pthread_mutex_unlock(&tasks.lock);
	if (before.state != state)
		tasks_tell(v, cpu, change_of(&before, pid, mm), task);
}
