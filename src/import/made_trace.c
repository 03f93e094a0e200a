/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "made_trace.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

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
	meta_put_u64(&lines, "vcpus", 1);
	meta_put_u64(&lines, "slide", 0);
	meta_put_u64(&lines, "kernel_ns", 0);
	meta_put_u64(&lines, "kernel_insns", 0);
	if (facts->more)
		buf_put(&lines, facts->more->data, facts->more->len);
	builder_put_table(&m->builder, CHUNK_META, &lines, BUILDER_TABLES_LEVEL);
	buf_free(&lines);
}

struct made_trace *made_trace_new(const struct builder_sink *sink, const struct made_facts *facts)
{
	struct made_trace *m = xcalloc(1, sizeof *m);

	sites_init(&m->sites);
	builder_init(&m->builder, &m->sites, sink);
	m->encoder = builder_encoder(&m->builder, 0);
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
	symtab_deinit(&m->symbols);
	free(m->functions);
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

static void add(struct made_trace *m, const struct event *e)
{
	*encoder_next(m->encoder) = *e;
	encoder_added(m->encoder);
	m->ns = e->ns;
	m->unclocked++;
	if (event_has_clock(e->kind)) {
		m->clock_ns = e->ns;
		m->unclocked = 0;
	}
}

static void put_clock(struct made_trace *m, uint64_t ns)
{
	add(m, &(struct event){ .kind = EVENT_CLOCK, .site = EVENT_CLOCK, .insns = ns, .ns = ns });
}

void made_trace_begin_at(struct made_trace *m, uint64_t ns)
{
	builder_put_gap(&m->builder, 0, &(struct cpu_state){ .insns = ns, .ns = ns }, GAP_NOT_ASKED, 1, 0);
	m->ns = m->clock_ns = ns;
}

void made_trace_clocks(struct made_trace *m, uint64_t ns)
{
	put_clock(m, m->ns);
	if (m->encoder->events >= MADE_CHUNK_EVENTS)
		builder_end_chunk(&m->builder, 0, 0);
	if (ns - m->ns >= MADE_CLOCK_NS)
		put_clock(m, ns);
}

void made_trace_put(struct made_trace *m, const struct event *e)
{
	struct event timed = *e;

	assert(e->ns >= m->ns);
	timed.insns = e->ns;
	if (made_trace_needs_clock(m, e->ns))
		made_trace_clocks(m, e->ns);
	add(m, &timed);
}

void made_trace_add_task(struct made_trace *m, uint64_t thread, int32_t pid)
{
	char name[32];

	snprintf(name, sizeof name, "pid %" PRId32, pid);
	task_record_put(&m->tasks, &(struct task_record){
		.change = TASK_SEEN, .ns = m->ns, .insns = m->ns, .task = made_task(thread), .pid = pid, .tgid = pid,
		.comm = name, .exe = "",
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

void made_trace_end(struct made_trace *m, uint64_t ns)
{
	struct buf lines = { 0 };

	made_trace_clocks(m, ns);
	if (m->clock_ns < ns)
		put_clock(m, ns);
	builder_end_chunk(&m->builder, 0, 0);
	write_symbols(m);
	builder_put_table(&m->builder, CHUNK_TASKS, &m->tasks, BUILDER_TABLES_LEVEL);
	meta_put_u64(&lines, "insns.0", m->ns);
	meta_put_u64(&lines, "events", m->builder.events);
	meta_put_u64(&lines, "lost", 0);
	builder_put_table(&m->builder, CHUNK_END, &lines, BUILDER_TABLES_LEVEL);
	buf_free(&lines);
}
