/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "disk_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"

enum { START, LATENCY, DEVICE, OPERATION, SECTOR, BYTES, PID, COMM, ERROR, CPU, INSNS };

const struct column disk_columns[] = {
	[START] = { "start_ns", "TIME S", CELL_SECONDS, "guest time when it went to the device, in seconds" },
	[LATENCY] = { "latency_ns", "LATENCY", CELL_DURATION,
		      "how long it took, up to when all of it was done; none: it was not" },
	[DEVICE] = { "device", "DEVICE", CELL_TEXT, "the whole disk's name: vda" },
	[OPERATION] = { "operation", "OPERATION", CELL_TEXT,
			"read, write, flush, discard, write-zeroes …, or the kernel's number" },
	[SECTOR] = { "sector", "SECTOR", CELL_NUMBER, "the first one, of 512 bytes; none: of a flush" },
	[BYTES] = { "bytes", "BYTES", CELL_COUNT, "how many" },
	[PID] = { "pid", "PID", CELL_NUMBER,
		  "thread that ran then: who wanted it, or a worker that does what others have queued" },
	[COMM] = { "comm", "PROCESS", CELL_TEXT, "its name then" },
	[ERROR] = { "error", "ERROR", CELL_TEXT, "why it failed, in the kernel's words; none: it did not" },
	[CPU] = { "cpu", "CPU", CELL_NUMBER, "vCPU that it ran on", .hidden = true },
	[INSNS] = { "insns", "INSNS", CELL_COUNT, "instructions that the vCPU had retired", .hidden = true },
	{ 0 },
};

struct rows {
	const struct threads *threads;
	const struct disk_request *list[];
};

static struct cell named(const char *name, unsigned number, struct buf *scratch)
{
	if (name)
		return cell_text(name);
	buf_printf(scratch, "%u", number);
	return cell_scratch(CELL_TEXT, scratch);
}

static struct cell cell(const void *data, size_t row, unsigned column, struct buf *scratch)
{
	enum { REQ_OP_FLUSH = 2 };
	const struct rows *rows = data;
	const struct disk_request *r = rows->list[row];
	const struct task_record *task = r->task ? threads_record(rows->threads, r->task, r->ns) : NULL;

	switch (column) {
	case START:
		return cell_seconds(r->ns);
	case LATENCY:
		return r->end_ns == UINT64_MAX ? cell_none() : cell_duration(r->end_ns - r->ns);
	case DEVICE:
		return *r->device ? cell_text(r->device) : cell_none();
	case OPERATION:
		return named(disk_operation_name(r->operation), r->operation, scratch);
	case SECTOR:
		return r->operation == REQ_OP_FLUSH ? cell_none() : cell_number(r->sector);
	case BYTES:
		return cell_count(r->bytes);
	case PID:
		return task ? cell_pid(task->pid) : cell_none();
	case COMM:
		return task ? cell_text(task->comm) : cell_none();
	case ERROR:
		return r->error ? named(disk_error_name(r->error), r->error, scratch) : cell_none();
	case CPU:
		return cell_number(r->cpu);
	case INSNS:
		return cell_count(r->insns);
	}
	return cell_none();
}

void disk_table_init(struct table *ret, const struct threads *threads, const struct disk_requests *requests,
		     const bool *chosen)
{
	struct rows *rows = xcalloc(1, sizeof *rows + requests->count * sizeof *rows->list);
	size_t count = 0;

	rows->threads = threads;
	for (size_t i = 0; i < requests->count; i++)
		if (chosen[i])
			rows->list[count++] = &requests->list[i];
	*ret = (struct table){
		.name = "requests", .what = "requests", .columns = disk_columns, .rows = count, .cell = cell,
		.data = rows, .free = free,
	};
}

enum { SUM_DEVICE, SUM_OPERATION, SUM_COUNT, SUM_BYTES, SUM_AVERAGE, SUM_LONGEST, SUM_ALL, SUM_ERRORS };

const struct column disk_sums_columns[] = {
	[SUM_DEVICE] = { "device", "DEVICE", CELL_TEXT, "the whole disk's name" },
	[SUM_OPERATION] = { "operation", "OPERATION", CELL_TEXT, "read, write …" },
	[SUM_COUNT] = { "count", "COUNT", CELL_COUNT, "requests" },
	[SUM_BYTES] = { "bytes", "BYTES", CELL_AMOUNT, "of all of them" },
	[SUM_AVERAGE] = { "average_ns", "AVERAGE", CELL_DURATION, "how long those took that were done" },
	[SUM_LONGEST] = { "longest_ns", "LONGEST", CELL_DURATION, "how long the slowest took" },
	[SUM_ALL] = { "latency_ns", "TOGETHER", CELL_DURATION,
		      "how long all of them took; several are under way at the same time" },
	[SUM_ERRORS] = { "errors", "ERRORS", CELL_COUNT, "how many failed" },
	{ 0 },
};

struct disk_sum {
	const char *device;
	unsigned operation;
	uint64_t count, bytes, done, latency_ns, longest_ns, errors;
};

struct disk_sums {
	struct disk_sum *list;
	size_t count, cap;
	struct map numbers; /* hash of device and operation → which of them */
};

static struct cell sum_cell(const void *data, size_t row, unsigned column, struct buf *scratch)
{
	const struct disk_sums *sums = data;
	const struct disk_sum *s = &sums->list[row];

	switch (column) {
	case SUM_DEVICE:
		return *s->device ? cell_text(s->device) : cell_none();
	case SUM_OPERATION:
		return named(disk_operation_name(s->operation), s->operation, scratch);
	case SUM_COUNT:
		return cell_count(s->count);
	case SUM_BYTES:
		return cell_amount(s->bytes);
	case SUM_AVERAGE:
		return s->done ? cell_duration(s->latency_ns / s->done) : cell_none();
	case SUM_LONGEST:
		return s->done ? cell_duration(s->longest_ns) : cell_none();
	case SUM_ALL:
		return cell_duration(s->latency_ns);
	case SUM_ERRORS:
		return cell_count(s->errors);
	}
	return cell_none();
}

static struct disk_sum *sum_of(struct disk_sums *sums, const struct disk_request *r)
{
	uint64_t *number = map_put(&sums->numbers, hash_text((uint64_t)r->operation + 1, r->device), sums->count);

	if (*number == sums->count) {
		sums->list = array_grow(sums->list, sums->count, &sums->cap, sizeof *sums->list);
		sums->list[sums->count++] = (struct disk_sum){ .device = r->device, .operation = r->operation };
	}
	return &sums->list[*number];
}

static void add_up(struct disk_sums *sums, const struct disk_request *r)
{
	struct disk_sum *s = sum_of(sums, r);
	uint64_t latency = r->end_ns - r->ns;

	s->count++;
	s->bytes += r->bytes;
	s->errors += r->error != 0;
	if (r->end_ns == UINT64_MAX)
		return;
	s->done++;
	s->latency_ns += latency;
	if (latency > s->longest_ns)
		s->longest_ns = latency;
}

static void sums_free(void *data)
{
	struct disk_sums *sums = data;

	free(sums->list);
	map_free(&sums->numbers);
	free(sums);
}

void disk_sums_table_init(struct table *ret, const struct disk_requests *requests, const bool *chosen)
{
	struct disk_sums *sums = xcalloc(1, sizeof *sums);

	for (size_t i = 0; i < requests->count; i++)
		if (chosen[i])
			add_up(sums, &requests->list[i]);
	*ret = (struct table){
		.name = "summary", .what = "requests", .columns = disk_sums_columns, .rows = sums->count,
		.cell = sum_cell, .data = sums,
		.free = sums_free,
	};
}
