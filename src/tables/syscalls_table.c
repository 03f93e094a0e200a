/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "syscalls_table.h"

#include <inttypes.h>
#include <stdlib.h>

#include "arch/syscall_args.h"
#include "base/alloc.h"

enum { NS, INSNS, CPU, TASK, PID, TGID, COMM, ABI, NR, NAME, ARGS, CALL, PATH, RESULT, ERROR, DURATION, CPU_TIME };

const struct column syscalls_columns[] = {
	[NS] = { "start_ns", "TIME S", CELL_SECONDS, "guest time at entry, in seconds" },
	[INSNS] = { "insns", "INSNS", CELL_COUNT, "instructions that the vCPU had retired", .hidden = true },
	[CPU] = { "cpu", "CPU", CELL_NUMBER, "vCPU at entry" },
	[TASK] = { "task", "TASK", CELL_ADDRESS, "address of the caller's task_struct", .hidden = true },
	[PID] = { "pid", "PID", CELL_NUMBER, "thread that made the call" },
	[TGID] = { "tgid", "TGID", CELL_NUMBER, "its process", .hidden = true },
	[COMM] = { "comm", "COMM", CELL_TEXT, "its name at the time" },
	[ABI] = { "abi", "ABI", CELL_TEXT,
		  "interface that it was made by: x86-64, i386 or x32; shown when not all are the first",
		  .hidden = true },
	[NR] = { "nr", "NR", CELL_NUMBER, "number", .hidden = true },
	[NAME] = { "name", "NAME", CELL_TEXT, "name", .hidden = true },
	[ARGS] = { "args", "ARGS", CELL_LIST, "six raw arguments", .hidden = true },
	[CALL] = { "call", "CALL", CELL_TEXT, "name and arguments, strings as they were at entry" },
	[PATH] = { "path", "PATH", CELL_TEXT, "the file behind the descriptor that is the first argument",
		   .hidden = true },
	[RESULT] = { "result", "RESULT", CELL_NUMBER,
		     "what it returned; empty: it did not return, or has no result (rt_sigreturn)" },
	[ERROR] = { "error", "ERROR", CELL_TEXT, "name of the error that it returned" },
	[DURATION] = { "duration_ns", "DURATION", CELL_DURATION, "from entry to return" },
	[CPU_TIME] = { "cpu_ns", "ON CPU", CELL_DURATION,
		       "the part of it in which the thread ran; in the rest it waited" },
	{ 0 },
};

struct rows {
	const struct syscall_sources *of;
	uint32_t calls[]; /* numbers */
};

static void put_name(const struct syscall_abi *abi, uint64_t nr, struct buf *out)
{
	const char *name = abi->call_name(nr);

	if (name)
		buf_printf(out, "%s", name);
	else
		buf_printf(out, "syscall_%" PRIu64, nr);
}

static struct cell name_cell(const struct syscall_abi *abi, uint64_t nr, struct buf *scratch)
{
	put_name(abi, nr, scratch);
	return cell_scratch(CELL_TEXT, scratch);
}

static struct cell args_cell(const struct syscall_record *c, struct buf *scratch)
{
	for (int i = 0; i < 6; i++)
		buf_printf(scratch, "%s0x%" PRIx64, i ? "\n" : "", c->args[i]);
	return cell_scratch(CELL_LIST, scratch);
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
			buf_printf(out, i + 1 < n && bytes[i + 1] >= '0' && bytes[i + 1] <= '9' ? "\\%03o" : "\\%o",
				   bytes[i]);
		else
			buf_put_u8(out, bytes[i]);
	}
	buf_printf(out, text->cut || n < text->len ? "\"..." : "\"");
}

/* ["udevadm", "trigger"]: the arguments of a program that the call began. False: they are not known. */
static bool put_arguments(const struct syscall_sources *of, const struct syscall_record *c, struct buf *out)
{
	const struct fact *found = syscall_arguments(c, of->facts);

	if (!found)
		return false;
	buf_printf(out, "[");
	for (size_t at = 0; at < found->lens[0];) {
		size_t n = strnlen(found->texts[0] + at, found->lens[0] - at);
		const struct text argument = {
			.bytes = found->texts[0] + at, .len = n,
			.cut = at + n == found->lens[0] && found->numbers[0] > found->lens[0],
		};

		buf_printf(out, at ? ", " : "");
		put_text(&argument, n, out);
		at += n + 1;
	}
	buf_printf(out, "]");
	return true;
}

static struct cell call_cell(const struct syscall_sources *of, uint32_t number, struct buf *scratch)
{
	enum { TEXT_MAX = 4096, BYTES_MAX = 32 }; /* of strings, and of bytes that need not be a string */
	const struct syscall_record *c = &of->calls->calls[number];
	const char *kinds = c->abi->call_args(c->nr);

	put_name(c->abi, c->nr, scratch);
	buf_printf(scratch, "(");
	if (!kinds)
		kinds = "xxxxxx";
	for (unsigned i = 0; kinds[i]; i++) {
		const struct text *text = texts_find(of->texts, c->cpu, c->insns, i);

		/* permissions matter only if a file is made */
		if (kinds[i] == ARG_MODE && i && kinds[i - 1] == ARG_OPEN && !(c->args[i - 1] & ARG_OPEN_CREATES))
			break;
		buf_printf(scratch, i ? ", " : "");
		if (text)
			put_text(text, kinds[i] == ARG_BYTES ? BYTES_MAX : TEXT_MAX, scratch);
		else if (kinds[i] != ARG_ARGUMENTS || !put_arguments(of, c, scratch))
			syscall_arg(c->abi, kinds[i], c->args[i], scratch);
		if (!i && of->files->paths[number])
			buf_printf(scratch, "<%s>", of->files->paths[number]);
	}
	buf_printf(scratch, ")");
	return cell_scratch(CELL_TEXT, scratch);
}

static struct cell thread_cell(const struct threads *threads, const struct syscall_record *c, unsigned column)
{
	const struct thread *t = threads_at(threads, threads_find(threads, c->task, c->ns));
	const struct task_record *then = threads_record(threads, c->task, c->ns);

	if (!t)
		return cell_none();
	if (column == COMM)
		return cell_text(then ? then->comm : t->comm);
	return cell_pid(column == PID ? t->pid : t->tgid);
}

static struct cell error_cell(const struct syscall_record *c)
{
	const char *error = c->has_result ? syscall_error(c->result) : NULL;

	return error ? cell_text(error) : cell_none();
}

static struct cell cell(const void *data, size_t row, unsigned column, struct buf *scratch)
{
	const struct rows *rows = data;
	const struct syscall_sources *of = rows->of;
	uint32_t number = rows->calls[row];
	const struct syscall_record *c = &of->calls->calls[number];

	switch (column) {
	case NS:
		return cell_seconds(c->ns);
	case INSNS:
		return cell_count(c->insns);
	case CPU:
		return cell_number(c->cpu);
	case TASK:
		return cell_address(c->task);
	case PID:
	case TGID:
	case COMM:
		return thread_cell(of->threads, c, column);
	case ABI:
		return cell_text(c->abi->name);
	case NR:
		return cell_number(c->nr);
	case NAME:
		return name_cell(c->abi, c->nr, scratch);
	case ARGS:
		return args_cell(c, scratch);
	case CALL:
		return call_cell(of, number, scratch);
	case PATH:
		return of->files->paths[number] ? cell_text(of->files->paths[number]) : cell_none();
	case RESULT:
		return c->has_result ? cell_signed(c->result) : cell_none();
	case ERROR:
		return error_cell(c);
	case DURATION:
		return c->returned ? cell_duration(c->end_ns - c->ns) : cell_none();
	case CPU_TIME:
		return c->returned ? cell_duration(c->cpu_ns) : cell_none();
	}
	return cell_none();
}

void syscalls_table_init(struct table *ret, const struct syscall_sources *of, const bool *chosen)
{
	struct rows *rows = xcalloc(1, sizeof *rows + of->calls->count * sizeof *rows->calls);
	size_t count = 0;

	rows->of = of;
	for (size_t i = 0; i < of->calls->count; i++)
		if (!chosen || chosen[i])
			rows->calls[count++] = (uint32_t)i;
	*ret = (struct table){
		.name = "syscalls", .what = "system calls", .columns = syscalls_columns, .rows = count, .cell = cell,
		.data = rows, .free = free,
	};
}

enum { SUM_NAME, SUM_ABI, SUM_NR, SUM_COUNT, SUM_ERRORS, SUM_TOTAL, SUM_AVERAGE, SUM_LONGEST };

const struct column syscall_sums_columns[] = {
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

static struct cell sum_cell(const void *data, size_t row, unsigned column, struct buf *scratch)
{
	const struct syscall_sum *s = &((const struct syscall_sum *)data)[row];

	switch (column) {
	case SUM_NAME:
		return name_cell(s->abi, s->nr, scratch);
	case SUM_ABI:
		return cell_text(s->abi->name);
	case SUM_NR:
		return cell_number(s->nr);
	case SUM_COUNT:
		return cell_count(s->count);
	case SUM_ERRORS:
		return cell_count(s->errors);
	case SUM_TOTAL:
		return cell_duration(s->total_ns);
	case SUM_AVERAGE:
		return cell_duration(s->returned ? s->total_ns / s->returned : 0);
	case SUM_LONGEST:
		return cell_duration(s->longest_ns);
	}
	return cell_none();
}

void syscall_sums_table_init(struct table *ret, const struct syscalls *calls, const bool *chosen)
{
	struct syscalls part = { .arch = calls->arch, .calls = xcalloc(calls->count, sizeof *part.calls) };
	struct syscall_sum *sums;

	for (size_t i = 0; i < calls->count; i++)
		if (!chosen || chosen[i])
			part.calls[part.count++] = calls->calls[i];
	*ret = (struct table){
		.name = "syscalls", .what = "system calls", .columns = syscall_sums_columns,
		.rows = syscalls_sum(&part, &sums), .cell = sum_cell,
		.free = free,
	};
	ret->data = sums;
	free(part.calls);
}
