/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "processes.h"

#include "base/alloc.h"

struct state {
	const struct threads *threads;
	struct spent *spent;
	/* within a chunk: */
	struct meter meter;
	size_t thread;
};

static size_t number_of(const struct state *s, uint64_t task, uint64_t ns)
{
	long i = task ? threads_find(s->threads, task, ns) : THREAD_NONE;

	return i == THREAD_NONE ? s->threads->count : (size_t)i;
}

static int begin(void *state, const struct chunk_header *h, struct error *err)
{
	struct state *s = state;

	(void)err;
	meter_begin(&s->meter, h);
	s->thread = number_of(s, h->task, h->first_ns);
	return 0;
}

static void add(struct spent *sum, const struct spent *part)
{
	sum->insns += part->insns;
	sum->ns += part->ns;
	sum->halted_ns += part->halted_ns;
}

static int batch(void *state, struct batch *b, struct error *err)
{
	struct state *s = state;

	(void)err;
	for (size_t i = 0; i < b->count; i++) {
		const struct event *e = &b->events[i];
		struct spent spent = meter_step(&s->meter, e);

		add(&s->spent[s->thread], &spent);
		if (e->kind == EVENT_TASK_SWITCH)
			s->thread = number_of(s, e->args[1], e->ns);
	}
	return 0;
}

int processes_analyse(const struct reader *r, const struct threads *threads, const struct span *span,
		      struct processes *ret, struct error *err)
{
	static const struct chunk_visitor visitor = { .begin = begin, .batch = batch };
	unsigned n = walk_threads();
	struct state *states = xcalloc(n, sizeof *states);
	void **pointers = xcalloc(n, sizeof *pointers);
	struct processes sum = { .count = threads->count + 1 };
	int result;

	sum.spent = xcalloc(sum.count, sizeof *sum.spent);
	for (unsigned i = 0; i < n; i++) {
		states[i] = (struct state){
			.threads = threads, .meter.span = span, .spent = xcalloc(sum.count, sizeof *sum.spent),
		};
		pointers[i] = &states[i];
	}
	result = walk_chunks(r, span, &visitor, pointers, n, err);
	for (unsigned i = 0; i < n; i++) {
		for (size_t k = 0; k < sum.count; k++) {
			add(&sum.spent[k], &states[i].spent[k]);
			add(&sum.sum, &states[i].spent[k]);
		}
		free(states[i].spent);
	}
	free(states);
	free(pointers);
	if (result < 0)
		processes_deinit(&sum);
	else
		*ret = sum;
	return result;
}

void processes_deinit(struct processes *p)
{
	free(p->spent);
	*p = (struct processes){ 0 };
}
