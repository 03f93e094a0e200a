/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "narrow_tasks.h"

#include <string.h>

enum {
	WORD = 4, PAIR = 2 * WORD, PAGE = 4096,
	TASK_MAX = 8192,        /* bytes of a task_struct up to its name */
	MM_MAX = 256,           /* of an mm_struct up to pgd */
	KTHREADD = 2,           /* pid of the parent of all kernel threads: rest_init(), init/main.c */
	NOWHERE = -1, SEVERAL = -2,
};

static uint32_t word_at(const struct learn_memory *m, uint64_t addr)
{
	uint32_t word = 0;

	return m->read(m->context, addr, &word, sizeof word) ? word : 0;
}

static bool knows(const struct learner *l, enum member member)
{
	return l->layout->offset[member] != MEMBER_UNKNOWN;
}

static bool set(struct learner *l, enum member member, int at)
{
	if (at < 0)
		return false;
	__atomic_store_n(&l->layout->offset[member], at, __ATOMIC_RELEASE);
	l->layout->from[member] = LAYOUT_LEARNT;
	return true;
}

static void add(int *found, int at)
{
	*found = *found == NOWHERE ? at : SEVERAL;
}

/* Two pointers to the same, one behind the other. */
static bool is_pair(const struct learn_memory *m, uint64_t addr, uint64_t to)
{
	uint32_t pair[2];

	return m->read(m->context, addr, pair, sizeof pair) && pair[0] == (uint32_t)to && pair[1] == (uint32_t)to;
}

static uint64_t find_kthreadd(const struct learner *l, const struct learn_memory *m)
{
	for (size_t i = 0; i < l->n_tasks; i++)
		if (word_at(m, l->tasks[i] + (uint64_t)l->layout->offset[TASK_PID]) == KTHREADD)
			return l->tasks[i];
	return 0;
}

static size_t count_children(const struct learner *l, const struct learn_memory *m, uint64_t at, uint64_t parent)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n_tasks; i++)
		n += is_pair(m, l->tasks[i] + at, parent);
	return n;
}

/*
 * real_parent and parent follow each other: the first task for kthreadd, and kthreadd for one of its threads at least.
 */
bool narrow_learn_parent(struct learner *l, const struct learn_memory *m)
{
	uint64_t kthreadd =
		knows(l, TASK_PID) && knows(l, TASK_COMM) && !knows(l, TASK_REAL_PARENT) ? find_kthreadd(l, m) : 0;
	int found = NOWHERE;

	for (int at = kthreadd ? l->layout->offset[TASK_PID] : TASK_MAX;
	     at < TASK_MAX && at < l->layout->offset[TASK_COMM]; at += WORD)
		if (is_pair(m, kthreadd + (uint64_t)at, l->tasks[0]) && count_children(l, m, (uint64_t)at, kthreadd))
			add(&found, at);
	return set(l, TASK_REAL_PARENT, found);
}

/* Has the memory the page tables that are in use? All memory is mapped from PAGE_OFFSET on. */
static bool has_tables(const struct learn_memory *m, const struct narrow *narrow, uint32_t mm, uint64_t space)
{
	for (uint32_t at = 0; mm >= narrow->start && at < MM_MAX; at += WORD) {
		uint32_t pgd = word_at(m, narrow_extend(narrow, mm + at));

		/* those of PAE take up 32 bytes, and traces know their page only */
		if (pgd >= narrow->start && ((pgd - narrow->start) & -PAGE) == (uint32_t)space)
			return true;
	}
	return false;
}

/* mm and active_mm follow each other, and are the same in programs. */
bool narrow_learn_mm(struct learner *l, const struct learn_memory *m, const struct narrow *narrow, uint64_t task,
		     uint64_t space)
{
	int found = NOWHERE;

	if (!knows(l, TASK_PID) || knows(l, TASK_MM) || !task)
		return false;
	for (int at = 0; at + PAIR <= TASK_MAX && at < l->layout->offset[TASK_PID]; at += WORD) {
		uint32_t mm = word_at(m, task + (uint64_t)at);

		if (mm && is_pair(m, task + (uint64_t)at, mm) && has_tables(m, narrow, mm, space))
			add(&found, at);
	}
	return set(l, TASK_MM, found);
}
