/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When a replay is over: processes, what was left open, what lies in what, and the order of all spans. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "making.h"

/* The arguments of a program, as it began; NULL: they are not known. */
static const char *program_arguments(struct history *h, const struct thread *t, const struct program *p)
{
	enum { SOON_NS = 100000000 };

	for (size_t i = facts_at(&h->facts, p->start_ns);
	     i < h->facts.count && h->facts.list[i].ns < p->start_ns + SOON_NS; i++)
		if (h->facts.list[i].kind == FACT_ARGUMENTS && h->facts.list[i].task == t->task)
			return spans_arguments(h, &h->facts.list[i]);
	return NULL;
}

/* Processes: what each ran, but for the first one's, which are phases. */
static void put_processes(struct making *m, const struct stacks *s)
{
	struct history *h = m->history;
	const struct threads *threads = s->threads;

	for (size_t i = 0; i < threads->n_programs; i++) {
		const struct program *p = &threads->programs[i];
		const struct thread *thread = &threads->list[p->thread];
		const char *arguments;
		struct span_of span = {
			.kind = SPAN_PROCESS, .parent = HISTORY_NONE, .thread = p->thread, .function = HISTORY_NONE,
			.start_ns = p->start_ns,
			.end_ns = p->end_ns < h->end_ns ? p->end_ns : h->end_ns, .name = *p->exe ? p->exe : p->comm,
		};

		if (p->kernel || thread->pid <= 1 || thread->pid != thread->tgid || span.end_ns <= span.start_ns)
			continue;
		arguments = i == thread->first_program ? NULL : program_arguments(h, thread, p);
		if (arguments)
			span.name = arguments;
		for (uint32_t k = h->first_slice[p->thread]; k < h->first_slice[p->thread + 1]; k++)
			spans_add_slice(&h->slices[h->by_thread[k]], &span);
		spans_add(m, &span);
	}
}

/* Who has no parent in its thread lies in the smallest part of the boot that has all of it. */
static uint32_t container(const struct history *h, const struct stacks *s, uint32_t first_part, const struct span_of *x)
{
	uint32_t best = HISTORY_NONE;
	bool first = x->thread < s->threads->count && s->threads->list[x->thread].pid == 1;

	for (uint32_t i = first_part; i < h->n_spans; i++) {
		const struct span_of *c = &h->spans[i];

		if (c->kind != SPAN_BOOT && c->kind != SPAN_PHASE && (c->kind != SPAN_LEVEL || !first))
			continue;
		if (c->start_ns <= x->start_ns && c->end_ns >= x->end_ns &&
		    (best == HISTORY_NONE || c->end_ns - c->start_ns < h->spans[best].end_ns - h->spans[best].start_ns))
			best = i;
	}
	return best;
}

struct sorted {
	struct span_of span;
	uint32_t number; /* before they were sorted */
};

static int by_start(const void *va, const void *vb)
{
	const struct span_of *a = &((const struct sorted *)va)->span, *b = &((const struct sorted *)vb)->span;
	uint32_t na = ((const struct sorted *)va)->number, nb = ((const struct sorted *)vb)->number;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	/* what is around others comes first */
	if (a->end_ns != b->end_ns)
		return a->end_ns > b->end_ns ? -1 : 1;
	if ((a->kind <= SPAN_PHASE || b->kind <= SPAN_PHASE) && a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return na < nb ? -1 : na > nb;
}

static void sort_spans(struct history *h)
{
	struct sorted *sorted = xcalloc(h->n_spans + 1, sizeof *sorted);
	uint32_t *now = xcalloc(h->n_spans + 1, sizeof *now);

	for (uint32_t i = 0; i < h->n_spans; i++)
		sorted[i] = (struct sorted){ .span = h->spans[i], .number = i };
	if (h->n_spans)
		qsort(sorted, h->n_spans, sizeof *sorted, by_start);
	for (uint32_t i = 0; i < h->n_spans; i++)
		now[sorted[i].number] = i;
	for (uint32_t i = 0; i < h->n_spans; i++) {
		h->spans[i] = sorted[i].span;
		if (h->spans[i].parent != HISTORY_NONE)
			h->spans[i].parent = now[h->spans[i].parent];
	}
	for (size_t i = 0; i < h->n_slices; i++)
		if (h->slices[i].span != HISTORY_NONE)
			h->slices[i].span = now[h->slices[i].span];
	for (size_t i = 0; i < h->n_aways; i++)
		if (h->aways[i].span != HISTORY_NONE)
			h->aways[i].span = now[h->aways[i].span];
	free(sorted);
	free(now);
}

/* What did not come to its end lasted to the trace's, or to its boot's. */
static void close_open(struct making *m, const struct stacks *s)
{
	for (size_t i = 0; i < m->history->n_spans; i++) {
		struct span_of *x = &m->history->spans[i];

		if (x->end_ns != UINT64_MAX)
			continue;
		x->end_ns = m->history->end_ns;
		for (size_t k = s->list[x->thread].depth; k-- > 0;) {
			const struct frame *f = &s->list[x->thread].frames[k];

			if ((f->data & ~FRAME_UNTOLD) == i + 1) {
				x->insns = s->list[x->thread].insns - f->insns;
				x->cpu_ns = s->list[x->thread].ns - f->ns;
			}
		}
	}
}

void spans_finish(struct making *m, const struct stacks *s)
{
	struct history *h = m->history;
	uint32_t first_part; /* boots, phases and levels come last */

	close_open(m, s);
	spans_name_parts(h);
	kernel_tests_name(m, s->names->boots);
	put_processes(m, s);
	spans_put_units(m);
	spans_put_recorded(m);
	spans_put_tap(m);
	first_part = (uint32_t)h->n_spans;
	for (size_t b = 0; b < s->names->boots->count; b++)
		spans_put_boot(m, s, b);
	for (uint32_t i = 0; i < h->n_spans; i++)
		if (h->spans[i].parent == HISTORY_NONE && h->spans[i].kind != SPAN_BOOT)
			h->spans[i].parent = container(h, s, first_part, &h->spans[i]);
	sort_spans(h);
}
