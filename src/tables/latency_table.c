/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "latency_table.h"

#include <stdlib.h>

#include "base/alloc.h"

enum {
	KIND,
	DURATION,
	START,
	CPU,
	PID,
	COMM,
	FUNCTION,
	END_FUNCTION,
	HELD_BY,
	HELD_BY_PID,
	MOST,
	STACK,
	END,
	START_INSNS,
	END_INSNS
};

const struct column latency_columns[] = {
	[KIND] = { "kind", "KIND", CELL_TEXT,
		   "what could not be done: interrupts-off, preemption-off, softirq, timer, wakeup" },
	[DURATION] = { "duration_ns", "LATENCY", CELL_DURATION,
		       "how long; with interrupts or preemption off, at least so long" },
	[START] = { "start_ns", "TIME S", CELL_SECONDS, "guest time when it began, in seconds" },
	[CPU] = { "cpu", "CPU", CELL_NUMBER, "vCPU: of a wake-up, the one that the thread ran on then" },
	[PID] = { "pid", "PID", CELL_NUMBER,
		  "thread that it began in; of a timer, that was cut into; of a wake-up, that was woken up" },
	[COMM] = { "comm", "PROCESS", CELL_TEXT, "its name then" },
	[FUNCTION] = { "function", "FROM", CELL_TEXT, "the function that it began in; of a timer, that was cut into" },
	[END_FUNCTION] = { "end_function", "TO", CELL_TEXT,
			   "the function that ended it; [end of trace], [end of boot]: it is not over there" },
	[HELD_BY] = { "held_by", "HELD BY", CELL_TEXT, "name of the thread that ran longest on the vCPU meanwhile" },
	[HELD_BY_PID] = { "held_by_pid", "BY PID", CELL_NUMBER, "its PID", .hidden = true },
	[MOST] = { "most", "MOST OF IT IN", CELL_TEXT,
		   "the functions in which most of that time went, without what they called" },
	[STACK] = { "stack", "STACK", CELL_LIST, "the functions that it began in, innermost first", .hidden = true },
	[END] = { "end_ns", "END S", CELL_SECONDS, "guest time when it ended, in seconds", .hidden = true },
	[START_INSNS] = { "start_insns", "INSNS", CELL_COUNT,
			  "instructions that the vCPU had retired when it began; none: of a timer and a wake-up",
			  .hidden = true },
	[END_INSNS] = { "end_insns", "END INSNS", CELL_COUNT, "the same when it ended", .hidden = true },
	{ 0 },
};

struct rows {
	const struct session *session;
	const struct latencies *latencies;
};

static struct cell function_cell(const struct session *session, uint32_t function)
{
	return function == HISTORY_NONE ? cell_none() : cell_text(names_function(session->names, function));
}

static struct cell pid_cell(const struct thread *thread)
{
	return thread ? cell_pid(thread->pid) : cell_none();
}

static struct cell comm_cell(const struct session *session, const struct thread *thread, uint64_t ns)
{
	return thread ? cell_text(threads_comm(session->threads, thread, ns)) : cell_none();
}

static struct cell stack_cell(const struct session *session, const struct latency *l, struct buf *scratch)
{
	for (unsigned i = 0; i < l->n_stack; i++)
		buf_printf(scratch, "%s%s", i ? "\n" : "", names_function(session->names, l->stack[i]));
	return cell_scratch(CELL_LIST, scratch);
}

static struct cell most_cell(const struct session *session, const struct latency *l, struct buf *scratch)
{
	for (int i = 0; i < HISTORY_HOT && l->hot[i].ns; i++) {
		struct cell share = cell_share(l->hot[i].ns, l->end_ns - l->start_ns);

		if (!i || share.percent >= 1)
			buf_printf(scratch, "%s%s %.0f %%", i ? ", " : "",
				   names_function(session->names, l->hot[i].function), share.percent);
	}
	return cell_scratch(CELL_TEXT, scratch);
}

static bool has_insns(const struct latency *l)
{
	return l->kind != LATENCY_WAKEUP && l->kind != LATENCY_TIMER;
}

static bool has_end_insns(const struct latency *l)
{
	return has_insns(l) && !l->goes_on;
}

static struct cell cell(const void *data, size_t row, unsigned column, struct buf *scratch)
{
	const struct rows *rows = data;
	const struct session *session = rows->session;
	const struct boots *boots = session->names->boots;
	const struct latency *l = &rows->latencies->list[row];
	const struct thread *thread = threads_at(session->threads, l->thread),
			    *holder = threads_at(session->threads, l->held_by);

	switch (column) {
	case KIND:
		return cell_text(latency_kind_name(l->kind));
	case DURATION:
		return cell_duration(l->end_ns - l->start_ns);
	case START:
		return cell_seconds(l->start_ns);
	case CPU:
		return l->cpu == LATENCY_NO_CPU ? cell_none() : cell_number(l->cpu);
	case PID:
		return pid_cell(thread);
	case COMM:
		return comm_cell(session, thread, l->start_ns);
	case FUNCTION:
		return function_cell(session, l->n_stack ? l->stack[0] : HISTORY_NONE);
	case END_FUNCTION:
		if (!l->goes_on)
			return function_cell(session, l->end);
		return cell_text(boots_at(boots, l->start_ns) + 1 < boots->count ? "[end of boot]" : "[end of trace]");
	case HELD_BY:
		return comm_cell(session, holder, l->start_ns);
	case HELD_BY_PID:
		return pid_cell(holder);
	case MOST:
		return most_cell(session, l, scratch);
	case STACK:
		return stack_cell(session, l, scratch);
	case END:
		return cell_seconds(l->end_ns);
	case START_INSNS:
		return has_insns(l) ? cell_count(l->start_insns) : cell_none();
	case END_INSNS:
		return has_end_insns(l) ? cell_count(l->end_insns) : cell_none();
	}
	return cell_none();
}

void latency_table_init(struct table *ret, const struct session *session, const struct latencies *latencies)
{
	struct rows *rows = xcalloc(1, sizeof *rows);

	*rows = (struct rows){ .session = session, .latencies = latencies };
	*ret = (struct table){
		.name = "latencies", .what = "latencies", .columns = latency_columns, .rows = latencies->count,
		.cell = cell, .data = rows,
		.free = free,
	};
}
