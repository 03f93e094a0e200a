/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel was about to do at certain moments, as the recorder read it from the guest (docs/format.md, chunk
 * FACTS): whom it woke up, a line for its log, a device that a driver is tried with.
 */
#ifndef UPTO_TRACE_FACTS_H
#define UPTO_TRACE_FACTS_H

#include "base/map.h"
#include "reader.h"

enum { FACT_NUMBERS = 8, FACT_TEXTS = 3 };

/* Numbers and texts of each kind in their order; addresses are of run time. */
enum fact_kind {
	FACT_WAKE = 1,   /* a task that sleeps is woken up: its task_struct */
	/* a line of the kernel's log: its number, level, facility; text. A later one of the same number replaces it */
	FACT_LOG,
	FACT_INITCALL,   /* a function that initialises a part of the kernel or a module is called: its address */
	FACT_LEVEL,      /* parameters are read, also those of a level of initcalls: text: whose */
	FACT_PROBE,      /* a driver is tried with a device; texts: the device, the driver, the bus */
	/* a file system is mounted, or a mount is changed: flags; texts: source, type, path of the mount point */
	FACT_MOUNT,
	FACT_FIRMWARE,   /* a driver asks for a firmware file; text: its name */
	/* a request goes to a block device: its address, operation, first sector, bytes; text: the device */
	FACT_ISSUE,
	FACT_COMPLETE,   /* one, or a part, is done: its address, error, bytes */
	FACT_QUEUE,      /* work is queued: its address, its function's */
	FACT_WORK,       /* work is begun by a worker: likewise */
	/* a program is about to run: how many bytes its arguments have; text: them, each with a NUL, maybe cut */
	FACT_ARGUMENTS,
	FACT_CGROUP,     /* a task gets into a control group: its task_struct; text: the group's path */
	FACT_RESULT,     /* a function that such a fact was told of at its entry returned: kind of that fact, result */
	FACT_GROUP,      /* a control group is made; text: its path */
	FACT_GROUP_GONE, /* one is removed; likewise */
	FACT_AUDIT,      /* a program tells the audit subsystem something: type of the message; text: its beginning */
	FACT_TIMER,      /* a timer, or work that is to be done later, is set: its address, its function's */
	/*
	 * a task begins to wait for a mutex or a semaphore that another one has: its address, task_struct of its
	 * holder; 0: not known
	 */
	FACT_LOCK,
	FACT_DUE,        /* a CPU's own timer is set anew: guest time, in ns, when it is due */
	FACT_TEST,       /* a case of KUnit begins, with one of its parameters; text: "suite.case" */
	/* a line of the log that was there as the recording began: as LOG, then its time by the kernel's clock (ns) */
	FACT_LOG_EARLIER,
	/*
	 * a function whose arguments are asked for is entered: number of its prototype (trace/prototypes.h), where its
	 * return address is, the registers for arguments; texts that name values (prototype_text())
	 */
	FACT_ARGS,
	/*
	 * it is about to return: number, where its return address is, the register for results and, if it gives back a
	 * floating number, the lower half of the vector register for that; texts: those of ARGS that were not in memory
	 * then
	 */
	FACT_RETURNS,
	/* a trace event: number of its format (trace/event_formats.h), whether it was computed; text: the record */
	FACT_EVENT,
	/*
	 * beside ARGS, where floating numbers are among the arguments: number of the prototype, the lower halves of the
	 * first vector registers (prototype_vector())
	 */
	FACT_FLOATS,
	/*
	 * beside ARGS, where arguments are on the stack: number of the prototype, the words behind the return address
	 * (prototype_stack())
	 */
	FACT_STACK,
	FACT_KINDS,
};

struct fact {
	enum fact_kind kind;
	/* the vCPU that it happened on, and its clocks: at the function's entry, or, RESULT, where it returned to */
	uint32_t cpu;
	uint64_t ns, insns;
	uint64_t task;         /* task_struct that ran; 0: not known */
	uint64_t numbers[FACT_NUMBERS];
	unsigned n_numbers;
	const char *texts[FACT_TEXTS]; /* the guest's bytes, not checked; there is a NUL behind them */
	size_t lens[FACT_TEXTS];
	unsigned n_texts;
};

void fact_put(struct buf *out, const struct fact *fact);

struct facts {
	struct fact *list;     /* in the order of time */
	size_t count, cap;
	struct buf bytes;      /* memory of all texts */
	struct map index;
	struct { uint64_t count, bytes; } sums[FACT_KINDS]; /* of each kind; bytes as they are before they are packed */
};

/* "wake" … */
const char *fact_kind_name(enum fact_kind kind);

/* Read all facts of a trace. Errors name the file. Call facts_deinit() also after an error. */
int facts_read(const struct reader *r, struct facts *ret, struct error *err);
void facts_deinit(struct facts *f);

/* Add the facts of a chunk. Their texts are offsets into `bytes` until facts_settle(). */
int facts_decode(struct cursor *in, struct facts *f, struct error *err);
void facts_settle(struct facts *f);
/* Put them into the order of time, where facts were added or have other times: facts_find() knows nothing of that. */
void facts_sort(struct facts *f);
/* … so that it knows again. */
void facts_index(struct facts *f);

/* The fact of that kind at an event of a vCPU, or NULL. */
const struct fact *facts_find(const struct facts *f, enum fact_kind kind, uint32_t cpu, uint64_t insns);

/* The number of the first fact at or after that time. */
size_t facts_at(const struct facts *f, uint64_t ns);

/* Its text of that number; "": it has none. */
static inline const char *fact_text(const struct fact *f, unsigned i)
{
	return i < f->n_texts ? f->texts[i] : "";
}

#endif
