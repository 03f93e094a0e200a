/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of tasks that began, changed or ended, in the order in which this happened (docs/format.md, chunk TASKS). */
#ifndef UPTO_TRACE_TASK_RECORDS_H
#define UPTO_TRACE_TASK_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/error.h"

enum task_change {
	TASK_SEEN = 1,  /* it runs, and no record before has it */
	TASK_NEW = 2,   /* about to run for the first time */
	TASK_NAME = 3,  /* it has a new name, given by itself or by another task */
	TASK_EXIT = 4,
	TASK_EXEC = 5,  /* it has a new program in a new address space, and its name */
	TASK_CHANGES,
};

/* the recorder did not know where the kernel keeps it. A task without a pid has no comm, exe and mm, either */
enum { TASK_PID_UNKNOWN = -1 };

struct task_record {
	enum task_change change;
	uint32_t cpu;       /* the vCPU that it happened on, and its clocks */
	uint64_t ns, insns;
	uint64_t task;      /* address of its task_struct */
	/* NEW: task_struct of the task that made it, which need not be its parent; 0: not known, or another change */
	uint64_t maker;
	int32_t pid, tgid, ppid; /* in the guest's first pid namespace; ppid is the parent's tgid */
	uint64_t mm;        /* address of its mm_struct; 0: it has no user memory (kernel threads) */
	const char *comm;   /* in the guest's bytes, not checked */
	const char *exe;    /* path of its program; "": none, or not known */
};

void task_record_put(struct buf *out, const struct task_record *record);

struct task_records {
	struct task_record *records;
	size_t count, cap;
};

/*
 * How programs got their names, by record: it is EXEC; or a process that is no thread of the kernel's has given itself
 * another name than it had. The caller frees the list.
 */
enum task_named { TASK_NAMED_NOT, TASK_NAMED_BY_EXEC, TASK_NAMED_ANEW };
uint8_t *task_records_named(const struct task_records *r);

/* Add the records of a chunk, at most `max`. *ret owns copies of their strings. */
int task_records_decode(struct cursor *in, size_t max, struct task_records *ret, struct error *err);
void task_records_deinit(struct task_records *r);

#endif
