/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/alloc.h"
#include "syscall_marks.h"
#include "trace/event_fields.h"
#include "trace/event_formats.h"

/*
 * The call's number is the first field; behind it are the arguments, one by one or as one array, or the result:
 * include/trace/events/syscalls.h, kernel/trace/trace_syscalls.c.
 */
struct told {
	enum { NOTHING, ENTER, EXIT } what;
	struct event_layout layout;
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

static void mark(const struct reader *r, const struct told *t, const struct fact *f, struct syscall_marks *to)
{
	struct syscall_mark *m = syscall_marks_add(to);

	*m = (struct syscall_mark){
		.type = t->what == ENTER ? SYSCALL_MARK_ENTRY : SYSCALL_MARK_EXIT,
		.call = { .ns = f->ns, .insns = f->insns, .cpu = (uint16_t)f->cpu, .task = f->task },
	};
	m->call.nr = (uint32_t)field(t, f, 0);
	if (t->what == EXIT) {
		m->call.result = (int64_t)field(t, f, 1);
		return;
	}
	m->call.abi = arch_abi(r->arch, 0);
	put_arguments(t, f, m->call.args);
}

static bool has_raw(const struct event_formats *formats)
{
	for (size_t i = 0; i < formats->count; i++)
		if (!strcmp(formats->list[i].system, "raw_syscalls"))
			return true;
	return false;
}

static void mark_all(const struct reader *r, const struct event_formats *formats, const struct facts *facts,
		     struct syscall_marks *to)
{
	struct told *told = xcalloc(formats->count + 1, sizeof *told);
	bool raw = has_raw(formats);

	for (size_t i = 0; i < formats->count; i++)
		judge(&formats->list[i], raw, &told[i]);
	for (size_t i = 0; i < facts->count; i++) {
		const struct fact *f = &facts->list[i];

		if (f->kind == FACT_EVENT && f->n_numbers && f->n_texts && f->numbers[0] < formats->count &&
		    told[f->numbers[0]].what != NOTHING)
			mark(r, &told[f->numbers[0]], f, to);
	}
	for (size_t i = 0; i < formats->count; i++)
		event_layout_deinit(&told[i].layout);
	free(told);
}

int syscall_events_mark(const struct reader *r, struct syscall_marks *to, struct error *err)
{
	struct event_formats formats;
	struct facts facts;
	int result;

	if (!meta_get(&r->meta, "imported") || reader_lacks(r, "syscalls"))
		return 0;
	if (event_formats_read(&r->meta, &formats, err) < 0)
		return -1;
	result = facts_read(r, &facts, err);
	if (result == 0)
		mark_all(r, &formats, &facts, to);
	facts_deinit(&facts);
	event_formats_deinit(&formats);
	return result;
}
