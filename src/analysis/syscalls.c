/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "syscalls.h"

#include "base/alloc.h"

/* What of the events matters here, kept by each thread and put in order afterwards. */
struct mark {
	enum { ENTRY, EXIT, SWITCH } type;
	/* EXIT: only ns, task, result, cpu, and where it leads in `from`; SWITCH: the task that runs from then on in `task`, that before in `from` */
	struct syscall_record call;
};

struct state {
	struct mark *marks;
	size_t count, cap;
	uint64_t task;
	uint16_t cpu;
};

/* Until the first task switch on a CPU its task is not known: any number that is no address will do. */
static uint64_t task_or_cpu(uint64_t task, unsigned cpu)
{
	return task ? task : cpu + 1u;
}

static int begin(void *state, const struct chunk_header *h, struct error *err)
{
	struct state *s = state;

	(void)err;
	s->task = h->task;
	s->cpu = h->cpu;
	return 0;
}

static struct mark *add_mark(struct state *s, const struct event *e)
{
	struct mark *m;

	s->marks = array_grow(s->marks, s->count, &s->cap, sizeof *s->marks);
	m = &s->marks[s->count++];
	*m = (struct mark){ .call = {
		.ns = e->ns, .insns = e->insns, .cpu = s->cpu, .task = task_or_cpu(s->task, s->cpu),
	} };
	return m;
}

static int batch(void *state, struct batch *b, struct error *err)
{
	struct state *s = state;

	(void)err;
	for (size_t i = 0; i < b->count; i++) {
		const struct event *e = &b->events[i];
		struct mark *m;

		switch (e->kind) {
		case EVENT_TASK_SWITCH:
			m = add_mark(s, e);
			m->type = SWITCH;
			m->call.from = e->args[0];
			m->call.task = s->task = e->args[1];
			break;
		case EVENT_SYSCALL:
			m = add_mark(s, e);
			m->type = ENTRY;
			m->call.nr = (uint32_t)e->args[0];
			m->call.from = e->from;
			memcpy(m->call.args, e->args + 1, sizeof m->call.args);
			break;
		case EVENT_SYSCALL_RETURN:
			m = add_mark(s, e);
			m->type = EXIT;
			m->call.result = (int64_t)e->args[0];
			m->call.from = e->target;
			break;
		case EVENT_INTERRUPT_RETURN:
			if ((e->args[0] & 3) != 3)
				break;
			m = add_mark(s, e);
			m->type = EXIT;
			m->call.result = (int64_t)e->args[1];
			m->call.from = e->target;
			break;
		default:
			break;
		}
	}
	return 0;
}

static int by_time(const void *va, const void *vb)
{
	const struct mark *a = va, *b = vb;

	if (a->call.ns != b->call.ns)
		return a->call.ns < b->call.ns ? -1 : 1;
	if (a->call.cpu == b->call.cpu && a->call.insns != b->call.insns)
		return a->call.insns < b->call.insns ? -1 : 1;
	return a->call.cpu - b->call.cpu;
}

enum { SYSCALL_LENGTH = 2, NR_RT_SIGRETURN = 15, NR_EXECVE = 59, NR_EXIT = 60, NR_EXIT_GROUP = 231, NR_EXECVEAT = 322 };

/* What a task is about. Numbers are indexes into the calls + 1; 0: none. */
struct task {
	size_t open;      /* the call that it is in */
	size_t handler;   /* the call whose return a signal's handler came before */
	uint64_t ran_ns;  /* how long it ran, but for the time since … */
	uint64_t since_ns; /* … here, when it runs */
	bool away;        /* it does not */
};

static uint64_t ran_until(const struct task *task, uint64_t ns)
{
	return task->ran_ns + (task->away || ns < task->since_ns ? 0 : ns - task->since_ns);
}

static void go_away(struct task *task, uint64_t ns)
{
	task->ran_ns = ran_until(task, ns);
	task->away = true;
}

static void come(struct task *task, uint64_t ns)
{
	if (!task->away)
		task->ran_ns = ran_until(task, ns);
	task->away = false;
	task->since_ns = ns;
}

/*
 * A call that returns elsewhere than behind itself was overtaken by a signal:
 * the handler runs first, with a register that is none of the call's. The
 * call's own result is what the handler's rt_sigreturn restores.
 */
static void leave(struct syscalls *all, struct task *task, const struct mark *m)
{
	struct syscall_record *call = &all->calls[task->open - 1];
	bool elsewhere = call->from && m->call.from != call->from;

	call->returned = true;
	call->end_ns = m->call.ns;
	call->cpu_ns = ran_until(task, m->call.ns) - call->cpu_ns;
	if (call->nr == NR_RT_SIGRETURN && task->handler) {
		struct syscall_record *overtaken = &all->calls[task->handler - 1];

		overtaken->has_result = m->call.from == overtaken->from;
		overtaken->result = m->call.result;
		/* else it leads back to another handler, which came first; or the call is made again */
		if (overtaken->has_result || m->call.from == overtaken->from - SYSCALL_LENGTH)
			task->handler = 0;
	}
	/* what it leaves in the register is another call's, or none's; another signal may have come before even that */
	if (call->nr == NR_RT_SIGRETURN) {
		task->open = 0;
		return;
	}
	if (elsewhere && call->nr != NR_EXECVE && call->nr != NR_EXECVEAT) {
		task->handler = task->open;
	} else {
		call->has_result = true;
		call->result = m->call.result;
	}
	task->open = 0;
}

static struct task *task_of(struct map *index, struct task **tasks, size_t *n, size_t *cap, uint64_t address)
{
	uint64_t *at = map_put(index, address, *n);

	if (*at == *n) {
		*tasks = array_grow(*tasks, *n, cap, sizeof **tasks);
		(*tasks)[(*n)++] = (struct task){ 0 };
	}
	return &(*tasks)[*at];
}

/* A task makes one call at a time: an exit belongs to the task's last entry. */
static void match(struct syscalls *all, const struct mark *marks, size_t n)
{
	struct map index = { 0 };
	struct task *tasks = NULL;
	size_t n_tasks = 0, cap = 0;

	for (size_t i = 0; i < n; i++) {
		const struct mark *m = &marks[i];
		struct task *task;

		if (m->type == SWITCH)
			go_away(task_of(&index, &tasks, &n_tasks, &cap, m->call.from), m->call.ns);
		task = task_of(&index, &tasks, &n_tasks, &cap, m->call.task);
		if (m->type == ENTRY) {
			all->calls = array_grow(all->calls, all->count, &all->cap, sizeof *all->calls);
			all->calls[all->count] = m->call;
			/* what it had run before, until it returns */
			all->calls[all->count++].cpu_ns = ran_until(task, m->call.ns);
			/* the task_struct may be another's when next it comes out of the kernel */
			task->open = m->call.nr == NR_EXIT || m->call.nr == NR_EXIT_GROUP ? 0 : all->count;
		} else if (m->type == SWITCH) {
			come(task, m->call.ns);
		} else if (task->open) {
			leave(all, task, m);
		}
	}
	free(tasks);
	map_free(&index);
}

int syscalls_analyse(const struct reader *r, const struct span *span, struct syscalls *ret, struct error *err)
{
	static const struct chunk_visitor visitor = { .begin = begin, .batch = batch };
	unsigned threads = walk_threads();
	struct state *states = xcalloc(threads, sizeof *states);
	void **pointers = xcalloc(threads, sizeof *pointers);
	struct syscalls all = { 0 };
	struct mark *marks;
	size_t n = 0;
	int result;

	for (unsigned i = 0; i < threads; i++)
		pointers[i] = &states[i];
	result = walk_chunks(r, span, &visitor, pointers, threads, err);
	for (unsigned i = 0; i < threads; i++)
		n += states[i].count;
	marks = xcalloc(n, sizeof *marks);
	n = 0;
	for (unsigned i = 0; i < threads; i++) {
		if (states[i].count)
			memcpy(marks + n, states[i].marks, states[i].count * sizeof *marks);
		n += states[i].count;
		free(states[i].marks);
	}
	qsort(marks, n, sizeof *marks, by_time);
	match(&all, marks, n);
	free(marks);
	free(states);
	free(pointers);
	/* chunks reach beyond the span; calls are asked for by their entry */
	for (size_t i = 0, kept = all.count, at = 0; i < kept; i++) {
		if (all.calls[i].ns >= span->from_ns && all.calls[i].ns < span->to_ns)
			all.calls[at++] = all.calls[i];
		all.count = at;
	}
	if (result < 0)
		syscalls_deinit(&all);
	else
		*ret = all;
	return result;
}

void syscalls_deinit(struct syscalls *s)
{
	free(s->calls);
	*s = (struct syscalls){ 0 };
}

static int by_nr(const void *va, const void *vb)
{
	const struct syscall_sum *a = va, *b = vb;

	return a->nr < b->nr ? -1 : a->nr > b->nr;
}

size_t syscalls_sum(const struct syscalls *s, struct syscall_sum **ret)
{
	struct syscall_sum *sums = NULL;
	struct map index = { 0 };
	size_t n = 0, cap = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct syscall_record *c = &s->calls[i];
		uint64_t *at = map_put(&index, c->nr, n);
		struct syscall_sum *sum;

		if (*at == n) {
			sums = array_grow(sums, n, &cap, sizeof *sums);
			sums[n++] = (struct syscall_sum){ .nr = c->nr };
		}
		sum = &sums[*at];
		sum->count++;
		sum->errors += syscall_failed(c);
		if (c->returned) {
			uint64_t ns = c->end_ns - c->ns;

			sum->returned++;
			sum->total_ns += ns;
			if (ns > sum->longest_ns)
				sum->longest_ns = ns;
		}
	}
	map_free(&index);
	if (n)
		qsort(sums, n, sizeof *sums, by_nr);
	*ret = sums;
	return n;
}
