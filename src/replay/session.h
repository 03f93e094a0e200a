/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace that is asked something: what every analysis needs of it. Whoever opened the parts keeps them, for as long as
 * the session is used.
 */
#ifndef UPTO_REPLAY_SESSION_H
#define UPTO_REPLAY_SESSION_H

#include "names.h"
#include "threads.h"

struct index;
struct fold;

struct session {
	const struct reader *reader;
	const struct names *names;
	const struct threads *threads;
	struct index *index; /* replay/index.h; NULL: none. Reading from it changes it */
	const struct fold *fold; /* replay/fold.h: calls that are not shown; NULL: all are */
	bool of_chosen; /* the trace has all that ran, and sums are of the threads that are chosen */
	/* for a part of the trace to be written, which has nothing but what events tell: no stacks from before a gap */
	bool thins;
	/*
	 * NULL: nobody is gone. Called from whichever thread replays, many times a second: true if the answer is not
	 * wanted any more. The replay then fails.
	 */
	bool (*is_given_up)(void *context);
	void *given_up_context;
};

#endif
