/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Learns where a running kernel keeps things, where no description of its types is known: from memory at moments when
 * it is known what must stand there. Each offset has an anchor, something that only the right place can have; if no
 * place has it, or several, the offset stays unknown, and may be learnt at a later moment. Memory is a guest's, which
 * can lie: then offsets are wrong, and nothing else.
 *
 * Structures are those of include/linux; what stood in the same order in all kernels from 5.10 to 7.2 is taken so, once
 * its neighbour has been found.
 */
#ifndef UPTO_GUEST_LEARN_H
#define UPTO_GUEST_LEARN_H

#include "layout.h"

enum { LEARN_TASKS = 32, LEARN_STATES = 32 };

/* Reads n bytes at a virtual address. False: they are not there, in part or at all. */
struct learn_memory {
	bool (*read)(void *context, uint64_t addr, void *data, size_t n);
	void *context;
};

struct learner {
	struct layout *layout;         /* what is known, completed in place */
	uint64_t tasks[LEARN_TASKS];   /* task_structs that were seen, the boot's own first */
	size_t n_tasks, tried;         /* tried: how many there were when they were last looked at */
	uint32_t switches;
	bool log_is_sure;              /* a line was seen whose number tells how long its info is */
	struct {
		uint32_t slept;        /* how often the word had a sleeper's value in who was switched away */
		bool not;              /* it had a value that a state does not have */
	} states[LEARN_STATES];        /* by place, 4 bytes each: candidates for __state */
};

void learn_begin(struct learner *l, struct layout *layout);

/*
 * At a moment that the kernel tells; each returns whether an offset was learnt. `space` is the physical address of the
 * page tables that are in use: a program's own while it runs.
 */
/* __switch_to_asm() */
bool learn_switch(struct learner *l, const struct learn_memory *m, uint64_t previous, uint64_t next);
/* it has a new program and its memory */
bool learn_exec(struct learner *l, const struct learn_memory *m, uint64_t task, uint64_t space);
/* of that task's memory */
bool learn_mapping(struct learner *l, const struct learn_memory *m, uint64_t task, uint64_t vma);
/* a program's, which are in place */
bool learn_arguments(struct learner *l, const struct learn_memory *m, uint64_t mm);
/* struct prb_reserved_entry, with its text; again until l->log_is_sure */
bool learn_log(struct learner *l, const struct learn_memory *m, uint64_t entry);
bool learn_probe(struct learner *l, const struct learn_memory *m, uint64_t device, uint64_t driver);
bool learn_request(struct learner *l, const struct learn_memory *m, uint64_t request);
bool learn_work(struct learner *l, const struct learn_memory *m, uint64_t work);
bool learn_timer(struct learner *l, const struct learn_memory *m, uint64_t timer);
/* struct kernfs_node of a cgroup */
bool learn_group(struct learner *l, const struct learn_memory *m, uint64_t node);

#endif
