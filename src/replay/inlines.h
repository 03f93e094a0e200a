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

/* Of one place: the function that was made part of the real one itself comes first. */
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
	struct inline_chain **list;    /* by number; 1: nothing was made part of anything there */
	const char **functions;        /* by number - names_count(); the source's texts */
	size_t n_chains, cap_chains, n_functions, cap_functions;
};

/* `sources` and `names` are to outlast it. */
void inlines_init(struct inlines *in, const struct names *names, const struct source_lines *sources);
void inlines_deinit(struct inlines *in);

/* The same for an address's place in its file, whoever has mapped that where. 0: no file's. */
uint64_t inlines_key(const struct inlines *in, uint64_t addr, uint64_t ns, uint32_t version);

/* What was made part of what at an address, as names_address() takes it, with its key. Lasts as long as `in`. */
const struct inline_chain *inlines_at(struct inlines *in, uint64_t key, uint64_t addr, uint64_t ns, uint32_t version);

/* The function's name, or NULL for what is no function of this kind. */
const char *inlines_name(const struct inlines *in, uint32_t function);

#endif
