/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process has mapped a file of which nothing is in memory yet. Then something is told of a task that has the same
 * mm_struct, and the file's page comes to be there: is it still taken for that file's? One line for each: what was told
 * of the task, and whether a content was found.
 */
#include "recorder/recorder.h"

#include <stdio.h>
#include <string.h>

#include "recorder/code/contents.h"
#include "recorder/code/mapped_files.h"
#include "recorder/kernel/tasks.h"
#include "recorder/qemu/guest_time.h"
#include "recorder/spans/waiting.h"
#include "recorder/watch/watch.h"

enum { PAGE_SIZE = 4096, MM_AT = 8, PID_AT = 16, TGID_AT = 20, START = 0x400000 };

#define RUNS UINT64_C(0xffff888001000000) /* the task that runs */
#define OTHER UINT64_C(0xffff888001001000)
#define RUNS_MM UINT64_C(0xffff888002000000)
#define OTHER_MM UINT64_C(0xffff888002001000)

struct recorder recorder = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint64_t other_mm;
static bool is_there; /* the file's page */
static unsigned told; /* contents */

bool guest_read(struct registers *r, uint64_t addr, void *data, size_t n)
{
	(void)r;
	memset(data, 0, n);
	if (addr - START < PAGE_SIZE) {
		memset(data, 0x90, n);
		return is_there && n <= PAGE_SIZE - (addr - START);
	}
	if (addr == RUNS + MM_AT || addr == OTHER + MM_AT)
		memcpy(data, addr == RUNS + MM_AT ? &(uint64_t){ RUNS_MM } : &other_mm, n);
	return true;
}

void drain_put(enum chunk_type type, const struct buf *payload)
{
	told += type == CHUNK_CODE && payload->len && payload->data[0] == CODE_CONTENT;
}

uint64_t registers_ask(struct registers *r, enum reg reg)
{
	return r ? 0 : reg;
}

uint64_t guest_time(const struct vcpu *v)
{
	return v->live->insns;
}

uint64_t watch_clock(unsigned cpu)
{
	return cpu;
}

bool waiting_exec(struct vcpu *v, const char *comm, const char *exe, bool renamed)
{
	return v && comm && exe && renamed && false;
}

static void try_change(const char *what, enum task_change change, uint64_t mm)
{
	const struct code_record mapped = {
		.change = CODE_MAPPED, .mm = mm, .start = START, .size = PAGE_SIZE, .file_size = PAGE_SIZE,
		.device = 1, .inode = 1, .name = "/bin/before",
	};
	struct live live = { .insns = 1 };
	struct vcpu v = { .live = &live, .task = RUNS };

	is_there = false;
	told = 0;
	other_mm = mm;
	mapped_files_forget_all();
	mapped_files_add(&v, &mapped);
	tasks_tell(&v, 0, change, OTHER);
	is_there = true;
	contents_switch(&v, OTHER);
	printf("%s: %s\n", what, told ? "found" : "forgotten");
}

int main(void)
{
	layout_init(&recorder.kernel.layout);
	recorder.kernel.layout.offset[TASK_MM] = MM_AT;
	recorder.kernel.layout.offset[TASK_PID] = PID_AT;
	recorder.kernel.layout.offset[TASK_TGID] = TGID_AT;
	try_change("seen", TASK_SEEN, OTHER_MM);
	try_change("named", TASK_NAME, OTHER_MM);
	try_change("new process", TASK_NEW, OTHER_MM);
	try_change("new thread", TASK_NEW, RUNS_MM);
	try_change("new program", TASK_EXEC, OTHER_MM);
	mapped_files_forget_all();
	tasks_forget();
	return 0;
}
