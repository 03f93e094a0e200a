/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/calls/held_calls.h"
#include "analysis/sums/function_analysis.h"
#include "base/alloc.h"
#include "check_stacks.h"
#include "trace/damage.h"
#include "trace/facts.h"
#include "trace/left_sums.h"
#include "trace/texts.h"

enum {
	/*
	 * Kernel code without a name, of what runs once there is a kernel: next to nothing while its modules and
	 * programs are told of. Of a second kernel, taken for the first, it is most.
	 */
	UNNAMED_OF = 20,
	UNNAMED_FREE = 10000000,
};

/* What a chunk leads to, decoded, to be held against its own header and the next one's. */
struct chunk_end {
	struct cpu_state state;
	uint64_t events;
	bool seen;
	struct chunk_fault {
		uint64_t count;
		struct event event; /* the first … */
		uint64_t number;    /* … and which of the chunk's it is */
	} back, /* a clock goes back */
	  unresumed, /* something ran on a halted vCPU, and nothing told when that began */
	  gaps;      /* a gap that is not the chunk's first event */
	bool begins_with_gap;
};

/* A vCPU, as far as its chunks were looked at. */
struct cpu_end {
	struct cpu_state state;
	uint64_t events;
	uint64_t gap_insns, gap_ns; /* that passed while nothing was recorded */
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

static void note(struct chunk_end *end, struct chunk_fault *fault, const struct event *e)
{
	if (fault->count++)
		return;
	fault->event = *e;
	fault->number = end->events;
}

static int batch(void *state, struct batch *b, struct error *err)
{
	struct visit *v = state;
	struct chunk_end *end = v->now;

	(void)err;
	for (size_t i = 0; i < b->count; i++) {
		const struct event *e = &b->events[i];

		if (e->insns < end->state.insns || e->ns < v->ns)
			note(end, &end->back, e);
		if (end->state.halted &&
		    ((e->kind != EVENT_RESUME && e->kind != EVENT_CLOCK) || e->insns != end->state.insns))
			note(end, &end->unresumed, e);
		if (e->kind == EVENT_GAP && end->events)
			note(end, &end->gaps, e);
		end->begins_with_gap |= e->kind == EVENT_GAP && !end->events;
		cpu_state_advance(&end->state, e);
		v->ns = e->ns;
		end->events++;
	}
	return 0;
}

static struct check_place place_of(const struct chunk_fault *fault, const struct chunk_header *h,
				   const struct cpu_end *cpu)
{
	return (struct check_place){ .cpu = h->cpu, .ns = fault->event.ns, .event = cpu->events + fault->number };
}

/* Behind a gap the state is its own, but the clocks only go forward. */
static void check_gap(struct check *c, size_t i, const struct chunk_header *h, const struct chunk_end *end,
		      struct cpu_end *cpu)
{
	if (!end->begins_with_gap)
		check_found(c, CHECK_CONTAINER, 1,
			    "chunk %zu (vCPU %u): a gap is before it, but its first event is none", i, h->cpu);
	if (h->first_insns < cpu->state.insns || h->first_ns < cpu->state.ns)
		check_found(c, CHECK_CONTAINER, 1, "chunk %zu (vCPU %u): a gap before it goes back in time", i, h->cpu);
	cpu->gap_insns += h->first_insns - cpu->state.insns;
	cpu->gap_ns += h->first_ns - cpu->state.ns;
}

static void check_join(struct check *c, size_t i, const struct chunk_header *h, const struct cpu_state *before)
{
	if (h->first_insns != before->insns || h->first_ns != before->ns)
		check_found(c, CHECK_CONTAINER, 1,
			    "chunk %zu (vCPU %u): begins at %" PRIu64
			    " instructions, but the one before ended at %" PRIu64,
			    i, h->cpu, h->first_insns, before->insns);
	if (h->place != before->place || h->task != before->task || h->space != before->space ||
	    !!(h->flags & CHUNK_HALTED) != before->halted)
		check_found(c, CHECK_CONTAINER, 1,
			    "chunk %zu (vCPU %u): does not begin in the state that the one before left", i, h->cpu);
}

static void check_chunk(struct check *c, size_t i, const struct chunk_header *h, const struct chunk_end *end,
			struct cpu_end *cpu)
{
	const struct chunk_fault *back = &end->back, *unresumed = &end->unresumed;
	const struct cpu_state *before = &cpu->state;
	struct check_place place;

	if (back->count) {
		place = place_of(back, h, cpu);
		check_found_at(c, CHECK_CONTAINER, back->count, &place,
			       "chunk %zu: at a %s, at %" PRIu64 " instructions: the clock goes back", i,
			       event_kind_name(back->event.kind), back->event.insns);
	}
	if (unresumed->count) {
		place = place_of(unresumed, h, cpu);
		check_found_at(
			c, CHECK_HALT, unresumed->count, &place,
			"chunk %zu: went on from a HALT without a RESUME: when it did so is not known; record anew", i);
	}
	if (end->events != h->events)
		check_found(c, CHECK_CONTAINER, 1,
			    "chunk %zu (vCPU %u): has %" PRIu64 " events, not the %u that it tells", i, h->cpu,
			    end->events, h->events);
	if (end->state.insns != h->last_insns || end->state.ns != h->last_ns)
		check_found(c, CHECK_CONTAINER, 1,
			    "chunk %zu (vCPU %u): ends at %" PRIu64 " instructions, not at the %" PRIu64
			    " that it tells",
			    i, h->cpu, end->state.insns, h->last_insns);
	if (h->flags & CHUNK_GAP)
		check_gap(c, i, h, end, cpu);
	else
		check_join(c, i, h, before);
	if (end->gaps.count) {
		place = place_of(&end->gaps, h, cpu);
		check_found_at(c, CHECK_CONTAINER, end->gaps.count, &place,
			       "chunk %zu (vCPU %u): a gap within it: gaps begin chunks", i, h->cpu);
	}
	cpu->state = end->state;
	cpu->events += end->events;
}

static void check_chunks(const struct reader *r, const struct chunk_end *ends, struct cpu_end *cpus, struct check *c)
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

static void check_counters(const struct reader *r, const struct cpu_end *cpus, struct check *c)
{
	for (unsigned i = 0; i < reader_vcpus(r); i++) {
		uint64_t insns;
		char key[32];

		snprintf(key, sizeof key, "insns.%u", i);
		insns = meta_get_u64(&r->meta, key, 0);
		if (insns != cpus[i].state.insns)
			check_found(c, CHECK_COUNTER, 1,
				    "vCPU %u: events reach %" PRIu64 " instructions, its counter %" PRIu64, i,
				    cpus[i].state.insns, insns);
	}
}

/* The recorder's last words. */
static void check_end(const struct reader *r, const struct cpu_end *cpus, struct check *c)
{
	uint64_t lost = reader_lost(r), odd = meta_get_u64(&r->meta, "odd_clocks", 0), events;
	const char *first = meta_get(&r->meta, "odd_clock");

	for (size_t i = 0; i < r->n_damages; i++) {
		const struct damage *d = &r->damages[i];

		if (!d->offset)
			check_found(c, CHECK_CONTAINER, 1, "a part of a trace that is damaged: some %s cannot be had",
				    damage_of(d));
		else if (d->type == CHUNK_EVENTS)
			check_found(c, CHECK_CONTAINER, d->events,
				    "damaged at byte %" PRIu64 ": %" PRIu64
				    " events of vCPU %u in %" PRIu64 " chunks cannot be had",
				    d->offset, d->events, d->cpu, d->chunks);
		else if (d->type == DAMAGE_HOLE)
			check_found(c, CHECK_CONTAINER, d->chunks,
				    "damaged at byte %" PRIu64 ": %" PRIu64 " chunk%s in %" PRIu64
				    " bytes cannot be found", d->offset, d->chunks, d->chunks == 1 ? "" : "s", d->bytes);
		else
			check_found(c, CHECK_CONTAINER, 1, "damaged at byte %" PRIu64 ": some %s cannot be had",
				    d->offset, damage_of(d));
	}
	if (r->cut_why)
		check_found(c, CHECK_CONTAINER, 1, "%s at byte %" PRIu64 "; the events before are whole", r->cut_why,
			    r->cut_at);
	else if (!r->ended)
		check_found(c, CHECK_CONTAINER, 1,
			    "the trace has no end: it is being recorded, or its recorder was killed");
	if (lost)
		check_found(c, CHECK_LOST, lost, "%" PRIu64 " events were lost while recording", lost);
	if (odd)
		check_found(c, CHECK_COUNTER, odd,
			    "%" PRIu64 " times more instructions were taken back than had been counted%s%s", odd,
			    first ? ": first " : "", first ? first : "");
	if (!r->ended)
		return;
	check_counters(r, cpus, c);
	events = meta_get_u64(&r->meta, "events", 0);
	if (events != c->events)
		check_found(c, CHECK_CONTAINER, 1, "%" PRIu64 " events are there, %" PRIu64 " were recorded", c->events,
			    events);
}

/* Of the kernel's own code and its modules' all has names. */
static void check_names(const struct names *names, const struct functions *f, bool no_addresses, struct check *c)
{
	const struct function_stat *groups = f->stats + names->groups;
	uint64_t unnamed = groups[GROUP_KERNEL].self_insns;
	uint64_t all = f->insns - groups[GROUP_FIRMWARE].self_insns - groups[GROUP_DECOMPRESSOR].self_insns;

	/* addresses that were made up tell nothing of others' */
	if (!no_addresses && names->n_own && unnamed > UNNAMED_FREE + all / UNNAMED_OF)
		check_found(c, CHECK_UNNAMED, unnamed,
			    "%" PRIu64 " of %" PRIu64
			    " instructions are kernel code without a name: was there another kernel?",
			    unnamed, all);
}

/* `part`: calls were left out, perhaps without sums of them, as with a limit. */
static void check_sums(const struct functions *f, bool part, struct check *c)
{
	if (part && f->insns < c->insns && f->ns + f->halted_ns <= c->ns)
		return;
	if (f->insns != c->insns)
		check_found(c, CHECK_CONSERVATION, 1,
			    "self time of all functions is %" PRIu64 " instructions, the vCPUs retired %" PRIu64,
			    f->insns, c->insns);
	/* both sums are rounded down */
	if (c->ns - f->ns - f->halted_ns > 1)
		check_found(c, CHECK_CONSERVATION, 1,
			    "self and halted time are %" PRIu64 " ns, the vCPUs' clocks %" PRIu64, f->ns + f->halted_ns,
			    c->ns);
}

static int check_functions(const struct reader *r, const struct names *names, const struct cpu_end *cpus,
			   struct check *c, struct error *err)
{
	const struct session session = { .reader = r, .names = names };
	struct functions f;

	if (functions_analyse(&session, &SPAN_ALL, &f, err) < 0)
		return -1;
	for (unsigned i = 0; i < reader_vcpus(r); i++) {
		c->insns += cpus[i].state.insns - cpus[i].gap_insns;
		c->ns += cpus[i].state.ns - cpus[i].gap_ns;
	}
	c->halted_ns = f.halted_ns;
	check_sums(&f, meta_get(&r->meta, "filtered") && !strcmp(meta_get(&r->meta, "filtered"), "yes"), c);
	check_names(names, &f, reader_lacks(r, "addresses"), c);
	functions_deinit(&f);
	return 0;
}

/* Chunks that other commands read only when they need them. */
static void check_texts(const struct reader *r, struct check *ret)
{
	struct error damaged;
	struct texts texts;
	struct facts facts;
	struct held_calls held;
	struct left_sums sums;

	if (texts_read_some(r, NULL, NULL, &texts, &damaged) < 0)
		check_found(ret, CHECK_CONTAINER, 1, "%s", damaged.text);
	texts_deinit(&texts);
	if (facts_read(r, &facts, &damaged) < 0)
		check_found(ret, CHECK_CONTAINER, 1, "%s", damaged.text);
	facts_deinit(&facts);
	if (held_calls_read(r, &held, &damaged) < 0)
		check_found(ret, CHECK_CONTAINER, 1, "%s", damaged.text);
	held_calls_deinit(&held);
	if (left_sums_read(r, &sums, &damaged) < 0)
		check_found(ret, CHECK_CONTAINER, 1, "%s", damaged.text);
	left_sums_deinit(&sums);
}

int check_analyse(const struct reader *r, const struct names *names, bool stacks, struct check *ret, struct error *err)
{
	static const struct chunk_visitor visitor = { .begin = begin, .batch = batch };
	unsigned threads = walk_threads();
	struct visit *visits = xcalloc(threads, sizeof *visits);
	void **pointers = xcalloc(threads, sizeof *pointers);
	struct chunk_end *ends = xcalloc(r->n_chunks, sizeof *ends);
	struct cpu_end *cpus = xcalloc(CPUS_MAX, sizeof *cpus);
	struct error damaged;
	int result = 0;

	*ret = (struct check){ 0 };
	for (unsigned i = 0; i < threads; i++) {
		visits[i].ends = ends;
		pointers[i] = &visits[i];
	}
	if (walk_chunks(r, &SPAN_ALL, &visitor, pointers, threads, &damaged) < 0) {
		check_found(ret, CHECK_CONTAINER, 1, "%s", damaged.text);
	} else {
		check_texts(r, ret);
		check_chunks(r, ends, cpus, ret);
		check_end(r, cpus, ret);
		result = check_functions(r, names, cpus, ret, err);
		if (result == 0 && stacks)
			result = check_stacks(r, names, ret, err);
	}
	free(visits);
	free(pointers);
	free(ends);
	free(cpus);
	return result;
}
