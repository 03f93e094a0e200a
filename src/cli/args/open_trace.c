/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "open_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/memory_limit.h"
#include "cli/print/terminal.h"
#include "program_calls.h"
#include "trace/damage.h"

void trace_arg_moved(struct trace_arg *t)
{
	t->session = (struct session){ .reader = t->reader, .names = &t->names, .threads = &t->threads };
}

int open_reader(const char *path, struct reader **ret, struct error *err)
{
	int fd = program_calls_open(path, err), r;
	char made[32];

	if (fd < 0)
		return fd == -1 ? reader_open(path, ret, err) : -1;
	snprintf(made, sizeof made, "/proc/self/fd/%d", fd);
	r = reader_open(made, ret, err);
	close(fd);
	if (r < 0)
		return -1;
	/* what is kept beside it is kept beside the file */
	free((*ret)->path);
	(*ret)->path = xstrdup(path);
	return 0;
}

int open_trace(const char *path, struct trace_arg *ret, struct error *err)
{
	if (open_reader(path, &ret->reader, err) < 0)
		return -1;
	memory_limit(ret->reader);
	if (ret->reader->n_damages)
		damage_take_out(ret->reader);
	if (names_init(&ret->names, ret->reader, err) < 0) {
		reader_free(ret->reader);
		return -1;
	}
	threads_init(&ret->threads, ret->reader);
	ret->in_pass = NULL;
	ret->fold_marks = NULL;
	ret->fold_below = NULL;
	ret->fold_spent = NULL;
	ret->fold = (struct fold){ 0 };
	ret->asked_threads = ret->asked_processes = NULL;
	trace_arg_moved(ret);
	return 0;
}

void trace_arg_close(struct trace_arg *t)
{
	free(t->in_pass);
	free(t->fold_marks);
	free(t->fold_below);
	free(t->fold_spent);
	free(t->asked_threads);
	free(t->asked_processes);
	index_free(t->session.index);
	names_deinit(&t->names);
	threads_deinit(&t->threads);
	reader_free(t->reader);
}

bool is_worth_index_now(const struct trace_arg *t)
{
	enum { WORTH_IT = 8000000 }; /* events: about a second's work */
	uint64_t events = 0;

	for (size_t i = 0; i < t->reader->n_chunks; i++)
		events += t->reader->chunks[i].header.events;
	return t->names.thunks && !t->reader->n_damages && events >= WORTH_IT;
}

bool is_worth_index(const struct trace_arg *t)
{
	return t->reader->ended && is_worth_index_now(t);
}

void trace_arg_open_index(struct trace_arg *t)
{
	if (!t->session.index)
		t->session.index = index_open(t->reader, &t->names);
}

void trace_arg_index(struct trace_arg *t)
{
	struct error ignored;

	trace_arg_open_index(t);
	if (t->session.index || !is_worth_index(t))
		return;
	if (index_make(&t->session, NULL, &ignored) == 0)
		trace_arg_open_index(t);
	terminal_end_progress();
}
