/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "made_trace.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "symbols/symtab_codec.h"
#include "trace/meta.h"

enum { TASKS_CHUNK = 32 << 20 }; /* bytes */

static void write_meta(struct made_trace *m, const struct made_facts *facts)
{
	struct buf lines = { 0 };

	meta_put(&lines, "arch", "x86_64");
	meta_put(&lines, "imported", facts->of);
	meta_put(&lines, "absent", facts->absent);
	meta_put(&lines, "clock", "insns and ns: nanoseconds of what was imported");
	meta_put(&lines, "filtered", "yes");
	meta_put_u64(&lines, "slide", 0);
	meta_put_u64(&lines, "kernel_ns", 0);
	meta_put_u64(&lines, "kernel_insns", 0);
	if (facts->more)
		buf_put(&lines, facts->more->data, facts->more->len);
	builder_put_table(&m->builder, CHUNK_META, &lines, BUILDER_TABLES_LEVEL);
	buf_free(&lines);
}

/* The first one runs from 0 on; others are halted until they have something. */
static struct made_cpu *cpu_of(struct made_trace *m, unsigned cpu)
{
	struct made_cpu *c;

	if (cpu >= m->n_cpus) {
		m->cpus = xreallocarray(m->cpus, cpu + 1, sizeof *m->cpus);
		memset(m->cpus + m->n_cpus, 0, (cpu + 1 - m->n_cpus) * sizeof *m->cpus);
		m->n_cpus = cpu + 1;
	}
	c = &m->cpus[cpu];
	if (!c->encoder) {
		c->encoder = builder_encoder(&m->builder, cpu);
		if (cpu)
			made_trace_halt(m, cpu, 0);
	}
	return c;
}

struct made_trace *made_trace_new(const struct builder_sink *sink, const struct made_facts *facts)
{
	struct made_trace *m = xcalloc(1, sizeof *m);

	sites_init(&m->sites);
	builder_init(&m->builder, &m->sites, sink);
	cpu_of(m, 0);
	made_trace_add_section(m, "");
	write_meta(m, facts);
	return m;
}

void made_trace_free(struct made_trace *m)
{
	if (!m)
		return;
	builder_deinit(&m->builder);
	sites_deinit(&m->sites);
	map_free(&m->site_numbers);
	symtab_deinit(&m->symbols);
	free(m->functions);
	free(m->cpus);
	buf_free(&m->tasks);
	free(m);
}

void made_trace_add_function(struct made_trace *m, const struct symtab_function *function)
{
	m->functions = array_grow(m->functions, m->n_functions, &m->functions_cap, sizeof *m->functions);
	m->functions[m->n_functions++] = *function;
}

/* Functions of all sections lie mixed, so each section is everywhere. */
uint16_t made_trace_add_section(struct made_trace *m, const char *name)
{
	struct symtab *tab = &m->symbols;
	struct symtab_section *s;

	assert(tab->n_sections < UINT16_MAX && strlen(name) < sizeof s->name);
	tab->sections = array_grow(tab->sections, tab->n_sections, &m->sections_cap, sizeof *tab->sections);
	s = &tab->sections[tab->n_sections];
	*s = (struct symtab_section){ .end = UINT64_MAX };
	memcpy(s->name, name, strlen(name) + 1);
	return (uint16_t)tab->n_sections++;
}

static void add(struct made_cpu *c, const struct event *e)
{
	*encoder_next(c->encoder) = *e;
	encoder_added(c->encoder);
	c->ns = e->ns;
	c->unclocked++;
	if (event_has_clock(e->kind)) {
		c->clock_ns = e->ns;
		c->unclocked = 0;
	}
}

static uint64_t counter(const struct made_cpu *c, uint64_t ns)
{
	return ns - c->halted_ns;
}

/* An event that is nothing but its kind. */
static void put_bare(struct made_cpu *c, enum event_kind kind, uint64_t ns)
{
	add(c, &(struct event){ .kind = kind, .site = kind, .insns = counter(c, ns), .ns = ns });
}

void made_trace_begin_at(struct made_trace *m, uint64_t ns)
{
	builder_put_gap(&m->builder, 0, &(struct cpu_state){ .insns = ns, .ns = ns }, GAP_NOT_ASKED, 1, 0);
	m->cpus->ns = m->cpus->clock_ns = ns;
}

void made_trace_clocks(struct made_trace *m, unsigned cpu, uint64_t ns)
{
	struct made_cpu *c = &m->cpus[cpu];

	put_bare(c, EVENT_CLOCK, c->ns);
	if (c->encoder->events >= MADE_CHUNK_EVENTS)
		builder_end_chunk(&m->builder, cpu, 0);
	if (ns - c->ns >= MADE_CLOCK_NS)
		put_bare(c, EVENT_CLOCK, ns);
}

void made_trace_put(struct made_trace *m, unsigned cpu, const struct event *e)
{
	struct made_cpu *c = cpu_of(m, cpu);
	struct event timed = *e;

	made_trace_resume(m, cpu, e->ns);
	assert(e->ns >= c->ns);
	timed.insns = counter(c, e->ns);
	if (made_trace_needs_clock(c, e->ns))
		made_trace_clocks(m, cpu, e->ns);
	add(c, &timed);
}

static bool is_site(const struct site *a, const struct site *b)
{
	return a->kind == b->kind && a->addr == b->addr && a->target == b->target;
}

static uint32_t site_of(struct made_trace *m, const struct site *site)
{
	uint64_t key = hash64(hash64(site->addr * 8 + site->kind) ^ site->target),
		 *number = map_put(&m->site_numbers, key, 0);

	if (!*number || !is_site(sites_get(&m->sites, (uint32_t)*number), site))
		*number = sites_add(&m->sites, site);
	m->full |= !*number;
	return (uint32_t)*number;
}

void made_trace_put_at(struct made_trace *m, unsigned cpu, const struct event *e, const struct site *site)
{
	struct event event = *e;

	event.kind = site->kind;
	event.site = site_of(m, site);
	if (event.site)
		made_trace_put(m, cpu, &event);
}

void made_trace_halt(struct made_trace *m, unsigned cpu, uint64_t ns)
{
	struct made_cpu *c = cpu_of(m, cpu);

	if (c->halted)
		return;
	put_bare(c, EVENT_HALT, ns);
	c->halted = true;
}

void made_trace_resume(struct made_trace *m, unsigned cpu, uint64_t ns)
{
	struct made_cpu *c = cpu_of(m, cpu);

	if (!c->halted)
		return;
	c->halted_ns += ns - c->ns;
	put_bare(c, EVENT_RESUME, ns);
	c->halted = false;
}

void made_trace_lose(struct made_trace *m, unsigned cpu, uint64_t ns, uint64_t events, uint64_t task)
{
	struct made_cpu *c = cpu_of(m, cpu);

	made_trace_resume(m, cpu, ns);
	made_trace_clocks(m, cpu, ns);
	builder_put_gap(&m->builder, cpu, &(struct cpu_state){ .insns = counter(c, ns), .ns = ns, .task = task },
			GAP_IS_LOST, ++m->gaps, events);
	c->ns = c->clock_ns = ns;
	c->unclocked = 0;
}

uint64_t made_trace_counter(const struct made_trace *m, unsigned cpu, uint64_t ns)
{
	return cpu < m->n_cpus ? counter(&m->cpus[cpu], ns) : ns;
}

uint64_t made_trace_ns(const struct made_trace *m, unsigned cpu)
{
	return cpu < m->n_cpus ? m->cpus[cpu].ns : 0;
}

void made_trace_add_task(struct made_trace *m, unsigned cpu, uint64_t ns, const struct made_task *t)
{
	const struct made_cpu *c = cpu_of(m, cpu);

	task_record_put(&m->tasks, &(struct task_record){
					   .change = t->change,
					   .cpu = cpu,
					   .ns = ns,
					   .insns = counter(c, ns),
					   .task = made_task(t->thread),
					   .maker = t->maker ? made_task(t->maker - 1) : 0,
					   .pid = t->pid,
					   .tgid = t->tgid,
					   .ppid = t->ppid,
					   .mm = t->user ? made_task(t->thread) : 0,
					   .comm = t->name,
					   .exe = t->exe ? t->exe : "",
				   });
	if (m->tasks.len >= TASKS_CHUNK) {
		builder_put_table(&m->builder, CHUNK_TASKS, &m->tasks, BUILDER_TABLES_LEVEL);
		buf_free(&m->tasks);
		m->tasks = (struct buf){ 0 };
	}
}

static void write_symbols(struct made_trace *m)
{
	struct buf payload = { 0 };

	symtab_put_functions(&m->symbols, m->functions, m->n_functions, NULL);
	symtab_encode(&m->symbols, &payload);
	builder_put_table(&m->builder, CHUNK_SYMBOLS, &payload, BUILDER_TABLES_LEVEL);
	buf_free(&payload);
}

static void end_cpu(struct made_trace *m, unsigned cpu, uint64_t ns, struct buf *lines)
{
	struct made_cpu *c = &m->cpus[cpu];
	char key[24];

	if (!c->encoder)
		return;
	ns = ns < c->ns ? c->ns : ns;
	if (!c->halted)
		made_trace_clocks(m, cpu, ns);
	if (!c->halted && c->clock_ns < ns)
		put_bare(c, EVENT_CLOCK, ns);
	builder_end_chunk(&m->builder, cpu, 0);
	snprintf(key, sizeof key, "insns.%u", cpu);
	meta_put_u64(lines, key, counter(c, c->ns));
}

void made_trace_end(struct made_trace *m, uint64_t ns)
{
	struct buf lines = { 0 };

	for (unsigned i = 0; i < m->n_cpus; i++)
		end_cpu(m, i, ns, &lines);
	write_symbols(m);
	builder_put_table(&m->builder, CHUNK_TASKS, &m->tasks, BUILDER_TABLES_LEVEL);
	meta_put_u64(&lines, "vcpus", m->n_cpus);
	meta_put_u64(&lines, "events", m->builder.events);
	meta_put_u64(&lines, "lost", m->lost);
	builder_put_table(&m->builder, CHUNK_END, &lines, BUILDER_TABLES_LEVEL);
	buf_free(&lines);
}
