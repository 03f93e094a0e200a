/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "threads.h"

#include "base/alloc.h"

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

static void take(struct threads *t, struct map *living, const struct task_record *r)
{
	/* number + 1 of the thread that lives at the address; 0: none */
	uint64_t *number = map_put(living, r->task, 0);
	struct thread *thread;

	if (*number && r->change == TASK_NEW) {
		t->list[*number - 1].end_ns = r->ns;
		*number = 0;
	}
	if (!*number) {
		begin(t, r);
		*number = t->count;
	}
	thread = &t->list[*number - 1];
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

void threads_init(struct threads *t, const struct reader *r)
{
	size_t n = r->tasks.count;
	struct key *keys = xcalloc(n, sizeof *keys);
	struct map living = { 0 };

	*t = (struct threads){ .records = r->tasks.records, .n_records = n };
	for (size_t i = 0; i < n; i++) {
		take(t, &living, &t->records[i]);
		keys[i] = (struct key){ t->records[i].task, t->records[i].ns, (uint32_t)i };
	}
	map_free(&living);
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
	*t = (struct threads){ 0 };
}

const struct task_record *threads_record(const struct threads *t, uint64_t task, uint64_t ns)
{
	size_t low = 0, high = t->n_records;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct task_record *x = &t->records[t->records_by_task[mid]];

		if (x->task < task || (x->task == task && x->ns <= ns))
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || t->records[t->records_by_task[low - 1]].task != task)
		return NULL;
	return &t->records[t->records_by_task[low - 1]];
}

long threads_find(const struct threads *t, uint64_t task, uint64_t ns)
{
	size_t low = 0, high = t->count;

	/* the first that comes after (task, ns) */
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct thread *x = &t->list[t->by_task[mid]];

		if (x->task < task || (x->task == task && x->start_ns <= ns))
			low = mid + 1;
		else
			high = mid;
	}
	/* one that was only seen later was there before, all the same */
	if (low && t->list[t->by_task[low - 1]].task == task)
		return t->by_task[low - 1];
	if (low < t->count && t->list[t->by_task[low]].task == task && t->list[t->by_task[low]].seen)
		return t->by_task[low];
	return THREAD_NONE;
}
