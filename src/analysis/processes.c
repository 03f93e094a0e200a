/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "processes.h"

#include "base/alloc.h"

struct processes_run {
	const struct threads *threads;
	struct spent *spent;
	/* within a chunk: */
	struct meter meter;
	long thread;
	size_t program;          /* the program that the thread runs … */
	uint64_t until_ns;       /* … until then */
};

static void set_program(struct processes_run *s, uint64_t ns)
{
	const struct thread *t = s->thread == THREAD_NONE ? NULL : &s->threads->list[s->thread];

	s->program = t ? threads_program(s->threads, s->thread, ns) : s->threads->n_programs;
	s->until_ns = t && s->program + 1 < (size_t)t->first_program + t->n_programs ? s->threads->programs[s->program].end_ns :
										      UINT64_MAX;
}

static void set_thread(struct processes_run *s, uint64_t task, uint64_t ns)
{
	s->thread = task ? threads_find(s->threads, task, ns) : THREAD_NONE;
	set_program(s, ns);
}

static int begin(void *state, const struct chunk_header *h, struct error *err)
{
	struct processes_run *s = state;

	(void)err;
	meter_begin(&s->meter, h);
	set_thread(s, h->task, h->first_ns);
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
	struct processes_run *s = state;

	(void)err;
	for (size_t i = 0; i < b->count; i++) {
		const struct event *e = &b->events[i];
		struct spent spent = meter_step(&s->meter, e);

		add(&s->spent[s->program], &spent);
		if (e->kind == EVENT_TASK_SWITCH)
			set_thread(s, e->args[1], e->ns);
		else if (e->ns >= s->until_ns)
			set_program(s, e->ns);
	}
	return 0;
}

int processes_analyse(const struct reader *r, const struct threads *threads, const struct span *span,
		      struct processes *ret, struct error *err)
{
	static const struct chunk_visitor visitor = { .begin = begin, .batch = batch };
	unsigned n = walk_threads();
	struct processes_run *states = xcalloc(n, sizeof *states);
	void **pointers = xcalloc(n, sizeof *pointers);
	struct processes sum = { .count = threads->n_programs + 1 };
	int result;

	sum.spent = xcalloc(sum.count, sizeof *sum.spent);
	for (unsigned i = 0; i < n; i++) {
		states[i] = (struct processes_run){
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
