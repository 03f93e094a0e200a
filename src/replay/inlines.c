/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "inlines.h"

#include <stdlib.h>

#include "base/alloc.h"

void inlines_init(struct inlines *in, const struct names *names, const struct source_lines *sources)
{
	*in = (struct inlines){ .sources = sources, .names = names, .lock = PTHREAD_MUTEX_INITIALIZER };
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

static struct inline_chain *find_chain(struct inlines *in, uint64_t addr, uint64_t ns, uint32_t version)
{
	struct inline_chain *chain = xcalloc(1, sizeof *chain);
	struct source_line lines[SOURCE_LINES_MAX];
	size_t n = source_lines_at(in->sources, in->names, addr, ns, version, lines);

	while (n-- > 0)
		if (lines[n].inlined)
			chain->functions[chain->count++] = number_of(in, lines[n].function ? lines[n].function : "?");
	return chain;
}

const struct inline_chain *inlines_at(struct inlines *in, uint64_t addr, uint64_t ns, uint32_t version)
{
	const struct inline_chain *chain;
	uint64_t *known;

	pthread_mutex_lock(&in->lock);
	known = map_put(&in->chains, addr ^ hash64(version), 0);
	if (!*known) {
		in->list = array_grow(in->list, in->n_chains, &in->cap_chains, sizeof *in->list);
		in->list[in->n_chains++] = find_chain(in, addr, ns, version);
		*known = in->n_chains;
	}
	chain = in->list[*known - 1];
	pthread_mutex_unlock(&in->lock);
	return chain;
}

const char *inlines_name(const struct inlines *in, uint32_t function)
{
	size_t i = function - names_count(in->names);

	return function >= names_count(in->names) && i < in->n_functions ? in->functions[i] : NULL;
}
