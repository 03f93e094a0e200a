/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "functions.h"

static void __attribute__((format(printf, 2, 3))) found(struct check *c, const char *fmt, ...)
{
	va_list ap;

	if (c->n_findings < CHECK_FINDINGS_MAX) {
		va_start(ap, fmt);
		vsnprintf(c->findings[c->n_findings].text, sizeof c->findings->text, fmt, ap);
		va_end(ap);
	}
	c->n_findings++;
}

/* What a chunk leads to, decoded, to be held against its own header and the next one's. */
struct chunk_end {
	struct cpu_state state;
	uint64_t events;
	bool seen, bad;
	char text[200];
};

struct visit {
	struct chunk_end *ends; /* by chunk number */
	struct chunk_end *now;
	uint64_t ns;
};

static int begin(void *state, const struct chunk_header *h, struct error *err)
{
	struct visit *v = state;

	(void)err;
	v->now = &v->ends[h->number];
	v->now->seen = true;
	v->now->state = (struct cpu_state){
		.insns = h->first_insns, .ns = h->first_ns, .place = h->place, .space = h->space, .task = h->task,
		.halted = h->flags & CHUNK_HALTED,
	};
	v->ns = h->first_ns;
	return 0;
}

static int batch(void *state, struct batch *b, struct error *err)
{
	struct visit *v = state;
	struct chunk_end *end = v->now;

	(void)err;
	for (size_t i = 0; i < b->count; i++) {
		const struct event *e = &b->events[i];

		if (!end->bad && (e->insns < end->state.insns || e->ns < v->ns)) {
			end->bad = true;
			snprintf(end->text, sizeof end->text,
				 "event %" PRIu64 " (%s, at %" PRIu64 " instructions): the clock goes back",
				 end->events, event_kind_name(e->kind), e->insns);
		}
		cpu_state_advance(&end->state, e);
		v->ns = e->ns;
		end->events++;
	}
	return 0;
}

static void check_chunk(struct check *c, size_t i, const struct chunk_header *h, const struct chunk_end *end,
			struct cpu_state *cpu)
{
	if (end->bad)
		found(c, "chunk %zu (vCPU %u): %s", i, h->cpu, end->text);
	if (end->events != h->events)
		found(c, "chunk %zu (vCPU %u): has %" PRIu64 " events, not the %u that it tells", i, h->cpu, end->events,
		      h->events);
	if (end->state.insns != h->last_insns || end->state.ns != h->last_ns)
		found(c, "chunk %zu (vCPU %u): ends at %" PRIu64 " instructions, not at the %" PRIu64 " that it tells", i,
		      h->cpu, end->state.insns, h->last_insns);
	if (h->first_insns != cpu->insns || h->first_ns != cpu->ns)
		found(c, "chunk %zu (vCPU %u): begins at %" PRIu64 " instructions, but the one before ended at %" PRIu64, i,
		      h->cpu, h->first_insns, cpu->insns);
	if (h->place != cpu->place || h->task != cpu->task || h->space != cpu->space ||
	    !!(h->flags & CHUNK_HALTED) != cpu->halted)
		found(c, "chunk %zu (vCPU %u): does not begin in the state that the one before left", i, h->cpu);
	*cpu = end->state;
}

static void check_chunks(const struct reader *r, const struct chunk_end *ends, struct cpu_state *cpus, struct check *c)
{
	for (size_t i = 0; i < r->n_chunks; i++) {
		const struct chunk_header *h = &r->chunks[i].header;

		c->chunks++;
		if (h->type != CHUNK_EVENTS || !ends[i].seen)
			continue;
		c->events += ends[i].events;
		check_chunk(c, i, h, &ends[i], &cpus[h->cpu]);
	}
}

/* The recorder's last words about each vCPU. */
static void check_end(const struct reader *r, const struct cpu_state *cpus, struct check *c)
{
	if (r->cut_why)
		found(c, "%s at byte %" PRIu64 "; the events before are whole", r->cut_why, r->cut_at);
	else if (!r->ended)
		found(c, "the trace has no end: it is being recorded, or its recorder was killed");
	if (reader_lost(r))
		found(c, "%" PRIu64 " events were lost while recording", reader_lost(r));
	if (meta_get_u64(&r->meta, "odd_clocks", 0))
		found(c, "%" PRIu64 " times more instructions were taken back than had been counted",
		      meta_get_u64(&r->meta, "odd_clocks", 0));
	for (unsigned i = 0; r->ended && i < reader_vcpus(r); i++) {
		uint64_t insns;
		char key[32];

		snprintf(key, sizeof key, "insns.%u", i);
		insns = meta_get_u64(&r->meta, key, 0);
		if (insns != cpus[i].insns)
			found(c, "vCPU %u: events reach %" PRIu64 " instructions, its counter %" PRIu64, i, cpus[i].insns,
			      insns);
	}
	if (r->ended && meta_get_u64(&r->meta, "events", 0) != c->events)
		found(c, "%" PRIu64 " events are there, %" PRIu64 " were recorded", c->events,
		      meta_get_u64(&r->meta, "events", 0));
}

static int check_conservation(const struct reader *r, const struct names *names, const struct cpu_state *cpus,
			      struct check *c, struct error *err)
{
	struct functions f;

	if (functions_analyse(r, names, &SPAN_ALL, &f, err) < 0)
		return -1;
	for (unsigned i = 0; i < reader_vcpus(r); i++) {
		c->insns += cpus[i].insns;
		c->ns += cpus[i].ns;
	}
	c->halted_ns = f.halted_ns;
	if (f.insns != c->insns)
		found(c, "conservation: self time of all functions is %" PRIu64 " instructions, the vCPUs retired %" PRIu64,
		      f.insns, c->insns);
	/* both sums are rounded down */
	if (c->ns - f.ns - f.halted_ns > 1)
		found(c, "conservation: self and halted time are %" PRIu64 " ns, the vCPUs' clocks %" PRIu64,
		      f.ns + f.halted_ns, c->ns);
	functions_deinit(&f);
	return 0;
}

static void spend(void *state, struct stacks *s, struct stack *stack, const struct spent *spent)
{
	uint64_t *insns = state;

	(void)s;
	(void)stack;
	*insns += spent->insns;
}

static int check_stacks(const struct reader *r, const struct names *names, struct check *c, struct error *err)
{
	static const struct stacks_visitor visitor = { .spend = spend };
	struct threads threads;
	struct stacks stacks;
	uint64_t insns = 0;
	int result;

	threads_init(&threads, r);
	result = stacks_replay(&stacks, r, names, &threads, NULL, UINT64_MAX, &visitor, &insns, err);
	c->unmatched = stacks.unmatched;
	if (result == 0 && insns != c->insns)
		found(c, "conservation: stacks hold %" PRIu64 " instructions, the vCPUs retired %" PRIu64, insns, c->insns);
	stacks_deinit(&stacks);
	threads_deinit(&threads);
	return result;
}

int check_analyse(const struct reader *r, const struct names *names, bool stacks, struct check *ret, struct error *err)
{
	static const struct chunk_visitor visitor = { .begin = begin, .batch = batch };
	unsigned threads = walk_threads();
	struct visit *visits = xcalloc(threads, sizeof *visits);
	void **pointers = xcalloc(threads, sizeof *pointers);
	struct chunk_end *ends = xcalloc(r->n_chunks, sizeof *ends);
	struct cpu_state *cpus = xcalloc(CPUS_MAX, sizeof *cpus);
	struct error damaged;
	int result = 0;

	*ret = (struct check){ 0 };
	for (unsigned i = 0; i < threads; i++) {
		visits[i].ends = ends;
		pointers[i] = &visits[i];
	}
	if (walk_chunks(r, &SPAN_ALL, &visitor, pointers, threads, &damaged) < 0) {
		found(ret, "%s", damaged.text);
	} else {
		check_chunks(r, ends, cpus, ret);
		check_end(r, cpus, ret);
		result = check_conservation(r, names, cpus, ret, err);
		if (result == 0 && stacks)
			result = check_stacks(r, names, ret, err);
	}
	free(visits);
	free(pointers);
	free(ends);
	free(cpus);
	return result;
}
