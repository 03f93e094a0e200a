/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "inlines.h"

#include <stdlib.h>

#include "base/alloc.h"

enum { NOTHING = 1 }; /* number of the empty chain */

static size_t add_chain(struct inlines *in, const uint32_t *functions, size_t count)
{
	struct inline_chain *chain = xmalloc(sizeof *chain + count * sizeof *functions);

	chain->count = count;
	for (size_t i = 0; i < count; i++)
		chain->functions[i] = functions[i];
	in->list = array_grow(in->list, in->n_chains, &in->cap_chains, sizeof *in->list);
	in->list[in->n_chains] = chain;
	return in->n_chains++;
}

void inlines_init(struct inlines *in, const struct names *names, const struct source_lines *sources)
{
	*in = (struct inlines){ .sources = sources, .names = names, .lock = PTHREAD_MUTEX_INITIALIZER };
	while (in->n_chains <= NOTHING)
		add_chain(in, NULL, 0);
}

void inlines_deinit(struct inlines *in)
{
	for (size_t i = 0; i < in->n_chains; i++)
		free(in->list[i]);
	free(in->list);
	free(in->functions);
	map_free(&in->chains);
	map_free(&in->numbers);
}

static uint32_t number_of(struct inlines *in, const char *name)
{
	uint64_t *number = map_put(&in->numbers, hash_text(0, name), 0);

	if (!*number) {
		*number = names_count(in->names) + in->n_functions;
		in->functions = array_grow(in->functions, in->n_functions, &in->cap_functions, sizeof *in->functions);
		in->functions[in->n_functions++] = name;
	}
	return (uint32_t)*number;
}

static size_t find_chain(struct inlines *in, uint64_t addr, uint64_t ns, uint32_t version)
{
	struct source_line lines[SOURCE_LINES_MAX];
	size_t n = source_lines_at(in->sources, in->names, addr, ns, version, lines), count = 0;
	uint32_t functions[SOURCE_LINES_MAX];

	while (n-- > 0)
		if (lines[n].inlined)
			functions[count++] = number_of(in, lines[n].function ? lines[n].function : "?");
	return count ? add_chain(in, functions, count) : NOTHING;
}

uint64_t inlines_key(const struct inlines *in, uint64_t addr, uint64_t ns, uint32_t version)
{
	struct names_symbol s;

	if (!names_symbol(in->names, addr, ns, version, &s))
		return 0;
	return hash64((uintptr_t)s.tab) ^ ((uint64_t)s.index << 32 | (s.offset & UINT32_MAX));
}

const struct inline_chain *inlines_at(struct inlines *in, uint64_t key, uint64_t addr, uint64_t ns, uint32_t version)
{
	const struct inline_chain *chain;
	uint64_t *known;

	pthread_mutex_lock(&in->lock);
	known = map_put(&in->chains, key, 0);
	if (!*known)
		*known = key ? find_chain(in, addr, ns, version) : NOTHING;
	chain = in->list[*known];
	pthread_mutex_unlock(&in->lock);
	return chain;
}

const char *inlines_name(const struct inlines *in, uint32_t function)
{
	size_t i = function - names_count(in->names);

	return function >= names_count(in->names) && i < in->n_functions ? in->functions[i] : NULL;
}
