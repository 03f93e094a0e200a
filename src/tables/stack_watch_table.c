/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stack_watch_table.h"

#include <stdlib.h>

#include "base/alloc.h"

enum { PID, COMM, BYTES, LEFT, FRAMES, NS, FUNCTION };

const struct column stack_watch_columns[] = {
	[PID] = { "pid", "PID", CELL_NUMBER, "thread" },
	[COMM] = { "comm", "PROCESS", CELL_TEXT, "its name then" },
	[BYTES] = { "bytes", "BYTES", CELL_COUNT, "how much of its kernel stack was used at most" },
	[LEFT] = { "left", "LEFT", CELL_COUNT, "how much was left then" },
	[FRAMES] = { "frames", "FRAMES", CELL_COUNT, "how many calls were on it" },
	[NS] = { "ns", "TIME S", CELL_SECONDS, "guest time" },
	[FUNCTION] = { "function", "IN", CELL_TEXT, "the function that was called last" },
	{ 0 },
};

struct watch_rows {
	const struct names *names;
	const struct threads *threads;
	const struct deepest *each;
	uint64_t size;
	size_t count, numbers[];
};

static struct cell cell(const void *data, size_t row, unsigned column, struct buf *scratch)
{
	const struct watch_rows *rows = data;
	const struct thread *t = &rows->threads->list[rows->numbers[row]];
	const struct deepest *d = &rows->each[rows->numbers[row]];

	(void)scratch;
	switch (column) {
	case PID:
		return cell_pid(t->pid);
	case COMM:
		return cell_text(threads_comm(rows->threads, t, d->ns));
	case BYTES:
		return cell_count(d->bytes);
	case LEFT:
		return cell_count(rows->size - d->bytes);
	case FRAMES:
		return cell_count(d->frames);
	case NS:
		return cell_seconds(d->ns);
	case FUNCTION:
		return cell_text(names_function(rows->names, d->function));
	}
	return cell_none();
}

void stack_watch_table_init(struct table *ret, const struct names *names, const struct threads *threads,
			    const struct deepest *each, uint64_t size, const bool *of)
{
	struct watch_rows *rows = xcalloc(1, sizeof *rows + threads->count * sizeof *rows->numbers);

	rows->names = names;
	rows->threads = threads;
	rows->each = each;
	rows->size = size;
	for (size_t i = 0; i < threads->count; i++)
		if (each[i].frames && (!of || of[i]))
			rows->numbers[rows->count++] = i;
	*ret = (struct table){
		.name = "stacks", .what = "threads", .columns = stack_watch_columns, .rows = rows->count,
		.cell = cell, .data = rows, .free = free,
	};
}
