/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "analysis/history_file.h"
#include "base/alloc.h"
#include "commands.h"
#include "terminal.h"
#include "trace_arg.h"
#include "view.h"

enum { START, ASLEEP, READY, KIND, PID, COMM, FUNCTION, WOKEN_BY, WOKEN_BY_PID, STACK };

static const struct column columns[] = {
	[START] = { "start_ns", "TIME S", CELL_SECONDS, "guest time when it left the CPU, in seconds" },
	[ASLEEP] = { "asleep_ns", "ASLEEP", CELL_DURATION, "how long it slept, up to its wake-up; none: it was ready all the time" },
	[READY] = { "ready_ns", "READY", CELL_DURATION, "how long it was ready then, while others had the CPU" },
	[KIND] = { "kind", "KIND", CELL_TEXT, "ready, timer, disk, lock, child, peer, rcu, work, device, idle (it waits for something to do) or unknown" },
	[PID] = { "pid", "PID", CELL_NUMBER, "the thread" },
	[COMM] = { "comm", "PROCESS", CELL_TEXT, "its name then" },
	[FUNCTION] = { "function", "IN", CELL_TEXT, "the function of the kernel that tells what it waited for" },
	[WOKEN_BY] = { "woken_by", "WOKEN BY", CELL_TEXT, "the thread that woke it up, or the function of an interrupt" },
	[WOKEN_BY_PID] = { "woken_by_pid", "BY PID", CELL_NUMBER, "that thread; none: an interrupt did, or nobody", .hidden = true },
	[STACK] = { "stack", "STACK", CELL_LIST, "the functions of the kernel that it waited in, innermost first", .hidden = true },
	{ 0 },
};

enum { SUM_KIND, SUM_FUNCTION, SUM_COUNT, SUM_ASLEEP, SUM_READY, SUM_LONGEST };

static const struct column sum_columns[] = {
	[SUM_KIND] = { "kind", "KIND", CELL_TEXT, "what was waited for" },
	[SUM_FUNCTION] = { "function", "IN", CELL_TEXT, "the function of the kernel that tells so" },
	[SUM_COUNT] = { "count", "COUNT", CELL_COUNT, "how many waits" },
	[SUM_ASLEEP] = { "asleep_ns", "ASLEEP", CELL_DURATION, "how long all of them slept" },
	[SUM_READY] = { "ready_ns", "READY", CELL_DURATION, "how long all of them were ready then" },
	[SUM_LONGEST] = { "longest_ns", "LONGEST", CELL_DURATION, "the longest sleep" },
	{ 0 },
};

struct sum {
	enum wait_kind kind;
	bool ready;       /* they were never asleep */
	uint32_t function;
	uint64_t count, asleep_ns, ready_ns, longest_ns;
};

struct rows {
	const struct trace_arg *trace;
	const struct history *history;
	uint32_t *list;
	size_t count;
	struct sum *sums;
	size_t n_sums;
};

static uint64_t end_of(const struct rows *r, const struct away *a)
{
	return a->end_ns < r->history->end_ns ? a->end_ns : r->history->end_ns;
}

static uint64_t asleep_ns(const struct rows *r, const struct away *a)
{
	return (a->wake_ns < end_of(r, a) ? a->wake_ns : end_of(r, a)) - a->start_ns;
}

static uint64_t ready_ns(const struct rows *r, const struct away *a)
{
	return end_of(r, a) - a->start_ns - asleep_ns(r, a);
}

static const char *function_of(const struct rows *r, uint32_t function)
{
	return function == HISTORY_NONE ? "" : names_function(&r->trace->names, function);
}

static bool was_asleep(const struct away *a)
{
	return a->wake_ns != a->start_ns;
}

static const char *kind_of(const struct away *a)
{
	return was_asleep(a) ? wait_kind_name(a->kind) : "ready";
}

static void woken_by(const struct rows *r, const struct away *a, struct cell *ret)
{
	const struct thread *waker = threads_at(&r->trace->threads, a->waker);

	if (a->waker == HISTORY_NONE || !was_asleep(a))
		return;
	if (a->context != WAKE_TASK)
		*ret = (struct cell){ .type = CELL_TEXT, .text = function_of(r, a->waker_function) };
	else
		*ret = (struct cell){ .type = CELL_TEXT, .text = threads_comm(&r->trace->threads, waker, a->wake_ns) };
}

static void put_stack(const struct rows *r, const struct away *a, struct buf *out)
{
	for (uint32_t i = 0; i < a->stack.count; i++)
		buf_printf(out, "%s%s", i ? "\n" : "", function_of(r, r->history->functions[a->stack.first + i]));
	buf_put_u8(out, 0);
}

static void cell(const void *data, size_t row, unsigned column, struct cell *ret, struct buf *scratch)
{
	const struct rows *r = data;
	const struct away *a = &r->history->aways[r->list[row]];
	const struct thread *t = threads_at(&r->trace->threads, a->thread), *waker = threads_at(&r->trace->threads, a->waker);

	switch (column) {
	case START:
		*ret = (struct cell){ .type = CELL_SECONDS, .number = a->start_ns };
		break;
	case ASLEEP:
		*ret = (struct cell){ .type = CELL_DURATION, .number = asleep_ns(r, a) };
		break;
	case READY:
		*ret = (struct cell){ .type = CELL_DURATION, .number = ready_ns(r, a) };
		break;
	case KIND:
		*ret = (struct cell){ .type = CELL_TEXT, .text = kind_of(a) };
		break;
	case PID:
		*ret = (struct cell){ .type = CELL_NUMBER, .number = t ? (uint64_t)t->pid : 0 };
		break;
	case COMM:
		*ret = (struct cell){ .type = CELL_TEXT, .text = threads_comm(&r->trace->threads, t, a->start_ns) };
		break;
	case FUNCTION:
		*ret = (struct cell){ .type = CELL_TEXT, .text = function_of(r, a->function) };
		break;
	case WOKEN_BY:
		woken_by(r, a, ret);
		break;
	case WOKEN_BY_PID:
		if (waker && a->context == WAKE_TASK && was_asleep(a))
			*ret = (struct cell){ .type = CELL_NUMBER, .number = (uint64_t)waker->pid };
		break;
	case STACK:
		put_stack(r, a, scratch);
		*ret = (struct cell){ .type = CELL_LIST, .text = (char *)scratch->data };
		break;
	}
}

static void sum_cell(const void *data, size_t row, unsigned column, struct cell *ret, struct buf *scratch)
{
	const struct rows *r = data;
	const struct sum *s = &r->sums[row];

	(void)scratch;
	switch (column) {
	case SUM_KIND:
		*ret = (struct cell){ .type = CELL_TEXT, .text = s->ready ? "ready" : wait_kind_name(s->kind) };
		break;
	case SUM_FUNCTION:
		*ret = (struct cell){ .type = CELL_TEXT, .text = function_of(r, s->function) };
		break;
	case SUM_COUNT:
		*ret = (struct cell){ .type = CELL_COUNT, .number = s->count };
		break;
	case SUM_ASLEEP:
		*ret = (struct cell){ .type = CELL_DURATION, .number = s->asleep_ns };
		break;
	case SUM_READY:
		*ret = (struct cell){ .type = CELL_DURATION, .number = s->ready_ns };
		break;
	case SUM_LONGEST:
		*ret = (struct cell){ .type = CELL_DURATION, .number = s->longest_ns };
		break;
	}
}

/* Add a wait to the sum of its kind and function. */
static void add_up(struct rows *r, struct map *known, size_t *cap, const struct away *a)
{
	bool ready = !was_asleep(a);
	uint64_t *at = map_put(known, (uint64_t)(ready ? WAIT_KINDS : a->kind) << 32 | a->function, 0);
	uint64_t asleep = asleep_ns(r, a);
	struct sum *s;

	if (!*at) {
		r->sums = array_grow(r->sums, r->n_sums, cap, sizeof *r->sums);
		r->sums[r->n_sums] = (struct sum){ .kind = a->kind, .ready = ready, .function = a->function };
		*at = ++r->n_sums;
	}
	s = &r->sums[*at - 1];
	s->count++;
	s->asleep_ns += asleep;
	s->ready_ns += ready_ns(r, a);
	if (asleep > s->longest_ns)
		s->longest_ns = asleep;
}

static bool is_asked(const struct args *args, const struct rows *r, const struct span *span, uint64_t pid, const struct away *a)
{
	const struct thread *t = threads_at(&r->trace->threads, a->thread);
	const char *comm = arg(args, "comm");

	/* a CPU's idle thread waits for nothing */
	if (!t || !t->pid || a->start_ns < span->from_ns || a->start_ns >= span->to_ns)
		return false;
	if (arg(args, "pid") && (uint64_t)(int64_t)t->pid != pid && (uint64_t)(int64_t)t->tgid != pid)
		return false;
	return !comm || !strcmp(comm, threads_comm(&r->trace->threads, t, a->start_ns));
}

static int show(const struct args *args, struct rows *r, struct error *err)
{
	struct view view = {
		.name = "waits", .what = "waits", .trace = r->trace, .columns = columns, .rows = r->count, .cell = cell, .data = r,
		.default_output = arg(args, "stack") ? "start_ns,asleep_ns,ready_ns,kind,pid,comm,woken_by,stack" : NULL,
	};
	struct map known = { 0 };
	size_t cap = 0;
	int status;

	if (arg(args, "summary")) {
		for (size_t i = 0; i < r->count; i++)
			add_up(r, &known, &cap, &r->history->aways[r->list[i]]);
		map_free(&known);
		view.columns = sum_columns;
		view.default_output = NULL;
		view.cell = sum_cell;
		view.rows = r->n_sums;
		view.default_sort = "asleep_ns";
	}
	terminal_end_progress();
	status = view_print(&view, args, err);
	free(r->sums);
	return status;
}

static int print(const struct args *args, const struct trace_arg *t, const struct span *span, uint64_t pid, struct error *err)
{
	struct history history;
	struct rows rows = { .trace = t, .history = &history };
	int r = EXIT_FAILED;

	if (history_open(&t->session, is_worth_index(t), &history, err) == 0 &&
	    (history_has_wakes(&history) || trace_no_wakes(t, err) == 0)) {
		rows.list = xcalloc(history.n_aways + 1, sizeof *rows.list);
		for (size_t i = 0; i < history.n_aways; i++)
			if (is_asked(args, &rows, span, pid, &history.aways[i]))
				rows.list[rows.count++] = (uint32_t)i;
		r = show(args, &rows, err);
		free(rows.list);
	}
	history_deinit(&history);
	return r;
}

static int run(const struct args *args, struct error *err)
{
	struct span span = { .to_ns = UINT64_MAX, .cpu = -1 };
	struct trace_arg t;
	uint64_t pid = 0;
	int r;

	if (arg_u64(args, "pid", &pid, err) < 0 || arg_time(args, "from", &span.from_ns, err) < 0 || arg_time(args, "to", &span.to_ns, err) < 0)
		return EXIT_USAGE;
	if (span.from_ns >= span.to_ns)
		return error_set(err, "--to %s: nothing is before that, or --from is not", arg(args, "to")), EXIT_USAGE;
	if (trace_arg_open(args, &t, err) < 0)
		return EXIT_FAILED;
	names_fold_thunks(&t.names);
	r = print(args, &t, &span, pid, err);
	trace_arg_close(&t);
	return r;
}

static const struct option options[] = {
	{ 'p', "pid", "PID", "only this thread, or the threads of this process" },
	{ 0, "comm", "NAME", "only threads of this name" },
	{ 0, "summary", NULL, "add waits up by kind and function" },
	{ 0, "stack", NULL, "with the stack that it waited in" },
	{ 0, "from", "TIME", "only waits that begin at or after this guest time: 1.5s, 20ms" },
	{ 0, "to", "TIME", "only waits that begin before this guest time" },
	VIEW_OPTIONS,
	HELP_OPTION,
	{ 0 },
};

static const struct legend legends[] = { { "columns", columns, NULL }, { "columns of --summary", sum_columns, NULL }, { 0 } };

const struct command cmd_waits = {
	.name = "waits",
	.operands = "TRACE",
	.summary = "who waited, for what, how long, and who ended it?",
	.description = "Lists every time that a thread was off the CPU: how long it slept, what for, and who woke it up; then how long it was ready "
		       "while others had the CPU.\n"
		       HISTORY_NOTE,
	.examples = "  upto waits --pid 1 -s asleep_ns -n 20 trace.upto\n      what the first process waited for longest\n"
		    "  upto waits --summary trace.upto\n      what everybody waited for\n"
		    "  upto waits --comm systemd-udevd --stack --from 2s trace.upto\n      where in the kernel\n",
	.options = options,
	.legends = legends,
	.min_operands = 1, .max_operands = 1,
	.run = run,
};
