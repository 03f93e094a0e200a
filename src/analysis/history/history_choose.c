/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "history_choose.h"

static bool has_length(const struct thin_filter *f, uint64_t ns)
{
	return ns >= f->min_duration_ns && (!f->max_duration_ns || ns <= f->max_duration_ns);
}

static bool on_stack(const struct history *h, const struct away *a, const bool *marks)
{
	for (uint32_t i = 0; i < a->stack.count; i++)
		if (marks[h->functions[a->stack.first + i]])
			return true;
	return false;
}

/* What ran on a vCPU before its first switch is no thread's. */
static bool is_of_threads(const struct history *h, uint32_t thread, const bool *threads)
{
	return thread != HISTORY_NONE && thread < h->n_threads - h->n_cpus && threads[thread];
}

bool history_chooses_wait(const struct history *h, const struct thin_filter *f, const struct away *a)
{
	uint64_t end_ns = a->end_ns < h->end_ns ? a->end_ns : h->end_ns; /* as far as it is shown */

	return has_length(f, end_ns - a->start_ns) && (!f->threads || is_of_threads(h, a->thread, f->threads)) &&
	       (!f->functions || on_stack(h, a, f->functions)) && (!f->below || on_stack(h, a, f->below)) &&
	       (!f->not || !on_stack(h, a, f->not ));
}

static bool is_function(const struct span_of *x, const bool *marks)
{
	return x->function != HISTORY_NONE && marks[x->function];
}

static bool is_within(const struct history *h, const struct span_of *x, const bool *marks)
{
	while (!is_function(x, marks)) {
		if (x->parent == HISTORY_NONE)
			return false;
		x = &h->spans[x->parent];
	}
	return true;
}

bool history_chooses_span(const struct history *h, const struct thin_filter *f, const struct span_of *x)
{
	return has_length(f, x->end_ns - x->start_ns) &&
	       (!f->threads || is_of_threads(h, x->thread, f->threads)) &&
	       (!f->functions || is_function(x, f->functions)) && (!f->below || is_within(h, x, f->below)) &&
	       (!f->not || !is_within(h, x, f->not ));
}
