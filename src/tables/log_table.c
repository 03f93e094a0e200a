/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "log_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { NS, KERNEL_NS, LEVEL_NAME, PID, COMM, CPU, TEXT, INSNS, LEVEL, FACILITY };

const struct column log_columns[] = {
	[NS] = { "ns", "TIME S", CELL_SECONDS, "guest time when the line was stored, in seconds" },
	[KERNEL_NS] = { "kernel_ns", "KERNEL'S S", CELL_SECONDS,
			"of a line that was in the log as the recording began: its time by the kernel's own clock, as dmesg has it",
			.hidden = true },
	[LEVEL_NAME] = { "severity", "LEVEL", CELL_TEXT, "emerg, alert, crit, err, warn, notice, info or debug" },
	[PID] = { "pid", "PID", CELL_NUMBER, "thread that ran then; an interrupt's is the one that it cut into" },
	[COMM] = { "comm", "PROCESS", CELL_TEXT, "its name then" },
	[CPU] = { "cpu", "CPU", CELL_NUMBER, "vCPU that it ran on" },
	[TEXT] = { "text", "TEXT", CELL_TEXT, "the line; a continued line has all its parts" },
	[INSNS] = { "insns", "INSNS", CELL_COUNT, "instructions that the vCPU had retired", .hidden = true },
	[LEVEL] = { "level", "LEVEL NUMBER", CELL_NUMBER, "the level's number, 0 to 7", .hidden = true },
	[FACILITY] = { "facility", "FACILITY", CELL_NUMBER,
		       "of syslog(3): 0 is the kernel's own; others are of programs that wrote to /dev/kmsg",
		       .hidden = true },
	{ 0 },
};

struct rows {
	const struct threads *threads;
	struct column columns[sizeof log_columns / sizeof *log_columns];
	const struct log_line *lines[];
};

/* Of the line's clock and caller only what the kernel wrote down is known: include/linux/printk.h, caller_id. */
static struct cell earlier_cell(const struct log_line *line, unsigned column)
{
	switch (column) {
	case LEVEL_NAME:
		return cell_text(log_level_name(line->level));
	case PID:
		return line->caller && !(line->caller >> 31) ? cell_pid(line->caller) : cell_none();
	case TEXT:
		return cell_text(line->text);
	case LEVEL:
		return cell_number(line->level);
	case FACILITY:
		return cell_number(line->facility);
	case KERNEL_NS:
		return cell_seconds(line->ns);
	}
	return cell_none();
}

static struct cell cell(const void *data, size_t row, unsigned column, struct buf *scratch)
{
	const struct rows *rows = data;
	const struct log_line *line = rows->lines[row];
	const struct task_record *task = line->task ? threads_record(rows->threads, line->task, line->ns) : NULL;

	(void)scratch;
	if (line->earlier)
		return earlier_cell(line, column);
	switch (column) {
	case NS:
		return cell_seconds(line->ns);
	case LEVEL_NAME:
		return cell_text(log_level_name(line->level));
	case PID:
		return cell_pid(task ? task->pid : 0);
	case COMM:
		return cell_text(task ? task->comm : "swapper/0");
	case CPU:
		return cell_number(line->cpu);
	case TEXT:
		return cell_text(line->text);
	case INSNS:
		return cell_count(line->insns);
	case LEVEL:
		return cell_number(line->level);
	case FACILITY:
		return cell_number(line->facility);
	}
	return cell_none();
}

void log_table_init(struct table *ret, const struct threads *threads, const struct kernel_log *log, const bool *chosen)
{
	struct rows *rows = xcalloc(1, sizeof *rows + log->count * sizeof *rows->lines);
	size_t count = 0;

	rows->threads = threads;
	memcpy(rows->columns, log_columns, sizeof log_columns);
	for (size_t i = 0; i < log->count; i++)
		if (!chosen || chosen[i]) {
			rows->columns[KERNEL_NS].hidden &= !log->lines[i].earlier;
			rows->lines[count++] = &log->lines[i];
		}
	*ret = (struct table){
		.name = "log", .what = "lines", .columns = rows->columns, .rows = count, .cell = cell, .data = rows,
		.free = free,
	};
}
