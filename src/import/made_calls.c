/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "made_calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { CALL_LENGTH = 5 };

struct open_call {
	struct made_function function;
	uint64_t from; /* return address */
};

struct thread {
	struct open_call *calls;
	size_t count, cap;
	int32_t pid, tgid, ppid;
	char *name;     /* what it is called now */
	char *exe;      /* its program; NULL: not known */
	bool user;      /* it has a program */
	bool known;     /* the trace knows of it */
	bool gone;      /* it has begun to exit: what is told of a task behind that is of another */
	uint32_t maker; /* + 1; 0: not known */
};

struct made_calls {
	struct made_trace *made;
	struct made_function outside;
	struct thread *threads;
	size_t n_threads, threads_cap;
	uint32_t running[CPUS_MAX];
};

struct made_calls *made_calls_new(struct made_trace *m, struct made_function outside)
{
	struct made_calls *c = xcalloc(1, sizeof *c);

	c->made = m;
	c->outside = outside;
	for (size_t i = 0; i < CPUS_MAX; i++)
		c->running[i] = MADE_NOBODY;
	return c;
}

void made_calls_free(struct made_calls *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n_threads; i++) {
		free(c->threads[i].calls);
		free(c->threads[i].name);
		free(c->threads[i].exe);
	}
	free(c->threads);
	free(c);
}

uint32_t made_calls_add_thread(struct made_calls *c, int32_t pid, int32_t tgid, const char *name)
{
	c->threads = array_grow(c->threads, c->n_threads, &c->threads_cap, sizeof *c->threads);
	c->threads[c->n_threads] = (struct thread){ .pid = pid, .tgid = tgid, .name = xstrdup(name) };
	return (uint32_t)c->n_threads++;
}

uint32_t made_calls_running(const struct made_calls *c, unsigned cpu)
{
	return c->running[cpu];
}

size_t made_calls_depth(const struct made_calls *c, uint32_t thread)
{
	return c->threads[thread].count;
}

uint64_t made_calls_at(const struct made_calls *c, uint32_t thread, size_t i)
{
	return c->threads[thread].calls[i].function.addr;
}

void made_calls_set_there(struct made_calls *c, uint32_t thread, int32_t tgid, int32_t ppid, bool user,
			  const char *exe)
{
	struct thread *t = &c->threads[thread];

	t->tgid = tgid;
	t->ppid = ppid;
	t->user = user;
	t->exe = exe && *exe ? xstrdup(exe) : NULL;
}

void made_calls_set_maker(struct made_calls *c, uint32_t thread, uint32_t maker, bool same_process)
{
	struct thread *t = &c->threads[thread];
	const struct thread *of = &c->threads[maker];

	t->maker = maker + 1;
	t->tgid = same_process ? of->tgid : t->pid;
	t->ppid = same_process ? of->ppid : of->tgid;
	t->user = of->user;
	t->exe = of->exe ? xstrdup(of->exe) : NULL;
}

static uint64_t not_before(const struct made_calls *c, unsigned cpu, uint64_t ns)
{
	uint64_t last = made_trace_ns(c->made, cpu);

	return ns < last ? last : ns;
}

/* A place in the function: behind a call, if it has room for one. */
static uint64_t place_in(struct made_function f)
{
	return f.addr + (f.size > CALL_LENGTH ? CALL_LENGTH : f.size - 1);
}

static struct made_function innermost(const struct made_calls *c, const struct thread *t)
{
	return t->count ? t->calls[t->count - 1].function : c->outside;
}

static void arrive(struct made_calls *c, unsigned cpu, struct made_function f, uint64_t ns)
{
	uint64_t place = place_in(f);

	made_trace_put_at(c->made, cpu, &(struct event){ .ns = ns, .from = place, .target = place },
			  &(struct site){ .kind = EVENT_ARRIVE, .addr = place });
}

static void tell(struct made_calls *c, unsigned cpu, uint32_t thread, enum task_change change, uint64_t ns)
{
	const struct thread *t = &c->threads[thread];

	made_trace_add_task(c->made, cpu, not_before(c, cpu, ns),
			    &(struct made_task){
				    .change = change,
				    .thread = thread,
				    .maker = change == TASK_NEW ? t->maker : 0,
				    .pid = t->pid,
				    .tgid = t->tgid,
				    .ppid = t->ppid,
				    .user = t->user,
				    .name = t->name,
				    .exe = t->exe,
			    });
}

void made_calls_switch(struct made_calls *c, unsigned cpu, uint32_t thread, uint64_t ns)
{
	uint32_t before = c->running[cpu];
	uint64_t args[2] = { before == MADE_NOBODY ? 0 : made_task(before),
			     thread == MADE_NOBODY ? 0 : made_task(thread) };
	struct thread *t;

	ns = not_before(c, cpu, ns);
	if (thread == MADE_NOBODY) {
		made_trace_halt(c->made, cpu, ns);
		return;
	}
	made_trace_resume(c->made, cpu, ns);
	if (before == thread)
		return;
	made_trace_put(c->made, cpu,
		       &(struct event){
			       .kind = EVENT_TASK_SWITCH,
			       .site = EVENT_TASK_SWITCH,
			       .ns = ns,
			       .args = args,
		       });
	t = &c->threads[thread];
	if (!t->known)
		tell(c, cpu, thread, t->maker ? TASK_NEW : TASK_SEEN, ns);
	t->known = true;
	c->running[cpu] = thread;
	arrive(c, cpu, innermost(c, t), ns);
}

void made_calls_enter(struct made_calls *c, unsigned cpu, struct made_function f, uint64_t ns)
{
	uint32_t number = c->running[cpu];
	struct thread *t = &c->threads[number];
	uint64_t from = place_in(innermost(c, t));

	made_trace_put_at(
		c->made, cpu,
		&(struct event){
			.ns = not_before(c, cpu, ns),
			.slot = made_slot(number, t->count),
			.from = from,
			.target = f.addr,
		},
		&(struct site){
			.kind = EVENT_CALL, .length = CALL_LENGTH, .addr = from - CALL_LENGTH, .target = f.addr });
	t->calls = array_grow(t->calls, t->count, &t->cap, sizeof *t->calls);
	t->calls[t->count++] = (struct open_call){ .function = f, .from = from };
}

void made_calls_leave(struct made_calls *c, unsigned cpu, uint64_t ns)
{
	uint32_t number = c->running[cpu];
	struct thread *t = &c->threads[number];
	const struct open_call *call = &t->calls[--t->count];

	made_trace_put_at(c->made, cpu,
			  &(struct event){
				  .ns = not_before(c, cpu, ns),
				  .slot = made_slot(number, t->count),
				  .target = call->from,
			  },
			  &(struct site){ .kind = EVENT_RETURN,
					  .length = 1,
					  .addr = call->function.addr + call->function.size - 1 });
}

void made_calls_lose(struct made_calls *c, unsigned cpu, uint64_t ns, uint64_t events)
{
	struct thread *t = &c->threads[c->running[cpu]];

	made_trace_lose(c->made, cpu, not_before(c, cpu, ns), events, made_task(c->running[cpu]));
	t->count = 0;
	arrive(c, cpu, c->outside, not_before(c, cpu, ns));
}

static void set_text(char **text, const char *to)
{
	free(*text);
	*text = xstrdup(to);
}

void made_calls_rename(struct made_calls *c, unsigned cpu, uint32_t thread, const char *name, uint64_t ns)
{
	struct thread *t = &c->threads[thread];

	set_text(&t->name, name);
	if (t->known && !t->gone)
		tell(c, cpu, thread, TASK_NAME, ns);
}

void made_calls_set_user(struct made_calls *c, unsigned cpu, uint32_t thread, uint64_t ns)
{
	struct thread *t = &c->threads[thread];

	if (t->user || t->gone)
		return;
	t->user = true;
	tell(c, cpu, thread, TASK_NAME, ns);
}

void made_calls_exec(struct made_calls *c, unsigned cpu, uint32_t thread, const char *name, const char *exe,
		     uint64_t ns)
{
	struct thread *t = &c->threads[thread];

	if (t->gone)
		return;
	set_text(&t->name, name);
	set_text(&t->exe, exe);
	t->user = true;
	tell(c, cpu, thread, TASK_EXEC, ns);
}

void made_calls_exit(struct made_calls *c, unsigned cpu, uint32_t thread, uint64_t ns)
{
	tell(c, cpu, thread, TASK_EXIT, ns);
	c->threads[thread].gone = true;
}
