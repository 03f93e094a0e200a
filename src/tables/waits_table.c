/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "waits_table.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"

enum { START, ASLEEP, READY, KIND, PID, COMM, FUNCTION, HOLDER, HOLDER_PID, WOKEN_BY, WOKEN_BY_PID, STACK };

const struct column waits_columns[] = {
	[START] = { "start_ns", "TIME S", CELL_SECONDS, "guest time when it left the CPU, in seconds" },
	[ASLEEP] = { "asleep_ns", "ASLEEP", CELL_DURATION,
		     "how long it slept, up to its wake-up; none: it was ready all the time" },
	[READY] = { "ready_ns", "READY", CELL_DURATION, "how long it was ready then, while others had the CPU" },
	[KIND] = { "kind", "KIND", CELL_TEXT,
		   "ready, timer, disk, lock, child, peer, rcu, work, device, idle (it waits for something to do) or unknown" },
	[PID] = { "pid", "PID", CELL_NUMBER, "the thread" },
	[COMM] = { "comm", "PROCESS", CELL_TEXT, "its name then" },
	[FUNCTION] = { "function", "IN", CELL_TEXT, "the function of the kernel that tells what it waited for" },
	[HOLDER] = { "holder", "HOLDER", CELL_TEXT,
		     "of a mutex or a semaphore: the thread that had it when this one began to wait" },
	[HOLDER_PID] = { "holder_pid", "HOLDER PID", CELL_NUMBER, "that thread" },
	[WOKEN_BY] = { "woken_by", "WOKEN BY", CELL_TEXT,
		       "the thread that woke it up, or made it, or the function of an interrupt" },
	[WOKEN_BY_PID] = { "woken_by_pid", "BY PID", CELL_NUMBER, "that thread; none: an interrupt did, or nobody",
			   .hidden = true },
	[STACK] = { "stack", "STACK", CELL_LIST, "the functions of the kernel that it waited in, innermost first",
		    .hidden = true },
	{ 0 },
};

struct rows {
	const struct session *session;
	const struct history *history;
	uint32_t aways[]; /* numbers */
};

static uint64_t asleep_ns(const struct history *h, const struct away *a)
{
	return away_asleep_until(a, h->end_ns) - a->start_ns;
}

static uint64_t ready_ns(const struct history *h, const struct away *a)
{
	return away_end(a, h->end_ns) - away_asleep_until(a, h->end_ns);
}

static const char *function_of(const struct session *session, uint32_t function)
{
	return function == HISTORY_NONE ? "" : names_function(session->names, function);
}

static bool was_asleep(const struct away *a)
{
	return a->wake_ns != a->start_ns;
}

static struct cell woken_by(const struct session *session, const struct away *a)
{
	if (a->waker == HISTORY_NONE || (!was_asleep(a) && a->context != WAKE_FORK))
		return cell_none();
	if (a->context != WAKE_TASK && a->context != WAKE_FORK)
		return cell_text(function_of(session, a->waker_function));
	return cell_text(threads_comm(session->threads, threads_at(session->threads, a->waker), a->wake_ns));
}

static struct cell woken_by_pid(const struct session *session, const struct away *a)
{
	const struct thread *waker = threads_at(session->threads, a->waker);

	bool by_thread = a->context == WAKE_FORK || (a->context == WAKE_TASK && was_asleep(a));

	return waker && by_thread ? cell_pid(waker->pid) : cell_none();
}

static struct cell stack_cell(const struct rows *r, const struct away *a, struct buf *scratch)
{
	for (uint32_t i = 0; i < a->stack.count; i++)
		buf_printf(scratch, "%s%s", i ? "\n" : "",
			   function_of(r->session, r->history->functions[a->stack.first + i]));
	return cell_scratch(CELL_LIST, scratch);
}

static struct cell cell(const void *data, size_t row, unsigned column, struct buf *scratch)
{
	const struct rows *r = data;
	const struct threads *threads = r->session->threads;
	const struct away *a = &r->history->aways[r->aways[row]];
	const struct thread *t = threads_at(threads, a->thread), *holder = threads_at(threads, a->holder);

	switch (column) {
	case START:
		return cell_seconds(a->start_ns);
	case ASLEEP:
		return cell_duration(asleep_ns(r->history, a));
	case READY:
		return cell_duration(ready_ns(r->history, a));
	case KIND:
		return cell_text(was_asleep(a) ? wait_kind_name(a->kind) : "ready");
	case PID:
		return cell_pid(t ? t->pid : 0);
	case COMM:
		return cell_text(threads_comm(threads, t, a->start_ns));
	case FUNCTION:
		return cell_text(function_of(r->session, a->function));
	case HOLDER:
		return holder ? cell_text(threads_comm(threads, holder, a->start_ns)) : cell_none();
	case HOLDER_PID:
		return holder ? cell_pid(holder->pid) : cell_none();
	case WOKEN_BY:
		return woken_by(r->session, a);
	case WOKEN_BY_PID:
		return woken_by_pid(r->session, a);
	case STACK:
		return stack_cell(r, a, scratch);
	}
	return cell_none();
}

void waits_table_init(struct table *ret, const struct session *session, const struct history *h, const bool *chosen)
{
	struct rows *r = xcalloc(1, sizeof *r + h->n_aways * sizeof *r->aways);
	size_t count = 0;

	*r = (struct rows){ .session = session, .history = h };
	for (size_t i = 0; i < h->n_aways; i++)
		if (!chosen || chosen[i])
			r->aways[count++] = (uint32_t)i;
	*ret = (struct table){
		.name = "waits", .what = "waits", .columns = waits_columns, .rows = count, .cell = cell, .data = r,
		.free = free,
	};
}

enum { SUM_KIND, SUM_FUNCTION, SUM_COUNT, SUM_ASLEEP, SUM_READY, SUM_LONGEST };

const struct column wait_sums_columns[] = {
	[SUM_KIND] = { "kind", "KIND", CELL_TEXT, "what was waited for" },
	[SUM_FUNCTION] = { "function", "IN", CELL_TEXT, "the function of the kernel that tells so" },
	[SUM_COUNT] = { "count", "COUNT", CELL_COUNT, "how many waits" },
	[SUM_ASLEEP] = { "asleep_ns", "ASLEEP", CELL_DURATION, "how long all of them slept" },
	[SUM_READY] = { "ready_ns", "READY", CELL_DURATION, "how long all of them were ready then" },
	[SUM_LONGEST] = { "longest_ns", "LONGEST", CELL_DURATION, "the longest sleep" },
	{ 0 },
};

struct wait_sum {
	enum wait_kind kind;
	bool ready;       /* they were never asleep */
	uint32_t function;
	uint64_t count, asleep_ns, ready_ns, longest_ns;
};

struct wait_sums {
	const struct session *session;
	struct wait_sum *list;
	size_t count, cap;
};

static struct cell sum_cell(const void *data, size_t row, unsigned column, struct buf *scratch)
{
	const struct wait_sums *sums = data;
	const struct wait_sum *s = &sums->list[row];

	(void)scratch;
	switch (column) {
	case SUM_KIND:
		return cell_text(s->ready ? "ready" : wait_kind_name(s->kind));
	case SUM_FUNCTION:
		return cell_text(function_of(sums->session, s->function));
	case SUM_COUNT:
		return cell_count(s->count);
	case SUM_ASLEEP:
		return cell_duration(s->asleep_ns);
	case SUM_READY:
		return cell_duration(s->ready_ns);
	case SUM_LONGEST:
		return cell_duration(s->longest_ns);
	}
	return cell_none();
}

/* Add a wait to the sum of its kind and function. */
static void add_up(struct wait_sums *sums, struct map *known, const struct history *h, const struct away *a)
{
	bool ready = !was_asleep(a);
	uint64_t *at = map_put(known, (uint64_t)(ready ? WAIT_KINDS : a->kind) << 32 | a->function, 0);
	uint64_t asleep = asleep_ns(h, a);
	struct wait_sum *s;

	if (!*at) {
		sums->list = array_grow(sums->list, sums->count, &sums->cap, sizeof *sums->list);
		sums->list[sums->count] = (struct wait_sum){ .kind = a->kind, .ready = ready, .function = a->function };
		*at = ++sums->count;
	}
	s = &sums->list[*at - 1];
	s->count++;
	s->asleep_ns += asleep;
	s->ready_ns += ready_ns(h, a);
	if (asleep > s->longest_ns)
		s->longest_ns = asleep;
}

static void sums_free(void *data)
{
	struct wait_sums *sums = data;

	free(sums->list);
	free(sums);
}

void wait_sums_table_init(struct table *ret, const struct session *session, const struct history *h, const bool *chosen)
{
	struct wait_sums *sums = xcalloc(1, sizeof *sums);
	struct map known = { 0 };

	sums->session = session;
	for (size_t i = 0; i < h->n_aways; i++)
		if (!chosen || chosen[i])
			add_up(sums, &known, h, &h->aways[i]);
	map_free(&known);
	*ret = (struct table){
		.name = "waits", .what = "waits", .columns = wait_sums_columns, .rows = sums->count, .cell = sum_cell,
		.data = sums,
		.free = sums_free,
	};
}
