/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace_has.h"

#include <inttypes.h>
#include <string.h>

#include "select_arg.h"

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

/* The process that has the name, at any time; it must be the only one. */
static int find_name(const struct trace_arg *t, const char *name, uint64_t *ret, struct error *err)
{
	const struct thread *found = NULL;

	for (size_t i = 0; i < t->threads.count; i++) {
		const struct thread *thread = &t->threads.list[i];

		if (!threads_has_name(&t->threads, thread, name) || (found && thread->tgid == found->tgid))
			continue;
		if (found)
			return error_set(err, "--pid %s: several have that name, as PID %" PRId32 " and %" PRId32 "; 'upto ps' lists them", name, found->tgid,
					 thread->tgid);
		found = thread;
	}
	if (!found)
		return error_set(err, "--pid %s: the trace has no thread or process of that name, 'upto ps' lists them", name);
	*ret = (uint64_t)(int64_t)found->tgid;
	return 0;
}

static int has_pid(const struct args *args, struct trace_arg *t, struct error *err)
{
	const char *given = arg_if_any(args, "pid");
	struct error ignored;
	int32_t last = 0;

	if (!given)
		return 0;
	if (arg_u64(args, "pid", &t->pid, &ignored) < 0)
		return select_has(args->command, "pid") ? 0 : find_name(t, given, &t->pid, err);
	for (size_t i = 0; i < t->threads.count; i++) {
		const struct thread *thread = &t->threads.list[i];

		if ((uint64_t)(int64_t)thread->pid == t->pid || (uint64_t)(int64_t)thread->tgid == t->pid)
			return 0;
		if (thread->pid > last)
			last = thread->pid;
	}
	return error_set(err, "--pid %s: the trace has no thread or process of that number; the last is %" PRId32
			      ", 'upto ps' lists them", given, last);
}

int trace_has_asked(const struct args *args, struct trace_arg *t, struct error *err)
{
	if (has_time(args, t, "from", err) < 0 || has_time(args, t, "at", err) < 0)
		return -1;
	return has_cpu(args, t, err) < 0 || has_pid(args, t, err) < 0 ? -1 : 0;
}
