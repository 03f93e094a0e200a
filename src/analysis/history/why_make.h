/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A chain in the making: for why.c, which walks it, and for why_causes.c, which adds its links up. */
#ifndef UPTO_ANALYSIS_WHY_MAKE_H
#define UPTO_ANALYSIS_WHY_MAKE_H

#include "why.h"

struct why_memory {
	char **list;
	size_t count, cap;
};

/* Time that is to be tiled yet. */
struct stretch {
	enum link_kind kind;    /* with `work`: of the link that it is */
	uint32_t thread;        /* whose it is */
	uint64_t from, to;
	uint32_t away;          /* the absence that led to the thread; HISTORY_NONE */
	uint32_t work;          /* it is one link, up to when this work was queued by an interrupt; HISTORY_NONE */
};

/* A chain under way. Links come last first. */
struct walking {
	const struct history *h;
	const struct threads *threads;
	struct why *why;
	size_t cap;
	struct stretch *stretches; /* what is put off; the last is walked next */
	size_t n_stretches, stretches_cap;
	size_t turns;           /* threads were followed so often since the last link */
	uint64_t begins_ns;     /* when the first slice did */
	/* of each thread: the last absence that it was found in, which no slice comes before; HISTORY_NONE */
	uint32_t *found;
	/* of each slice, by number: the last absence behind it, before the thread's next slice; HISTORY_NONE */
	uint32_t *away_at;
	uint32_t *earlier;      /* of each absence: the one before it of those; HISTORY_NONE */
	uint64_t idle_ns;       /* the boot's first thread was switched from for the first time */
	/* why_make_causes()'s own: the links by cause, where each cause's begin there, and the phases of all spans */
	uint32_t *links, *begins;
	const struct span_of **phases;
	size_t n_phases;
};

/* Find the cause of each link, and put what holds most first. */
void why_make_causes(struct walking *w, const struct names *names);

#endif
