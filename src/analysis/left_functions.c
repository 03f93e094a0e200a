/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "left_functions.h"

#include "base/alloc.h"
#include "base/map.h"

static uint64_t key_of(const char *function, const char *object)
{
	return hash_text(hash_text(1, function), object);
}

/* Of each function: how many before it have its name. */
static uint32_t *count_names(const struct names *names)
{
	size_t n = names_count(names);
	uint32_t *nth = xcalloc(n, sizeof *nth);
	struct map seen = { 0 };

	for (uint32_t i = 0; i < n; i++)
		nth[i] = (uint32_t)(*map_put(&seen, key_of(names_function(names, i), names_object(names, i)), 0))++;
	map_free(&seen);
	return nth;
}

/* Gathers sums and pairs, with each name once. */
struct gathering {
	const struct names *names;
	uint32_t *nth;
	uint32_t *index; /* of each function's name, + 1 */
	struct left_sums sums;
};

static struct gathering gather(const struct names *names)
{
	return (struct gathering){ .names = names, .nth = count_names(names), .index = xcalloc(names_count(names), sizeof(uint32_t)) };
}

static void gathering_deinit(struct gathering *g)
{
	left_sums_deinit(&g->sums);
	free(g->nth);
	free(g->index);
}

static uint32_t index_of(struct gathering *g, uint32_t function)
{
	struct left_sums *s = &g->sums;

	if (!g->index[function]) {
		s->names = array_grow(s->names, s->n_names, &s->cap_names, sizeof *s->names);
		s->names[s->n_names++] = (struct left_name){ names_function(g->names, function), names_object(g->names, function), g->nth[function] };
		g->index[function] = (uint32_t)s->n_names;
	}
	return g->index[function] - 1;
}

static void gather_sum(struct gathering *g, uint32_t function, struct left_sum sum)
{
	struct left_sums *s = &g->sums;

	if (!sum.calls && !sum.self_insns && !sum.self_ns)
		return;
	sum.name = index_of(g, function);
	s->sums = array_grow(s->sums, s->n_sums, &s->cap_sums, sizeof *s->sums);
	s->sums[s->n_sums++] = sum;
}

static void gather_pair(struct gathering *g, const struct left_pair *p)
{
	struct left_sums *s = &g->sums;

	s->edges = array_grow(s->edges, s->n_edges, &s->cap_edges, sizeof *s->edges);
	s->edges[s->n_edges++] = (struct left_edge){
		.name = index_of(g, p->function), .caller = index_of(g, p->caller), .calls = p->calls, .insns = p->insns, .ns = p->ns,
	};
}

void left_functions_encode(const struct left_functions *left, const struct names *names, struct buf *out)
{
	struct gathering g = gather(names);

	for (uint32_t i = 0; left->insns && i < names_count(names); i++)
		gather_sum(&g, i, (struct left_sum){ .folded = left->folded, .self_insns = left->insns[i], .self_ns = left->ns[i] });
	for (size_t i = 0; i < left->n_edges; i++)
		gather_pair(&g, &left->edges[i]);
	left_sums_encode(&g.sums, out);
	gathering_deinit(&g);
}

static struct left_sum difference(const struct function_stat *all, const struct function_stat *remaining, bool folded)
{
	return (struct left_sum){
		.folded = folded, .calls = (int64_t)(all->calls - remaining->calls), .self_insns = (int64_t)(all->self_insns - remaining->self_insns),
		.self_ns = (int64_t)(all->self_ns - remaining->self_ns),
	};
}

void left_functions_compare(const struct left_comparison *views, size_t n, const struct names *names, struct buf *out)
{
	struct gathering g = gather(names);

	for (size_t v = 0; v < n; v++)
		for (uint32_t i = 0; i < views[v].all.count; i++)
			gather_sum(&g, i, difference(&views[v].all.stats[i], &views[v].remaining.stats[i], views[v].folded));
	left_sums_encode(&g.sums, out);
	gathering_deinit(&g);
}

/* Numbers by what names_nth() tells. */
static struct map number_names(const struct names *names)
{
	uint32_t *nth = count_names(names);
	struct map numbers = { 0 };

	for (uint32_t i = 0; i < names_count(names); i++)
		*map_put(&numbers, hash64(key_of(names_function(names, i), names_object(names, i)) + nth[i]), 0) = i + 1;
	free(nth);
	return numbers;
}

/* Sums cannot be less than nothing, unless the file is damaged. */
static uint64_t plus(uint64_t sum, int64_t more)
{
	uint64_t result = sum + (uint64_t)more;

	return more < 0 && result > sum ? 0 : result;
}

static void add_sums(const struct left_sums *sums, const struct names *names, struct functions *f)
{
	struct map numbers = number_names(names);

	for (size_t i = 0; i < sums->n_sums; i++) {
		const struct left_sum *s = &sums->sums[i];
		const struct left_name *name = &sums->names[s->name];
		const uint64_t *number = map_get(&numbers, hash64(key_of(name->function, name->object) + name->nth));
		struct function_stat *stat = number && *number ? &f->stats[*number - 1] : NULL;

		if (!stat || s->folded != (names->thunks != NULL))
			continue;
		stat->calls = plus(stat->calls, s->calls);
		stat->self_insns = plus(stat->self_insns, s->self_insns);
		stat->self_ns = plus(stat->self_ns, s->self_ns);
		f->insns = plus(f->insns, s->self_insns);
		f->ns = plus(f->ns, s->self_ns);
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
