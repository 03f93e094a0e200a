/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that a compiler made part of others, as they are met at the places of
 * calls: each has a number above those of names.h. Several threads may ask at once.
 */
#ifndef UPTO_REPLAY_INLINES_H
#define UPTO_REPLAY_INLINES_H

#include <pthread.h>

#include "base/map.h"
#include "source_lines.h"

/* The functions inlined at one place. The one that is part of the real function comes first, the innermost one last. */
struct inline_chain {
	size_t count;
	uint32_t functions[];
};

struct inlines {
	const struct source_lines *sources;
	const struct names *names;
	pthread_mutex_t lock;
	struct map chains;             /* key → number of the chain; 0: not looked up yet */
	struct map numbers;            /* hash of a function's name → its number */
	struct inline_chain **list;    /* by number; number 1: nothing is inlined there */
	const char **functions;        /* by number - names_count(); the source owns the strings */
	size_t n_chains, cap_chains, n_functions, cap_functions;
};

/* `sources` and `names` must outlive `in`. */
void inlines_init(struct inlines *in, const struct names *names, const struct source_lines *sources);
void inlines_deinit(struct inlines *in);

/* A key for the place in the file that an address is in: equal for all mappings of the file. 0: it is in no file. */
uint64_t inlines_key(const struct inlines *in, uint64_t addr, uint64_t ns, uint32_t version);

/* The functions inlined at an address with that key. The address is as for names_address(). Valid as long as `in`. */
const struct inline_chain *inlines_at(struct inlines *in, uint64_t key, uint64_t addr, uint64_t ns, uint32_t version);

/* The name of an inlined function; NULL if the number is not that of an inlined function. */
const char *inlines_name(const struct inlines *in, uint32_t function);

#endif
