/* SPDX-License-Identifier: GPL-2.0-or-later */
/* struct task_struct: include/linux/sched.h. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "learn_inner.h"

enum {
	TASK_MAX = 16384,       /* bytes of it; debug options make it long */
	NAME_LEN = 16,          /* TASK_COMM_LEN */
	TASKS_LEAST = 6,        /* to tell pids apart from other numbers */
	PID_MAX = 1 << 22,      /* PID_MAX_LIMIT, include/linux/threads.h */
	KTHREADD = 2,           /* pid of the parent of all kernel threads: rest_init(), init/main.c */
	SWITCHES_LEAST = 24, SLEPT_LEAST = 8,
};

void learn_begin(struct learner *l, struct layout *layout)
{
	*l = (struct learner){ .layout = layout };
}

static bool is_idle_name(const uint8_t *name)
{
	return !memcmp(name, "swapper", 8) || (!memcmp(name, "swapper/", 8) && name[8] >= '0' && name[8] <= '9');
}

/* The first task of all is called "swapper", or "swapper/0" with SMP. */
static int find_name(const struct piece *first)
{
	int found = NOT_FOUND;

	for (size_t at = 0; at + NAME_LEN <= first->len; at++)
		if (!memcmp(first->data + at, "swapper", 7) && is_idle_name(first->data + at))
			add_candidate(&found, (int)at);
	return found;
}

/* All the tasks that were seen, read anew. */
struct seen {
	size_t n, kthreadd;     /* kthreadd: which of them is it; 0: none */
	struct piece list[LEARN_TASKS];
};

static void read_seen(const struct learner *l, const struct learn_memory *m, struct seen *s)
{
	s->n = s->kthreadd = 0;
	for (size_t i = 0; i < l->n_tasks; i++) {
		struct piece *p = &s->list[s->n];

		piece_read(p, m, l->tasks[i], TASK_MAX);
		if (p->len < (size_t)l->layout->offset[TASK_COMM] + NAME_LEN)
			continue;
		/* its threads begin with its name, too, and come later */
		if (!s->kthreadd && !memcmp(p->data + l->layout->offset[TASK_COMM], "kthreadd", 9))
			s->kthreadd = s->n;
		s->n++;
	}
}

/* Each vCPU has an idle task of that name; the first process begins as a copy of the first one. */
static bool may_be_idle(const struct learner *l, const struct piece *p)
{
	return is_idle_name(p->data + l->layout->offset[TASK_COMM]);
}

/* Numbers of different tasks differ, but for idle ones, which all have 0. */
static bool are_pids(const struct learner *l, const struct seen *s, size_t at)
{
	for (size_t i = 0; i < s->n; i++) {
		uint32_t pid = piece_u32(&s->list[i], at);

		if (pid != piece_u32(&s->list[i], at + 4) || pid > PID_MAX || (!pid && !may_be_idle(l, &s->list[i])))
			return false;
		for (size_t k = 0; k < i && pid; k++)
			if (piece_u32(&s->list[k], at) == pid)
				return false;
	}
	return !piece_u32(&s->list[0], at) && piece_u32(&s->list[s->kthreadd], at) == KTHREADD;
}

/* pid and tgid stand beside each other, and are the same in kernel threads, of which there are no others yet. */
static bool find_pid(struct learner *l, const struct seen *s)
{
	int found = NOT_FOUND;

	for (size_t at = 0; at + 8 <= s->list[0].len && at < (size_t)l->layout->offset[TASK_COMM]; at += 4)
		if (are_pids(l, s, at))
			add_candidate(&found, (int)at);
	return learnt(l, TASK_PID, found) && learnt(l, TASK_TGID, found + 4);
}

/*
 * real_parent and parent follow each other: the first task for kthreadd, and kthreadd for one of its threads at least.
 */
static bool find_parent(struct learner *l, const struct seen *s)
{
	const struct piece *kthreadd = &s->list[s->kthreadd];
	int found = NOT_FOUND;

	for (size_t at = (size_t)l->layout->offset[TASK_PID];
	     at + 16 <= kthreadd->len && at < (size_t)l->layout->offset[TASK_COMM]; at += 8) {
		size_t children = 0;

		if (at % 8)
			at += 8 - at % 8;
		if (piece_u64(kthreadd, at) != s->list[0].addr || piece_u64(kthreadd, at + 8) != s->list[0].addr)
			continue;
		for (size_t i = 0; i < s->n; i++)
			children += piece_u64(&s->list[i], at) == kthreadd->addr &&
				    piece_u64(&s->list[i], at + 8) == kthreadd->addr;
		if (children)
			add_candidate(&found, (int)at);
	}
	return learnt(l, TASK_REAL_PARENT, found);
}

static bool add_task(struct learner *l, uint64_t task)
{
	for (size_t i = 0; i < l->n_tasks; i++)
		if (l->tasks[i] == task)
			return false;
	if (l->n_tasks == LEARN_TASKS || !is_pointer(task))
		return false;
	l->tasks[l->n_tasks++] = task;
	return true;
}

static bool look_for_name(struct learner *l, const struct learn_memory *m)
{
	struct piece *first = xmalloc(sizeof *first);
	bool news;

	piece_read(first, m, l->tasks[0], TASK_MAX);
	news = learnt(l, TASK_COMM, find_name(first));
	free(first);
	return news;
}

static bool look_for_numbers(struct learner *l, const struct learn_memory *m)
{
	struct seen *seen = xmalloc(sizeof *seen);
	bool news = false;

	l->tried = l->n_tasks;
	read_seen(l, m, seen);
	if (seen->kthreadd && !knows(l, TASK_PID))
		news = find_pid(l, seen);
	if (seen->kthreadd && knows(l, TASK_PID))
		news |= find_parent(l, seen);
	free(seen);
	return news;
}

static bool look_at_tasks(struct learner *l, const struct learn_memory *m)
{
	bool news = !knows(l, TASK_COMM) && look_for_name(l, m);

	if (!knows(l, TASK_COMM) || l->n_tasks < TASKS_LEAST || l->tried == l->n_tasks)
		return news;
	return look_for_numbers(l, m) || news;
}

/*
 * Who is switched to has state 0 (TASK_RUNNING); who is switched away from sleeps, most often. The word is near the
 * beginning, behind struct thread_info.
 */
static bool note_states(struct learner *l, const struct learn_memory *m, uint64_t previous, uint64_t next)
{
	enum { STATE_MAX = 0x8000, DEAD = 0x80 };
	uint32_t from[LEARN_STATES], to[LEARN_STATES];
	int found = NOT_FOUND;

	if (!m->read(m->context, previous, from, sizeof from) || !m->read(m->context, next, to, sizeof to))
		return false;
	l->switches++;
	for (int i = 0; i < LEARN_STATES; i++) {
		l->states[i].not |= to[i] || from[i] >= STATE_MAX;
		l->states[i].slept += from[i] == 1 || from[i] == 2 || from[i] == 0x402 || from[i] == DEAD;
		if (!l->states[i].not && l->states[i].slept >= SLEPT_LEAST)
			add_candidate(&found, i * 4);
	}
	return l->switches >= SWITCHES_LEAST && learnt(l, TASK_STATE, found);
}

bool learn_switch(struct learner *l, const struct learn_memory *m, uint64_t previous, uint64_t next)
{
	bool more = add_task(l, previous), news = false;

	more |= add_task(l, next);
	if (more && l->n_tasks && !(knows(l, TASK_PID) && knows(l, TASK_REAL_PARENT)))
		news = look_at_tasks(l, m);
	if (!knows(l, TASK_STATE) && is_pointer(previous) && is_pointer(next) && previous != next)
		news |= note_states(l, m, previous, next);
	return news;
}
