/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "touched.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "replay/walk.h"

struct touching {
	const bool *functions;
	struct name_cache names;
	struct space_view *views; /* by vCPU */
	bool *inside;             /* likewise: control came to one of the functions with the last event */
	struct touched *ret;
};

static void take(struct touching *t, const struct event *e, unsigned cpu, uint64_t task)
{
	struct place place;

	if (t->inside[cpu] && e->ns > t->ret->last_ns)
		t->ret->last_ns = e->ns;
	if (!e->target)
		return;
	place = name_cache_place(&t->names, &t->views[cpu], task, e->target, e->ns);
	t->inside[cpu] = t->functions[place.function];
	if (t->inside[cpu] && !t->ret->last_ns)
		t->ret->first_ns = t->ret->last_ns = e->ns;
}

int touched_analyse(const struct session *session, const bool *functions, struct touched *ret, struct error *err)
{
	unsigned vcpus = reader_vcpus(session->reader), cpu;
	struct touching *t = xcalloc(1, sizeof *t);
	struct merged *m = merged_new(session->reader, &SPAN_ALL);
	const struct event *e;
	int r;

	*ret = (struct touched){ 0 };
	t->functions = functions;
	t->ret = ret;
	t->views = xcalloc(vcpus, sizeof *t->views);
	t->inside = xcalloc(vcpus, sizeof *t->inside);
	name_cache_init(&t->names, session->names);
	while ((r = merged_next(m, &e, &cpu, err)) > 0)
		take(t, e, cpu, merged_task(m, cpu));
	merged_free(m);
	free(t->views);
	free(t->inside);
	free(t);
	return r;
}
