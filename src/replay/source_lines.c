/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source_lines.h"

#include <stdlib.h>

#include "base/alloc.h"

/* A table of functions whose code a file describes. */
struct source_match {
	const struct source *source;
	const struct symtab *tab;
	uint64_t *deltas;     /* by function: the file's address less the table's */
};

struct found {
	uint64_t *deltas;
	bool *known;
	size_t count, agreeing; /* functions with a name of their own in the file; that lie as the one before */
};

static bool same_section(const struct symtab *tab, size_t a, size_t b)
{
	return tab->symbols[a].section == tab->symbols[b].section;
}

/* The table may have sections of a module's file as one: the kernel puts .exit.text behind .text. */
static void find(const struct source *s, const struct symtab *tab, struct found *f)
{
	size_t before = SIZE_MAX;
	int section_before = 0;

	for (size_t i = 0; i < tab->count; i++) {
		uint64_t addr;
		int section;

		if (!source_function(s, symtab_name(tab, (long)i), &addr))
			continue;
		section = source_section(s, addr);
		f->known[i] = true;
		f->deltas[i] = addr - tab->symbols[i].addr;
		f->count++;
		f->agreeing += before == SIZE_MAX || !same_section(tab, before, i) || section != section_before ||
			       f->deltas[before] == f->deltas[i];
		before = i;
		section_before = section;
	}
}

/* Functions that share their name lie as their neighbours do. */
static void fill(const struct symtab *tab, struct found *f)
{
	for (size_t i = 1; i < tab->count; i++)
		if (!f->known[i] && f->known[i - 1] && same_section(tab, i, i - 1)) {
			f->known[i] = true;
			f->deltas[i] = f->deltas[i - 1];
		}
	for (size_t i = tab->count; i-- > 1;)
		if (!f->known[i - 1] && f->known[i] && same_section(tab, i, i - 1)) {
			f->known[i - 1] = true;
			f->deltas[i - 1] = f->deltas[i];
		}
}

static bool belongs(const struct source *s, const struct symtab *tab, const struct found *f)
{
	return f->count && f->count * 2 >= tab->count && f->count * 2 >= source_functions(s) &&
	       f->agreeing * 10 >= f->count * 9;
}

static void match(struct source_lines *l, const struct source *s, const struct symtab *tab)
{
	struct found f = {
		.deltas = xcalloc(tab->count, sizeof *f.deltas), .known = xcalloc(tab->count, sizeof *f.known),
	};

	find(s, tab, &f);
	if (belongs(s, tab, &f)) {
		fill(tab, &f);
		l->matches = array_grow(l->matches, l->count, &l->cap, sizeof *l->matches);
		l->matches[l->count++] = (struct source_match){ .source = s, .tab = tab, .deltas = f.deltas };
		f.deltas = NULL;
	}
	free(f.deltas);
	free(f.known);
}

int source_lines_add(struct source_lines *l, const struct names *names, const char *path, struct error *err)
{
	size_t before = l->count;
	struct source *s;

	if (source_open(path, &s, err) < 0)
		return -1;
	l->sources = xreallocarray(l->sources, l->n_sources + 1, sizeof *l->sources);
	l->sources[l->n_sources++] = s;
	for (size_t i = 0; i < names->n_tables; i++)
		match(l, s, &names->tables[i].tab);
	for (size_t i = 0; i < names->code.n_objects; i++)
		match(l, s, &names->code.objects[i].tab);
	if (l->count == before)
		return error_set(err, "%s: is of no kernel, module, program or library that the trace has functions of",
				 path);
	return 0;
}

void source_lines_deinit(struct source_lines *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->matches[i].deltas);
	for (size_t i = 0; i < l->n_sources; i++)
		source_close(l->sources[i]);
	free(l->matches);
	free(l->sources);
	*l = (struct source_lines){ 0 };
}

size_t source_lines_at(const struct source_lines *l, const struct names *names, uint64_t addr, uint64_t ns,
		       uint32_t version, struct source_line ret[SOURCE_LINES_MAX])
{
	struct names_symbol at;

	if (!l->count || !names_symbol(names, addr, ns, version, &at))
		return 0;
	for (size_t i = 0; i < l->count; i++)
		if (l->matches[i].tab == at.tab)
			return source_at(l->matches[i].source, at.tab->symbols[at.index].addr + at.offset +
					 l->matches[i].deltas[at.index], ret);
	return 0;
}
