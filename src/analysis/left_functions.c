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

static struct left_name name_of(const struct names *names, const uint32_t *nth, uint32_t function)
{
	return (struct left_name){ names_function(names, function), names_object(names, function), nth[function] };
}

void left_functions_encode(const struct left_functions *left, const struct names *names, struct buf *out)
{
	uint32_t *nth = count_names(names);
	struct left_sums s = { 0 };

	for (uint32_t i = 0; left->insns && i < names_count(names); i++) {
		struct left_sum sum = { .calls = left->calls ? left->calls[i] : 0, .self_insns = left->insns[i], .self_ns = left->ns[i],
					.folded = left->folded };

		if (!sum.calls && !sum.self_insns && !sum.self_ns)
			continue;
		sum.name = name_of(names, nth, i);
		s.sums = array_grow(s.sums, s.n_sums, &s.cap_sums, sizeof *s.sums);
		s.sums[s.n_sums++] = sum;
	}
	s.edges = xcalloc(left->n_edges + 1, sizeof *s.edges);
	for (s.n_edges = 0; s.n_edges < left->n_edges; s.n_edges++) {
		const struct left_pair *p = &left->edges[s.n_edges];

		s.edges[s.n_edges] = (struct left_edge){
			.name = name_of(names, nth, p->function), .caller = name_of(names, nth, p->caller),
			.calls = p->calls, .insns = p->insns, .ns = p->ns,
		};
	}
	left_sums_encode(&s, out);
	left_sums_deinit(&s);
	free(nth);
}

void left_functions_compare(const struct functions *all, const struct functions *remaining, const struct names *names, struct buf *out)
{
	size_t n = all->count;
	int64_t *calls = xcalloc(n, sizeof *calls), *insns = xcalloc(n, sizeof *insns), *ns = xcalloc(n, sizeof *ns);

	for (size_t i = 0; i < n; i++) {
		calls[i] = (int64_t)(all->stats[i].calls - remaining->stats[i].calls);
		insns[i] = (int64_t)(all->stats[i].self_insns - remaining->stats[i].self_insns);
		ns[i] = (int64_t)(all->stats[i].self_ns - remaining->stats[i].self_ns);
	}
	left_functions_encode(&(struct left_functions){ .folded = names->thunks, .calls = calls, .insns = insns, .ns = ns }, names, out);
	free(calls);
	free(insns);
	free(ns);
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
		const uint64_t *number = map_get(&numbers, hash64(key_of(s->name.function, s->name.object) + s->name.nth));
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
