/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "script_runner.h"

void script_fire(struct script_runner *r, struct stacks *s, const struct script_index *x, size_t n)
{
	if (!script_index_has(x, n) || r->now.ns < r->o->from_ns || r->now.ns >= r->o->to_ns)
		return;
	for (uint32_t i = x->first[n]; i < x->first[n + 1] && !r->over; i++) {
		r->now.at = x->list[i];
		r->over = r->fire ? !r->fire(r) : !machine_fire(r->machine, x->list[i].handler);
	}
	if (r->over && s)
		s->stop = true;
}
