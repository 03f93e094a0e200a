/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "processes.h"

#include "base/alloc.h"

struct processes_run {
	const struct threads *threads;
	struct spent *spent;
	/* within a chunk: */
	struct meter meter;
	unsigned cpu;
	long thread;
	size_t program;             /* the program that the thread runs … */
	const struct program *next; /* … and the one that it will run; NULL: none */
};

static void set_next(struct processes_run *s)
{
	const struct thread *t = s->thread == THREAD_NONE ? NULL : &s->threads->list[s->thread];

	s->next = t && s->program + 1 < (size_t)t->first_program + t->n_programs ? &s->threads->programs[s->program + 1]
										 : NULL;
}

/* A program begins with an instruction: which other events are there does not matter. */
static bool has_begun(const struct processes_run *s, const struct program *p, uint64_t insns, uint64_t ns)
{
	return p->start_cpu == s->cpu ? insns >= p->start_insns : ns >= p->start_ns;
}

static void go_to_program(struct processes_run *s, uint64_t insns, uint64_t ns)
{
	for (; s->next && has_begun(s, s->next, insns, ns); set_next(s))
		s->program++;
}

static void set_thread(struct processes_run *s, uint64_t task, uint64_t insns, uint64_t ns)
{
	s->thread = task ? threads_find(s->threads, task, ns) : THREAD_NONE;
	s->program = s->thread == THREAD_NONE ? s->threads->n_programs : threads_program(s->threads, s->thread, ns);
	set_next(s);
	go_to_program(s, insns, ns);
}

static int begin(void *state, const struct chunk_header *h, struct error *err)
{
	struct processes_run *s = state;

	(void)err;
	meter_begin(&s->meter, h);
	s->cpu = h->cpu;
	set_thread(s, h->task, h->first_insns, h->first_ns);
	return 0;
}

static void add(struct spent *sum, const struct spent *part)
{
	sum->insns += part->insns;
	sum->ns += part->ns;
	sum->halted_ns += part->halted_ns;
}

/* An event, or several that only go on: the time up to it. */
static void step(struct processes_run *s, const struct event *e, uint64_t ns)
{
	struct spent spent = meter_step_at(&s->meter, e, ns);

	add(&s->spent[s->program], &spent);
	if (e->kind == EVENT_TASK_SWITCH)
		set_thread(s, e->args[1], e->insns, ns);
	else if (s->next)
		go_to_program(s, e->insns, ns);
}

/*
 * Is all of the batch in the span, and of one program? Only the last event of a batch can be a switch, or say that the
 * vCPU is halted.
 */
static bool is_of_one(const struct processes_run *s, const struct batch *b)
{
	const struct event *last = &b->events[b->count - 1];
	uint64_t ns = batch_ns(b, last);

	return s->meter.ns >= s->meter.span->from_ns && ns < s->meter.span->to_ns &&
	       !(s->next && has_begun(s, s->next, last->insns, ns));
}

static int batch(void *state, struct batch *b, struct error *err)
{
	struct processes_run *s = state;

	(void)err;
	if (b->count > 1 && is_of_one(s, b)) {
		step(s, &b->events[0], batch_ns(b, &b->events[0]));
		step(s, &b->events[b->count - 1], batch_ns(b, &b->events[b->count - 1]));
		return 0;
	}
	batch_complete(b);
	for (size_t i = 0; i < b->count; i++)
		step(s, &b->events[i], b->events[i].ns);
	return 0;
}

int processes_analyse(const struct reader *r, const struct threads *threads, const struct span *span,
		      struct processes *ret, struct error *err)
{
	static const struct chunk_visitor visitor = { .brief = true, .begin = begin, .batch = batch };
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
