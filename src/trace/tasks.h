/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a trace tells of the guest's tasks: records in the order in which things happened (docs/format.md, chunk TASKS). */
#ifndef UPTO_TRACE_TASKS_H
#define UPTO_TRACE_TASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/error.h"

enum task_change {
	TASK_SEEN = 1,  /* it was there before anything told of it */
	TASK_NEW = 2,   /* about to run for the first time */
	TASK_NAME = 3,  /* it named itself, or another did */
	TASK_EXIT = 4,
	TASK_EXEC = 5,  /* it has a new program in a new address space, and its name */
	TASK_CHANGES,
};

struct task_record {
	enum task_change change;
	uint32_t cpu;       /* that it happened on, and the clocks then */
	uint64_t ns, insns;
	uint64_t task;      /* address of its task_struct */
	int32_t pid, tgid, ppid; /* as the guest's first namespace has them; ppid: the parent's tgid */
	uint64_t mm;        /* address of its mm_struct; 0: it has no user memory, as kernel threads */
	const char *comm;   /* the guest's bytes, whatever they are */
	const char *exe;    /* path of the program; "": none, or not known */
};

void task_record_put(struct buf *out, const struct task_record *record);

struct task_records {
	struct task_record *records;
	size_t count, cap;
};

/* Add the records of a chunk. Strings are the table's own. */
int task_records_decode(struct cursor *in, struct task_records *ret, struct error *err);
void task_records_deinit(struct task_records *r);

#endif
