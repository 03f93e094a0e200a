/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/fd_paths.h"
#include "analysis/syscall_list.h"
#include "arch/syscall_args.h"
#include "base/alloc.h"
#include "commands.h"
#include "name_list.h"
#include "replay/threads.h"
#include "trace/facts.h"
#include "trace/texts.h"
#include "trace_arg.h"
#include "view.h"

enum { NS, INSNS, CPU, TASK, PID, TGID, COMM, ABI, NR, NAME, ARGS, CALL, PATH, RESULT, ERROR, DURATION, CPU_TIME };

static const struct column columns[] = {
	[NS] = { "ns", "TIME S", CELL_SECONDS, "guest time at entry, in seconds" },
	[INSNS] = { "insns", "INSNS", CELL_COUNT, "instructions that the vCPU had retired", .hidden = true },
	[CPU] = { "cpu", "CPU", CELL_NUMBER, "vCPU at entry" },
	[TASK] = { "task", "TASK", CELL_ADDRESS, "address of the caller's task_struct", .hidden = true },
	[PID] = { "pid", "PID", CELL_NUMBER, "thread that made the call" },
	[TGID] = { "tgid", "TGID", CELL_NUMBER, "its process", .hidden = true },
	[COMM] = { "comm", "COMM", CELL_TEXT, "its name at the time" },
	[ABI] = { "abi", "ABI", CELL_TEXT, "interface that it was made by: x86-64, i386 or x32; shown when not all are the first", .hidden = true },
	[NR] = { "nr", "NR", CELL_NUMBER, "number", .hidden = true },
	[NAME] = { "name", "NAME", CELL_TEXT, "name", .hidden = true },
	[ARGS] = { "args", "ARGS", CELL_LIST, "six raw arguments", .hidden = true },
	[CALL] = { "call", "CALL", CELL_TEXT, "name and arguments, strings as they were at entry" },
	[PATH] = { "path", "PATH", CELL_TEXT, "the file behind the descriptor that is the first argument", .hidden = true },
	[RESULT] = { "result", "RESULT", CELL_NUMBER, "what it returned; empty: it did not return, or has no result (rt_sigreturn)" },
	[ERROR] = { "error", "ERROR", CELL_TEXT, "name of the error that it returned" },
	[DURATION] = { "duration_ns", "DURATION", CELL_DURATION, "from entry to return" },
	[CPU_TIME] = { "cpu_ns", "ON CPU", CELL_DURATION, "the part of it in which the thread ran; in the rest it waited" },
	{ 0 },
};

struct rows {
	const struct syscalls *calls;
	uint32_t *chosen;    /* numbers of the calls that are asked for */
	size_t count;
	const struct texts *texts;
	const struct threads *threads;
	const struct fd_paths *files;
	const struct facts *facts;
};

static struct cell name_cell(const struct syscall_abi *abi, uint64_t nr, struct buf *scratch)
{
	const char *name = abi->call_name(nr);

	if (!name) {
		buf_printf(scratch, "syscall_%" PRIu64, nr);
		name = (char *)scratch->data;
	}
	return (struct cell){ .type = CELL_TEXT, .text = name };
}

static struct cell args_cell(const struct syscall_record *c, struct buf *scratch)
{
	for (int i = 0; i < 6; i++)
		buf_printf(scratch, "%s0x%" PRIx64, i ? "\n" : "", c->args[i]);
	return (struct cell){ .type = CELL_LIST, .text = (char *)scratch->data };
}

/* Quote as strace does: bytes that are not ASCII by number. */
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

/* ["udevadm", "trigger"]: the arguments of a program that the call began. False: they are not known. */
static bool put_arguments(const struct rows *rows, const struct syscall_record *c, struct buf *out)
{
	const struct facts *all = rows->facts;
	const struct fact *found = NULL;

	for (size_t i = facts_at(all, c->ns); i < all->count && !found && all->list[i].ns <= (c->returned ? c->end_ns : UINT64_MAX); i++)
		if (all->list[i].kind == FACT_ARGUMENTS && all->list[i].task == c->task)
			found = &all->list[i];
	if (!found || !c->returned || syscall_failed(c))
		return false;
	buf_printf(out, "[");
	for (size_t at = 0; at < found->lens[0];) {
		size_t n = strnlen(found->texts[0] + at, found->lens[0] - at);
		const struct text argument = { .bytes = found->texts[0] + at, .len = n, .cut = at + n == found->lens[0] && found->numbers[0] > found->lens[0] };

		buf_printf(out, at ? ", " : "");
		put_text(&argument, n, out);
		at += n + 1;
	}
	buf_printf(out, "]");
	return true;
}

static struct cell call_cell(const struct rows *rows, uint32_t number, struct buf *scratch)
{
	enum { TEXT_MAX = 4096, BYTES_MAX = 32 }; /* of strings, and of bytes that need not be a string */
	const struct syscall_record *c = &rows->calls->calls[number];
	const char *kinds = c->abi->call_args(c->nr), *name = c->abi->call_name(c->nr);

	if (name)
		buf_printf(scratch, "%s(", name);
	else
		buf_printf(scratch, "syscall_%" PRIu64 "(", c->nr);
	if (!kinds)
		kinds = "xxxxxx";
	for (unsigned i = 0; kinds[i]; i++) {
		const struct text *text = texts_find(rows->texts, c->cpu, c->insns, i);

		/* permissions matter only if a file is made */
		if (kinds[i] == ARG_MODE && i && kinds[i - 1] == ARG_OPEN && !(c->args[i - 1] & ARG_OPEN_CREATES))
			break;
		buf_printf(scratch, i ? ", " : "");
		if (text)
			put_text(text, kinds[i] == ARG_BYTES ? BYTES_MAX : TEXT_MAX, scratch);
		else if (kinds[i] != ARG_ARGUMENTS || !put_arguments(rows, c, scratch))
			syscall_arg(c->abi, kinds[i], c->args[i], scratch);
		if (!i && rows->files->paths[number])
			buf_printf(scratch, "<%s>", rows->files->paths[number]);
	}
	buf_printf(scratch, ")");
	buf_put_u8(scratch, 0);
	return (struct cell){ .type = CELL_TEXT, .text = (char *)scratch->data };
}

/* The thread that made the call, or NULL. */
static const struct thread *caller(const struct rows *rows, const struct syscall_record *c)
{
	return threads_at(rows->threads, threads_find(rows->threads, c->task, c->ns));
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
	uint32_t number = rows->chosen[row];
	const struct syscall_record *c = &rows->calls->calls[number];

	switch (column) {
	case NS:
		*ret = (struct cell){ .type = CELL_SECONDS, .number = c->ns };
		break;
	case INSNS:
		*ret = (struct cell){ .type = CELL_COUNT, .number = c->insns };
		break;
	case CPU:
		*ret = (struct cell){ .type = CELL_NUMBER, .number = c->cpu };
		break;
	case TASK:
		*ret = (struct cell){ .type = CELL_ADDRESS, .number = c->task };
		break;
	case ABI:
		*ret = (struct cell){ .type = CELL_TEXT, .text = c->abi->name };
		break;
	case NR:
		*ret = (struct cell){ .type = CELL_NUMBER, .number = c->nr };
		break;
	case NAME:
		*ret = name_cell(c->abi, c->nr, scratch);
		break;
	case ARGS:
		*ret = args_cell(c, scratch);
		break;
	case PID:
	case TGID:
	case COMM:
		thread_cell(rows, c, column, ret);
		break;
	case PATH:
		if (rows->files->paths[number])
			*ret = (struct cell){ .type = CELL_TEXT, .text = rows->files->paths[number] };
		break;
	case CALL:
		*ret = call_cell(rows, number, scratch);
		break;
	case ERROR:
		if (c->has_result && syscall_error(c->result))
			*ret = (struct cell){ .type = CELL_TEXT, .text = syscall_error(c->result) };
		break;
	case CPU_TIME:
		if (c->returned)
			*ret = (struct cell){ .type = CELL_DURATION, .number = c->cpu_ns };
		break;
	case RESULT:
		if (c->has_result)
			*ret = (struct cell){ .type = CELL_NUMBER, .number = (uint64_t)c->result, .negative = c->result < 0 };
		break;
	case DURATION:
		if (c->returned)
			*ret = (struct cell){ .type = CELL_DURATION, .number = c->end_ns - c->ns };
		break;
	}
}

enum { SUM_NAME, SUM_ABI, SUM_NR, SUM_COUNT, SUM_ERRORS, SUM_TOTAL, SUM_AVERAGE, SUM_LONGEST };

static const struct column sum_columns[] = {
	[SUM_NAME] = { "name", "NAME", CELL_TEXT, "name" },
	[SUM_ABI] = { "abi", "ABI", CELL_TEXT, "interface that it was made by", .hidden = true },
	[SUM_NR] = { "nr", "NR", CELL_NUMBER, "number", .hidden = true },
	[SUM_COUNT] = { "count", "COUNT", CELL_COUNT, "calls" },
	[SUM_ERRORS] = { "errors", "ERRORS", CELL_COUNT, "calls that returned an error" },
	[SUM_TOTAL] = { "total_ns", "TOTAL", CELL_DURATION, "time in all calls that returned" },
	[SUM_AVERAGE] = { "average_ns", "AVERAGE", CELL_DURATION, "per call that returned" },
	[SUM_LONGEST] = { "longest_ns", "LONGEST", CELL_DURATION, "the longest of them" },
	{ 0 },
};

static void sum_cell(const void *data, size_t row, unsigned column, struct cell *ret, struct buf *scratch)
{
	const struct syscall_sum *s = &((const struct syscall_sum *)data)[row];

	*ret = (struct cell){ .type = column >= SUM_TOTAL ? CELL_DURATION : column == SUM_NR ? CELL_NUMBER : CELL_COUNT };
	switch (column) {
	case SUM_NAME:
		*ret = name_cell(s->abi, s->nr, scratch);
		break;
	case SUM_ABI:
		*ret = (struct cell){ .type = CELL_TEXT, .text = s->abi->name };
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

/* Were all calls made by the CPU's own interface? */
static bool has_one_abi(const struct syscalls *s)
{
	size_t i = 0;

	while (i < s->count && s->calls[i].abi == s->arch->abis)
		i++;
	return i == s->count;
}

static int show_sums(const struct args *args, const struct trace_arg *t, const struct syscalls *s, struct error *err)
{
	struct syscall_sum *sums;
	struct view view = {
		.name = "syscalls", .what = "system calls", .trace = t, .columns = sum_columns, .default_sort = "total_ns", .cell = sum_cell,
		.default_output = has_one_abi(s) ? NULL : "name,abi,count,errors,total_ns,average_ns,longest_ns",
	};
	int r;

	view.rows = syscalls_sum(s, &sums);
	view.data = sums;
	r = view_print(&view, args, err);
	free(sums);
	return r;
}

enum { SYSCALLS_MAX = 1024 }; /* more than an interface has numbers */

static const char *syscall_at(const void *data, size_t i)
{
	const struct arch *arch = data;

	return arch->abis[i / SYSCALLS_MAX].call_name(i % SYSCALLS_MAX);
}

/* The system calls of --name: marks by interface and number; NULL: all. */
static int names_arg(const struct args *args, const struct arch *arch, bool **ret, struct error *err)
{
	const struct name_list all = {
		.count = (size_t)arch->n_abis * SYSCALLS_MAX, .at = syscall_at, .data = arch, .what = "system call", .where = "",
	};
	const char *list = arg(args, "name");

	*ret = list ? xcalloc(all.count, sizeof **ret) : NULL;
	return list ? name_list_mark(&all, &list, 1, *ret, err) : 0;
}

static bool is_marked(const struct arch *arch, const bool *names, const struct syscall_record *c)
{
	/* x32's have a bit set that no name depends on */
	uint32_t nr = (uint32_t)c->nr & ~(UINT32_C(1) << 30);

	return c->abi->call_name(c->nr) && nr < SYSCALLS_MAX && names[(size_t)(c->abi - arch->abis) * SYSCALLS_MAX + nr];
}

/* Does the call have a file of that name: behind its first argument, or as an argument? */
static bool has_path(const struct rows *rows, uint32_t number, const char *pattern)
{
	const struct syscall_record *c = &rows->calls->calls[number];
	const char *kinds = c->abi->call_args(c->nr);
	bool found = rows->files->paths[number] && !fnmatch(pattern, rows->files->paths[number], 0);

	for (unsigned i = 0; kinds && kinds[i] && !found; i++) {
		const struct text *text = kinds[i] == ARG_PATH ? texts_find(rows->texts, c->cpu, c->insns, i) : NULL;
		char *path = text ? xstrndup(text->bytes, text->len) : NULL;

		found = path && !fnmatch(pattern, path, 0);
		free(path);
	}
	return found;
}

/* What is asked for. */
struct choice {
	const bool *names;   /* marks; NULL: all */
	const char *path;    /* NULL: any */
	uint64_t pid, shortest;
	bool one_pid;
};

static bool is_chosen(const struct rows *rows, const struct choice *choice, uint32_t number)
{
	const struct syscall_record *c = &rows->calls->calls[number];
	const struct thread *t = choice->one_pid ? caller(rows, c) : NULL;

	if (choice->one_pid && (!t || ((uint64_t)t->pid != choice->pid && (uint64_t)t->tgid != choice->pid)))
		return false;
	if (choice->names && !is_marked(rows->calls->arch, choice->names, c))
		return false;
	if (choice->shortest && (!c->returned || c->end_ns - c->ns < choice->shortest))
		return false;
	return !choice->path || has_path(rows, number, choice->path);
}

/* Find the calls of the wanted process, names and files. */
static int choose(const struct args *args, const bool *names, struct rows *rows, struct error *err)
{
	struct choice choice = { .names = names, .path = arg(args, "path"), .one_pid = arg(args, "pid") };

	if (arg_u64(args, "pid", &choice.pid, err) < 0 || arg_time(args, "min-duration", &choice.shortest, err) < 0)
		return -1;
	rows->chosen = xcalloc(rows->calls->count + 1, sizeof *rows->chosen);
	for (uint32_t i = 0; i < rows->calls->count; i++)
		if (is_chosen(rows, &choice, i))
			rows->chosen[rows->count++] = i;
	return 0;
}

static int show(const struct args *args, const struct trace_arg *t, struct rows *rows, struct error *err)
{
	struct view view = {
		.name = "syscalls", .what = "system calls", .trace = t, .columns = columns, .rows = rows->count, .cell = cell, .data = rows,
		.default_output = has_one_abi(rows->calls) ? NULL : "ns,cpu,pid,comm,abi,call,result,error,duration_ns,cpu_ns",
	};

	return view_print(&view, args, err);
}

/* The sums of those that were chosen. */
static int show_chosen_sums(const struct args *args, const struct trace_arg *t, const struct rows *rows, struct error *err)
{
	struct syscalls chosen = { .arch = rows->calls->arch, .calls = xcalloc(rows->count + 1, sizeof *chosen.calls), .count = rows->count };
	int r;

	for (size_t i = 0; i < rows->count; i++)
		chosen.calls[i] = rows->calls->calls[rows->chosen[i]];
	r = show_sums(args, t, &chosen, err);
	free(chosen.calls);
	return r;
}

/* Calls before --from count for what is open; they are not shown. */
static int leave_out(struct rows *rows, const struct span *span)
{
	size_t kept = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const struct syscall_record *c = &rows->calls->calls[rows->chosen[i]];

		if (c->ns >= span->from_ns && c->ns < span->to_ns && (span->cpu < 0 || span->cpu == c->cpu))
			rows->chosen[kept++] = rows->chosen[i];
	}
	rows->count = kept;
	return 0;
}

static int print(const struct args *args, const struct trace_arg *t, const struct span *span, const bool *names, struct rows *rows, struct error *err)
{
	struct fd_paths files;
	int r;

	fd_paths_init(&files, rows->calls, rows->texts, rows->threads);
	rows->files = &files;
	if (choose(args, names, rows, err) < 0 || leave_out(rows, span) < 0)
		r = EXIT_USAGE;
	else
		r = arg(args, "summary") ? show_chosen_sums(args, t, rows, err) : show(args, t, rows, err);
	free(rows->chosen);
	fd_paths_deinit(&files);
	return r;
}

static int run(const struct args *args, struct error *err)
{
	static const struct span all = { .to_ns = UINT64_MAX, .cpu = -1 };
	struct syscalls s;
	struct texts texts = { 0 };
	struct facts facts = { 0 };
	struct trace_arg t;
	struct span span;
	bool *names = NULL;
	int r = EXIT_FAILED;

	if (span_arg(args, &span, err) < 0)
		return EXIT_USAGE;
	if (trace_arg_open(args, &t, err) < 0)
		return EXIT_FAILED;
	if (names_arg(args, t.reader->arch, &names, err) < 0) {
		r = EXIT_USAGE;
	} else if (syscalls_analyse(t.reader, &t.threads, &all, &s, err) == 0) {
		struct rows rows = { .calls = &s, .texts = &texts, .facts = &facts, .threads = &t.threads };

		if (texts_read(t.reader, &texts, err) == 0 && facts_read(t.reader, &facts, err) == 0)
			r = print(args, &t, &span, names, &rows, err);
		texts_deinit(&texts);
		facts_deinit(&facts);
		syscalls_deinit(&s);
	}
	trace_arg_close(&t);
	free(names);
	return r;
}

static const struct option options[] = {
	{ 'p', "pid", "PID", "only calls of this thread, or of this process's threads" },
	{ 0, "name", "NAMES", "only calls of these names, e.g. open,openat; shell patterns: *stat*", ',' },
	{ 0, "path", "GLOB", "only calls that have such a file, as an argument or behind a descriptor: '/etc/*'" },
	{ 0, "min-duration", "TIME", "only calls that took at least so long" },
	{ 0, "summary", NULL, "one line per call name: count, errors, total, average, longest" },
	VIEW_OPTIONS,
	SPAN_OPTIONS,
	HELP_OPTION,
	{ 0 },
};

static const struct legend legends[] = {
	{ "columns", columns, NULL }, { "columns with --summary", sum_columns, NULL }, { 0 },
};

const struct command cmd_syscalls = {
	.name = "syscalls",
	.operands = "TRACE",
	.summary = "when does userspace make system calls?",
	.description = "Lists the system calls of all processes in the order of their entry: arguments as strace "
		       "prints them, with the file behind a descriptor (7</etc/fstab>), result, and how long they took, running and waiting. If a string was not in the guest's memory "
		       "during the call, its address is shown. A call that never returned has no result: exit, or a call in progress "
		       "when its program was replaced or when the recording ended.\n",
	.examples = "  upto syscalls trace.upto\n      the first screenful\n"
		    "  upto syscalls --summary trace.upto\n      which calls took the most time\n"
		    "  upto syscalls --name execve,openat -n 0 trace.upto\n      which programs ran, and the files that were opened\n"
		    "  upto syscalls --path '/etc/*' trace.upto\n      what was done to these files\n"
		    "  upto syscalls -s duration_ns trace.upto\n      the longest ones\n",
	.options = options,
	.legends = legends,
	.min_operands = 1, .max_operands = 1,
	.run = run,
};
