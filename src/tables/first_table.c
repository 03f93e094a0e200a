/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "first_table.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "replay/value_text.h"

enum { NS, KERNEL_NS, INSNS, CPU, FUNCTION, SECTION, CALLER, OBJECT, PID, COMM, GIVEN };

const struct column first_columns[] = {
	[NS] = { "ns", "TIME S", CELL_SECONDS, "guest time since the start, in seconds" },
	[KERNEL_NS] = { "kernel_ns", "KERNEL S", CELL_SECONDS,
			"the same since the kernel's first instruction; none: before that" },
	[INSNS] = { "insns", "INSNS", CELL_COUNT, "instructions that its vCPU had retired" },
	[CPU] = { "cpu", "CPU", CELL_NUMBER, "vCPU that it ran on" },
	[FUNCTION] = { "function", "FUNCTION", CELL_TEXT, "name" },
	[SECTION] = { "section", "SECTION", CELL_TEXT, "section of the kernel image" },
	[CALLER] = { "caller", "CALLER", CELL_TEXT, "the function that control came from" },
	[OBJECT] = { "object", "OBJECT", CELL_TEXT, "module, program or library", .hidden = true },
	[PID] = { "pid", "PID", CELL_NUMBER, "thread that it ran in; an interrupt's is the one that it cut into" },
	[COMM] = { "comm", "PROCESS", CELL_TEXT, "its name then" },
	[GIVEN] = { "given", "GIVEN", CELL_TEXT, "with --args: what it was given then, if that was recorded", .hidden = true },
	{ 0 },
};

struct rows {
	const struct session *session;
	const struct first_values *values;
	const struct functions *functions;
	uint32_t index[];
};

static struct cell kernel_time(const struct names *names, uint64_t ns)
{
	uint64_t kernel_ns = names_kernel_ns(names, ns);

	return ns >= kernel_ns ? cell_seconds(ns - kernel_ns) : cell_none();
}

/* What the call that is a function's first one was given. */
static struct cell args_cell(const struct rows *rows, uint32_t function, struct buf *scratch)
{
	const struct function_first *first = &rows->functions->firsts[function];
	const struct call_values *values = rows->values->values;
	const struct fact *args = values ? facts_find(&values->facts, FACT_ARGS, first->cpu, first->insns) : NULL;
	const struct prototype *p = args ? call_values_prototype(values, args) : NULL;

	if (!p || (p->addr ? names_place(rows->session->names, p->addr, args->ns, 0).function != function
			   : !call_values_is_named(values, p, function)))
		return cell_none();
	value_text_args(scratch, values, args, false);
	return cell_scratch(CELL_TEXT, scratch);
}

/* For people, what it was given stands behind its name. */
static struct cell function_cell(const struct rows *rows, uint32_t function, struct buf *scratch)
{
	struct buf given = { 0 };
	struct cell args = rows->values->behind_name ? args_cell(rows, function, &given) : cell_none();

	buf_printf(scratch, "%s%s", names_function(rows->session->names, function), args.text ? args.text : "");
	buf_free(&given);
	return cell_scratch(CELL_TEXT, scratch);
}

static struct cell cell(const void *data, size_t row, unsigned column, struct buf *scratch)
{
	const struct rows *rows = data;
	const struct names *names = rows->session->names;
	uint32_t function = rows->index[row];
	uint64_t ns = rows->functions->stats[function].first_ns;
	const struct function_first *first = &rows->functions->firsts[function];
	const struct task_record *task = first->task ? threads_record(rows->session->threads, first->task, ns) : NULL;

	switch (column) {
	case NS:
		return cell_seconds(ns);
	case KERNEL_NS:
		return kernel_time(names, ns);
	case INSNS:
		return cell_count(first->insns);
	case CPU:
		return cell_number(first->cpu);
	case FUNCTION:
		return function_cell(rows, function, scratch);
	case SECTION:
		return cell_text(names_section(names, function));
	case CALLER:
		return cell_text(names_function(names, first->caller));
	case OBJECT:
		return cell_text(names_object(names, function));
	case PID:
		return task ? cell_pid(task->pid) : cell_none();
	case COMM:
		return task ? cell_text(task->comm) : cell_none();
	case GIVEN:
		return args_cell(rows, function, scratch);
	}
	return cell_none();
}

static int by_first(const void *va, const void *vb, void *functions)
{
	const struct functions *f = functions;
	uint32_t a = *(const uint32_t *)va, b = *(const uint32_t *)vb;
	uint64_t a_ns = f->stats[a].first_ns, b_ns = f->stats[b].first_ns;
	uint64_t a_insns = f->firsts[a].insns, b_insns = f->firsts[b].insns;

	if (a_ns != b_ns)
		return a_ns < b_ns ? -1 : 1;
	return a_insns < b_insns ? -1 : a_insns > b_insns;
}

void first_table_init(struct table *ret, const struct session *session, const struct functions *f, const bool *chosen,
		      const struct first_values *values)
{
	struct rows *rows = xcalloc(1, sizeof *rows + f->count * sizeof *rows->index);
	size_t count = 0;

	*rows = (struct rows){ .session = session, .values = values, .functions = f };
	for (size_t i = 0; i < f->count; i++)
		if (f->stats[i].first_ns != UINT64_MAX && (!chosen || chosen[i]))
			rows->index[count++] = (uint32_t)i;
	qsort_r(rows->index, count, sizeof *rows->index, by_first, (void *)f);
	*ret = (struct table){
		.name = "first", .what = "functions", .columns = first_columns, .rows = count, .cell = cell,
		.data = rows, .free = free,
	};
}
