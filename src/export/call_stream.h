/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A part of a trace as most viewers want it: begins and ends of calls in the order of time, well nested in each thread,
 * with who runs where, wake-ups, lines of the kernel's log and records of trace events in between.
 *
 * Calls that are too short are left out without a look at the whole trace first: what happens is held back for as long
 * as a call must at least take. When a call's begin comes to be told, either the call has ended, and how long it took
 * is known, or it has gone on for long enough.
 */
#ifndef UPTO_EXPORT_CALL_STREAM_H
#define UPTO_EXPORT_CALL_STREAM_H

#include "analysis/ending/kernel_log.h"
#include "replay/story.h"

enum stream_kind {
	STREAM_BEGIN,  /* of a call, also of one from before the part, at the part's begin */
	STREAM_END,    /* also of one that is in progress at the part's end, there */
	STREAM_RUNS,   /* a vCPU runs `thread` where what is told begins, or behind a gap; nobody: a gap begins */
	STREAM_SWITCH, /* a vCPU goes from `thread` to `next` */
	STREAM_HALT,   /* a vCPU waits for an interrupt … */
	STREAM_RESUME, /* … and goes on */
	STREAM_WAKE,   /* `next` is woken up */
	STREAM_LOG,    /* a line of the kernel's log */
	STREAM_EVENT,  /* a record of a trace event or a probe */
};

/* How a thread leaves its vCPU. */
enum stream_leaves {
	LEAVES_READY, /* it would run on */
	LEAVES_ASLEEP,
	LEAVES_DEAD,
};

enum { STREAM_NOBODY = UINT32_MAX };

struct stream_item {
	enum stream_kind kind;
	unsigned cpu;
	uint64_t ns; /* guest time */
	/* number of the thread (call_stream_thread()); STREAM_NOBODY: not known, or not asked for */
	uint32_t thread, next;
	unsigned next_cpu;         /* WAKE: where `next` ran last; `cpu`, if that is not known */
	enum stream_leaves leaves; /* SWITCH */
	/* BEGIN, END */
	uint32_t function;
	enum frame_kind frame;
	uint32_t depth;              /* so many calls that were told are around it */
	bool unfinished;             /* END: how it ends is not known */
	uint64_t entry_ns;           /* … when it began, maybe before the part */
	uint64_t own_ns;             /* the thread's own clock: what it ran in the part up to then */
	const struct fact *fact;     /* WAKE, EVENT */
	const struct log_line *line; /* LOG: whole, also what was added to it later */
};

struct stream_thread {
	/* Its PID, or, where another has had that one, a number of its own: from STREAM_OWN_IDS on */
	uint32_t id;
	long number;  /* threads.h; THREAD_NONE: not known */
	uint32_t pid; /* as the guest has it: others may have had it, too; 0: of idle threads, and before any */
	/*
	 * its process's: the id of that one's first thread; of kernel threads 2, kthreadd; 0: of idle threads, and
	 * before there are any
	 */
	uint32_t process;
	const char *name; /* that it had last; for whoever prints it, the guest's bytes */
	const char *process_name;
	bool kernel, idle;
};

enum { STREAM_OWN_IDS = 10000000 };

/* prev_state of the kernel's own sched_switch: 0, S or X (include/trace/events/sched.h). */
static inline uint64_t stream_task_state(enum stream_leaves leaves)
{
	return leaves == LEAVES_READY ? 0 : leaves == LEAVES_ASLEEP ? 1 : 64;
}

struct stream_options {
	uint64_t from_ns, to_ns;   /* to_ns: not behind the trace's end; UINT64_MAX: there */
	uint64_t min_ns;           /* calls that took less are left out; 0: none are */
	uint32_t max_depth;        /* … as are those that are around so many calls or more; 0: none */
	const struct facts *facts; /* by time; NULL: none are told */
	bool calls_only; /* nothing is told but begins and ends */
	bool no_calls;   /* all calls are left out */
};

/* What was left out. */
struct stream_left {
	uint64_t told, short_calls, deep_calls;
	uint32_t max_depth; /* … since so many or more are around them */
};

struct call_stream;

struct stream_listener {
	/* 0, or -1 with *err set: enough */
	int (*take)(void *state, struct call_stream *stream, const struct stream_item *item, struct error *err);
	void *state;
};

/* Tell the part of the session's trace. Calls are those of chosen threads that are not folded. `left` may be NULL. */
int call_stream_tell(const struct session *session, const struct stream_options *options,
		     const struct stream_listener *to, struct stream_left *left, struct error *err);

/* While it is told: the thread of that number, as an item has it. Valid up to the next item. */
const struct stream_thread *call_stream_thread(struct call_stream *stream, uint32_t thread);
/* Is it the first time that anybody asks this of it? Then a writer says who it is. */
bool call_stream_meets(struct call_stream *stream, uint32_t thread);

#endif
