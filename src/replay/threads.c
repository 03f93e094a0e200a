/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "threads.h"

#include <fnmatch.h>

#include "base/alloc.h"
#include "base/search.h"
#include "trace/thinned.h"

static struct thread *begin(struct threads *t, const struct task_record *r)
{
	struct thread *new;

	t->list = array_grow(t->list, t->count, &t->cap, sizeof *t->list);
	new = &t->list[t->count++];
	*new = (struct thread){
		.task = r->task, .start_ns = r->ns, .end_ns = UINT64_MAX, .seen = r->change != TASK_NEW,
	};
	return new;
}

/* Returns the number of the thread that the record is of. */
static uint32_t apply_record(struct threads *t, struct map *living, const struct task_record *r)
{
	/* number + 1 of the thread that lives at the address; 0: none */
	uint64_t *number = map_put(living, r->task, 0);
	struct thread *thread;
	uint32_t i;

	if (*number && r->change == TASK_NEW) {
		t->list[*number - 1].end_ns = r->ns;
		*number = 0;
	}
	if (!*number) {
		begin(t, r);
		*number = t->count;
	}
	i = (uint32_t)(*number - 1);
	thread = &t->list[i];
	thread->n_programs += !thread->n_programs || r->change == TASK_EXEC;
	thread->pid = r->pid;
	thread->tgid = r->tgid;
	thread->ppid = r->ppid;
	thread->kernel = !r->mm;
	thread->comm = r->comm;
	/* an exiting task has given up its memory */
	if (r->change != TASK_EXIT || *r->exe || !thread->exe)
		thread->exe = r->exe;
	if (r->change == TASK_EXIT) {
		thread->end_ns = r->ns;
		*number = 0;
	}
	return i;
}

/* rest_init() in init/main.c makes process 1 run kernel_init(), which execs the first program. */
static const char *program_path(const struct task_record *r)
{
	return r->pid == 1 && !r->mm ? "[kernel_init]" : r->exe;
}

static void begin_program(struct threads *t, uint32_t number, const struct task_record *r)
{
	struct thread *thread = &t->list[number];
	struct program *p = &t->programs[thread->first_program + thread->n_programs];

	if (thread->n_programs)
		p[-1].end_ns = r->ns;
	*p = (struct program){
		.thread = number, .kernel = !r->mm, .comm = r->comm, .exe = program_path(r),
		.start_ns = thread->n_programs ? r->ns : thread->start_ns, .end_ns = thread->end_ns,
		.start_insns = r->insns, .start_cpu = r->cpu,
	};
	thread->n_programs++;
}

static void find_programs(struct threads *t)
{
	for (size_t i = 0; i < t->count; i++) {
		t->list[i].first_program = (uint32_t)t->n_programs;
		t->n_programs += t->list[i].n_programs;
		t->list[i].n_programs = 0;
	}
	t->programs = xcalloc(t->n_programs, sizeof *t->programs);
	for (size_t i = 0; i < t->n_records; i++) {
		const struct task_record *r = &t->records[i];
		struct thread *thread = &t->list[t->thread_of_record[i]];
		struct program *p;

		if (!thread->n_programs || r->change == TASK_EXEC)
			begin_program(t, t->thread_of_record[i], r);
		p = &t->programs[thread->first_program + thread->n_programs - 1];
		p->comm = r->comm;
		/* an exiting task has given up its memory */
		if (r->change != TASK_EXIT)
			p->exe = program_path(r);
	}
}

static void take_name(struct task_record *r, const struct task_record *later)
{
	r->pid = later->pid;
	r->tgid = later->tgid;
	free((char *)r->comm);
	r->comm = xstrdup(later->comm);
}

/*
 * Who had no number yet when it was told of has the one that it was told to have later: it was the same all the time.
 * So has its parent.
 */
static void fill_unknown(struct threads *t)
{
	uint32_t *next = xcalloc(t->count, sizeof *next); /* number + 1 of a thread's record behind this one */

	for (size_t i = t->n_records; i-- > 0;) {
		struct task_record *r = &t->records[i];
		const struct task_record *later =
			next[t->thread_of_record[i]] ? &t->records[next[t->thread_of_record[i]] - 1] : NULL;

		if (later && r->pid == TASK_PID_UNKNOWN)
			take_name(r, later);
		if (later && r->ppid == TASK_PID_UNKNOWN)
			r->ppid = later->ppid;
		next[t->thread_of_record[i]] = (uint32_t)i + 1;
	}
	free(next);
}

struct key {
	uint64_t task, start_ns;
	uint32_t number;
};

static int by_task(const void *va, const void *vb)
{
	const struct key *a = va, *b = vb;

	if (a->task != b->task)
		return a->task < b->task ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return a->number < b->number ? -1 : 1;
}

/* Numbers of what the keys are of, in the keys' order. */
static uint32_t *in_order(struct key *keys, size_t n)
{
	uint32_t *numbers = xcalloc(n, sizeof *numbers);

	if (n)
		qsort(keys, n, sizeof *keys, by_task);
	for (size_t i = 0; i < n; i++)
		numbers[i] = keys[i].number;
	free(keys);
	return numbers;
}

/* The machine is booted again: whoever lived has ended. */
static void end_boot(struct threads *t, struct map *living, size_t first, uint64_t ns)
{
	for (size_t i = first; i < t->count; i++)
		if (t->list[i].end_ns > ns)
			t->list[i].end_ns = ns;
	map_free(living);
}

void threads_init(struct threads *t, const struct reader *r)
{
	size_t n = r->tasks.count, boot = 0, first = 0;
	struct key *keys = xcalloc(n, sizeof *keys);
	struct map living = { 0 };

	*t = (struct threads){ .records = r->tasks.records, .n_records = n, .boots = &r->boots };
	t->thread_of_record = xcalloc(n, sizeof *t->thread_of_record);
	for (size_t i = 0; i < n; i++) {
		for (; boot + 1 < r->boots.count && t->records[i].ns >= r->boots.list[boot + 1].start_ns;
		     first = t->count)
			end_boot(t, &living, first, r->boots.list[++boot].start_ns);
		t->thread_of_record[i] = apply_record(t, &living, &t->records[i]);
		keys[i] = (struct key){ t->records[i].task, t->records[i].ns, (uint32_t)i };
	}
	if (boot + 1 < r->boots.count)
		end_boot(t, &living, first, r->boots.list[boot + 1].start_ns);
	map_free(&living);
	fill_unknown(t);
	t->chosen = thinned_threads(&r->meta, t->count);
	find_programs(t);
	t->records_by_task = in_order(keys, n);
	keys = xcalloc(t->count, sizeof *keys);
	for (size_t i = 0; i < t->count; i++)
		keys[i] = (struct key){ t->list[i].task, t->list[i].start_ns, (uint32_t)i };
	t->by_task = in_order(keys, t->count);
}

void threads_deinit(struct threads *t)
{
	free(t->list);
	free(t->by_task);
	free(t->records_by_task);
	free(t->thread_of_record);
	free(t->programs);
	free(t->chosen);
	*t = (struct threads){ 0 };
}

/* Is what is told of a task_struct at a time in the order up to (task, ns)? */
static bool is_up_to(uint64_t told_task, uint64_t told_ns, uint64_t task, uint64_t ns)
{
	return told_task < task || (told_task == task && told_ns <= ns);
}

/* How many of records_by_task are of a task_struct up to that time, or come before those. */
static size_t records_up_to(const struct threads *t, uint64_t task, uint64_t ns)
{
	const struct task_record *all = t->records;

	return first_not(i, 0, t->n_records,
			 is_up_to(all[t->records_by_task[i]].task, all[t->records_by_task[i]].ns, task, ns));
}

/* Number of the last record of a task_struct up to that time; -1: there is none. */
static long last_record(const struct threads *t, uint64_t task, uint64_t ns)
{
	size_t n = records_up_to(t, task, ns);

	if (!n || t->records[t->records_by_task[n - 1]].task != task ||
	    t->records[t->records_by_task[n - 1]].ns < t->boots->list[boots_at(t->boots, ns)].start_ns)
		return -1;
	return t->records_by_task[n - 1];
}

const struct task_record *threads_record(const struct threads *t, uint64_t task, uint64_t ns)
{
	long i = last_record(t, task, ns);

	return i < 0 ? NULL : &t->records[i];
}

const struct thread *threads_at(const struct threads *t, long number)
{
	return number >= 0 && (size_t)number < t->count ? &t->list[number] : NULL;
}

const char *threads_comm(const struct threads *t, const struct thread *thread, uint64_t ns)
{
	long i = thread ? last_record(t, thread->task, ns) : -1;

	if (!thread)
		return "[boot]";

	/* before anything told of it, it had its first program's name */
	if (i < 0 || &t->list[t->thread_of_record[i]] != thread)
		return t->programs[thread->first_program].comm;
	return t->records[i].comm;
}

bool threads_has_name(const struct threads *t, const struct thread *thread, const char *pattern)
{
	size_t i = records_up_to(t, thread->task, thread->start_ns), number = (size_t)(thread - t->list);

	/* several may be of the time at which it was first told of */
	while (i && t->thread_of_record[t->records_by_task[i - 1]] == number)
		i--;
	for (; i < t->n_records && t->thread_of_record[t->records_by_task[i]] == number; i++)
		if (!fnmatch(pattern, t->records[t->records_by_task[i]].comm, 0))
			return true;
	return false;
}

uint32_t threads_program(const struct threads *t, long thread, uint64_t ns)
{
	uint32_t first = t->list[thread].first_program, end = first + t->list[thread].n_programs;

	return (uint32_t)first_not(i, first + 1, end, t->programs[i].start_ns <= ns) - 1;
}

static bool same_boot(const struct threads *t, const struct thread *thread, uint64_t ns)
{
	return t->boots->count == 1 || boots_at(t->boots, thread->start_ns) == boots_at(t->boots, ns);
}

long threads_find(const struct threads *t, uint64_t task, uint64_t ns)
{
	const struct thread *all = t->list;
	size_t low = first_not(i, 0, t->count,
			       is_up_to(all[t->by_task[i]].task, all[t->by_task[i]].start_ns, task, ns));

	/* one that was only seen later was there before, all the same */
	if (low && t->list[t->by_task[low - 1]].task == task && same_boot(t, &t->list[t->by_task[low - 1]], ns))
		return t->by_task[low - 1];
	if (low < t->count && t->list[t->by_task[low]].task == task && t->list[t->by_task[low]].seen &&
	    same_boot(t, &t->list[t->by_task[low]], ns))
		return t->by_task[low];
	return THREAD_NONE;
}
