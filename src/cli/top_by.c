/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top_by.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/processes.h"
#include "base/alloc.h"
#include "base/map.h"
#include "view.h"

static const char *const words[] = {
	[BY_FUNCTION] = "function", [BY_MODULE] = "module", [BY_SECTION] = "section", [BY_PROCESS] = "process", [BY_THREAD] = "thread",
};

int top_by_arg(const struct args *args, enum top_by *ret, struct error *err)
{
	const char *by = arg(args, "by");

	*ret = BY_FUNCTION;
	for (size_t i = 0; by && i < sizeof words / sizeof *words; i++)
		if (!strcmp(by, words[i])) {
			*ret = (enum top_by)i;
			return 0;
		}
	return by ? error_set(err, "--by %s: function, module, section, process or thread", by) : 0;
}

/* A row: everything of one name, or of one task. */
struct sum {
	const char *name;
	int32_t pid;
	bool is_task, has_pid;
	uint64_t calls, insns, ns;
};

struct sums {
	struct sum *list;
	size_t count, cap;
	uint64_t insns, ns, halted_ns; /* of all */
	bool by_ns;
};

enum { NAME, PID, CALLS, SELF_INSNS, SELF_NS, SELF_PCT };

static const struct column columns[] = {
	[NAME] = { "name", "NAME", "what the time is of; [kernel]: the kernel image itself", .left = true },
	[PID] = { "pid", "PID", "process or thread" },
	[CALLS] = { "calls", "CALLS", "entries at functions' first instructions" },
	[SELF_INSNS] = { "self_insns", "SELF INSNS", "instructions" },
	[SELF_NS] = { "self_ns", "SELF S", "guest time (seconds; JSON: ns)" },
	[SELF_PCT] = { "self_pct", "SELF %", "share of all, by the clock that --clock names" },
	{ 0 },
};

static void cell(const void *data, size_t row, unsigned column, struct cell *ret, struct buf *scratch)
{
	const struct sums *all = data;
	const struct sum *s = &all->list[row];
	uint64_t whole = all->by_ns ? all->ns : all->insns, part = all->by_ns ? s->ns : s->insns;

	(void)scratch;
	switch (column) {
	case NAME:
		*ret = (struct cell){ .type = CELL_TEXT, .text = s->name };
		break;
	case PID:
		if (s->has_pid)
			*ret = (struct cell){ .type = CELL_NUMBER, .number = (uint64_t)s->pid };
		break;
	case CALLS:
		if (!s->is_task)
			*ret = (struct cell){ .type = CELL_NUMBER, .number = s->calls };
		break;
	case SELF_INSNS:
		*ret = (struct cell){ .type = CELL_NUMBER, .number = s->insns };
		break;
	case SELF_NS:
		*ret = (struct cell){ .type = CELL_SECONDS, .number = s->ns };
		break;
	case SELF_PCT:
		*ret = (struct cell){ .type = CELL_PERCENT, .percent = whole ? 100.0 * (double)part / (double)whole : 0 };
		break;
	}
}

/* The row of that key, made if it is new. */
static struct sum *sum_of(struct sums *s, struct map *index, uint64_t key, const char *name)
{
	uint64_t *at = map_put(index, key, s->count);

	if (*at == s->count) {
		s->list = array_grow(s->list, s->count, &s->cap, sizeof *s->list);
		s->list[s->count++] = (struct sum){ .name = name };
	}
	return &s->list[*at];
}

/* Functions of no module and no section are named by their group. */
static const char *part_of(const struct names *names, uint32_t function, enum top_by by)
{
	const char *part = by == BY_MODULE ? names_object(names, function) : names_section(names, function);

	if (*part)
		return part;
	if (by == BY_SECTION && *names_object(names, function))
		return names_object(names, function);
	return function < names->groups ? "[kernel]" : names_function(names, function);
}

static int sum_functions(const struct trace_arg *t, const struct span *span, enum top_by by, struct sums *ret, struct error *err)
{
	struct map index = { 0 };
	struct functions f;

	if (functions_analyse(t->reader, &t->names, span, &f, err) < 0)
		return -1;
	for (uint32_t i = 0; i < f.count; i++) {
		const char *name = part_of(&t->names, i, by);
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

static int sum_threads(const struct trace_arg *t, const struct span *span, enum top_by by,
		       struct sums *ret, struct error *err)
{
	struct map index = { 0 };
	struct processes p;

	if (processes_analyse(t->reader, &t->threads, span, &p, err) < 0)
		return -1;
	for (size_t i = 0; i < p.count; i++) {
		const struct thread *thread = i < t->threads.count ? &t->threads.list[i] : NULL;
		uint64_t key = by == BY_PROCESS && thread && thread->tgid ? UINT64_C(1) << 32 | (uint32_t)thread->tgid : i + 1;
		struct sum *s;

		if (!p.spent[i].insns && !p.spent[i].ns)
			continue;
		s = sum_of(ret, &index, key, thread ? thread->comm : "[boot]");
		s->is_task = true;
		s->has_pid = thread;
		if (thread && thread->pid == thread->tgid)
			s->name = thread->comm;
		s->pid = !thread ? 0 : by == BY_PROCESS ? thread->tgid : thread->pid;
		s->insns += p.spent[i].insns;
		s->ns += p.spent[i].ns;
	}
	ret->insns = p.sum.insns;
	ret->ns = p.sum.ns;
	ret->halted_ns = p.sum.halted_ns;
	map_free(&index);
	processes_deinit(&p);
	return 0;
}

int top_by_show(const struct args *args, const struct trace_arg *t, const struct span *span, enum top_by by, bool by_ns,
		struct error *err)
{
	bool tasks = by == BY_PROCESS || by == BY_THREAD;
	struct column shown[sizeof columns / sizeof *columns];
	struct sums sums = { .by_ns = by_ns };
	struct view view = {
		.name = words[by], .columns = shown, .default_sort = by_ns ? "self_ns" : "self_insns", .cell = cell, .data = &sums,
	};
	char heading[160];
	int r = EXIT_FAILED;

	memcpy(shown, columns, sizeof columns);
	shown[PID].hidden = !tasks;
	shown[CALLS].hidden = tasks;
	if ((tasks ? sum_threads(t, span, by, &sums, err) : sum_functions(t, span, by, &sums, err)) == 0) {
		snprintf(heading, sizeof heading, "# %llu instructions in %.6f s of guest time, halted %.6f s more; self %% of %s",
			 (unsigned long long)sums.insns, (double)sums.ns / 1e9, (double)sums.halted_ns / 1e9,
			 by_ns ? "time" : "instructions");
		view.rows = sums.count;
		view.heading = arg(args, "output") ? NULL : heading;
		r = view_print(&view, args, err);
	}
	free(sums.list);
	return r;
}
