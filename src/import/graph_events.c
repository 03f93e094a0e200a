/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "graph_events.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "event_format_text.h"
#include "event_order.h"

enum known_event {
	ENTRY, RETADDR_ENTRY, EXIT, SWITCH, WAKING, WAKEUP, NEWTASK, FORK, EXEC, GONE, RENAME, CONSOLE, PRINT,
};

enum { FEW_PIDS = 1 << 16 };

/* By the names that kernels have: the field that comes first in the list and is there. */
static const struct {
	const char *system, *name, *fields[GRAPH_FIELDS];
} events[] = {
	[ENTRY] = { "ftrace", "funcgraph_entry", { "func", "depth" } },
	/* in its place with funcgraph-retaddr (6.13) */
	[RETADDR_ENTRY] = { "ftrace", "fgraph_retaddr_entry", { "func", "depth" } },
	[EXIT] = { "ftrace", "funcgraph_exit", { "func", "depth", "calltime", "rettime" } },
	[SWITCH] = { "sched", "sched_switch", { "next_pid", "next_comm", "prev_comm" } },
	[WAKING] = { "sched", "sched_waking", { "pid", "comm" } },
	[WAKEUP] = { "sched", "sched_wakeup", { "pid", "comm" } },
	[NEWTASK] = { "task", "task_newtask", { "pid", "comm", "clone_flags" } },
	[FORK] = { "sched", "sched_process_fork", { "child_pid", "child_comm" } },
	[GONE] = { "sched", "sched_process_exit", { "pid", "comm" } },
	[EXEC] = { "sched", "sched_process_exec", { "filename" } },
	[RENAME] = { "task", "task_rename", { "pid", "newcomm" } },
	[CONSOLE] = { "printk", "console", { "msg" } },
	[PRINT] = { "ftrace", "print", { "buf" } },
};

/*
 * Are its system calls those of x86-64? There they have names that other CPUs' have not
 * (arch/x86/include/asm/syscall_wrapper.h), and the kernel is somewhere in this part of the addresses
 * (Documentation/arch/x86/x86_64/mm.rst). The library finds functions by address only.
 */
static bool is_x86_64(struct tep_handle *tep)
{
	const unsigned long long end = 0xffffffffc0000000, step = 1 << 21;
	unsigned long long at = 0xffffffff80000000, start;
	const char *name;
	unsigned long size;

	while (at < end) {
		bool found = tep_find_function_info(tep, at, &name, &start, &size) == 1;

		if (found && name && !strncmp(name, "__x64_sys_", 10))
			return true;
		/* of two names for one place the first has no size */
		if (found)
			at = start + size > at ? start + size : at + 1;
		else
			at = (at + step) & ~(step - 1);
	}
	return false;
}

void graph_events_init(struct graph_events *d, struct tep_handle *tep, bool keeps_all, struct graph_writer *to)
{
	*d = (struct graph_events){ .to = to, .tep = tep, .keeps_all = keeps_all, .least_later = UINT64_MAX };
	d->is_x86_64 = is_x86_64(tep);
	for (unsigned i = 0; i < GRAPH_EVENTS; i++) {
		struct tep_event *e = tep_find_event_by_name(tep, events[i].system, events[i].name);

		d->known[i] = e;
		for (unsigned k = 0; e && k < GRAPH_FIELDS && events[i].fields[k]; k++)
			d->fields[i][k] = tep_find_field(e, events[i].fields[k]);
	}
}

bool graph_events_are_there(const struct graph_events *d)
{
	return d->known[ENTRY] || d->known[RETADDR_ENTRY] || d->known[EXIT];
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
	case RETADDR_ENTRY:
	case EXIT:
		r->kind = event == EXIT ? GRAPH_EXIT : GRAPH_ENTER;
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
	case NEWTASK:
	case FORK:
		r->kind = GRAPH_FORK;
		if (event == NEWTASK)
			r->depth = graph_made_as(number(d, event, 2, record));
		r->other = (int32_t)number(d, event, 0, record);
		graph_writer_put(d->to, r, text(d, event, 1, record, scratch, sizeof scratch));
		return;
	case EXEC:
		r->kind = GRAPH_EXEC;
		graph_writer_put(d->to, r, text(d, event, 0, record, scratch, sizeof scratch));
		return;
	case GONE:
		r->kind = GRAPH_GONE;
		graph_writer_put(d->to, r, text(d, event, 1, record, scratch, sizeof scratch));
		return;
	}
}

/* The event's number; its format is told once. */
static uint64_t number_of(struct graph_events *d, const struct tep_event *event, uint64_t ns)
{
	uint64_t *at = map_put(&d->formats, (uint64_t)event->id, 0);
	struct buf text = { 0 };

	if (*at)
		return *at - 1;
	*at = ++d->n_formats;
	buf_printf(&text, "%s:%s\n", event->system, event->name);
	event_format_put_text(event, &text);
	if (text.len > GRAPH_TEXT_MAX)
		text.len = GRAPH_TEXT_MAX;
	graph_writer_put_bytes(d->to,
			       &(struct graph_record){
				       .kind = GRAPH_FORMAT,
				       .ns = ns,
				       .count = *at - 1,
				       .other = d->is_x86_64,
			       },
			       text.data, text.len);
	buf_free(&text);
	return *at - 1;
}

/* What the tracer itself records is no event of the kernel's. */
static bool is_kept(const struct graph_events *d, const struct tep_event *event)
{
	if (!strcmp(event->system, "ftrace"))
		return false;
	for (unsigned i = 0; i < GRAPH_EVENTS && !d->keeps_all; i++)
		if (d->known[i] == event)
			return false;
	return true;
}

static void keep(struct graph_events *d, const struct tep_record *record, const struct tep_event *event,
		 struct graph_record r)
{
	r.kind = GRAPH_EVENT;
	r.count = number_of(d, event, r.ns);
	if (record->size <= 0)
		return;
	if (tep_is_file_bigendian(d->tep) == tep_is_local_bigendian(d->tep)) {
		graph_writer_put_bytes(d->to, &r, record->data, (size_t)record->size);
		return;
	}
	d->turned.len = 0;
	event_order_put(event, record->data, (size_t)record->size, &d->turned);
	graph_writer_put_bytes(d->to, &r, d->turned.data, d->turned.len);
}

static void put_comm(struct graph_events *d, int pid, uint64_t ns)
{
	if (tep_is_pid_registered(d->tep, pid))
		graph_writer_put(d->to, &(struct graph_record){ .kind = GRAPH_COMM, .other = pid, .ns = ns },
				 tep_data_comm_from_pid(d->tep, pid));
}

/* There are too many numbers to ask for the name of each beforehand: of large ones when they come. */
static void note_pid(struct graph_events *d, int pid, uint64_t ns)
{
	uint64_t *is_known = pid < FEW_PIDS ? NULL : map_put(&d->pids, (uint32_t)pid, 0);

	if (!is_known || *is_known)
		return;
	*is_known = 1;
	put_comm(d, pid, ns);
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
	note_pid(d, r.pid, r.ns);
	/* before a switch, which another thread is behind */
	if (is_kept(d, event))
		keep(d, record, event, r);
	for (unsigned i = 0; i < GRAPH_EVENTS; i++)
		if (d->known[i] == event) {
			put(d, record, i, &r);
			break;
		}
}

void graph_events_put_comms(struct graph_events *d)
{
	for (int pid = 1; pid < FEW_PIDS; pid++)
		put_comm(d, pid, 0);
}
