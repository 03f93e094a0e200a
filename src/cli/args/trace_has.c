/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace_has.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"

uint64_t trace_end_ns(const struct trace_arg *t)
{
	uint64_t end = 0;

	for (size_t i = 0; i < t->reader->n_chunks; i++)
		if (t->reader->chunks[i].header.type == CHUNK_EVENTS && t->reader->chunks[i].header.last_ns > end)
			end = t->reader->chunks[i].header.last_ns;
	return end;
}

/* Some commands take names of moments there, too. */
static bool is_time(const struct command *command, const char *name)
{
	for (const struct option *o = command->options; o->name; o++)
		if (!strcmp(o->name, name))
			return o->arg && !strcmp(o->arg, "TIME");
	return false;
}

static int has_time(const struct args *args, const struct trace_arg *t, const char *name, struct error *err)
{
	uint64_t ns = 0, end = trace_end_ns(t);

	if (!arg_if_any(args, name) || !is_time(args->command, name))
		return 0;
	if (arg_time(args, name, &ns, err) < 0)
		return -1;
	if (ns > end)
		return error_set(err, "--%s %s: the trace ends at %.6f s", name, arg(args, name), (double)end / 1e9);
	return 0;
}

static int has_cpu(const struct args *args, const struct trace_arg *t, struct error *err)
{
	uint64_t cpu = 0;
	unsigned n = reader_vcpus(t->reader);

	if (!arg_if_any(args, "cpu"))
		return 0;
	if (arg_u64(args, "cpu", &cpu, err) < 0)
		return -1;
	if (cpu >= n && n < 2)
		return error_set(err, "--cpu %s: the trace has only vCPU 0", arg(args, "cpu"));
	if (cpu >= n)
		return error_set(err, "--cpu %s: the trace has vCPUs 0 to %u", arg(args, "cpu"), n - 1);
	return 0;
}

static bool is_number(const char *text)
{
	return *text && !text[strspn(text, "0123456789")];
}

bool threads_are_called(const struct threads *threads, const struct thread *t, const char *names)
{
	char *list = xstrdup(names), *rest = list, *name;
	bool has = false;

	while (!has && (name = strsep(&rest, ",")))
		has = threads_has_name(threads, t, name);
	free(list);
	return has;
}

bool thread_is_asked(const struct threads *threads, const struct thread *t, const char *pid)
{
	return is_number(pid) ? t->pid == strtoll(pid, NULL, 10) : threads_are_called(threads, t, pid);
}

int no_such_thread(const struct threads *threads, const char *pid, struct error *err)
{
	int32_t last = 0;

	if (!is_number(pid))
		return error_set(err, "--pid %s: the trace has no thread or process of that name, 'upto ps' lists them",
				 pid);
	for (size_t i = 0; i < threads->count; i++)
		last = threads->list[i].pid > last ? threads->list[i].pid : last;
	return error_set(err,
			 "--pid %s: the trace has no thread or process of that number; the last is %" PRId32
			 ", 'upto ps' lists them",
			 pid, last);
}

/* A process is asked for by its number, or by the name of its first thread; another thread's is only that one's. */
int trace_has_pid(const struct args *args, struct trace_arg *t, struct error *err)
{
	const char *pid = arg_if_any(args, "pid");
	const struct threads *threads = &t->threads;
	struct map processes = { 0 };
	bool any = false;

	if (!pid)
		return 0;
	free(t->asked_threads);
	free(t->asked_processes);
	t->asked_threads = xcalloc(threads->count, sizeof *t->asked_threads);
	t->asked_processes = xcalloc(threads->count, sizeof *t->asked_processes);
	if (is_number(pid))
		*map_put(&processes, (uint64_t)strtoll(pid, NULL, 10), 0) = 1;
	for (size_t i = 0; i < threads->count; i++) {
		const struct thread *thread = &threads->list[i];

		t->asked_threads[i] = thread_is_asked(threads, thread, pid);
		if (t->asked_threads[i] && !is_number(pid) && thread->pid == thread->tgid)
			*map_put(&processes, (uint64_t)(int64_t)thread->tgid, 0) = 1;
	}
	for (size_t i = 0; i < threads->count; i++) {
		t->asked_processes[i] =
			t->asked_threads[i] || map_get(&processes, (uint64_t)(int64_t)threads->list[i].tgid);
		any |= t->asked_processes[i];
	}
	map_free(&processes);
	return any ? 0 : no_such_thread(threads, pid, err);
}

int trace_has_asked(const struct args *args, struct trace_arg *t, struct error *err)
{
	if (has_time(args, t, "from", err) < 0 || has_time(args, t, "at", err) < 0)
		return -1;
	return has_cpu(args, t, err) < 0 || trace_has_pid(args, t, err) < 0 ? -1 : 0;
}

const bool *trace_row_threads(const struct trace_arg *t)
{
	return t->asked_processes ? t->asked_processes : t->threads.chosen;
}

void threads_miss_name(const struct threads *threads, const char *names, struct error *missed)
{
	cleanup_free char *list = xstrdup(names);
	char *rest = list, *name = NULL;
	size_t i = 0;

	while (i < threads->count && (name = strsep(&rest, ",")))
		for (i = 0; *name && i < threads->count && !threads_are_called(threads, &threads->list[i], name);)
			i++;
	if (name && i == threads->count)
		error_set(missed, "--comm %s: no such thread in the trace", name);
}

bool *trace_chosen_threads(const struct args *args, const struct trace_arg *t)
{
	const char *comm = arg(args, "comm");
	bool *marks;

	if (!t->asked_threads && !comm)
		return NULL;
	if (comm)
		threads_miss_name(&t->threads, comm, args->missed);
	marks = xcalloc(t->threads.count, sizeof *marks);
	for (size_t i = 0; i < t->threads.count; i++)
		marks[i] = (!t->asked_threads || t->asked_threads[i]) &&
			   (!comm || threads_are_called(&t->threads, &t->threads.list[i], comm));
	return marks;
}
