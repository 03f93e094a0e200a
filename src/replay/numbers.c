/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "numbers.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/name_table.h"

static bool is_same_function(const struct names *a, uint32_t x, const struct names *b, uint32_t y)
{
	return !strcmp(names_function(a, x), names_function(b, y)) && !strcmp(names_object(a, x), names_object(b, y));
}

/* By name and object: the first function that has them, + 1; 0: none. */
struct by_name {
	struct name_table names;
	uint32_t *functions;
	size_t cap;
};

static void index_names(struct by_name *x, const struct names *n)
{
	for (uint32_t f = 0; f < n->groups; f++) {
		cleanup_free char *key = xasprintf("%s\n%s", names_function(n, f), names_object(n, f));
		uint32_t number = name_table_put(&x->names, key, strlen(key));

		x->functions = array_reach(x->functions, number, &x->cap, sizeof *x->functions);
		if (!x->functions[number])
			x->functions[number] = f + 1;
	}
}

static uint32_t find_name(struct by_name *x, const struct names *from, uint32_t f, const struct names *to)
{
	cleanup_free char *key = xasprintf("%s\n%s", names_function(from, f), names_object(from, f));
	uint32_t number;

	if (!x->functions)
		index_names(x, to);
	if (x->functions && name_table_find(&x->names, key, strlen(key), &number))
		return x->functions[number] - 1;
	return to->groups + (names_is_user(from, f) ? GROUP_USER : GROUP_KERNEL);
}

/* Most have the number that they had, counted from where their kind begins. */
static void find_functions(struct numbers *n, const struct names *from, const struct names *to)
{
	struct by_name index = { 0 };

	for (uint32_t f = 0; f < n->n_functions; f++) {
		uint32_t same = f < from->n_own ? f : f - (uint32_t)from->n_own + (uint32_t)to->n_own;

		if (f >= from->groups)
			n->functions[f] = to->groups + f - from->groups;
		else if (same < to->groups && is_same_function(from, f, to, same))
			n->functions[f] = same;
		else
			n->functions[f] = find_name(&index, from, f, to);
	}
	name_table_deinit(&index.names);
	free(index.functions);
}

static size_t find_thread(const struct thread *t, size_t number, const struct threads *to)
{
	long found;

	if (number < to->count && to->list[number].task == t->task && to->list[number].start_ns == t->start_ns)
		return number;
	found = threads_find(to, t->task, t->start_ns);
	return found == THREAD_NONE ? NUMBER_NONE : (size_t)found;
}

void numbers_init(struct numbers *n, const struct session *from, const struct session *to)
{
	size_t threads = from->threads->count;

	*n = (struct numbers){
		.vcpus = reader_vcpus(from->reader),
		.n_functions = names_count(from->names),
		.n_stacks = stacks_count(from),
		.first_vcpu = to->threads->count,
	};
	n->functions = xcalloc(n->n_functions, sizeof *n->functions);
	n->stacks = xcalloc(n->n_stacks, sizeof *n->stacks);
	find_functions(n, from->names, to->names);
	for (size_t i = 0; i < n->n_stacks; i++)
		n->stacks[i] = i < threads ? find_thread(&from->threads->list[i], i, to->threads)
					   : i - threads + to->threads->count;
}

void numbers_deinit(struct numbers *n)
{
	free(n->functions);
	free(n->stacks);
}
