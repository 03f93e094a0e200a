/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/alloc.h"
#include "syscall_marks.h"
#include "trace/event_fields.h"

/*
 * The call's number is the first field; behind it are the arguments, one by one or as one array, or the result:
 * include/trace/events/syscalls.h, kernel/trace/trace_syscalls.c.
 */
struct told {
	enum { NOTHING, ENTER, EXIT } what;
	struct event_layout layout;
};

struct syscall_events {
	const struct syscall_abi *abi;
	const struct event_formats *formats;
	struct told *told; /* by number of format */
};

static void judge(const struct event_format *f, bool raw, struct told *ret)
{
	if (strcmp(f->system, raw ? "raw_syscalls" : "syscalls"))
		return;
	ret->what = !strncmp(f->name, "sys_enter", 9) ? ENTER : !strncmp(f->name, "sys_exit", 8) ? EXIT : NOTHING;
	if (ret->what != NOTHING)
		event_layout_init(&ret->layout, f->text);
	if (ret->layout.count < (ret->what == EXIT ? 2 : 1))
		ret->what = NOTHING;
}

/* The number in so many bytes, with its sign. */
static uint64_t number_at(const void *bytes, size_t n)
{
	int64_t value = 0;

	if (n > sizeof value)
		n = sizeof value;
	memcpy(&value, bytes, n);
	return n == sizeof(int32_t) ? (uint64_t)(int32_t)value : (uint64_t)value;
}

/* Field `i` of the record; 0: the record does not have it. */
static uint64_t field(const struct told *t, const struct fact *f, size_t i)
{
	const struct event_field *at = i < t->layout.count ? &t->layout.fields[i] : NULL;
	size_t offset, size;

	if (!at || !event_field_place(at, f->texts[0], f->lens[0], &offset, &size))
		return 0;
	return number_at(f->texts[0] + offset, size);
}

static void put_arguments(const struct told *t, const struct fact *f, uint64_t args[6])
{
	const struct event_field *at = t->layout.count > 1 ? &t->layout.fields[1] : NULL;
	size_t offset, size;

	if (!at || !at->element || !event_field_place(at, f->texts[0], f->lens[0], &offset, &size)) {
		for (size_t i = 0; i < 6; i++)
			args[i] = field(t, f, i + 1);
		return;
	}
	for (size_t i = 0; i < 6 && (i + 1) * at->element <= size; i++)
		args[i] = number_at(f->texts[0] + offset + i * at->element, at->element);
}

static bool has_raw(const struct event_formats *formats)
{
	for (size_t i = 0; i < formats->count; i++)
		if (!strcmp(formats->list[i].system, "raw_syscalls"))
			return true;
	return false;
}

struct syscall_events *syscall_events_new(const struct reader *r, const struct event_formats *formats)
{
	struct syscall_events *e;
	bool raw = has_raw(formats);

	if (!meta_get(&r->meta, "imported") || reader_lacks(r, "syscalls"))
		return NULL;
	e = xcalloc(1, sizeof *e);
	e->abi = arch_abi(r->arch, 0);
	e->formats = formats;
	e->told = xcalloc(formats->count + 1, sizeof *e->told);
	for (size_t i = 0; i < formats->count; i++)
		judge(&formats->list[i], raw, &e->told[i]);
	return e;
}

void syscall_events_free(struct syscall_events *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < e->formats->count; i++)
		event_layout_deinit(&e->told[i].layout);
	free(e->told);
	free(e);
}

bool syscall_events_tell(const struct syscall_events *e, const struct fact *f, struct syscall_mark *ret)
{
	const struct told *t;

	if (f->kind != FACT_EVENT || !f->n_numbers || !f->n_texts || f->numbers[0] >= e->formats->count)
		return false;
	t = &e->told[f->numbers[0]];
	if (t->what == NOTHING)
		return false;
	*ret = (struct syscall_mark){
		.type = t->what == ENTER ? SYSCALL_MARK_ENTRY : SYSCALL_MARK_EXIT,
		.call = {
			.ns = f->ns,
			.insns = f->insns,
			.cpu = (uint16_t)f->cpu,
			.task = f->task,
			.nr = (uint32_t)field(t, f, 0),
			.abi = e->abi,
		},
	};
	if (t->what == ENTER)
		put_arguments(t, f, ret->call.args);
	else
		ret->call.result = (int64_t)field(t, f, 1);
	return true;
}

static int mark_all(const struct reader *r, const struct syscall_events *e, struct syscall_marks *to, struct error *err)
{
	struct facts facts;
	int result = facts_read(r, &facts, err);
	struct syscall_mark mark;

	for (size_t i = 0; result == 0 && i < facts.count; i++)
		if (syscall_events_tell(e, &facts.list[i], &mark))
			*syscall_marks_add(to) = mark;
	facts_deinit(&facts);
	return result;
}

int syscall_events_mark(const struct reader *r, struct syscall_marks *to, struct error *err)
{
	struct event_formats formats;
	struct syscall_events *e;
	int result;

	if (event_formats_read(&r->meta, &formats, err) < 0)
		return -1;
	e = syscall_events_new(r, &formats);
	result = e ? mark_all(r, e, to, err) : 0;
	syscall_events_free(e);
	event_formats_deinit(&formats);
	return result;
}
