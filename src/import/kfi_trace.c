/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kfi_trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kd/kd_nest.h"
#include "base/alloc.h"
#include "kfi/log_meta.h"
#include "kfi/log_text.h"
#include "kfi/words.h"
#include "made_trace.h"

enum { NO_THREAD = -1, CALL_LENGTH = 5, LOWEST = 1 << 12 };

/* A call that is open in the trace. */
struct open_call {
	uint64_t number;   /* kd_nest's */
	uint64_t from;     /* return address */
	uint32_t function;
	bool no_exit;
	uint64_t end_ns;
};

/* A PID has another one where a call came that nothing in the first can have made: PID 0 is one thread on each CPU. */
struct made_thread {
	struct open_call *calls;
	size_t count, cap;
	int32_t pid;
	uint32_t first, next; /* of that PID; next 0: none */
	uint32_t back;        /* goes on when its calls have ended: the one that had run */
};

struct kfi_trace {
	const struct kfi_log *log;
	struct made_trace *made;
	uint64_t *addresses;       /* by the number of a name; 0: it is no function */
	struct map ends;           /* of functions: address → next one's */
	uint64_t outside;          /* address of KFI_OUTSIDE */
	struct map numbers;        /* PID → thread */
	struct made_thread *threads;
	size_t n_threads, threads_cap;
	uint32_t *thread_of;       /* by the number of a call */
	long current;              /* thread */
	uint64_t now_ns;           /* nothing ends later, while a call is being added */
	struct kfi_trace_counts counts;
};

/* Can code be there, where nothing made up is? */
static bool is_usable(uint64_t addr)
{
	return addr >= LOWEST && addr < UINT64_MAX - FUNCTION_ROOM && (addr < FUNCTIONS_BASE || addr >= THREADS_BASE);
}

static void place_function(struct kfi_trace *t, uint32_t name, uint64_t *made_up)
{
	const char *text = kfi_log_name(t->log, name);
	uint64_t addr;

	if (t->addresses[name])
		return;
	if (!word_address((struct word){ text, strlen(text) }, &addr) || !is_usable(addr))
		addr = made_function_address((*made_up)++);
	t->addresses[name] = addr;
	made_trace_add_function(t->made, &(struct symtab_function){
		.addr = addr, .size = FUNCTION_ROOM, .name = text,
	});
}

static int by_address(const void *va, const void *vb)
{
	uint64_t a = ((const struct symtab_function *)va)->addr, b = ((const struct symtab_function *)vb)->addr;

	return a < b ? -1 : a > b;
}

/* All functions that were called, and KFI_OUTSIDE. */
static void place_functions(struct kfi_trace *t)
{
	struct made_trace *m = t->made;
	uint64_t made_up = 0;

	t->outside = made_function_address(made_up++);
	made_trace_add_function(m, &(struct symtab_function){
		.addr = t->outside, .size = FUNCTION_ROOM, .name = KFI_OUTSIDE,
	});
	for (size_t i = 0; i < t->log->n; i++)
		place_function(t, t->log->calls[i].function, &made_up);
	qsort(m->functions, m->n_functions, sizeof *m->functions, by_address);
	for (size_t i = 0; i < m->n_functions; i++) {
		uint64_t addr = m->functions[i].addr, end = addr + FUNCTION_ROOM;

		for (size_t k = i + 1; k < m->n_functions && m->functions[k].addr < end; k++)
			if (m->functions[k].addr > addr)
				end = m->functions[k].addr;
		*map_put(&t->ends, addr, 0) = end;
	}
}

static int check_limits(const struct kfi_log *log, const char *path, struct error *err)
{
	if (log->names.count >= FUNCTIONS_MAX || log->names.len > NAMES_MAX)
		return error_set(err, "%s: its functions' names have more than the %d bytes that a trace can have",
				 path, NAMES_MAX);
	return 0;
}

static void put(struct kfi_trace *t, const struct event *e, const struct site *site)
{
	made_trace_put_at(t->made, 0, e, site);
}

static uint64_t time_of(const struct kfi_trace *t, uint64_t ns)
{
	if (ns > t->now_ns)
		ns = t->now_ns;
	return ns < made_trace_ns(t->made, 0) ? made_trace_ns(t->made, 0) : ns;
}

static uint32_t add_thread(struct kfi_trace *t, int32_t pid)
{
	t->threads = array_grow(t->threads, t->n_threads, &t->threads_cap, sizeof *t->threads);
	t->threads[t->n_threads] = (struct made_thread){
		.pid = pid, .first = (uint32_t)t->n_threads, .back = (uint32_t)t->n_threads,
	};
	return (uint32_t)t->n_threads++;
}

static uint32_t first_thread(struct kfi_trace *t, const struct kfi_call *call)
{
	uint64_t *number;

	if (call->pid == -1 && t->current != NO_THREAD)
		return (uint32_t)t->current;
	number = map_put(&t->numbers, (uint32_t)call->pid, UINT64_MAX);
	if (*number == UINT64_MAX)
		*number = add_thread(t, call->pid);
	return (uint32_t)*number;
}

/* One of that PID in which no call is open. */
static uint32_t free_thread(struct kfi_trace *t, uint32_t number)
{
	uint32_t new;

	for (number = t->threads[number].first; t->threads[number].count; number = t->threads[number].next)
		if (!t->threads[number].next) {
			new = add_thread(t, t->threads[number].pid);
			t->threads[new].first = t->threads[number].first;
			t->threads[number].next = new;
		}
	return number;
}

/* What a call lies in made it, or it is an interrupt that cut in there. */
static uint32_t thread_of(struct kfi_trace *t, const struct kd_frame *f, const struct kd_frame *parent)
{
	uint32_t number = parent ? t->thread_of[parent->number] : first_thread(t, &f->call);

	uint32_t other;

	if (!parent)
		t->threads[number].back = number;
	if (!parent || f->depth || f->call.interrupt)
		return number;
	other = free_thread(t, number);
	t->threads[other].back = number;
	return other;
}

static void add_task(struct kfi_trace *t, uint32_t thread)
{
	int32_t pid = t->threads[thread].pid;
	char name[32];

	snprintf(name, sizeof name, "pid %" PRId32, pid);
	made_trace_add_task(t->made, 0, made_trace_ns(t->made, 0),
			    &(struct made_task){
				    .change = TASK_SEEN, .thread = thread, .pid = pid, .tgid = pid, .name = name });
}

static void switch_to(struct kfi_trace *t, uint32_t thread, uint64_t ns, bool new)
{
	uint64_t args[2] = { t->current == NO_THREAD ? 0 : made_task((uint64_t)t->current), made_task(thread) };

	if (t->current == thread)
		return;
	made_trace_put(t->made, 0, &(struct event){
		.kind = EVENT_TASK_SWITCH, .site = EVENT_TASK_SWITCH, .ns = ns, .args = args,
	});
	if (new)
		add_task(t, thread);
	t->current = thread;
}

/* A place in the function that begins there: behind a call, if it has room for one. */
static uint64_t place_in(const struct kfi_trace *t, uint64_t start)
{
	uint64_t room = *map_get(&t->ends, start) - start;

	return room > CALL_LENGTH ? start + CALL_LENGTH : start + room - 1;
}

/* Where the call returns to: in the function that it lies in, and at the log's own place if it was called there. */
static uint64_t return_address(const struct kfi_trace *t, const struct made_thread *thread, const struct kfi_call *call)
{
	const struct open_call *in = thread->count ? &thread->calls[thread->count - 1] : NULL;
	uint64_t start = in ? t->addresses[in->function] : t->outside, room = *map_get(&t->ends, start) - start, addr;
	const char *caller = kfi_log_name(t->log, call->caller);

	if (in && call->from == in->function) {
		if (call->offset && call->offset < room)
			return start + call->offset;
		if (word_address((struct word){ caller, strlen(caller) }, &addr) && addr > start && addr - start < room)
			return addr;
	}
	return place_in(t, start);
}

static void enter(void *data, const struct kd_frame *f, const struct kd_frame *parent)
{
	struct kfi_trace *t = data;
	uint32_t number = thread_of(t, f, parent);
	struct made_thread *thread = &t->threads[number];
	uint64_t ns = time_of(t, f->call.entry_ns), from = return_address(t, thread, &f->call),
		 target = t->addresses[f->call.function];

	switch_to(t, number, ns, !thread->cap);
	put(t, &(struct event){ .ns = ns, .slot = made_slot(number, thread->count), .from = from, .target = target },
	    &(struct site){ .kind = EVENT_CALL, .length = CALL_LENGTH, .addr = from - CALL_LENGTH, .target = target });
	thread->calls = array_grow(thread->calls, thread->count, &thread->cap, sizeof *thread->calls);
	thread->calls[thread->count++] = (struct open_call){
		.number = f->number, .from = from, .function = f->call.function, .no_exit = f->call.no_exit,
		.end_ns = f->end_ns,
	};
	t->thread_of[f->number] = number;
	t->counts.calls++;
	t->counts.no_exit += f->call.no_exit;
}

/* What has no exit is left by what comes next in its thread. */
static void end_innermost(struct kfi_trace *t, uint32_t number, uint64_t ns)
{
	struct made_thread *thread = &t->threads[number];
	const struct open_call *c = &thread->calls[--thread->count];
	uint64_t start = t->addresses[c->function];

	if (c->no_exit)
		return;
	t->counts.shortened += c->end_ns > ns;
	switch_to(t, number, ns, false);
	put(t, &(struct event){ .ns = ns, .slot = made_slot(number, thread->count), .target = c->from },
	    &(struct site){ .kind = EVENT_RETURN, .length = 1, .addr = *map_get(&t->ends, start) - 1 });
}

/* The thread goes on that had run, in its innermost call. */
static void go_back(struct kfi_trace *t, uint32_t number, uint64_t ns)
{
	const struct made_thread *thread = &t->threads[number];
	uint64_t start = thread->count ? t->addresses[thread->calls[thread->count - 1].function] : t->outside;
	uint64_t place = place_in(t, start);

	if (t->current == number)
		return;
	switch_to(t, number, ns, false);
	if (place > start)
		put(t, &(struct event){
			.ns = ns, .from = place, .target = place }, &(struct site){ .kind = EVENT_ARRIVE,
			.addr = place,
		});
}

/* Calls that are within it end with it, if they have not before: the log's times are rounded. */
static void leave(void *data, const struct kd_frame *f)
{
	struct kfi_trace *t = data;
	uint32_t number = t->thread_of[f->number];
	const struct made_thread *thread = &t->threads[number];
	uint64_t ns = time_of(t, f->end_ns);

	if (f->call.no_exit && t->now_ns == UINT64_MAX)
		return;
	if (!f->call.no_exit)
		switch_to(t, number, ns, false);
	while (thread->count && thread->calls[thread->count - 1].number >= f->number)
		end_innermost(t, number, ns);
	if (!f->call.no_exit && !thread->count)
		go_back(t, thread->back, ns);
}

static void begin(struct kfi_trace *t)
{
	uint64_t place = t->outside + CALL_LENGTH;

	put(t, &(struct event){
		.from = place, .target = place }, &(struct site){ .kind = EVENT_ARRIVE, .addr = place,
	});
}

static void add_calls(struct kfi_trace *t)
{
	struct kd_nest *nest = kd_nest_new(t->log, (struct kd_nest_user){ enter, leave, t });

	for (size_t i = 0; i < t->log->n && !t->made->full; i++) {
		t->now_ns = t->log->calls[i].entry_ns;
		kd_nest_add(nest, &t->log->calls[i]);
	}
	t->now_ns = UINT64_MAX;
	kd_nest_finish(nest);
	kd_nest_free(nest);
}

static void deinit(struct kfi_trace *t)
{
	for (size_t i = 0; i < t->n_threads; i++)
		free(t->threads[i].calls);
	free(t->threads);
	free(t->thread_of);
	free(t->addresses);
	map_free(&t->ends);
	map_free(&t->numbers);
	made_trace_free(t->made);
}

/* META's `absent`. */
static char *absent_of(const struct kfi_log *log)
{
	bool exits = false, addresses = false;

	for (size_t i = 0; i < log->n; i++) {
		const char *name = kfi_log_name(log, log->calls[i].function);
		uint64_t addr;

		exits |= log->calls[i].no_exit;
		addresses = addresses || !word_address((struct word){ name, strlen(name) }, &addr);
	}
	return xasprintf("instructions,interrupts,syscalls,facts%s%s", addresses ? ",addresses" : "",
			 exits ? ",exits" : "");
}

/* For META: what the header says, without its headings, and the number of rows, which the trace has. */
static void put_header(const struct kfi_log *log, struct buf *out)
{
	struct buf text = { 0 };
	char *rest, *line;
	size_t n = 0;

	kfi_log_put_header(log, &text);
	buf_put_u8(&text, 0);
	rest = (char *)text.data;
	while ((line = strsep(&rest, "\n")) && strncmp(line, " Entry", 6)) {
		bool is_run = strstr(line, "Run ID");

		line += strspn(line, "\t");
		if (is_run ? log->header.run_id.has
			   : *line && line[strlen(line) - 1] != ':' && strncmp(line, "Number of", 9))
			kfi_meta_put(out, n++, line);
	}
	buf_free(&text);
}

int kfi_trace_write(const struct kfi_log *log, const char *path, const struct builder_sink *sink,
		    struct kfi_trace_counts *ret, struct error *err)
{
	struct kfi_trace t = { .log = log, .current = NO_THREAD };
	cleanup_free char *absent = NULL;
	struct buf header = { 0 };
	int result = 0;

	if (check_limits(log, path, err) < 0)
		return -1;
	absent = absent_of(log);
	put_header(log, &header);
	t.made = made_trace_new(sink, &(struct made_facts){
		.of = "a log of KFI or KFT", .absent = absent, .more = &header,
	});
	buf_free(&header);
	t.addresses = xcalloc(log->names.count, sizeof *t.addresses);
	t.thread_of = xcalloc(log->n, sizeof *t.thread_of);
	place_functions(&t);
	begin(&t);
	add_calls(&t);
	if (t.made->full)
		result = error_set(err, "%s: more than the %d places of calls that a trace can have", path, SITES_MAX);
	else
		made_trace_end(t.made, made_trace_ns(t.made, 0));
	*ret = t.counts;
	deinit(&t);
	return result;
}
