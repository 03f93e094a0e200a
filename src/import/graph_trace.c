/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "graph_trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "made_calls.h"
#include "trace/facts.h"
#include "trace/meta.h"

enum { NO_CPU = CPUS_MAX, FACTS_CHUNK = 8 << 20 };

/* What is kept, where only ends of calls were recorded. */
#ifdef UPTO_SMALL_CHUNKS /* more is to be seen in development */
enum { KEPT_MAX = 1 << 17 };
#else
enum { KEPT_MAX = 1 << 26 };
#endif
enum { KEPT_TEXT = 1 << 30 };

struct graph_thread {
	int32_t pid;
	uint32_t made;
	unsigned cpu;      /* where it runs; NO_CPU: nowhere */
	unsigned left_cpu; /* … and where and when it last left */
	uint64_t left_ns;
	uint64_t losses; /* so many there had been when it left */
	uint16_t *depths; /* of its open calls: so many are around each, of which some may not be known */
	size_t count, cap;
};

struct function {
	char *name;
};

/* Where a thread that is yet to be seen comes from: it was made by another, or was there. */
struct origin {
	bool is_made, is_there, same_process, is_user;
	uint32_t maker;
	int32_t tgid, ppid;
	char *exe; /* NULL: not known */
};

struct graph_trace {
	const char *path;
	struct made_trace *made;
	struct made_calls *calls;
	struct map pids;  /* thread by PID, UINT64_MAX: none has it now; of idle threads by CPU */
	struct map comms; /* name by PID, as an index */
	char **names;     /* … of these */
	size_t n_names, names_cap;
	struct map origins; /* by PID, as an index */
	struct origin *origin_list;
	size_t n_origins, origins_cap;
	struct graph_thread *threads;
	size_t n_threads, threads_cap;
	uint32_t running[CPUS_MAX]; /* MADE_NOBODY: nobody is known to */
	/* a switch that was told, and whose thread may have gone on up to the switch itself */
	struct switching {
		bool is_told;
		int32_t from, to;
		uint64_t ns;
	} switching[CPUS_MAX];
	struct map functions;       /* by address */
	struct function *list;
	size_t n_functions, functions_cap;
	struct kept {
		struct graph_record record;
		size_t text;       /* where it is in `kept_texts`, with a NUL */
	} *kept;                   /* up to the first begin of a call */
	size_t n_kept, kept_cap;
	struct graph_record dropped; /* the first for which there was no room there; its count is that of all of them */
	struct buf kept_texts;
	struct buf lines;          /* of META: formats of events */
	uint64_t n_formats;
	bool *enters;              /* by number: the event is the begin of a system call */
	bool has_syscalls;         /* one of them tells of system calls, by numbers that are known */
	bool has_begins;
	uint64_t losses; /* on any CPU */
	uint64_t base_ns, end_ns;
	struct buf facts;
	bool has_facts; /* some were written already */
	uint64_t log_lines;
	struct graph_trace_counts counts;
	const struct graph_part *part; /* NULL: all */
	bool started, over;            /* of that */
	uint64_t begun;                /* calls of it */
};

static uint64_t time_of(struct graph_trace *t, uint64_t ns)
{
	uint64_t guest = ns > t->base_ns ? ns - t->base_ns : 0;

	if (guest > t->end_ns)
		t->end_ns = guest;
	return guest;
}

static uint64_t key_of(int32_t pid, unsigned cpu)
{
	return pid ? (uint32_t)pid : UINT64_C(1) << 32 | cpu;
}

/* `cpu`: where that shows, at that time of the records; CPUS_MAX: it is told otherwise. */
static void note_comm(struct graph_trace *t, int32_t pid, unsigned cpu, const char *name, uint64_t ns)
{
	const uint64_t *thread;
	uint64_t *at;

	if (!pid || !*name)
		return;
	at = map_put(&t->comms, (uint32_t)pid, UINT64_MAX);
	if (*at == UINT64_MAX) {
		t->names = array_grow(t->names, t->n_names, &t->names_cap, sizeof *t->names);
		*at = t->n_names;
		t->names[t->n_names++] = xstrdup("");
	}
	if (!strcmp(t->names[*at], name))
		return;
	free(t->names[*at]);
	t->names[*at] = xstrdup(name);
	thread = map_get(&t->pids, key_of(pid, cpu));
	if (thread && *thread != UINT64_MAX && cpu < CPUS_MAX)
		made_calls_rename(t->calls, cpu, t->threads[*thread].made, name, ns > t->base_ns ? ns - t->base_ns : 0);
}

static struct origin *origin_of(struct graph_trace *t, int32_t pid)
{
	uint64_t *at = map_put(&t->origins, (uint32_t)pid, UINT64_MAX);

	if (*at == UINT64_MAX) {
		t->origin_list = array_grow(t->origin_list, t->n_origins, &t->origins_cap, sizeof *t->origin_list);
		*at = t->n_origins;
		t->origin_list[t->n_origins++] = (struct origin){ 0 };
	}
	return &t->origin_list[*at];
}

static void tell_origin(struct graph_trace *t, int32_t pid, uint32_t made)
{
	const struct origin *o = origin_of(t, pid);

	if (o->is_made)
		made_calls_set_maker(t->calls, made, t->threads[o->maker].made, o->same_process);
	else if (o->is_there)
		made_calls_set_there(t->calls, made, o->tgid, o->ppid, o->is_user, o->exe);
}

static uint32_t thread_of(struct graph_trace *t, int32_t pid, unsigned cpu)
{
	uint64_t *at = map_put(&t->pids, key_of(pid, cpu), UINT64_MAX), *comm;
	char name[32];

	if (*at != UINT64_MAX)
		return (uint32_t)*at;
	*at = t->n_threads;
	comm = pid ? map_get(&t->comms, (uint32_t)pid) : NULL;
	if (pid)
		snprintf(name, sizeof name, "pid %d", pid);
	else
		snprintf(name, sizeof name, "swapper/%u", cpu);
	t->threads = array_grow(t->threads, t->n_threads, &t->threads_cap, sizeof *t->threads);
	t->threads[t->n_threads] = (struct graph_thread){
		.pid = pid,
		.cpu = NO_CPU,
		.losses = t->losses,
		.made = made_calls_add_thread(t->calls, pid, pid, comm ? t->names[*comm] : name),
	};
	if (pid)
		tell_origin(t, pid, t->threads[t->n_threads].made);
	t->counts.threads++;
	return (uint32_t)t->n_threads++;
}

/* A thread that was there leaves. */
static void put_on(struct graph_trace *t, uint32_t number, unsigned cpu, uint64_t ns)
{
	uint32_t before = t->running[cpu];

	made_calls_switch(t->calls, cpu, t->threads[number].made, ns);
	t->running[cpu] = number;
	t->threads[number].cpu = cpu;
	if (before == MADE_NOBODY)
		return;
	t->threads[before].cpu = NO_CPU;
	t->threads[before].left_cpu = cpu;
	t->threads[before].left_ns = made_trace_ns(t->made, cpu);
	t->threads[before].losses = t->losses;
}

static void run(struct graph_trace *t, uint32_t number, unsigned cpu, uint64_t ns);

/* It has switched. */
static void end_switching(struct graph_trace *t, unsigned cpu)
{
	struct switching *s = &t->switching[cpu];

	if (!s->is_told)
		return;
	s->is_told = false;
	run(t, thread_of(t, s->to, cpu), cpu, s->ns);
}

/*
 * From then on it runs there, and nowhere else: where nothing told that it left, the CPU is idle. It comes behind where
 * it left, though clocks of CPUs may differ; of what happens at the same time, the lower CPU's comes first.
 */
static void run(struct graph_trace *t, uint32_t number, unsigned cpu, uint64_t ns)
{
	unsigned before = t->threads[number].cpu;
	const struct graph_thread *thread;
	uint64_t earliest;

	if (t->running[cpu] == number)
		return;
	if (before != NO_CPU)
		end_switching(t, before);
	before = t->threads[number].cpu;
	if (before != NO_CPU)
		put_on(t, thread_of(t, 0, before), before, ns);
	thread = &t->threads[number];
	earliest = thread->left_ns + (thread->left_cpu > cpu);
	put_on(t, number, cpu, ns > earliest ? ns : earliest);
}

static struct made_function place_of(struct graph_trace *t, uint64_t address)
{
	uint64_t *at = map_put(&t->functions, address, UINT64_MAX);

	if (*at == UINT64_MAX) {
		if (t->n_functions == FUNCTIONS_MAX - 2)
			*at = t->n_functions - 1;
		else {
			t->list = array_grow(t->list, t->n_functions, &t->functions_cap, sizeof *t->list);
			*at = t->n_functions;
			t->list[t->n_functions++] = (struct function){ .name = xasprintf("0x%" PRIx64, address) };
		}
	}
	return (struct made_function){ made_function_address(*at + 1), FUNCTION_ROOM };
}

static void name(struct graph_trace *t, uint64_t address, const char *text)
{
	size_t i;

	place_of(t, address);
	i = *map_get(&t->functions, address);
	if (!*text)
		return;
	free(t->list[i].name);
	t->list[i].name = xstrdup(text);
}

static void leave_one(struct graph_trace *t, struct graph_thread *thread, uint64_t ns)
{
	made_calls_leave(t->calls, thread->cpu, ns);
	thread->count--;
}

/* Calls that are so deep, and by this record must have ended. */
static void mend(struct graph_trace *t, struct graph_thread *thread, unsigned depth, uint64_t ns)
{
	for (; thread->count && thread->depths[thread->count - 1] >= depth; t->counts.mended++)
		leave_one(t, thread, ns);
}

/*
 * An interrupt that comes while the tracer is about to record a begin is deeper than that, and comes before it: so a
 * call need not be one deeper than what is around it. One that comes while the tracer is about to record an end
 * (ftrace_pop_return_trace() has counted the depth down by then) is as deep as the call that is to end, and within it.
 */
static void add_begin(struct graph_trace *t, struct graph_thread *thread, const struct graph_record *r, uint64_t ns)
{
	mend(t, thread, r->depth + (r->interrupts ? 1u : 0u), ns);
	made_calls_enter(t->calls, thread->cpu, place_of(t, r->function), ns);
	thread->depths = array_grow(thread->depths, thread->count, &thread->cap, sizeof *thread->depths);
	thread->depths[thread->count++] = r->depth;
	t->counts.calls++;
}

static void add_end(struct graph_trace *t, struct graph_thread *thread, const struct graph_record *r, uint64_t ns)
{
	size_t open;

	mend(t, thread, r->depth + 1u, ns);
	open = thread->count;
	if (open && thread->depths[open - 1] == r->depth &&
	    made_calls_at(t->calls, thread->made, open - 1) == place_of(t, r->function).addr)
		leave_one(t, thread, ns);
	else
		t->counts.ends_only++;
}

static uint64_t task_of(struct graph_trace *t, int32_t pid, unsigned cpu)
{
	uint32_t number = thread_of(t, pid, cpu);

	return made_task(t->threads[number].made);
}

static void put_fact(struct graph_trace *t, const struct graph_record *r, struct fact *f, uint64_t ns)
{
	f->cpu = r->cpu;
	f->ns = ns;
	f->insns = made_trace_counter(t->made, r->cpu, ns);
	f->task = task_of(t, r->pid, r->cpu);
	fact_put(&t->facts, f);
}

static void add_wake(struct graph_trace *t, const struct graph_record *r, uint64_t ns)
{
	struct fact f = { .kind = FACT_WAKE, .n_numbers = 1 };

	f.numbers[0] = task_of(t, r->other, r->cpu);
	put_fact(t, r, &f, ns);
}

/* Another one had that PID before, and has it no more; its name stays. */
static void add_fork(struct graph_trace *t, const struct graph_record *r, const char *comm)
{
	uint64_t *at = map_get(&t->pids, key_of(r->other, r->cpu));
	struct origin *o;
	uint32_t maker;

	if (!r->other)
		return;
	if (at)
		*at = UINT64_MAX;
	note_comm(t, r->other, r->cpu, comm, r->ns);
	maker = thread_of(t, r->pid, r->cpu);
	o = origin_of(t, r->other);
	o->same_process = r->depth ? r->depth == GRAPH_IS_THREAD : o->is_made && o->maker == maker && o->same_process;
	o->is_made = true;
	o->maker = maker;
}

/* What a trace begins with: who has that PID then. */
static void add_there(struct graph_trace *t, const struct graph_record *r, const char *text)
{
	size_t name = strlen(text);
	struct origin *o;

	if (r->other <= 0 || r->pid <= 0 || map_get(&t->pids, key_of(r->other, 0)))
		return;
	note_comm(t, r->other, CPUS_MAX, text, r->ns);
	o = origin_of(t, r->other);
	free(o->exe);
	*o = (struct origin){
		.is_there = true,
		.is_user = r->depth,
		.tgid = r->pid,
		.ppid = r->count <= INT32_MAX ? (int32_t)r->count : 0,
		.exe = name < r->text_bytes ? xstrdup(text + name + 1) : NULL,
	};
}

/* It is called as its file is, as far as there is room: fs/exec.c, begin_new_exec(). */
static void add_exec(struct graph_trace *t, const struct graph_record *r, const char *path, uint64_t ns)
{
	enum { COMM_MAX = 15 };
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	cleanup_free char *comm = xstrndup(base, strnlen(base, COMM_MAX));

	if (!r->pid || !*comm)
		return;
	note_comm(t, r->pid, CPUS_MAX, comm, r->ns);
	made_calls_exec(t->calls, r->cpu, t->threads[thread_of(t, r->pid, r->cpu)].made, comm, path, ns);
}

static void add_line(struct graph_trace *t, const struct graph_record *r, const char *text, uint64_t ns)
{
	enum { INFO_LEVEL = 6 };
	size_t len = strcspn(text, "\n");

	if (len)
		put_fact(t, r,
			 &(struct fact){
				 .kind = FACT_LOG,
				 .numbers = { t->log_lines++, INFO_LEVEL, 0 },
				 .n_numbers = 3,
				 .texts = { text },
				 .lens = { len },
				 .n_texts = 1,
			 },
			 ns);
}

/* What makes a system call has a program. */
static void add_event(struct graph_trace *t, const struct graph_record *r, const char *bytes, uint64_t ns)
{
	if (r->count >= t->n_formats)
		return;
	if (r->pid && t->enters[r->count])
		made_calls_set_user(t->calls, r->cpu, t->threads[thread_of(t, r->pid, r->cpu)].made, ns);
	put_fact(t, r,
		 &(struct fact){
			 .kind = FACT_EVENT,
			 .numbers = { r->count, 0 },
			 .n_numbers = 2,
			 .texts = { bytes },
			 .lens = { r->text_bytes },
			 .n_texts = 1,
		 },
		 ns);
}

/* Formats come in the order of their numbers. */
static void add_format(struct graph_trace *t, const struct graph_record *r, const char *text)
{
	bool enters = !strncmp(text, "syscalls:sys_enter", 18) || !strncmp(text, "raw_syscalls:sys_enter", 22);
	char key[32];

	if (r->count != t->n_formats || text[strcspn(text, ":\n")] != ':' || !strchr(text, '\n'))
		return;
	snprintf(key, sizeof key, "event.%" PRIu64, t->n_formats++);
	meta_put(&t->lines, key, text);
	t->enters = xreallocarray(t->enters, t->n_formats, sizeof *t->enters);
	t->enters[t->n_formats - 1] = enters;
	t->has_syscalls |= r->other && enters;
}

/* Who ran while they were lost, and what was called and ended, is not known. */
static void lose(struct graph_trace *t, const struct graph_record *r)
{
	uint64_t ns = time_of(t, r->ns);
	uint32_t number;

	t->counts.gaps++;
	t->losses += !r->other;
	t->counts.lost += r->count;
	if (r->other && r->pid)
		run(t, thread_of(t, r->pid, r->cpu), r->cpu, ns);
	number = t->running[r->cpu];
	if (number == MADE_NOBODY)
		return;
	made_calls_lose(t->calls, r->cpu, ns, r->count);
	t->threads[number].count = 0;
}

/* Does the innermost open call end? */
static bool is_end_of_innermost(struct graph_trace *t, const struct graph_thread *thread, const struct graph_record *r)
{
	return r->kind == GRAPH_EXIT && thread->depths[thread->count - 1] == r->depth &&
	       made_calls_at(t->calls, thread->made, thread->count - 1) == place_of(t, r->function).addr;
}

/*
 * A thread that was away while records were lost may have run meanwhile: then what was open is not known any more,
 * unless the next thing that is known of it ends it.
 */
static void doubt(struct graph_trace *t, struct graph_thread *thread, const struct graph_record *r, uint64_t ns)
{
	if ((r->kind != GRAPH_ENTER && r->kind != GRAPH_EXIT) || thread->losses == t->losses)
		return;
	thread->losses = t->losses;
	if (!thread->count || is_end_of_innermost(t, thread, r))
		return;
	t->counts.gaps++;
	made_calls_lose(t->calls, thread->cpu, ns, 0);
	thread->count = 0;
}

/* Of who runs there then. */
static void add_of_thread(struct graph_trace *t, const struct graph_record *r, const char *text, uint64_t ns)
{
	uint32_t number = thread_of(t, r->pid, r->cpu);

	run(t, number, r->cpu, ns);
	doubt(t, &t->threads[number], r, ns);
	switch (r->kind) {
	case GRAPH_ENTER:
		add_begin(t, &t->threads[number], r, ns);
		break;
	case GRAPH_EXIT:
		add_end(t, &t->threads[number], r, ns);
		break;
	case GRAPH_SWITCH:
		t->switching[r->cpu] = (struct switching){ true, r->pid, r->other, ns };
		break;
	case GRAPH_WAKE:
		add_wake(t, r, ns);
		break;
	case GRAPH_EXEC:
		add_exec(t, r, text, ns);
		break;
	case GRAPH_GONE:
		note_comm(t, r->pid, r->cpu, text, r->ns);
		if (r->pid)
			made_calls_exit(t->calls, r->cpu, t->threads[number].made, ns);
		break;
	case GRAPH_LOG:
		add_line(t, r, text, ns);
		break;
	case GRAPH_EVENT:
		add_event(t, r, text, ns);
		break;
	}
}

static void add(struct graph_trace *t, const struct graph_record *r, const char *text)
{
	uint64_t ns = time_of(t, r->ns);
	struct switching *s = &t->switching[r->cpu];

	if (r->kind == GRAPH_FORK) {
		add_fork(t, r, text);
		return;
	}
	/* __schedule() tells of the switch, and calls some functions before it is made: kernel/sched/core.c */
	if (s->is_told && s->from == r->pid && r->kind != GRAPH_SWITCH && r->kind != GRAPH_LOST)
		s->ns = ns > s->ns ? ns : s->ns;
	else
		end_switching(t, r->cpu);
	if (r->kind == GRAPH_LOST)
		lose(t, r);
	else
		add_of_thread(t, r, text, ns);
}

/* Of two at the same time: what ends comes first, but for a call's own begin; and the longer call begins first. */
static int by_time(const void *va, const void *vb)
{
	const struct graph_record *a = &((const struct kept *)va)->record, *b = &((const struct kept *)vb)->record;

	if (a->ns != b->ns)
		return a->ns < b->ns ? -1 : 1;
	if ((a->kind == GRAPH_ENTER) != (b->kind == GRAPH_ENTER))
		return a->kind == GRAPH_ENTER ? 1 : -1;
	if (a->kind != b->kind || (a->kind != GRAPH_ENTER && a->kind != GRAPH_EXIT))
		return (a->kind > b->kind) - (a->kind < b->kind);
	if (a->depth == b->depth)
		return 0;
	return (a->depth < b->depth) == (a->kind == GRAPH_ENTER) ? -1 : 1;
}

/* Only ends were recorded, as with tracing_thresh: each tells when its call began. */
static void add_kept_ends(struct graph_trace *t)
{
	size_t n = t->n_kept;

	t->counts.by_ends = true;
	for (size_t i = 0; i < n; i++) {
		struct graph_record begin = t->kept[i].record;

		if (begin.kind != GRAPH_EXIT || !begin.begin_ns || begin.begin_ns > begin.ns)
			continue;
		begin.kind = GRAPH_ENTER;
		begin.ns = begin.begin_ns;
		if (begin.ns < t->base_ns)
			t->base_ns = begin.ns;
		t->kept = array_grow(t->kept, t->n_kept, &t->kept_cap, sizeof *t->kept);
		t->kept[t->n_kept++] = (struct kept){ begin, 0 };
	}
	if (t->n_kept)
		qsort(t->kept, t->n_kept, sizeof *t->kept, by_time);
}

static void add_kept(struct graph_trace *t)
{
	if (!t->has_begins)
		add_kept_ends(t);
	for (size_t i = 0; i < t->n_kept && !t->made->full; i++)
		add(t, &t->kept[i].record, (char *)t->kept_texts.data + t->kept[i].text);
	if (t->dropped.count && !t->made->full)
		add(t, &t->dropped, "");
	t->dropped.count = 0;
	t->n_kept = 0;
	t->kept_texts.len = 0;
}

static void keep(struct graph_trace *t, const struct graph_record *r, const char *text)
{
	if (t->n_kept == KEPT_MAX || t->kept_texts.len > KEPT_TEXT) {
		if (!t->dropped.count)
			t->dropped = (struct graph_record){ .kind = GRAPH_LOST, .ns = r->ns, .cpu = r->cpu };
		t->dropped.count++;
		return;
	}
	t->kept = array_grow(t->kept, t->n_kept, &t->kept_cap, sizeof *t->kept);
	t->kept[t->n_kept++] = (struct kept){ *r, t->kept_texts.len };
	buf_put(&t->kept_texts, text, r->text_bytes);
	buf_put_u8(&t->kept_texts, 0);
}

static bool is_of(const struct graph_trace *t, const struct graph_record *r, enum graph_kind kind, const char *function)
{
	const uint64_t *at = function && r->kind == kind ? map_get(&t->functions, r->function) : NULL;

	return at && !strcmp(t->list[*at].name, function);
}

static bool is_in_part(struct graph_trace *t, const struct graph_record *r)
{
	const struct graph_part *p = t->part;

	if (!p)
		return true;
	if (t->over || r->ns < p->from_ns)
		return false;
	if ((p->start_exit || p->start_entry) && !t->started) {
		t->started = is_of(t, r, GRAPH_EXIT, p->start_exit) || is_of(t, r, GRAPH_ENTER, p->start_entry);
		if (r->kind != GRAPH_ENTER || !t->started)
			return false;
	}
	if (is_of(t, r, GRAPH_ENTER, p->stop_entry))
		t->over = true;
	if (p->max_calls && r->kind == (p->by_ends ? GRAPH_EXIT : GRAPH_ENTER) && t->begun++ == p->max_calls)
		t->over = true;
	if (t->over)
		return false;
	t->over = is_of(t, r, GRAPH_EXIT, p->stop_exit);
	return true;
}

/* What comes before the first begin of a call is kept, since there may be none at all. */
static void take(struct graph_trace *t, const struct graph_record *r, const char *text)
{
	if (r->kind == GRAPH_NAME) {
		name(t, r->function, text);
		return;
	}
	if (r->kind == GRAPH_FORMAT) {
		add_format(t, r, text);
		return;
	}
	if (r->kind == GRAPH_THERE) {
		add_there(t, r, text);
		return;
	}
	if (r->kind == GRAPH_LOST && r->cpu == GRAPH_NO_CPU)
		t->counts.lost += r->count;
	if (r->kind == GRAPH_COMM || r->kind == GRAPH_SWITCH || r->kind == GRAPH_WAKE)
		note_comm(t, r->other, r->cpu, text, r->ns);
	if (r->kind == GRAPH_COMM || r->cpu >= CPUS_MAX || !is_in_part(t, r))
		return;
	if (!t->base_ns)
		t->base_ns = r->ns;
	if (!t->has_begins && r->kind == GRAPH_ENTER) {
		t->has_begins = true;
		add_kept(t);
	}
	if (t->has_begins)
		add(t, r, text);
	else
		keep(t, r, text);
	if (t->facts.len >= FACTS_CHUNK) {
		t->has_facts = true;
		builder_put_table(&t->made->builder, CHUNK_FACTS, &t->facts, BUILDER_TABLES_LEVEL);
	}
}

static void put_functions(struct graph_trace *t)
{
	for (size_t i = 0; i < t->n_functions; i++)
		made_trace_add_function(t->made, &(struct symtab_function){
							 .addr = made_function_address(i + 1),
							 .size = FUNCTION_ROOM,
							 .name = t->list[i].name,
						 });
}

static int write(struct graph_trace *t, struct graph_reader *reader, struct error *err)
{
	struct graph_record r;
	const char *text;
	int more = 0;

	while (!t->made->full && (more = graph_reader_next(reader, &r, &text, err)) > 0)
		take(t, &r, text);
	if (!t->made->full && more < 0)
		return -1;
	add_kept(t);
	if (t->made->full)
		return error_set(err, "%s: more than the %d places of calls that a trace can have", t->path, SITES_MAX);
	if (!t->counts.calls && t->part && t->part->start_exit && !t->started)
		return error_set(err, "%s: no return of %s was recorded: what leaves it out leaves out its return, too",
				 t->path, t->part->start_exit);
	if (!t->counts.calls)
		return error_set(err, "%s: has no calls: no function was called while it was recorded", t->path);
	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++)
		end_switching(t, cpu);
	put_functions(t);
	if (t->has_facts || t->facts.len)
		meta_put(&t->lines, "absent",
			 t->has_syscalls ? "instructions,interrupts,addresses"
					 : "instructions,interrupts,syscalls,addresses");
	if (t->part && t->part->monotonic)
		meta_put_u64(&t->lines, "host.monotonic_ns", t->base_ns);
	builder_put_table(&t->made->builder, CHUNK_FACTS, &t->facts, BUILDER_TABLES_LEVEL);
	builder_put_table(&t->made->builder, CHUNK_META, &t->lines, BUILDER_TABLES_LEVEL);
	t->made->lost = t->counts.lost;
	made_trace_end(t->made, t->end_ns);
	return 0;
}

static void deinit(struct graph_trace *t)
{
	for (size_t i = 0; i < t->n_names; i++)
		free(t->names[i]);
	for (size_t i = 0; i < t->n_functions; i++)
		free(t->list[i].name);
	for (size_t i = 0; i < t->n_threads; i++)
		free(t->threads[i].depths);
	free(t->names);
	free(t->list);
	free(t->threads);
	free(t->kept);
	buf_free(&t->kept_texts);
	buf_free(&t->lines);
	free(t->enters);
	map_free(&t->pids);
	map_free(&t->comms);
	map_free(&t->origins);
	for (size_t i = 0; i < t->n_origins; i++)
		free(t->origin_list[i].exe);
	free(t->origin_list);
	map_free(&t->functions);
	buf_free(&t->facts);
	made_calls_free(t->calls);
	made_trace_free(t->made);
}

int graph_trace_write(struct graph_reader *reader, const char *of, const char *path, const struct graph_part *part,
		      const struct builder_sink *sink, struct graph_trace_counts *ret, struct error *err)
{
	const struct made_function outside = { made_function_address(0), FUNCTION_ROOM };
	struct graph_trace t = { .path = path, .part = part };
	int r;

	for (unsigned i = 0; i < CPUS_MAX; i++)
		t.running[i] = MADE_NOBODY;
	t.made = made_trace_new(sink, &(struct made_facts){
					      .of = of,
					      .absent = "instructions,interrupts,syscalls,facts,addresses",
				      });
	made_trace_add_function(t.made, &(struct symtab_function){
						.addr = outside.addr,
						.size = outside.size,
						.name = GRAPH_OUTSIDE,
					});
	made_trace_halt(t.made, 0, 0);
	t.calls = made_calls_new(t.made, outside);
	r = write(&t, reader, err);
	*ret = t.counts;
	deinit(&t);
	return r;
}
