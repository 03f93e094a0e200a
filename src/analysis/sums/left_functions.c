/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "left_functions.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"

/* Of each function that is not a kernel's own: how many of these before it have its name. */
static uint32_t *count_names(const struct names *names)
{
	size_t n = names_count(names);
	uint32_t *nth = xcalloc(n, sizeof *nth);
	struct map seen = { 0 };

	for (uint32_t i = (uint32_t)names->n_own; i < n; i++)
		nth[i] = (uint32_t)(*map_put(&seen, hash_text(1, names_function(names, i)), 0))++;
	map_free(&seen);
	return nth;
}

/* The number that a table's first symbol has among those of all tables. */
static uint64_t first_symbol(const struct names *names, uint32_t table)
{
	uint64_t first = 0;

	for (uint32_t i = 0; i < table; i++)
		first += names->tables[i].tab.count;
	return first;
}

static struct left_name name_of(const struct names *names, uint32_t function, const uint32_t *nth)
{
	if (function < names->n_own) {
		const struct names_own *own = &names->own[function];

		return (struct left_name){ .symbol = first_symbol(names, own->table) + own->index };
	}
	return (struct left_name){
		.symbol = LEFT_NO_SYMBOL, .function = names_function(names, function), .nth = nth[function],
	};
}

/* Name the functions that sums and pairs are of, in the order of numbers, and refer to them by their names. */
static void use_names(struct left_sums *s, const struct names *names)
{
	uint32_t *nth = count_names(names), *index = xcalloc(names_count(names), sizeof *index);

	for (size_t i = 0; i < s->n_sums; i++)
		index[s->sums[i].name] = 1;
	for (size_t i = 0; i < s->n_edges; i++)
		index[s->edges[i].name] = index[s->edges[i].caller] = 1;
	for (uint32_t i = 0; i < names_count(names); i++) {
		if (!index[i])
			continue;
		s->names = array_grow(s->names, s->n_names, &s->cap_names, sizeof *s->names);
		index[i] = (uint32_t)s->n_names;
		s->names[s->n_names++] = name_of(names, i, nth);
	}
	for (size_t i = 0; i < s->n_sums; i++)
		s->sums[i].name = index[s->sums[i].name];
	for (size_t i = 0; i < s->n_edges; i++) {
		s->edges[i].name = index[s->edges[i].name];
		s->edges[i].caller = index[s->edges[i].caller];
	}
	free(nth);
	free(index);
}

/* Sums and pairs have numbers of functions for names. */
static void encode(struct left_sums *s, const struct names *names, struct buf *out)
{
	use_names(s, names);
	left_sums_encode(s, out);
	left_sums_deinit(s);
}

static void add_sum(struct left_sums *s, uint32_t function, struct left_sum sum)
{
	if (!sum.calls && !sum.self_insns && !sum.self_ns)
		return;
	sum.name = function;
	s->sums = array_grow(s->sums, s->n_sums, &s->cap_sums, sizeof *s->sums);
	s->sums[s->n_sums++] = sum;
}

void left_functions_encode(const int64_t *insns, const int64_t *ns, bool folded, const struct names *names,
			   struct buf *out)
{
	struct left_sums sums = { 0 };

	for (uint32_t i = 0; i < names_count(names); i++)
		add_sum(&sums, i, (struct left_sum){ .folded = folded, .self_insns = insns[i], .self_ns = ns[i] });
	encode(&sums, names, out);
}

static int by_function(const void *va, const void *vb)
{
	const struct left_pair *a = va, *b = vb;

	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	return a->caller < b->caller ? -1 : a->caller > b->caller;
}

static void add_pairs(struct left_sums *s, struct left_pairs *pairs)
{
	if (pairs->count)
		qsort(pairs->list, pairs->count, sizeof *pairs->list, by_function);
	for (size_t i = 0; i < pairs->count; i++) {
		const struct left_pair *p = &pairs->list[i];

		s->edges = array_grow(s->edges, s->n_edges, &s->cap_edges, sizeof *s->edges);
		s->edges[s->n_edges++] = (struct left_edge){
			.name = p->function, .caller = p->caller, .calls = p->calls, .insns = p->insns, .ns = p->ns,
		};
	}
}

static struct left_sum difference(const struct function_stat *all, const struct function_stat *remaining, bool folded)
{
	return (struct left_sum){
		.folded = folded, .calls = (int64_t)(all->calls - remaining->calls),
		.self_insns = (int64_t)(all->self_insns - remaining->self_insns),
		.self_ns = (int64_t)(all->self_ns - remaining->self_ns),
	};
}

void left_functions_compare(const struct left_comparison *views, size_t n, struct left_pairs *pairs,
			    const struct names *names, struct buf *out)
{
	struct left_sums sums = { 0 };

	for (size_t v = 0; v < n; v++)
		for (uint32_t i = 0; i < views[v].all.count; i++)
			add_sum(&sums, i,
				difference(&views[v].all.stats[i], &views[v].remaining.stats[i], views[v].folded));
	add_pairs(&sums, pairs);
	encode(&sums, names, out);
}

static uint64_t key_of(const char *function, uint64_t nth)
{
	return hash64(hash_text(1, function) + nth);
}

/* Numbers of functions that are not a kernel's own, by what name_of() tells of them. */
static struct map number_names(const struct names *names)
{
	uint32_t *nth = count_names(names);
	struct map numbers = { 0 };

	for (uint32_t i = (uint32_t)names->n_own; i < names_count(names); i++)
		*map_put(&numbers, key_of(names_function(names, i), nth[i]), 0) = i + 1;
	free(nth);
	return numbers;
}

static uint32_t number_of_symbol(const struct names *names, uint64_t symbol)
{
	for (size_t i = 0; i < names->n_tables; i++) {
		if (symbol < names->tables[i].tab.count)
			return names->tables[i].numbers[symbol];
		symbol -= names->tables[i].tab.count;
	}
	return UINT32_MAX;
}

/* UINT32_MAX: the trace has no such function. */
static uint32_t number_of(const struct names *names, const struct map *numbers, const struct left_name *name)
{
	const uint64_t *number;

	if (name->symbol != LEFT_NO_SYMBOL)
		return number_of_symbol(names, name->symbol);
	number = map_get(numbers, key_of(name->function, name->nth));
	return number ? (uint32_t)(*number - 1) : UINT32_MAX;
}

/* Sums cannot be less than nothing, unless the file is damaged. */
static uint64_t plus(uint64_t sum, int64_t more)
{
	uint64_t result = sum + (uint64_t)more;

	return more < 0 && result > sum ? 0 : result;
}

/*
 * Of what ran before there were threads, all instructions are taken where threads are asked for. Times are those of
 * events, which are rounded: what they leave of it is nothing.
 */
static bool is_rounding(const struct function_stat *stat, const char *function)
{
	return !stat->calls && !stat->self_insns && !strcmp(function, "[unknown]");
}

static void add_sums(const struct left_sums *sums, const struct names *names, struct functions *f)
{
	struct map numbers = number_names(names);
	bool had_insns;

	for (size_t i = 0; i < sums->n_sums; i++) {
		const struct left_sum *s = &sums->sums[i];
		uint32_t number = number_of(names, &numbers, &sums->names[s->name]);
		struct function_stat *stat = number != UINT32_MAX ? &f->stats[number] : NULL;

		if (!stat || s->folded != (names->thunks != NULL))
			continue;
		had_insns = stat->self_insns;
		stat->calls = plus(stat->calls, s->calls);
		stat->self_insns = plus(stat->self_insns, s->self_insns);
		stat->self_ns = plus(stat->self_ns, s->self_ns);
		if (had_insns && is_rounding(stat, names_function(names, number)))
			stat->self_ns = 0;
	}
	f->insns = f->ns = 0;
	for (uint32_t i = 0; i < names_count(names); i++) {
		f->insns += f->stats[i].self_insns;
		f->ns += f->stats[i].self_ns;
	}
	map_free(&numbers);
}

int left_functions_add(const struct reader *r, const struct names *names, struct functions *f, struct error *err)
{
	struct left_sums sums;
	int result = left_sums_read(r, &sums, err);

	if (result == 0 && sums.n_sums)
		add_sums(&sums, names, f);
	left_sums_deinit(&sums);
	return result;
}
