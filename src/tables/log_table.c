/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "log_table.h"

#include <stdlib.h>

#include "base/alloc.h"

enum { NS, LEVEL_NAME, PID, COMM, CPU, TEXT, INSNS, LEVEL, FACILITY };

const struct column log_columns[] = {
	[NS] = { "ns", "TIME S", CELL_SECONDS, "guest time when the line was stored, in seconds" },
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
	const struct log_line *lines[];
};

static struct cell cell(const void *data, size_t row, unsigned column, struct buf *scratch)
{
	const struct rows *rows = data;
	const struct log_line *line = rows->lines[row];
	const struct task_record *task = line->task ? threads_record(rows->threads, line->task, line->ns) : NULL;

	(void)scratch;
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
	for (size_t i = 0; i < log->count; i++)
		if (!chosen || chosen[i])
			rows->lines[count++] = &log->lines[i];
	*ret = (struct table){
		.name = "log", .what = "lines", .columns = log_columns, .rows = count, .cell = cell, .data = rows,
		.free = free,
	};
}
