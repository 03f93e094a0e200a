/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spaces.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/search.h"

/* What was mapped at the same place, again and again, as programs do that write code: one search, however often. */
struct range {
	uint64_t start, size;
	uint32_t *mappings;    /* which of the space's, in their order */
	size_t count, cap;
};

struct space {
	uint32_t parent;       /* version that it began with; 0: none */
	uint32_t *mappings;    /* numbers of records, in the order of time */
	uint32_t *versions;    /* version since each of them */
	size_t count, cap, versions_cap;
	struct range *ranges;
	size_t n_ranges, ranges_cap;
	uint32_t first;        /* version before any of them */
};

struct space_version {
	uint32_t space, count; /* with the first so many of its mappings */
};

struct space_change {
	uint64_t task, ns;
	uint32_t space, order;
};

/* What is known while records are gone through. */
struct build {
	struct spaces *s;
	struct map by_mm;      /* mm_struct → space */
	struct map by_task;    /* task → its space */
	struct map by_tgid;    /* process → its mm_struct */
	struct map ranges;     /* hash of a space and a place → its range there + 1 */
};

static uint32_t new_version(struct spaces *s, uint32_t space, size_t count)
{
	s->versions = array_grow(s->versions, s->n_versions, &s->versions_cap, sizeof *s->versions);
	s->versions[s->n_versions] = (struct space_version){ .space = space, .count = (uint32_t)count };
	return (uint32_t)s->n_versions++;
}

static uint32_t new_space(struct spaces *s, uint32_t parent)
{
	uint32_t number = (uint32_t)s->count;

	s->list = array_grow(s->list, s->count, &s->cap, sizeof *s->list);
	s->list[s->count++] = (struct space){ .parent = parent };
	s->list[number].first = new_version(s, number, 0);
	return number;
}

static uint32_t last_version(const struct space *space)
{
	return space->count ? space->versions[space->count - 1] : space->first;
}

static void add_to_range(struct build *b, uint64_t number, const struct code_record *r)
{
	struct space *space = &b->s->list[number];
	uint64_t *known = map_put(&b->ranges, hash64(hash64(hash64(number) ^ r->start) ^ r->size), 0);
	struct range *range = *known ? &space->ranges[*known - 1] : NULL;

	if (!range || range->start != r->start || range->size != r->size) {
		space->ranges = array_grow(space->ranges, space->n_ranges, &space->ranges_cap, sizeof *space->ranges);
		range = &space->ranges[space->n_ranges++];
		*range = (struct range){ .start = r->start, .size = r->size };
		*known = space->n_ranges;
	}
	range->mappings = array_grow(range->mappings, range->count, &range->cap, sizeof *range->mappings);
	range->mappings[range->count++] = (uint32_t)space->count;
}

static void take_mapping(struct build *b, uint32_t record)
{
	struct spaces *s = b->s;
	uint64_t *number = map_put(&b->by_mm, s->code[record].mm, 0);
	struct space *space;

	if (!*number)
		*number = new_space(s, 0);
	space = &s->list[*number];
	add_to_range(b, *number, &s->code[record]);
	space->mappings = array_grow(space->mappings, space->count, &space->cap, sizeof *space->mappings);
	space->versions = array_grow(space->versions, space->count, &space->versions_cap, sizeof *space->versions);
	space->mappings[space->count] = record;
	space->versions[space->count] = new_version(s, (uint32_t)*number, space->count + 1);
	space->count++;
}

/* The space of who made a new task; 0: none that is known. */
static uint64_t makers_space(struct build *b, const struct task_record *r)
{
	const uint64_t *mm, *space = map_get(&b->by_task, r->maker);

	if (r->maker && space)
		return *space;
	/* the very first tasks are made before it is known who runs */
	mm = map_get(&b->by_tgid, (uint64_t)(uint32_t)r->ppid);
	space = mm ? map_get(&b->by_mm, *mm) : NULL;
	return space ? *space : 0;
}

/* A new process with an address space of its own has what the process that made it had mapped. */
static uint32_t version_to_begin_with(struct build *b, const struct task_record *r)
{
	const uint64_t *own = map_get(&b->by_mm, r->mm);
	uint64_t space = r->change == TASK_NEW && r->pid == r->tgid ? makers_space(b, r) : 0;

	/* one that shares it (vfork) has it already */
	return space && (!own || *own != space) ? last_version(&b->s->list[space]) : 0;
}

static void take_task(struct build *b, const struct task_record *r)
{
	struct spaces *s = b->s;
	uint64_t space = 0, *known;
	uint32_t parent;

	if (r->mm) {
		parent = version_to_begin_with(b, r);
		known = map_put(&b->by_mm, r->mm, 0);
		if (!*known || parent || r->change == TASK_EXEC)
			*known = new_space(s, parent);
		space = *known;
		*map_put(&b->by_tgid, (uint64_t)(uint32_t)r->tgid, 0) = r->mm;
	}
	*map_put(&b->by_task, r->task, 0) = space;
	s->changes = array_grow(s->changes, s->n_changes, &s->changes_cap, sizeof *s->changes);
	s->changes[s->n_changes] = (struct space_change){
		.task = r->task, .ns = r->ns, .space = (uint32_t)space, .order = (uint32_t)s->n_changes,
	};
	s->n_changes++;
}

static int by_task(const void *va, const void *vb)
{
	const struct space_change *a = va, *b = vb;

	if (a->task != b->task)
		return a->task < b->task ? -1 : 1;
	if (a->ns != b->ns)
		return a->ns < b->ns ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

static void forget(struct build *b)
{
	map_free(&b->by_mm);
	map_free(&b->by_task);
	map_free(&b->by_tgid);
	map_free(&b->ranges);
}

void spaces_init(struct spaces *s, const struct reader *r)
{
	struct build b = { .s = s };
	size_t t = 0, c = 0, boot = 0;

	*s = (struct spaces){ .code = r->code.records, .boots = &r->boots };
	new_space(s, 0);
	/* both lists are in the order of time, but for what vCPUs told at once */
	while (t < r->tasks.count || c < r->code.count) {
		const struct boot *next = boot + 1 < r->boots.count ? &r->boots.list[boot + 1] : NULL;

		if (next && (t == r->tasks.count || r->tasks.records[t].ns >= next->start_ns) &&
		    (c == r->code.count || r->code.records[c].ns >= next->start_ns)) {
			forget(&b); /* the next boot's tasks have nothing of this one's */
			boot++;
		} else if (c == r->code.count ||
			   (t < r->tasks.count && r->tasks.records[t].ns <= r->code.records[c].ns)) {
			take_task(&b, &r->tasks.records[t++]);
		} else {
			if (r->code.records[c].change == CODE_MAPPED)
				take_mapping(&b, (uint32_t)c);
			c++;
		}
	}
	if (s->n_changes)
		qsort(s->changes, s->n_changes, sizeof *s->changes, by_task);
	forget(&b);
}

void spaces_deinit(struct spaces *s)
{
	for (size_t i = 0; i < s->count; i++) {
		for (size_t k = 0; k < s->list[i].n_ranges; k++)
			free(s->list[i].ranges[k].mappings);
		free(s->list[i].ranges);
		free(s->list[i].mappings);
		free(s->list[i].versions);
	}
	free(s->list);
	free(s->versions);
	free(s->changes);
	*s = (struct spaces){ 0 };
}

/* How many of the task's and earlier changes come at or before that time. */
static size_t changes_until(const struct spaces *s, uint64_t task, uint64_t ns)
{
	const struct space_change *c = s->changes;

	return first_not(i, 0, s->n_changes, c[i].task < task || (c[i].task == task && c[i].ns <= ns));
}

void spaces_view(const struct spaces *s, uint64_t task, uint64_t ns, struct space_view *ret)
{
	size_t i = changes_until(s, task, ns), low, boot = boots_at(s->boots, ns);
	const struct space *space;

	*ret = (struct space_view){ .task = task, .from_ns = s->boots->list[boot].start_ns, .to_ns = UINT64_MAX };
	if (boot + 1 < s->boots->count)
		ret->to_ns = s->boots->list[boot + 1].start_ns;
	if (i < s->n_changes && s->changes[i].task == task && s->changes[i].ns < ret->to_ns)
		ret->to_ns = s->changes[i].ns;
	if (!i || s->changes[i - 1].task != task || s->changes[i - 1].ns < ret->from_ns)
		return;
	ret->from_ns = s->changes[i - 1].ns;
	space = &s->list[s->changes[i - 1].space];
	low = first_not(k, 0, space->count, s->code[space->mappings[k]].ns <= ns);
	if (low < space->count && s->code[space->mappings[low]].ns < ret->to_ns)
		ret->to_ns = s->code[space->mappings[low]].ns;
	if (low && s->code[space->mappings[low - 1]].ns > ret->from_ns)
		ret->from_ns = s->code[space->mappings[low - 1]].ns;
	ret->version = low ? space->versions[low - 1] : space->first;
}

/* The last of the space's first `count` mappings that has the address: its number + 1, or 0. */
static size_t last_mapping(const struct space *space, size_t count, uint64_t addr)
{
	size_t last = 0;

	for (size_t i = 0; i < space->n_ranges; i++) {
		const struct range *r = &space->ranges[i];
		size_t n;

		if (addr - r->start >= r->size)
			continue;
		n = first_not(k, 0, r->count, r->mappings[k] < count);
		if (n && r->mappings[n - 1] >= last)
			last = r->mappings[n - 1] + 1;
	}
	return last;
}

const struct code_record *spaces_mapping(const struct spaces *s, uint32_t version, uint64_t addr)
{
	/* what a space began with is older than itself: this ends */
	while (version) {
		const struct space_version *v = &s->versions[version];
		const struct space *space = &s->list[v->space];
		size_t last = last_mapping(space, v->count, addr);

		if (last)
			return &s->code[space->mappings[last - 1]];
		version = space->parent;
	}
	return NULL;
}
