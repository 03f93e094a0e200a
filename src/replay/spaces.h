/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which file a process executes at an address: its mappings as they came, in
 * the address space that it was made with, or took with a new program.
 *
 * A version is an address space with the mappings that it had at a time. Those
 * of a process that forked are also its child's.
 */
#ifndef UPTO_REPLAY_SPACES_H
#define UPTO_REPLAY_SPACES_H

#include "trace/reader.h"

struct space_change;

struct spaces {
	const struct code_record *code;  /* the reader owns them */
	const struct boots *boots;       /* likewise; each begins with no spaces */
	struct space *list;              /* number 0 stands for none */
	size_t count, cap;
	struct space_version *versions;  /* number 0: nothing is known */
	size_t n_versions, versions_cap;
	struct space_change *changes;    /* which space a task has since when, sorted by task and time */
	size_t n_changes, changes_cap;
};

void spaces_init(struct spaces *s, const struct reader *r);
void spaces_deinit(struct spaces *s);

/* The version of a task's address space, and the span for which it holds. */
struct space_view {
	uint64_t task;
	uint64_t from_ns, to_ns;
	uint32_t version;
};

/* Look up the version that a task has at a time. */
void spaces_view(const struct spaces *s, uint64_t task, uint64_t ns, struct space_view *ret);

static inline uint32_t spaces_at(const struct spaces *s, struct space_view *view, uint64_t task, uint64_t ns)
{
	if (__builtin_expect(view->task != task || ns < view->from_ns || ns >= view->to_ns, 0))
		spaces_view(s, task, ns, view);
	return view->version;
}

/* The record of the mapping at the address, or NULL. */
const struct code_record *spaces_mapping(const struct spaces *s, uint32_t version, uint64_t addr);

#endif
