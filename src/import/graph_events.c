/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "graph_events.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum known_event { ENTRY, EXIT, SWITCH, WAKING, WAKEUP, EXEC, RENAME, CONSOLE, PRINT };

/* By the names that kernels have: the field that comes first in the list and is there. */
static const struct {
	const char *system, *name, *fields[GRAPH_FIELDS];
} events[] = {
	[ENTRY] = { "ftrace", "funcgraph_entry", { "func", "depth" } },
	[EXIT] = { "ftrace", "funcgraph_exit", { "func", "depth", "calltime", "rettime" } },
	[SWITCH] = { "sched", "sched_switch", { "next_pid", "next_comm", "prev_comm" } },
	[WAKING] = { "sched", "sched_waking", { "pid", "comm" } },
	[WAKEUP] = { "sched", "sched_wakeup", { "pid", "comm" } },
	[EXEC] = { "sched", "sched_process_exec", { "filename" } },
	[RENAME] = { "task", "task_rename", { "pid", "newcomm" } },
	[CONSOLE] = { "printk", "console", { "msg" } },
	[PRINT] = { "ftrace", "print", { "buf" } },
};

void graph_events_init(struct graph_events *d, struct tep_handle *tep, struct graph_writer *to)
{
	*d = (struct graph_events){ .to = to, .tep = tep, .least_later = UINT64_MAX };
	for (unsigned i = 0; i < GRAPH_EVENTS; i++) {
		struct tep_event *e = tep_find_event_by_name(tep, events[i].system, events[i].name);

		d->known[i] = e;
		for (unsigned k = 0; e && k < GRAPH_FIELDS && events[i].fields[k]; k++)
			d->fields[i][k] = tep_find_field(e, events[i].fields[k]);
	}
}

bool graph_events_are_there(const struct graph_events *d)
{
	return d->known[ENTRY] || d->known[EXIT];
}

static uint64_t number(const struct graph_events *d, enum known_event event, unsigned field,
		       const struct tep_record *record)
{
	struct tep_format_field *f = d->fields[event][field];
	unsigned long long value = 0;

	if (!f || f->offset + f->size > record->size || tep_read_number_field(f, record->data, &value))
		return 0;
	return value;
}

/* A text within the record, or behind it: "__data_loc". */
static const char *text(const struct graph_events *d, enum known_event event, unsigned field,
			const struct tep_record *record, char *scratch, size_t size)
{
	const struct tep_format_field *f = d->fields[event][field];
	size_t offset, len;

	scratch[0] = 0;
	if (!f || f->offset < 0 || f->offset >= record->size)
		return scratch;
	offset = (size_t)f->offset;
	len = (size_t)(record->size - f->offset);
	if (f->flags & TEP_FIELD_IS_DYNAMIC) {
		uint64_t at = number(d, event, field, record);

		offset = at & 0xffff;
		len = at >> 16;
		if (offset >= (size_t)record->size)
			return scratch;
	}
	if (len > (size_t)record->size - offset)
		len = (size_t)record->size - offset;
	if (len > size - 1)
		len = size - 1;
	memcpy(scratch, (char *)record->data + offset, len);
	scratch[len] = 0;
	return scratch;
}

/* Where the function begins, and its name, once. Entries of the tracer are some bytes behind it. */
static uint64_t function_of(struct graph_events *d, uint64_t address, uint64_t ns)
{
	uint64_t *start = map_put(&d->starts, address, 0);
	unsigned long long from = address;
	const char *name = NULL;
	unsigned long length;

	if (*start)
		return *start;
	if (tep_find_function_info(d->tep, address, &name, &from, &length) != 1)
		name = NULL, from = address;
	*start = from;
	if (!*map_put(&d->names, from, 0)) {
		*map_get(&d->names, from) = 1;
		graph_writer_put(d->to, &(struct graph_record){ .kind = GRAPH_NAME, .ns = ns, .function = from },
				 name ? name : "");
	}
	return from;
}

/*
 * Times that the tracer took itself, with the local clock, whatever trace_clock is. Records are written a little later,
 * most of them at once; by another clock they are not, and only the time between both counts.
 */
static void set_times(struct graph_events *d, struct graph_record *r, uint64_t begin, uint64_t end)
{
	enum { AT_ONCE_NS = 50000 };

	r->begin_ns = begin;
	if (!end || begin > end)
		return;
	d->other_clock |= end > r->ns;
	if (end <= r->ns && r->ns - end < d->least_later)
		d->least_later = r->ns - end;
	if (!d->other_clock && d->least_later < AT_ONCE_NS)
		r->ns = end;
	else
		r->begin_ns = r->ns > end - begin ? r->ns - (end - begin) : 0;
}

static void put(struct graph_events *d, const struct tep_record *record, enum known_event event, struct graph_record *r)
{
	char scratch[256], more[64];

	switch (event) {
	case ENTRY:
	case EXIT:
		r->kind = event == ENTRY ? GRAPH_ENTER : GRAPH_EXIT;
		r->function = function_of(d, number(d, event, 0, record), r->ns);
		r->depth = (uint16_t)number(d, event, 1, record);
		r->interrupts = (tep_data_flags(d->tep, (struct tep_record *)record) &
				 (TRACE_FLAG_HARDIRQ | TRACE_FLAG_SOFTIRQ)) != 0;
		if (event == EXIT)
			set_times(d, r, number(d, event, 2, record), number(d, event, 3, record));
		d->calls++;
		graph_writer_put(d->to, r, NULL);
		return;
	case SWITCH:
		if (*text(d, event, 2, record, more, sizeof more)) {
			r->kind = GRAPH_COMM;
			r->other = r->pid;
			graph_writer_put(d->to, r, more);
		}
		r->kind = GRAPH_SWITCH;
		r->other = (int32_t)number(d, event, 0, record);
		graph_writer_put(d->to, r, text(d, event, 1, record, scratch, sizeof scratch));
		return;
	case WAKEUP:
		if (d->known[WAKING])
			return;
		/* fall through */
	case WAKING:
		r->kind = GRAPH_WAKE;
		r->other = (int32_t)number(d, event, 0, record);
		graph_writer_put(d->to, r, text(d, event, 1, record, scratch, sizeof scratch));
		return;
	case RENAME:
		r->kind = GRAPH_COMM;
		r->other = (int32_t)number(d, event, 0, record);
		graph_writer_put(d->to, r, text(d, event, 1, record, scratch, sizeof scratch));
		return;
	case CONSOLE:
	case PRINT:
		r->kind = GRAPH_LOG;
		graph_writer_put(d->to, r, text(d, event, 0, record, scratch, sizeof scratch));
		return;
	case EXEC:
		return;
	}
}

void graph_events_take(struct graph_events *d, struct tep_record *record, int cpu)
{
	struct tep_event *event = tep_find_event_by_record(d->tep, record);
	struct graph_record r = { .ns = record->ts, .cpu = (uint32_t)cpu };

	if (record->missed_events)
		graph_writer_put(d->to,
				 &(struct graph_record){
					 .kind = GRAPH_LOST,
					 .ns = r.ns,
					 .cpu = r.cpu,
					 .count = record->missed_events > 0 ? (uint64_t)record->missed_events : 0,
				 },
				 NULL);
	if (!event)
		return;
	r.pid = tep_data_pid(d->tep, record);
	for (unsigned i = 0; i < GRAPH_EVENTS; i++)
		if (d->known[i] == event) {
			put(d, record, i, &r);
			break;
		}
}

void graph_events_put_comms(struct graph_events *d)
{
	enum { PIDS = 1 << 16 };

	for (int pid = 1; pid < PIDS; pid++)
		if (tep_is_pid_registered(d->tep, pid))
			graph_writer_put(d->to, &(struct graph_record){ .kind = GRAPH_COMM, .other = pid },
					 tep_data_comm_from_pid(d->tep, pid));
}
