/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns what happens into spans: from where the start condition holds up to where the stop condition does. */
#ifndef UPTO_SELECT_TRIGGER_H
#define UPTO_SELECT_TRIGGER_H

#include <stdbool.h>
#include <stdint.h>

struct trigger {
	bool has_start, has_stop; /* without a start it is on from the beginning; without a stop up to the end */
	bool every;               /* once it was stopped, it waits for the start condition again */
	uint64_t start_nth, stop_nth;
	uint64_t starts, stops;   /* how often the conditions held since it began to wait for them */
	bool on, over;
};

static inline void trigger_init(struct trigger *t)
{
	t->on = !t->has_start;
	t->over = false;
	t->starts = t->stops = 0;
}

/* The start condition holds. True: a span begins. */
static inline bool trigger_start(struct trigger *t)
{
	if (t->on || t->over || !t->has_start || ++t->starts < t->start_nth)
		return false;
	t->stops = 0;
	return t->on = true;
}

/* The stop condition holds. True: the span ends. */
static inline bool trigger_stop(struct trigger *t)
{
	if (!t->on || !t->has_stop || ++t->stops < t->stop_nth)
		return false;
	t->starts = 0;
	t->on = false;
	t->over = !t->every || !t->has_start;
	return true;
}

#endif
