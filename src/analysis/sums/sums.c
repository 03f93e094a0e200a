/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sums.h"

#include <stdlib.h>

#include "analysis/processes/processes.h"
#include "base/alloc.h"
#include "base/map.h"
#include "function_analysis.h"

/* The sum with that key. Makes one if there is none. */
static struct sum *sum_of(struct sums *s, struct map *index, uint64_t key, const char *name)
{
	uint64_t *at = map_put(index, key, s->count);

	if (*at == s->count) {
		s->list = array_grow(s->list, s->count, &s->cap, sizeof *s->list);
		s->list[s->count++] = (struct sum){ .name = name };
	}
	return &s->list[*at];
}

/* The module or section of a function. Functions without one belong to their group. */
static const char *part_of(const struct names *names, uint32_t function, enum sums_by by)
{
	const char *part = by == BY_MODULE ? names_object(names, function) : names_section(names, function);

	if (*part)
		return part;
	if (by == BY_SECTION && *names_object(names, function))
		return names_object(names, function);
	return function < names->groups ? "[kernel]" : names_function(names, function);
}

static int sum_functions(const struct session *session, const struct span *span, enum sums_by by,
			 struct sums *ret, struct error *err)
{
	struct map index = { 0 };
	const struct names *names = session->names;
	struct functions f;

	if (functions_analyse(session, span, &f, err) < 0)
		return -1;
	for (uint32_t i = 0; i < f.count; i++) {
		const char *name = part_of(names, i, by);
		struct sum *s;

		if (!f.stats[i].calls && !f.stats[i].self_insns && !f.stats[i].self_ns)
			continue;
		s = sum_of(ret, &index, hash_text(1, name), name);
		s->calls += f.stats[i].calls;
		s->insns += f.stats[i].self_insns;
		s->ns += f.stats[i].self_ns;
	}
	ret->insns = f.insns;
	ret->ns = f.ns;
	ret->halted_ns = f.halted_ns;
	map_free(&index);
	functions_deinit(&f);
	return 0;
}

/*
 * For each program the one whose row it is added to: its own, or, by process, the one that the process's first thread
 * ran when this thread began. Threads do not outlast an exec.
 */
static uint32_t *find_rows(const struct threads *t, enum sums_by by)
{
	uint32_t *rows = xcalloc(t->n_programs + 1, sizeof *rows);
	struct map leaders = { 0 };

	for (size_t i = 0; i < t->count; i++) {
		const struct thread *thread = &t->list[i];
		const uint64_t *leader;

		if (thread->pid == thread->tgid)
			*map_put(&leaders, (uint32_t)thread->tgid, 0) = i;
		leader = map_get(&leaders, (uint32_t)thread->tgid);
		for (uint32_t k = 0; k < thread->n_programs; k++) {
			uint32_t program = thread->first_program + k;

			rows[program] = by == BY_PROCESS && leader && thread->tgid ?
					threads_program(t, (long)*leader, t->programs[program].start_ns) : program;
		}
	}
	rows[t->n_programs] = (uint32_t)t->n_programs;
	map_free(&leaders);
	return rows;
}

static int sum_threads(const struct reader *r, const struct threads *t, const struct span *span, enum sums_by by,
		       struct sums *ret, struct error *err)
{
	struct map index = { 0 };
	struct processes p;
	uint32_t *rows;

	if (processes_analyse(r, t, span, &p, err) < 0)
		return -1;
	rows = find_rows(t, by);
	for (size_t i = 0; i < p.count; i++) {
		const struct program *program = rows[i] < t->n_programs ? &t->programs[rows[i]] : NULL;
		struct sum *s;

		if (!threads_is_chosen(t, i < t->n_programs ? (long)t->programs[i].thread : THREAD_NONE))
			continue;
		ret->insns += p.spent[i].insns;
		ret->ns += p.spent[i].ns;
		ret->halted_ns += p.spent[i].halted_ns;
		if (!p.spent[i].insns && !p.spent[i].ns)
			continue;
		s = sum_of(ret, &index, (uint64_t)rows[i] + 1, program ? program->comm : "[boot]");
		s->is_task = true;
		s->has_pid = program;
		s->exe = program ? program->exe : "";
		s->pid = program ? t->list[program->thread].pid : 0;
		s->insns += p.spent[i].insns;
		s->ns += p.spent[i].ns;
	}
	free(rows);
	map_free(&index);
	processes_deinit(&p);
	return 0;
}

int sums_analyse(const struct session *session, const struct span *span,
		 enum sums_by by, struct sums *ret, struct error *err)
{
	*ret = (struct sums){ 0 };
	return by == BY_PROCESS || by == BY_THREAD ? sum_threads(session->reader, session->threads, span, by, ret, err)
						   : sum_functions(session, span, by, ret, err);
}

void sums_deinit(struct sums *s)
{
	free(s->list);
	*s = (struct sums){ 0 };
}
