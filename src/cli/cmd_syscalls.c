/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/syscalls.h"
#include "arch/x86_syscall_args.h"
#include "arch/x86_syscalls.h"
#include "commands.h"
#include "replay/threads.h"
#include "trace/texts.h"
#include "trace_arg.h"
#include "view.h"

enum { NS, INSNS, CPU, TASK, PID, TGID, COMM, NR, NAME, ARGS, CALL, RESULT, ERROR, DURATION, CPU_TIME };

static const struct column columns[] = {
	[NS] = { "ns", "TIME S", "guest time at entry (seconds; JSON: ns)" },
	[INSNS] = { "insns", "INSNS", "instructions that the vCPU had retired", .hidden = true },
	[CPU] = { "cpu", "CPU", "vCPU at entry" },
	[TASK] = { "task", "TASK", "address of the caller's task_struct", .left = true, .hidden = true },
	[PID] = { "pid", "PID", "thread that made the call" },
	[TGID] = { "tgid", "TGID", "its process", .hidden = true },
	[COMM] = { "comm", "COMM", "its name at the time", .left = true },
	[NR] = { "nr", "NR", "number", .hidden = true },
	[NAME] = { "name", "NAME", "name", .left = true, .hidden = true },
	[ARGS] = { "args", "ARGS", "six raw arguments", .left = true, .list = true, .hidden = true },
	[CALL] = { "call", "CALL", "name and arguments, strings as they were at entry", .left = true },
	[RESULT] = { "result", "RESULT", "what it returned; empty: it did not, or has nothing to return (rt_sigreturn)" },
	[ERROR] = { "error", "ERROR", "name of the error that it returned", .left = true },
	[DURATION] = { "duration_ns", "DURATION S", "from entry to return (seconds; JSON: ns)" },
	[CPU_TIME] = { "cpu_ns", "ON CPU S", "the part of it that the thread ran; the rest it waited" },
	{ 0 },
};

struct rows {
	const struct syscalls *calls;
	const struct texts *texts;
	const struct threads *threads;
};

static struct cell name_cell(uint64_t nr, struct buf *scratch)
{
	const char *name = x86_syscall_name(nr);

	if (!name) {
		buf_printf(scratch, "syscall_%" PRIu64, nr);
		name = (char *)scratch->data;
	}
	return (struct cell){ .type = CELL_TEXT, .text = name };
}

static struct cell args_cell(const struct syscall_record *c, struct buf *scratch)
{
	for (int i = 0; i < 6; i++)
		buf_printf(scratch, "%s%" PRIu64, i ? "\n" : "", c->args[i]);
	return (struct cell){ .type = CELL_LIST, .text = (char *)scratch->data };
}

/* As strace quotes: what is no ASCII by number. */
static void put_text(const struct text *text, size_t max, struct buf *out)
{
	static const char escapes[] = "a\ab\bt\tn\nv\vf\fr\r\"\"\\\\";
	const uint8_t *bytes = text->bytes;
	size_t n = text->len < max ? text->len : max;

	buf_printf(out, "\"");
	for (size_t i = 0; i < n; i++) {
		const char *escape = NULL;

		for (size_t k = 1; k < sizeof escapes - 1 && !escape; k += 2)
			if (bytes[i] == (uint8_t)escapes[k])
				escape = &escapes[k - 1];
		if (escape)
			buf_printf(out, "\\%c", *escape);
		else if (bytes[i] < ' ' || bytes[i] > '~')
			buf_printf(out, i + 1 < n && bytes[i + 1] >= '0' && bytes[i + 1] <= '9' ? "\\%03o" : "\\%o", bytes[i]);
		else
			buf_put_u8(out, bytes[i]);
	}
	buf_printf(out, text->cut || n < text->len ? "\"..." : "\"");
}

static struct cell call_cell(const struct rows *rows, const struct syscall_record *c, struct buf *scratch)
{
	enum { TEXT_MAX = 4096, BYTES_MAX = 32 }; /* of strings, and of what need not be one */
	const char *kinds = x86_syscall_args(c->nr), *name = x86_syscall_name(c->nr);

	if (name)
		buf_printf(scratch, "%s(", name);
	else
		buf_printf(scratch, "syscall_%" PRIu64 "(", c->nr);
	if (!kinds)
		kinds = "xxxxxx";
	for (unsigned i = 0; kinds[i]; i++) {
		const struct text *text = texts_find(rows->texts, c->cpu, c->insns, i);

		/* permissions are for files that are made */
		if (kinds[i] == ARG_MODE && i && kinds[i - 1] == ARG_OPEN && !(c->args[i - 1] & ARG_OPEN_CREATES))
			break;
		buf_printf(scratch, i ? ", " : "");
		if (text)
			put_text(text, kinds[i] == ARG_PATH ? TEXT_MAX : BYTES_MAX, scratch);
		else
			x86_syscall_arg(kinds[i], c->args[i], scratch);
	}
	buf_printf(scratch, ")");
	buf_put_u8(scratch, 0);
	return (struct cell){ .type = CELL_TEXT, .text = (char *)scratch->data };
}

/* The thread that made the call, or NULL. */
static const struct thread *caller(const struct rows *rows, const struct syscall_record *c)
{
	long i = threads_find(rows->threads, c->task, c->ns);

	return i == THREAD_NONE ? NULL : &rows->threads->list[i];
}

static void thread_cell(const struct rows *rows, const struct syscall_record *c, unsigned column, struct cell *ret)
{
	const struct thread *t = caller(rows, c);
	const struct task_record *then = threads_record(rows->threads, c->task, c->ns);

	if (!t)
		return;
	if (column == COMM)
		*ret = (struct cell){ .type = CELL_TEXT, .text = then ? then->comm : t->comm };
	else
		*ret = (struct cell){ .type = CELL_NUMBER, .number = (uint64_t)(column == PID ? t->pid : t->tgid) };
}

static void cell(const void *data, size_t row, unsigned column, struct cell *ret, struct buf *scratch)
{
	const struct rows *rows = data;
	const struct syscall_record *c = &rows->calls->calls[row];

	switch (column) {
	case NS:
		*ret = (struct cell){ .type = CELL_SECONDS, .number = c->ns };
		break;
	case INSNS:
		*ret = (struct cell){ .type = CELL_NUMBER, .number = c->insns };
		break;
	case CPU:
		*ret = (struct cell){ .type = CELL_NUMBER, .number = c->cpu };
		break;
	case TASK:
		buf_printf(scratch, "0x%" PRIx64, c->task);
		*ret = (struct cell){ .type = CELL_TEXT, .text = (char *)scratch->data };
		break;
	case NR:
		*ret = (struct cell){ .type = CELL_NUMBER, .number = c->nr };
		break;
	case NAME:
		*ret = name_cell(c->nr, scratch);
		break;
	case ARGS:
		*ret = args_cell(c, scratch);
		break;
	case PID:
	case TGID:
	case COMM:
		thread_cell(rows, c, column, ret);
		break;
	case CALL:
		*ret = call_cell(rows, c, scratch);
		break;
	case ERROR:
		if (c->has_result && x86_syscall_error(c->result))
			*ret = (struct cell){ .type = CELL_TEXT, .text = x86_syscall_error(c->result) };
		break;
	case CPU_TIME:
		if (c->returned)
			*ret = (struct cell){ .type = CELL_SECONDS, .number = c->cpu_ns };
		break;
	case RESULT:
		if (c->has_result)
			*ret = (struct cell){ .type = CELL_NUMBER, .number = (uint64_t)c->result, .negative = c->result < 0 };
		break;
	case DURATION:
		if (c->returned)
			*ret = (struct cell){ .type = CELL_SECONDS, .number = c->end_ns - c->ns };
		break;
	}
}

enum { SUM_NAME, SUM_NR, SUM_COUNT, SUM_ERRORS, SUM_TOTAL, SUM_AVERAGE, SUM_LONGEST };

static const struct column sum_columns[] = {
	[SUM_NAME] = { "name", "NAME", "name", .left = true },
	[SUM_NR] = { "nr", "NR", "number", .hidden = true },
	[SUM_COUNT] = { "count", "COUNT", "calls" },
	[SUM_ERRORS] = { "errors", "ERRORS", "calls that returned an error" },
	[SUM_TOTAL] = { "total_ns", "TOTAL S", "time in all calls that returned (seconds; JSON: ns)" },
	[SUM_AVERAGE] = { "average_ns", "AVERAGE S", "per call that returned" },
	[SUM_LONGEST] = { "longest_ns", "LONGEST S", "the longest of them" },
	{ 0 },
};

static void sum_cell(const void *data, size_t row, unsigned column, struct cell *ret, struct buf *scratch)
{
	const struct syscall_sum *s = &((const struct syscall_sum *)data)[row];

	*ret = (struct cell){ .type = column >= SUM_TOTAL ? CELL_SECONDS : CELL_NUMBER };
	switch (column) {
	case SUM_NAME:
		*ret = name_cell(s->nr, scratch);
		break;
	case SUM_NR:
		ret->number = s->nr;
		break;
	case SUM_COUNT:
		ret->number = s->count;
		break;
	case SUM_ERRORS:
		ret->number = s->errors;
		break;
	case SUM_TOTAL:
		ret->number = s->total_ns;
		break;
	case SUM_AVERAGE:
		ret->number = s->returned ? s->total_ns / s->returned : 0;
		break;
	case SUM_LONGEST:
		ret->number = s->longest_ns;
		break;
	}
}

static int show_sums(const struct args *args, const struct syscalls *s, struct error *err)
{
	struct syscall_sum *sums;
	struct view view = { .name = "syscalls", .columns = sum_columns, .default_sort = "total_ns", .cell = sum_cell };
	int r;

	view.rows = syscalls_sum(s, &sums);
	view.data = sums;
	r = view_print(&view, args, err);
	free(sums);
	return r;
}

/* Is it in the list, a,b,…? */
static bool is_named(const char *list, const char *name)
{
	size_t n = name ? strlen(name) : 0;

	for (const char *at = list; n && *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ','))
		if (strcspn(at, ",") == n && !strncmp(at, name, n))
			return true;
	return false;
}

/* Keep the calls of one process, and of certain names. */
static int choose(const struct args *args, const struct threads *threads, struct syscalls *s, struct error *err)
{
	const char *names = arg(args, "name");
	struct rows rows = { .threads = threads };
	uint64_t pid = 0;
	size_t kept = 0;

	if (arg_u64(args, "pid", &pid, err) < 0)
		return -1;
	for (size_t i = 0; i < s->count; i++) {
		const struct syscall_record *c = &s->calls[i];
		const struct thread *t = arg(args, "pid") ? caller(&rows, c) : NULL;

		if (arg(args, "pid") && (!t || ((uint64_t)t->pid != pid && (uint64_t)t->tgid != pid)))
			continue;
		if (names && !is_named(names, x86_syscall_name(c->nr)))
			continue;
		s->calls[kept++] = *c;
	}
	s->count = kept;
	return 0;
}

static int show(const struct args *args, const struct trace_arg *t, const struct syscalls *s, struct error *err)
{
	struct texts texts;
	struct rows rows = { .calls = s, .texts = &texts, .threads = &t->threads };
	struct view view = { .name = "syscalls", .columns = columns, .rows = s->count, .cell = cell, .data = &rows };
	int r = EXIT_FAILED;

	if (texts_read(t->reader, &texts, err) == 0)
		r = view_print(&view, args, err);
	texts_deinit(&texts);
	return r;
}

static int run(const struct args *args, struct error *err)
{
	struct syscalls s;
	struct trace_arg t;
	struct span span;
	int r = EXIT_FAILED;

	if (span_arg(args, &span, err) < 0)
		return EXIT_USAGE;
	if (trace_arg_open(args->operands[0], &t, err) < 0)
		return EXIT_FAILED;
	if (syscalls_analyse(t.reader, &span, &s, err) == 0) {
		if (choose(args, &t.threads, &s, err) < 0)
			r = EXIT_USAGE;
		else
			r = arg(args, "summary") ? show_sums(args, &s, err) : show(args, &t, &s, err);
		syscalls_deinit(&s);
	}
	trace_arg_close(&t);
	return r;
}

static const struct option options[] = {
	{ 'p', "pid", "PID", "only calls of this thread, or of this process's threads" },
	{ 0, "name", "NAMES", "only calls of these names, e.g. open,openat" },
	{ 0, "summary", NULL, "one line per call name: count, errors, total, average, longest" },
	VIEW_OPTIONS,
	SPAN_OPTIONS,
	HELP_OPTION,
	{ 0 },
};

const struct command cmd_syscalls = {
	.name = "syscalls",
	.operands = "TRACE",
	.summary = "when does userspace make system calls?",
	.description = "Lists the system calls of all processes in the order of their entry, with their arguments as strace "
		       "prints them, result, and how long they took, running and waiting. A string that the guest had not in memory yet "
		       "when the call was made stays an address. A call that never returned (exit, execve of another image's last moment, a call under way at the end) has no "
		       "result.\n",
	.examples = "  upto syscalls trace.upto\n      the first screenful\n"
		    "  upto syscalls --summary trace.upto\n      which calls took the most time\n"
		    "  upto syscalls --name execve,openat -n 0 trace.upto\n      which programs ran, and the files that were opened\n"
		    "  upto syscalls -s duration_ns trace.upto\n      the longest ones\n",
	.options = options,
	.min_operands = 1, .max_operands = 1,
	.run = run,
};
