/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "syscall_list.h"

#include "base/alloc.h"
#include "base/search.h"
#include "syscall_marks.h"
#include "trace/thinned.h"

/* Each host thread keeps its own marks; they are sorted afterwards. */
struct syscalls_run {
	const struct arch *arch;
	struct syscall_marks marks;
	uint64_t task;
	uint16_t cpu;
};

/*
 * Before the first task switch of a vCPU its task is not known. Then a number that is no address stands for the task.
 */
static uint64_t task_or_cpu(uint64_t task, unsigned cpu)
{
	return task ? task : cpu + 1u;
}

static int begin(void *state, const struct chunk_header *h, struct error *err)
{
	struct syscalls_run *s = state;

	(void)err;
	s->task = h->task;
	s->cpu = h->cpu;
	return 0;
}

static struct syscall_mark *add_mark(struct syscalls_run *s, const struct batch *b, const struct event *e)
{
	struct syscall_mark *m = syscall_marks_add(&s->marks);

	*m = (struct syscall_mark){ .call = {
		.ns = batch_ns(b, e), .insns = e->insns, .cpu = s->cpu, .task = task_or_cpu(s->task, s->cpu),
	} };
	return m;
}

static void look_at(struct syscalls_run *s, const struct batch *b, const struct event *e)
{
	struct syscall_mark *m;

	switch (e->kind) {
	case EVENT_TASK_SWITCH:
		m = add_mark(s, b, e);
		m->type = SYSCALL_MARK_SWITCH;
		m->call.from = e->args[0];
		m->call.task = s->task = e->args[1];
		break;
	case EVENT_SYSCALL:
		m = add_mark(s, b, e);
		m->type = SYSCALL_MARK_ENTRY;
		m->call.nr = (uint32_t)e->args[0];
		m->call.abi = arch_abi(s->arch, e->args[7]);
		m->call.from = e->from;
		memcpy(m->call.args, e->args + 1, sizeof m->call.args);
		break;
	case EVENT_SYSCALL_RETURN:
		m = add_mark(s, b, e);
		m->type = SYSCALL_MARK_EXIT;
		m->call.nr = SYSCALL_ANY;
		m->call.result = (int64_t)e->args[0];
		m->call.from = e->target;
		break;
	case EVENT_INTERRUPT_RETURN:
		if (!s->arch->is_user(e->args[0]))
			break;
		m = add_mark(s, b, e);
		m->type = SYSCALL_MARK_EXIT;
		m->call.nr = SYSCALL_ANY;
		m->call.result = (int64_t)e->args[1];
		m->call.from = e->target;
		break;
	case EVENT_GAP:
		m = add_mark(s, b, e);
		m->type = SYSCALL_MARK_GAP;
		break;
	default:
		break;
	}
}

/* Phrases are of calls and returns only. */
static int batch(void *state, struct batch *b, struct error *err)
{
	const struct event *e = b->events, *end = e + b->count;
	struct syscalls_run *s = state;

	(void)err;
	for (size_t i = 0; i < b->n_uses; i++) {
		const struct event *call = &b->events[b->uses[i].call];

		while (e < call)
			look_at(s, b, e++);
		e = call + 1 + phrase_count(b->phrases, b->uses[i].phrase);
	}
	while (e < end)
		look_at(s, b, e++);
	return 0;
}

static int by_time(const void *va, const void *vb)
{
	const struct syscall_mark *a = va, *b = vb;

	if (a->call.ns != b->call.ns)
		return a->call.ns < b->call.ns ? -1 : 1;
	if (a->call.cpu == b->call.cpu && a->call.insns != b->call.insns)
		return a->call.insns < b->call.insns ? -1 : 1;
	return a->call.cpu - b->call.cpu;
}

/* What a task is doing. `open` and `handler` are indexes into the calls + 1; 0: none. */
struct task {
	size_t open;      /* the call that it is in */
	size_t handler;   /* the call that has returned to a signal's handler, not to its caller */
	uint64_t ran_ns;  /* how long it ran, without the time since since_ns */
	uint64_t since_ns; /* when it began to run, if it runs */
	bool away;        /* it does not run */
};

static uint64_t ran_until(const struct task *task, uint64_t ns)
{
	return task->ran_ns + (task->away || ns < task->since_ns ? 0 : ns - task->since_ns);
}

static void switch_out(struct task *task, uint64_t ns)
{
	task->ran_ns = ran_until(task, ns);
	task->away = true;
}

static void switch_in(struct task *task, uint64_t ns)
{
	if (!task->away)
		task->ran_ns = ran_until(task, ns);
	task->away = false;
	task->since_ns = ns;
}

/*
 * If a call does not return to the address behind it, a signal overtook it: the
 * handler runs first, and the register then has another value than the call's
 * result. The handler's rt_sigreturn restores the result.
 */
static void close_call(struct syscalls *all, struct task *task, const struct syscall_mark *m)
{
	struct syscall_record *call = &all->calls[task->open - 1];
	enum syscall_role role = syscall_role(call->abi, call->nr);
	bool elsewhere = call->from && m->call.from != call->from;

	call->returned = true;
	call->end_ns = m->call.ns;
	call->end_insns = m->call.insns;
	call->end_cpu = m->call.cpu;
	call->cpu_ns = ran_until(task, m->call.ns) - call->cpu_ns;
	if (role == SYSCALL_SIGRETURN && task->handler) {
		struct syscall_record *overtaken = &all->calls[task->handler - 1];

		overtaken->has_result = m->call.from == overtaken->from;
		overtaken->result = syscall_result(overtaken->abi, (uint64_t)m->call.result);
		/* otherwise it returns to an outer handler, or the call is made again */
		if (overtaken->has_result || m->call.from == overtaken->from - all->arch->syscall_length)
			task->handler = 0;
	}
	/*
	 * sigreturn has no result: the register has that of another call, or anything. Another signal may come even
	 * before that.
	 */
	if (role == SYSCALL_SIGRETURN) {
		task->open = 0;
		return;
	}
	if (elsewhere && role != SYSCALL_EXEC) {
		task->handler = task->open;
	} else {
		call->has_result = true;
		call->result = syscall_result(call->abi, (uint64_t)m->call.result);
	}
	task->open = 0;
}

struct tasks {
	const struct threads *threads;
	struct map index;
	struct task *list;
	size_t count, cap;
	uint64_t gaps; /* so far */
};

/* The task at an address of task_struct at that time. Later tasks may have the same address. */
static struct task *task_of(struct tasks *tasks, uint64_t address, uint64_t ns)
{
	long thread = threads_find(tasks->threads, address, ns);
	/* keys of threads are above the numbers of vCPUs, and below addresses of the kernel */
	uint64_t *at =
		map_put(&tasks->index, thread == THREAD_NONE ? address : (uint64_t)thread + (1u << 31), tasks->count);

	if (*at == tasks->count) {
		tasks->list = array_grow(tasks->list, tasks->count, &tasks->cap, sizeof *tasks->list);
		tasks->list[tasks->count++] = (struct task){ 0 };
	}
	return &tasks->list[*at];
}

/* It does not end with an exit that another call may have had: behind a gap, or after a lost record. */
static bool is_end_of(const struct syscalls *all, const struct tasks *tasks, const struct task *task,
		      const struct syscall_mark *m)
{
	const struct syscall_record *call = &all->calls[task->open - 1];

	return call->gaps == tasks->gaps && (m->call.nr == SYSCALL_ANY || m->call.nr == call->nr);
}

static void open_call(struct syscalls *all, const struct tasks *tasks, struct task *task, const struct syscall_mark *m)
{
	all->calls = array_grow(all->calls, all->count, &all->cap, sizeof *all->calls);
	all->calls[all->count] = m->call;
	all->calls[all->count].gaps = tasks->gaps;
	/* what the task had run before the call; close_call() subtracts it */
	all->calls[all->count++].cpu_ns = ran_until(task, m->call.ns);
	task->open = syscall_role(m->call.abi, m->call.nr) == SYSCALL_EXIT ? 0 : all->count;
}

/* A task makes one call at a time, so an exit belongs to the task's last entry. */
static void match(struct syscalls *all, const struct threads *threads, const struct syscall_mark *marks, size_t n)
{
	struct tasks tasks = { .threads = threads };

	for (size_t i = 0; i < n; i++) {
		const struct syscall_mark *m = &marks[i];
		struct task *task;

		if (m->type == SYSCALL_MARK_GAP) {
			tasks.gaps++;
			continue;
		}
		if (m->type == SYSCALL_MARK_SWITCH)
			switch_out(task_of(&tasks, m->call.from, m->call.ns), m->call.ns);
		task = task_of(&tasks, m->call.task, m->call.ns);
		if (m->type == SYSCALL_MARK_ENTRY)
			open_call(all, &tasks, task, m);
		else if (m->type == SYSCALL_MARK_SWITCH)
			switch_in(task, m->call.ns);
		else if (task->open && is_end_of(all, &tasks, task, m))
			close_call(all, task, m);
		else
			task->open = 0;
	}
	free(tasks.list);
	map_free(&tasks.index);
}

/* Take what is in the other one. */
static void join(struct syscall_marks *to, struct syscall_marks *from)
{
	size_t n = to->count + from->count;

	if (from->count) {
		to->list = xrealloc(to->list, n * sizeof *to->list);
		memcpy(to->list + to->count, from->list, from->count * sizeof *to->list);
		to->count = to->cap = n;
	}
	free(from->list);
}

int syscalls_analyse(const struct reader *r, const struct threads *threads, const struct span *span,
		     struct syscalls *ret, struct error *err)
{
	static const struct chunk_visitor visitor = { .brief = true, .begin = begin, .batch = batch };
	unsigned walkers = walk_threads();
	struct syscalls_run *states = xcalloc(walkers, sizeof *states);
	void **pointers = xcalloc(walkers, sizeof *pointers);
	struct syscalls all = { .arch = r->arch, .filtered = thinned_is_filtered(&r->meta) };
	struct syscall_marks marks = { 0 };
	int result;

	for (unsigned i = 0; i < walkers; i++) {
		states[i].arch = r->arch;
		pointers[i] = &states[i];
	}
	result = walk_chunks(r, span, &visitor, pointers, walkers, err);
	for (unsigned i = 0; i < walkers; i++)
		join(&marks, &states[i].marks);
	if (result == 0)
		result = syscall_events_mark(r, &marks, err);
	if (marks.count)
		qsort(marks.list, marks.count, sizeof *marks.list, by_time);
	match(&all, threads, marks.list, marks.count);
	free(marks.list);
	free(states);
	free(pointers);
	/* chunks reach beyond the span: keep the calls that were entered in it */
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

	if (a->abi != b->abi)
		return a->abi < b->abi ? -1 : 1;
	return a->nr < b->nr ? -1 : a->nr > b->nr;
}

size_t syscalls_sum(const struct syscalls *s, struct syscall_sum **ret)
{
	struct syscall_sum *sums = NULL;
	struct map index = { 0 };
	size_t n = 0, cap = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct syscall_record *c = &s->calls[i];
		uint64_t *at = map_put(&index, (uint64_t)(c->abi - s->arch->abis) << 32 | c->nr, n);
		struct syscall_sum *sum;

		if (*at == n) {
			sums = array_grow(sums, n, &cap, sizeof *sums);
			sums[n++] = (struct syscall_sum){ .abi = c->abi, .nr = c->nr };
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

const struct fact *syscall_arguments(const struct syscall_record *c, const struct facts *facts)
{
	if (!c->returned || syscall_failed(c))
		return NULL;
	for (size_t i = facts_at(facts, c->ns); i < facts->count && facts->list[i].ns <= c->end_ns; i++)
		if (facts->list[i].kind == FACT_ARGUMENTS && facts->list[i].task == c->task)
			return &facts->list[i];
	return NULL;
}

const struct syscall_record *syscalls_find(const struct syscalls *s, unsigned cpu, uint64_t insns, uint64_t ns)
{
	size_t low = first_not(i, 0, s->count, s->calls[i].ns < ns);

	for (; low < s->count && s->calls[low].ns == ns; low++)
		if (s->calls[low].cpu == cpu && s->calls[low].insns == insns)
			return &s->calls[low];
	return NULL;
}
