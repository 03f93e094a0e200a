/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "function_events.h"

static void open_call(struct function_events *f, const struct event *e)
{
	if ((e->kind != EVENT_CALL && e->kind != EVENT_CALL_INDIRECT) || f->n_open == OPEN_MAX) {
		f->missed = true;
		return;
	}
	f->open[f->n_open].slot = e->slot;
	f->open[f->n_open++].from = e->from;
}

/* A call that never returned may have left its slot to another one. */
static bool close_call(struct function_events *f, const struct event *e)
{
	for (unsigned i = 0; i < f->n_open; i++)
		if (f->open[i].slot == e->slot) {
			bool same = f->open[i].from == e->target;

			f->open[i] = f->open[--f->n_open];
			return same;
		}
	return false;
}

bool function_events_hold(struct function_events *f, const struct event *e)
{
	bool enters = functions_have(f->functions, e->target) && e->kind != EVENT_INTERRUPT_RETURN;

	if (f->condition->kind == CONDITION_ENTRY)
		return enters;
	if (enters && e->kind != EVENT_RETURN)
		open_call(f, e);
	return e->kind == EVENT_RETURN && f->n_open && close_call(f, e);
}
