/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "calls_trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "calls_blocks.h"
#include "calls_modules.h"
#include "made_calls.h"
#include "trace/facts.h"
#include "trace/meta.h"

enum { THREADS_AT_ONCE = CPUS_MAX, NO_CPU = CPUS_MAX };

struct calls_program_thread {
	uint32_t number;      /* in the file */
	uint32_t made;        /* in the trace */
	unsigned cpu;         /* NO_CPU: it has none, and its events are lost */
	unsigned began_on;    /* the CPU of its first event, and when that was */
	uint64_t began_ns, began_insns;
	uint64_t next_record; /* those before are in the file */
	uint64_t ticks;       /* of its last event */
};

struct mark {
	uint64_t ns, insns;
	unsigned cpu;
	uint64_t task; /* 0: its thread has had no event before it in the file */
	uint32_t thread;
	char *text;
};

struct calls_trace {
	const char *path;
	struct made_trace *made;
	struct made_calls *calls;
	struct calls_modules *modules;
	struct calls_blocks blocks;
	struct map numbers; /* of threads, in the file → here */
	struct calls_program_thread *threads;
	size_t n_threads, threads_cap;
	bool busy[THREADS_AT_ONCE]; /* the CPU has a thread */
	struct calls_clock *clocks;
	size_t n_clocks, clocks_cap;
	size_t clock_at; /* the one that was used last */
	unsigned shift;
	bool ticks_are_ns;
	char *exe; /* its name, for threads that have none */
	struct buf info;
	struct mark *marks;
	size_t n_marks, marks_cap;
	uint64_t end_ns;
	struct calls_trace_counts counts;
};

/* What comes before all events: clocks, and what the program is. */
static void note_clock(struct calls_trace *t, struct cursor payload)
{
	const void *c = cursor_take(&payload, sizeof *t->clocks);

	if (!c)
		return;
	t->clocks = array_grow(t->clocks, t->n_clocks, &t->clocks_cap, sizeof *t->clocks);
	memcpy(&t->clocks[t->n_clocks], c, sizeof *t->clocks);
	/* clocks never go back */
	if (!t->n_clocks || (t->clocks[t->n_clocks].ticks > t->clocks[t->n_clocks - 1].ticks &&
			     t->clocks[t->n_clocks].ns >= t->clocks[t->n_clocks - 1].ns))
		t->n_clocks++;
}

static void note_info(struct calls_trace *t, struct cursor payload)
{
	size_t len = cursor_left(&payload);
	cleanup_free char *text = len ? xstrndup((const char *)payload.p, len) : NULL;
	char *rest = text, *line;

	while (rest && (line = strsep(&rest, "\n"))) {
		char *value = strchr(line, '=');
		char key[48];

		if (!value)
			continue;
		*value++ = 0;
		if (!strcmp(line, "shift"))
			t->shift = (unsigned)strtoul(value, NULL, 10) & 31;
		if (!strcmp(line, "clock"))
			t->ticks_are_ns = !strcmp(value, "ns");
		if (!strcmp(line, "exe")) {
			free(t->exe);
			t->exe = xstrdup(strrchr(value, '/') ? strrchr(value, '/') + 1 : value);
		}
		if (!strcmp(line, "exe") || !strcmp(line, "args")) {
			snprintf(key, sizeof key, "program.%s", line);
			meta_put(&t->info, key, value);
		}
		/* only of calls that it did not leave out by itself (UPTO_KFI) */
		if (!strcmp(line, "thinned") || !strncmp(line, "left_out.", 9))
			meta_put(&t->info, line, value);
	}
}

static void look_ahead(struct calls_trace *t)
{
	struct calls_blocks b = t->blocks;
	struct calls_block_found found;

	while (calls_blocks_next(&b, &found)) {
		if (found.kind == CALLS_CLOCK)
			note_clock(t, found.payload);
		if (found.kind == CALLS_INFO)
			note_info(t, found.payload);
	}
}

/* Guest time: since the program's first clock. */
static uint64_t time_of(struct calls_trace *t, uint64_t ticks)
{
	const double latest = 0x1p62;
	const struct calls_clock *a, *b;
	double since;

	if (!t->n_clocks)
		return ticks;
	if (t->ticks_are_ns || t->n_clocks == 1)
		return ticks > t->clocks->ticks ? ticks - t->clocks->ticks : 0;
	while (t->clock_at + 2 < t->n_clocks && ticks >= t->clocks[t->clock_at + 1].ticks)
		t->clock_at++;
	while (t->clock_at && ticks < t->clocks[t->clock_at].ticks)
		t->clock_at--;
	a = &t->clocks[t->clock_at];
	b = a + 1;
	if (ticks < a->ticks)
		return 0;
	since = (double)(ticks - a->ticks) * (double)(b->ns - a->ns) / (double)(b->ticks - a->ticks);
	return a->ns - t->clocks->ns + (uint64_t)(since < latest ? since : latest);
}

static unsigned free_cpu(const struct calls_trace *t, uint64_t ns)
{
	for (unsigned i = 0; i < THREADS_AT_ONCE; i++)
		if (!t->busy[i] && made_trace_ns(t->made, i) <= ns)
			return i;
	return NO_CPU;
}

static struct calls_program_thread *thread_of(struct calls_trace *t, uint32_t number)
{
	const uint64_t *i = map_get(&t->numbers, number);

	return i ? &t->threads[*i] : NULL;
}

static struct calls_program_thread *add_thread(struct calls_trace *t, uint32_t number, uint32_t tid, const char *name)
{
	struct calls_program_thread *thread;

	t->threads = array_grow(t->threads, t->n_threads, &t->threads_cap, sizeof *t->threads);
	thread = &t->threads[t->n_threads];
	*thread = (struct calls_program_thread){ .number = number, .cpu = NO_CPU };
	thread->made = made_calls_add_thread(t->calls, (int32_t)tid, (int32_t)t->blocks.pid, *name ? name : t->exe);
	*map_put(&t->numbers, number, 0) = t->n_threads++;
	t->counts.threads++;
	return thread;
}

static void add_thread_block(struct calls_trace *t, struct cursor payload)
{
	const void *p = cursor_take(&payload, sizeof(struct calls_thread));
	struct calls_program_thread *thread;
	struct calls_thread head;
	char name[sizeof head.name + 1] = "";

	if (!p)
		return;
	memcpy(&head, p, sizeof head);
	memcpy(name, head.name, sizeof head.name);
	thread = thread_of(t, head.thread);
	if (!thread && t->n_threads < THREADS_MAX - 1)
		add_thread(t, head.thread, head.tid, name);
	else if (thread && *name && thread->cpu != NO_CPU) /* it has another name now */
		made_calls_rename(t->calls, thread->cpu, thread->made, name, time_of(t, thread->ticks));
}

/* It runs from its first event on. */
static bool has_cpu(struct calls_trace *t, struct calls_program_thread *thread, uint64_t ns)
{
	if (thread->cpu != NO_CPU)
		return true;
	thread->cpu = free_cpu(t, ns);
	if (thread->cpu == NO_CPU)
		return false;
	t->busy[thread->cpu] = true;
	made_calls_switch(t->calls, thread->cpu, thread->made, ns);
	thread->began_on = thread->cpu;
	thread->began_ns = ns;
	thread->began_insns = made_trace_counter(t->made, thread->cpu, ns);
	return true;
}

static void leave_one(struct calls_trace *t, const struct calls_program_thread *thread, uint64_t ns)
{
	made_calls_leave(t->calls, thread->cpu, ns);
}

/* A call that is not the innermost ends with all that are in it. */
static void end_call(struct calls_trace *t, const struct calls_program_thread *thread, uint64_t function, uint64_t ns)
{
	size_t depth = made_calls_depth(t->calls, thread->made), at = depth;

	while (at && made_calls_at(t->calls, thread->made, at - 1) != function)
		at--;
	if (!at) {
		t->counts.ends_only++;
		return;
	}
	for (; depth >= at; depth--) {
		t->counts.left += depth > at;
		leave_one(t, thread, ns);
	}
}

static void add_event(struct calls_trace *t, struct calls_program_thread *thread, const struct calls_event *e)
{
	uint64_t ns = time_of(t, e->ticks), n;
	struct made_function function;

	if (e->ticks > thread->ticks)
		thread->ticks = e->ticks;
	if (ns > t->end_ns)
		t->end_ns = ns;
	if (!has_cpu(t, thread, ns)) {
		t->counts.lost++;
		return;
	}
	if (e->kind == CALLS_UNWOUND) {
		for (n = e->calls; n && made_calls_depth(t->calls, thread->made); n--, t->counts.left++)
			leave_one(t, thread, ns);
		return;
	}
	function = calls_modules_function(t->modules, e->function);
	if (e->kind == CALLS_BEGIN) {
		made_calls_enter(t->calls, thread->cpu, function, ns);
		t->counts.calls++;
	} else {
		end_call(t, thread, function.addr, ns);
	}
}

static void add_events(struct calls_trace *t, struct cursor payload)
{
	struct calls_program_thread *thread;
	struct calls_decoder d;
	struct calls_event e;

	if (!calls_decoder_begin(&d, payload, t->shift) || !(thread = thread_of(t, d.head.thread)))
		return;
	while (!t->made->full && calls_decoder_next(&d, &e))
		add_event(t, thread, &e);
	t->counts.lost += t->made->full ? 0 : d.left;
	thread->next_record = d.head.first + d.head.events;
}

/* No stack of the thread is known any more. */
static void lose(struct calls_trace *t, struct calls_program_thread *thread, uint64_t events)
{
	t->counts.lost += events;
	if (thread->cpu == NO_CPU)
		return;
	made_calls_lose(t->calls, thread->cpu, time_of(t, thread->ticks), events);
}

static void add_lost(struct calls_trace *t, struct cursor payload)
{
	const void *p = cursor_take(&payload, sizeof(struct calls_lost));
	struct calls_program_thread *thread;
	struct calls_lost lost;

	if (!p)
		return;
	memcpy(&lost, p, sizeof lost);
	thread = thread_of(t, lost.thread);
	if (thread && lost.events)
		lose(t, thread, lost.events);
	else if (!thread)
		t->counts.lost += lost.events;
}

static void end_thread(struct calls_trace *t, struct cursor payload)
{
	struct calls_program_thread *thread = thread_of(t, cursor_u32(&payload));

	if (!thread || thread->cpu == NO_CPU)
		return;
	made_calls_switch(t->calls, thread->cpu, MADE_NOBODY, time_of(t, thread->ticks));
	t->busy[thread->cpu] = false;
	thread->cpu = NO_CPU;
}

static void add_mark(struct calls_trace *t, struct cursor payload)
{
	const void *p = cursor_take(&payload, sizeof(struct calls_mark)), *text;
	struct calls_program_thread *thread;
	struct calls_mark head;
	struct mark mark;

	if (!p)
		return;
	memcpy(&head, p, sizeof head);
	text = cursor_take(&payload, head.bytes);
	if (!text)
		return;
	mark = (struct mark){ .ns = time_of(t, head.ticks), .thread = head.thread, .text = xstrndup(text, head.bytes) };
	thread = thread_of(t, head.thread);
	mark.cpu = thread && thread->cpu != NO_CPU ? thread->cpu : 0;
	mark.task = thread ? made_task(thread->made) : 0;
	mark.insns = made_trace_counter(t->made, mark.cpu, mark.ns);
	if (mark.ns > t->end_ns)
		t->end_ns = mark.ns;
	t->marks = array_grow(t->marks, t->n_marks, &t->marks_cap, sizeof *t->marks);
	t->marks[t->n_marks++] = mark;
}

/* Returns true at the program's end. */
static bool add_block(struct calls_trace *t, const struct calls_block_found *b)
{
	switch (b->kind) {
	case CALLS_THREAD:
		add_thread_block(t, b->payload);
		break;
	case CALLS_EVENTS:
		add_events(t, b->payload);
		break;
	case CALLS_MODULE:
		calls_modules_add(t->modules, b->payload);
		break;
	case CALLS_UNLOADED:
		calls_modules_unload(t->modules, b->payload);
		break;
	case CALLS_MARK:
		add_mark(t, b->payload);
		break;
	case CALLS_LOST:
		add_lost(t, b->payload);
		break;
	case CALLS_LEFT:
		end_thread(t, b->payload);
		break;
	case CALLS_INFO:
	case CALLS_CLOCK:
		break;
	case CALLS_END:
		return true;
	}
	return false;
}

static void add_rest_of(struct calls_trace *t, const struct calls_rest *r)
{
	struct calls_program_thread *thread = thread_of(t, r->thread);
	uint64_t n, end;

	if (!thread)
		thread = add_thread(t, r->thread, r->tid, "");
	/* neither the file nor the ring has those between: the one is damaged, or not the other's */
	if (thread->next_record && r->taken > thread->next_record)
		lose(t, thread, r->taken - thread->next_record);
	n = thread->next_record > r->taken ? thread->next_record : r->taken;
	end = r->end < r->taken + r->count ? r->end : r->taken + r->count;
	for (; n < end; n++) {
		const struct calls_record *record = &r->records[n & (r->count - 1)];
		struct calls_event e = {
			.kind = record->function & CALLS_RECORD_EXIT ? CALLS_ENDS : CALLS_BEGIN,
			.function = record->function & ~CALLS_RECORD_EXIT,
			/* as the file would have it */
			.ticks = record->ticks >> t->shift << t->shift,
		};

		if (t->made->full)
			break;
		/* it had not happened yet when a handler came, or the end */
		if (!record->ticks)
			continue;
		/* a jump: where stacks were is not known here, so that what it left ends with what is around it */
		if (record->function != CALLS_RECORD_EXIT)
			add_event(t, thread, &e);
	}
	if (r->lost)
		lose(t, thread, r->lost);
	t->counts.lost += r->homeless;
}

/* What a program that was killed had not written. */
static void add_rest(struct calls_trace *t, const struct buf *ring)
{
	struct calls_rest rest;
	size_t at = 0;

	while (calls_rest_next(ring->data, ring->len, &at, &rest))
		if (t->n_threads < THREADS_MAX - 1)
			add_rest_of(t, &rest);
}

static int by_time(const void *va, const void *vb)
{
	uint64_t a = ((const struct mark *)va)->ns, b = ((const struct mark *)vb)->ns;

	return a < b ? -1 : a > b;
}

/* The program's writer puts marks before events, so that some come before the first ones of their thread. */
static void place_mark(struct calls_trace *t, struct mark *m)
{
	const struct calls_program_thread *thread = m->task ? NULL : thread_of(t, m->thread);

	if (!thread)
		return;
	m->cpu = thread->began_on;
	m->task = made_task(thread->made);
	m->insns = thread->began_insns + (m->ns > thread->began_ns ? m->ns - thread->began_ns : 0);
}

static void put_marks(struct calls_trace *t)
{
	enum { INFO_LEVEL = 6, USER = 1 };
	struct buf facts = { 0 };

	if (t->n_marks)
		qsort(t->marks, t->n_marks, sizeof *t->marks, by_time);
	for (size_t i = 0; i < t->n_marks; i++) {
		struct mark *m = &t->marks[i];

		place_mark(t, m);
		fact_put(&facts, &(struct fact){
					 .kind = FACT_LOG,
					 .cpu = m->cpu,
					 .ns = m->ns,
					 .insns = m->insns,
					 .task = m->task,
					 .numbers = { i, INFO_LEVEL, USER },
					 .n_numbers = 3,
					 .texts = { m->text },
					 .lens = { strlen(m->text) },
					 .n_texts = 1,
				 });
	}
	if (facts.len)
		builder_put_table(&t->made->builder, CHUNK_FACTS, &facts, BUILDER_TABLES_LEVEL);
	buf_free(&facts);
}

/* META's `absent` is known now. `stopped`: why what is missing at the end is; NULL: nothing is. */
static void put_meta(struct calls_trace *t, const char *stopped)
{
	struct buf lines = { 0 };

	if (stopped)
		meta_put(&lines, "stopped", stopped);
	if (t->n_marks)
		meta_put(&lines, "absent", "instructions,interrupts,syscalls,addresses");
	if (t->n_clocks)
		meta_put_u64(&lines, "program.monotonic_ns", t->clocks->ns);
	builder_put_table(&t->made->builder, CHUNK_META, &lines, BUILDER_TABLES_LEVEL);
	buf_free(&lines);
}

static int write(struct calls_trace *t, const struct buf *ring, struct error *err)
{
	struct calls_block_found found;
	bool ended = false;

	while (!ended && !t->made->full && calls_blocks_next(&t->blocks, &found))
		ended = add_block(t, &found);
	if (!ended)
		add_rest(t, ring);
	if (t->made->full)
		return error_set(err, "%s: more than the %d places of calls that a trace can have", t->path, SITES_MAX);
	if (!t->counts.calls && !t->counts.ends_only)
		return error_set(err, "%s: has no calls%s", t->path,
				 ended ? ": was the program compiled with -finstrument-functions?" : "");
	t->counts.why_cut =
		ended ? NULL
		: t->blocks.why_cut
			? t->blocks.why_cut
			: "the program did not come to its end: it was killed, or runs, or another took its place";
	t->counts.nameless = calls_modules_name(t->modules);
	put_marks(t);
	/* what the file of a program that was killed does not have, its ring has, if that is there */
	put_meta(t, ring->len && !t->blocks.is_damaged ? NULL : t->counts.why_cut);
	t->made->lost = t->counts.lost;
	made_trace_end(t->made, t->end_ns);
	return 0;
}

static void deinit(struct calls_trace *t)
{
	for (size_t i = 0; i < t->n_marks; i++)
		free(t->marks[i].text);
	free(t->marks);
	free(t->clocks);
	free(t->threads);
	free(t->exe);
	map_free(&t->numbers);
	buf_free(&t->info);
	made_calls_free(t->calls);
	made_trace_free(t->made);
	calls_modules_free(t->modules);
}

int calls_trace_write(const struct buf *data, const struct buf *ring, const char *path, const struct builder_sink *sink,
		      struct calls_trace_counts *ret, struct error *err)
{
	const struct made_function outside = { made_function_address(0), FUNCTION_ROOM };
	struct calls_trace t = { .path = path };
	int r;

	if (calls_blocks_init(&t.blocks, data->data, data->len, path, err) < 0)
		return -1;
	t.exe = xstrdup("program");
	look_ahead(&t);
	meta_put_u64(&t.info, "program.pid", t.blocks.pid);
	t.made = made_trace_new(sink, &(struct made_facts){
					      .of = "what a program with libupto wrote",
					      .more = &t.info,
					      .absent = "instructions,interrupts,syscalls,facts,addresses",
				      });
	made_trace_add_function(t.made, &(struct symtab_function){
						.addr = outside.addr,
						.size = outside.size,
						.name = CALLS_OUTSIDE,
					});
	made_trace_halt(t.made, 0, 0);
	t.calls = made_calls_new(t.made, outside);
	t.modules = calls_modules_new(t.made);
	r = write(&t, ring, err);
	*ret = t.counts;
	deinit(&t);
	return r;
}
