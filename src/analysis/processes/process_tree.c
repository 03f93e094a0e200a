/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process_tree.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"

/* Number of the thread that led the parent process when this thread began; THREAD_NONE: it has no parent. */
static long parent_of(const struct threads *t, const struct map *leaders, size_t i, const uint32_t *earlier)
{
	const struct thread *x = &t->list[i];
	int32_t pid = x->pid == x->tgid ? x->ppid : x->tgid;
	const uint64_t *last = pid > 0 || x->pid > 0 ? map_get(leaders, (uint64_t)(uint32_t)pid + 1) : NULL;
	long p = last ? (long)*last : THREAD_NONE;

	while (p != THREAD_NONE && (size_t)p >= i)
		p = earlier[p] == UINT32_MAX ? THREAD_NONE : (long)earlier[p];
	return p == (long)i ? THREAD_NONE : p;
}

struct family {
	/* first child of a thread, and next child of the same parent, in order of time; UINT32_MAX: none */
	uint32_t *first, *next;
	uint32_t *roots;
	size_t n_roots;
};

static void find_family(const struct threads *t, struct family *f)
{
	uint32_t *earlier = xcalloc(t->count, sizeof *earlier), *last = xcalloc(t->count, sizeof *last);
	struct map leaders = { 0 };
	size_t boot = 0;

	f->first = xcalloc(t->count, sizeof *f->first);
	f->next = xcalloc(t->count, sizeof *f->next);
	f->roots = xcalloc(t->count, sizeof *f->roots);
	for (size_t i = 0; i < t->count; i++) {
		size_t now = boots_at(t->boots, t->list[i].start_ns);
		long parent;

		if (now != boot) { /* who ran in the boot before is nobody's parent there */
			map_free(&leaders);
			leaders = (struct map){ 0 };
			boot = now;
		}
		parent = parent_of(t, &leaders, i, earlier);
		f->first[i] = f->next[i] = last[i] = earlier[i] = UINT32_MAX;
		if (t->list[i].pid == t->list[i].tgid) {
			uint64_t *leader = map_put(&leaders, (uint64_t)(uint32_t)t->list[i].pid + 1, UINT32_MAX);

			earlier[i] = (uint32_t)*leader;
			/* each vCPU has an idle task with pid 0; the first one gets the children */
			if (t->list[i].pid || *leader == UINT32_MAX)
				*leader = i;
		}
		if (parent == THREAD_NONE) {
			f->roots[f->n_roots++] = (uint32_t)i;
			continue;
		}
		if (last[parent] == UINT32_MAX)
			f->first[parent] = (uint32_t)i;
		else
			f->next[last[parent]] = (uint32_t)i;
		last[parent] = (uint32_t)i;
	}
	map_free(&leaders);
	free(earlier);
	free(last);
}

static void family_deinit(struct family *f)
{
	free(f->first);
	free(f->next);
	free(f->roots);
}

struct walk {
	const struct threads *threads;
	const bool *shown;
	struct process_row *rows;
	size_t count;
};

static bool add_row(struct walk *w, size_t program, unsigned depth)
{
	if (w->shown && !w->shown[program])
		return false;
	w->rows[w->count++] = (struct process_row){ .program = program, .depth = depth };
	return true;
}

/* Add rows for the thread's programs. Returns the depth of its children. */
static unsigned add_thread(struct walk *w, uint32_t number, unsigned depth)
{
	const struct thread *t = &w->threads->list[number];
	bool any = false;

	for (uint32_t i = 0; i < t->n_programs; i++)
		any |= add_row(w, t->first_program + i, depth);
	return depth + any;
}

/* A thread on the way from the root to where the walk is. */
struct step {
	uint32_t thread;
	unsigned depth;  /* of its children */
};

/* Add rows for the thread and all threads below it. A parent comes before its children, so there are no cycles. */
static void add_branch(struct walk *w, struct family *f, uint32_t root, struct step *path)
{
	size_t n = 0;

	path[n++] = (struct step){ root, add_thread(w, root, 0) };
	while (n) {
		uint32_t child = f->first[path[n - 1].thread];

		if (child == UINT32_MAX) {
			n--;
			continue;
		}
		f->first[path[n - 1].thread] = f->next[child];
		path[n] = (struct step){ child, add_thread(w, child, path[n - 1].depth) };
		n++;
	}
}

struct process_row *process_tree(const struct threads *t, const bool *shown, size_t *ret_count)
{
	struct walk w = { .threads = t, .shown = shown, .rows = xcalloc(t->n_programs + 1, sizeof *w.rows) };
	struct step *path = xcalloc(t->count + 1, sizeof *path);
	struct family f = { 0 };

	find_family(t, &f);
	add_row(&w, t->n_programs, 0);
	for (size_t i = 0; i < f.n_roots; i++)
		add_branch(&w, &f, f.roots[i], path);
	family_deinit(&f);
	free(path);
	*ret_count = w.count;
	return w.rows;
}
