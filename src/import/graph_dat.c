/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads trace.dat by libtracecmd, in the process apart. Layouts of events are the file's own: they differ by kernel. */
#include "graph_records.h"

#include <stdlib.h>
#include <string.h>
#include <trace-cmd/trace-cmd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/map.h"

#define MAGIC "\x17\x08\x44tracing"

bool graph_dat_is_one(const void *data, size_t len)
{
	return len >= sizeof MAGIC - 1 && !memcmp(data, MAGIC, sizeof MAGIC - 1);
}

enum known_event { ENTRY, EXIT, SWITCH, WAKING, WAKEUP, EXEC, RENAME, CONSOLE, PRINT, KNOWN_EVENTS };

enum { FIELDS = 5 };

/* By the names that kernels have: the field that comes first in the list and is there. */
static const struct {
	const char *system, *name, *fields[FIELDS];
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

struct dat {
	struct graph_writer *to;
	struct tracecmd_input *input;
	struct tep_handle *tep;
	struct tep_event *known[KNOWN_EVENTS]; /* NULL: the file has no such event */
	struct tep_format_field *fields[KNOWN_EVENTS][FIELDS];
	struct map names;  /* functions that were named */
	struct map starts; /* address → where its function begins */
	uint64_t calls;
	bool wakes_twice; /* sched_waking is there: sched_wakeup tells nothing more */
};

static void fail(struct graph_writer *w, const char *why)
{
	graph_writer_put(w, &(struct graph_record){ .kind = GRAPH_FAILED }, why);
}

static void find_events(struct dat *d)
{
	for (unsigned i = 0; i < KNOWN_EVENTS; i++) {
		struct tep_event *e = tep_find_event_by_name(d->tep, events[i].system, events[i].name);

		d->known[i] = e;
		for (unsigned k = 0; e && k < FIELDS && events[i].fields[k]; k++)
			d->fields[i][k] = tep_find_field(e, events[i].fields[k]);
	}
}

static uint64_t number(const struct dat *d, enum known_event event, unsigned field, const struct tep_record *record)
{
	struct tep_format_field *f = d->fields[event][field];
	unsigned long long value = 0;

	if (!f || f->offset + f->size > record->size || tep_read_number_field(f, record->data, &value))
		return 0;
	return value;
}

/* A text within the record, or behind it: "__data_loc". */
static const char *text(const struct dat *d, enum known_event event, unsigned field, const struct tep_record *record,
			char *scratch, size_t size)
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
static uint64_t function_of(struct dat *d, uint64_t address, uint64_t ns)
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

static void put(struct dat *d, const struct tep_record *record, enum known_event event, struct graph_record *r)
{
	char scratch[256], more[64];

	switch (event) {
	case ENTRY:
	case EXIT:
		r->kind = event == ENTRY ? GRAPH_ENTER : GRAPH_EXIT;
		r->function = function_of(d, number(d, event, 0, record), r->ns);
		r->depth = (uint16_t)number(d, event, 1, record);
		if (event == EXIT) {
			uint64_t end = number(d, event, 3, record);

			/* the record is written a little later */
			r->begin_ns = number(d, event, 2, record);
			r->ns = end && end < r->ns ? end : r->ns;
		}
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
	case KNOWN_EVENTS:
		return;
	}
}

static int take(struct tracecmd_input *input, struct tep_record *record, int cpu, void *data)
{
	struct dat *d = data;
	struct tep_event *event = tep_find_event_by_record(d->tep, record);
	struct graph_record r = { .ns = record->ts, .cpu = (uint32_t)cpu };

	(void)input;
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
		return 0;
	r.pid = tep_data_pid(d->tep, record);
	for (unsigned i = 0; i < KNOWN_EVENTS; i++)
		if (d->known[i] == event) {
			put(d, record, i, &r);
			break;
		}
	return 0;
}

/* Names of who was there already. */
static void put_comms(struct dat *d)
{
	enum { PIDS = 1 << 16 };

	for (int pid = 1; pid < PIDS; pid++)
		if (tep_is_pid_registered(d->tep, pid))
			graph_writer_put(d->to, &(struct graph_record){ .kind = GRAPH_COMM, .other = pid },
					 tep_data_comm_from_pid(d->tep, pid));
}

static void read_dat(struct graph_writer *w, int fd)
{
	struct dat d = { .to = w };

	tracecmd_set_loglevel(TEP_LOG_NONE);
	tep_set_loglevel(TEP_LOG_NONE);
	d.input = tracecmd_open_fd(dup(fd), TRACECMD_FL_LOAD_NO_PLUGINS);
	if (!d.input) {
		fail(w, "is not a trace.dat that libtracecmd reads");
		return;
	}
	d.tep = tracecmd_get_tep(d.input);
	if (!d.tep) {
		fail(w, "has no formats of events");
		return;
	}
	find_events(&d);
	if (!d.known[ENTRY] && !d.known[EXIT]) {
		fail(w, "has no format of function_graph's events: trace-cmd record -p function_graph writes that");
		return;
	}
	put_comms(&d);
	tracecmd_iterate_events(d.input, NULL, 0, take, &d);
	if (!d.calls && tracecmd_buffer_instances(d.input))
		fail(w, "has its calls in a buffer instance, which is not read");
	else
		graph_writer_put(w, &(struct graph_record){ .kind = GRAPH_END }, NULL);
}

struct graph_reader *graph_dat_open(int fd, const char *path, struct error *err)
{
	if (lseek(fd, 0, SEEK_SET) < 0) {
		error_set(err, "%s: a trace.dat is read as a file, not through a pipe", path);
		return NULL;
	}
	return graph_reader_start(read_dat, fd, path, err);
}
