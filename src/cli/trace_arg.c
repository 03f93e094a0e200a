/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace_arg.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#include "terminal.h"

static void warn(const struct reader *r)
{
	const char *stopped = meta_get(&r->meta, "stopped");
	uint64_t lost = reader_lost(r);
	struct buf path = { 0 };

	terminal_escape(&path, r->path);
	buf_put_u8(&path, 0);

	if (stopped)
		fprintf(stderr, "upto: %s: recording stopped early: %s\n", (char *)path.data, stopped);
	else if (r->cut_why)
		fprintf(stderr, "upto: %s: %s at byte %" PRIu64 " (chunk %zu); the events before are whole\n", (char *)path.data,
			r->cut_why, r->cut_at, r->n_chunks);
	else if (!r->ended)
		fprintf(stderr, "upto: %s: has no end: it is being recorded, or its recorder was killed; "
				"the events so far are whole\n", (char *)path.data);
	if (lost)
		fprintf(stderr, "upto: %s: %" PRIu64 " events were lost\n", (char *)path.data, lost);
	buf_free(&path);
}

int trace_arg_open(const char *path, struct trace_arg *ret, struct error *err)
{
	if (reader_open(path, &ret->reader, err) < 0)
		return -1;
	if (names_init(&ret->names, ret->reader, err) < 0) {
		reader_free(ret->reader);
		return -1;
	}
	threads_init(&ret->threads, ret->reader);
	warn(ret->reader);
	ret->reader->progress = terminal_progress;
	return 0;
}

bool is_worth_index(const struct trace_arg *t)
{
	enum { WORTH_IT = 8000000 }; /* events: a second's work, about */
	uint64_t events = 0;

	for (size_t i = 0; i < t->reader->n_chunks; i++)
		events += t->reader->chunks[i].header.events;
	return t->reader->ended && events >= WORTH_IT;
}

struct index *index_for(const struct trace_arg *t)
{
	struct index *index = index_open(t->reader, &t->names);
	struct error ignored;

	if (index || !is_worth_index(t))
		return index;
	if (index_make(t->reader, &t->names, &t->threads, NULL, &ignored) == 0)
		index = index_open(t->reader, &t->names);
	terminal_end_progress();
	return index;
}

void trace_arg_close(struct trace_arg *t)
{
	names_deinit(&t->names);
	threads_deinit(&t->threads);
	reader_free(t->reader);
}

/* "ext4_mount [ext4]" also is called ext4_mount. */
static bool is_called(const char *function, const char *name, size_t len)
{
	if (strncmp(function, name, len))
		return false;
	return !function[len] || !strncmp(function + len, " [", 2);
}

int functions_arg(const char *list, const struct names *names, bool **ret, struct error *err)
{
	bool *marks = list ? xcalloc(names_count(names), sizeof *marks) : NULL;
	const char *at = list;
	bool any = false;

	while (at && *at) {
		size_t len = strcspn(at, ",");

		for (uint32_t i = 0; i < names_count(names); i++)
			if (is_called(names_function(names, i), at, len))
				any = marks[i] = true;
		at += len + (at[len] == ',');
	}
	if (marks && !any) {
		free(marks);
		return error_set(err, "%s: the trace has no function of that name", list);
	}
	*ret = marks;
	return 0;
}

int only_arg(const struct args *args, const struct names *names, struct only *ret, struct error *err)
{
	bool any = false;

	*ret = (struct only){ .kernel = arg(args, "kernel"), .user = arg(args, "user"), .object = arg(args, "module") };
	if (ret->kernel && ret->user)
		return error_set(err, "--kernel and --user: one of them");
	for (uint32_t i = 0; ret->object && !any && i < names_count(names); i++)
		any = !strcmp(names_object(names, i), ret->object);
	if (ret->object && !any)
		return error_set(err, "--module %s: the trace has no module, program or library of that name", ret->object);
	return 0;
}

bool only_has(const struct only *only, const struct names *names, uint32_t function)
{
	if ((only->kernel && !names_is_kernel(names, function)) || (only->user && !names_is_user(names, function)))
		return false;
	return !only->object || !strcmp(names_object(names, function), only->object);
}

int clock_arg(const struct args *args, bool *ret_by_ns, struct error *err)
{
	const char *clock = arg(args, "clock");

	*ret_by_ns = clock && !strcmp(clock, "ns");
	if (clock && !*ret_by_ns && strcmp(clock, "insns"))
		return error_set(err, "--clock %s: insns or ns", clock);
	return 0;
}

int span_arg(const struct args *args, struct span *ret, struct error *err)
{
	struct span span = SPAN_ALL;
	uint64_t cpu = UINT64_MAX;

	if (arg_time(args, "from", &span.from_ns, err) < 0 || arg_time(args, "to", &span.to_ns, err) < 0 ||
	    arg_u64(args, "cpu", &cpu, err) < 0)
		return -1;
	if (arg(args, "cpu") && cpu >= CPUS_MAX)
		return error_set(err, "--cpu %s: there are at most %d", arg(args, "cpu"), CPUS_MAX);
	if (arg(args, "cpu"))
		span.cpu = (int)cpu;
	*ret = span;
	return 0;
}
