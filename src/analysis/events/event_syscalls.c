/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event_syscalls.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/processes/syscall_list.h"
#include "base/alloc.h"
#include "base/search.h"

enum { SYSCALLS_MAX = 1024 };

/* Which events a call has: numbers of their formats + 1; 0: none that is asked for. */
struct wanted {
	uint32_t enter[SYSCALLS_MAX], exit[SYSCALLS_MAX];
	uint32_t any_enter, any_exit; /* raw_syscalls: of any call */
	bool any;
};

static void want(struct wanted *w, const struct event_format *f, uint32_t number)
{
	bool enters = !strncmp(f->name, "sys_enter", 9);

	if (!strcmp(f->system, "raw_syscalls"))
		*(enters ? &w->any_enter : &w->any_exit) = number;
	else if (!strcmp(f->system, "syscalls") && f->syscall >= 0 && f->syscall < SYSCALLS_MAX)
		(enters ? w->enter : w->exit)[f->syscall] = number;
	else
		return;
	w->any = true;
}

/* The guest's own records of such events, by thread and event, and then by time. */
struct own {
	uint64_t key, ns;
};

struct owns {
	struct own *list;
	size_t count, cap;
};

static uint64_t own_key(uint64_t task, uint64_t event)
{
	return hash64(task) ^ event;
}

static int by_key(const void *va, const void *vb)
{
	const struct own *a = va, *b = vb;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->ns < b->ns ? -1 : a->ns > b->ns;
}

static void find_own(const struct facts *facts, struct owns *ret)
{
	for (size_t i = 0; i < facts->count; i++) {
		const struct fact *f = &facts->list[i];

		if (f->kind != FACT_EVENT || f->n_numbers < 2 || f->numbers[1])
			continue;
		ret->list = array_grow(ret->list, ret->count, &ret->cap, sizeof *ret->list);
		ret->list[ret->count++] = (struct own){ .key = own_key(f->task, f->numbers[0]), .ns = f->ns };
	}
	if (ret->count)
		qsort(ret->list, ret->count, sizeof *ret->list, by_key);
}

/* Has the guest such a record of a call that was under way between these times? */
static bool has_own(const struct owns *o, uint64_t task, uint32_t event, uint64_t from_ns, uint64_t to_ns)
{
	struct own first = { .key = own_key(task, event), .ns = from_ns };
	size_t low = first_not(i, 0, o->count, by_key(&o->list[i], &first) < 0);

	return low < o->count && o->list[low].key == first.key && o->list[low].ns <= to_ns;
}

/* include/linux/trace_events.h, struct trace_entry; kernel/trace/trace.h, struct syscall_trace_enter, _exit */
struct record {
	uint16_t type;
	uint8_t flags, preempt_count;
	int32_t pid;
	uint64_t number;
	uint64_t args[6];
};

static uint16_t type_of(const struct event_format *f)
{
	const char *id = strstr(f->text, "ID: ");

	return id ? (uint16_t)strtoul(id + 4, NULL, 10) : 0;
}

/* What is made, and of what. */
struct making {
	struct facts *facts;
	struct buf *bytes;
	const struct event_formats *formats;
	const struct threads *threads;
	struct wanted wanted;
	struct owns owns;
	const struct syscall_record *call;
	bool own; /* the call is by the CPU's own interface: syscalls:* knows of no other; raw_syscalls of any */
};

/* Where its text is in the bytes, is known once they do not move any more. */
static void add(struct making *m, uint32_t number, struct fact f, struct record record, size_t args)
{
	const struct syscall_record *c = m->call;
	size_t size = sizeof record - (6 - args) * sizeof *record.args;
	struct facts *facts = m->facts;

	if (!number || has_own(&m->owns, c->task, number - 1, c->ns, c->returned ? c->end_ns : UINT64_MAX))
		return;
	record.type = type_of(&m->formats->list[number - 1]);
	f.kind = FACT_EVENT;
	f.n_numbers = 2;
	f.numbers[0] = number - 1;
	f.numbers[1] = true;
	f.n_texts = 1;
	f.texts[0] = (const char *)(uintptr_t)m->bytes->len;
	f.lens[0] = size;
	buf_put(m->bytes, &record, size);
	buf_put_u8(m->bytes, 0);
	facts->list = array_grow(facts->list, facts->count, &facts->cap, sizeof *facts->list);
	facts->list[facts->count++] = f;
}

static unsigned n_args(const struct event_formats *formats, uint32_t number)
{
	unsigned n = 0;

	if (number)
		for (const char *at = formats->list[number - 1].text; (at = strstr(at, "\tfield:")); at++)
			n++;
	return n > 5 ? (n - 5 > 6 ? 6 : n - 5) : 0; /* without the common ones, and the call's number */
}

static void add_call(struct making *m, const struct syscall_record *c)
{
	const struct task_record *task = threads_record(m->threads, c->task, c->ns);
	struct record record = { .pid = task ? task->pid : 0, .number = c->nr };
	struct fact at = { .cpu = c->cpu, .ns = c->ns, .insns = c->insns, .task = c->task };
	const struct wanted *w = &m->wanted;

	m->call = c;
	memcpy(record.args, c->args, sizeof record.args);
	add(m, w->any_enter, at, record, 6);
	if (m->own && c->nr < SYSCALLS_MAX)
		add(m, w->enter[c->nr], at, record, n_args(m->formats, w->enter[c->nr]));
	if (!c->has_result)
		return;
	at = (struct fact){ .cpu = c->end_cpu, .ns = c->end_ns, .insns = c->end_insns, .task = c->task };
	record.args[0] = (uint64_t)c->result;
	add(m, w->any_exit, at, record, 1);
	if (m->own && c->nr < SYSCALLS_MAX)
		add(m, w->exit[c->nr], at, record, 1);
}

int event_syscalls_add(const struct reader *r, const struct threads *threads, const struct event_formats *formats,
		       const bool *marks, struct facts *facts, struct buf *ret, struct error *err)
{
	static const struct span all = { .to_ns = UINT64_MAX, .cpu = -1 };
	struct making m = { .facts = facts, .bytes = ret, .formats = formats, .threads = threads };
	struct syscalls calls;
	size_t before = facts->count;

	for (size_t i = 0; i < formats->count; i++)
		if (marks[i])
			want(&m.wanted, &formats->list[i], (uint32_t)i + 1);
	if (!m.wanted.any)
		return 0;
	if (syscalls_analyse(r, threads, &all, &calls, err) < 0)
		return -1;
	if (!meta_get(&r->meta, "event_check")) /* there all are wanted */
		find_own(facts, &m.owns);
	for (size_t i = 0; i < calls.count; i++) {
		m.own = calls.calls[i].abi == calls.arch->abis;
		add_call(&m, &calls.calls[i]);
	}
	free(m.owns.list);
	syscalls_deinit(&calls);
	for (size_t i = before; i < facts->count; i++)
		facts->list[i].texts[0] = (const char *)ret->data + (uintptr_t)facts->list[i].texts[0];
	facts_sort(facts);
	return 0;
}
