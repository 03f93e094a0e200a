/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace.dat, version 6, as trace-cmd records it (man trace-cmd.dat.v6), for trace-cmd report and KernelShark: begins
 * and ends of calls as function_graph has them, switches, wake-ups, lines of the log and records. All functions are in
 * its kallsyms; those that have no address of the kernel's own, since they are programs' or modules', get one.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/spool.h"
#include "export.h"
#include "plain_text.h"

static const char kept[] = "events of CPUs";

enum { PAGE = 4096, PAGE_HEADER = 16, TIME_EXTEND = 30, DELTA_BITS = 27 };
enum { ID_PRINT = 5, ID_ENTRY = 11, ID_EXIT = 10, ID_SWITCH = 100, ID_WAKEUP = 101 };

static const uint64_t made_up_addresses = 0xffffe00000000000;

struct of_cpu {
	uint8_t page[PAGE];
	size_t len;           /* of the page's data; 0: nothing is in it */
	uint64_t page_ns, ns; /* of the page's begin, and its last event */
};

struct trace_dat {
	const struct session *session;
	const struct export_options *options;
	struct spool spool; /* a stream for each CPU: its pages */
	struct of_cpu *cpus;
	size_t n_cpus, cap;
	bool *called;     /* by function */
	struct buf comms; /* "PID comm" lines */
	struct buf record, text;
};

static void put_n(struct buf *out, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		buf_put_u8(out, (uint8_t)(v >> 8 * i));
}

static void set_n(uint8_t *at, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (uint8_t)(v >> 8 * i);
}

static int end_page(struct trace_dat *d, unsigned cpu, struct error *err)
{
	struct of_cpu *c = &d->cpus[cpu];

	if (!c->len)
		return 0;
	set_n(c->page, c->page_ns, 8);
	set_n(c->page + 8, c->len, 8);
	memset(c->page + PAGE_HEADER + c->len, 0, PAGE - PAGE_HEADER - c->len);
	buf_put(&spool_at(&d->spool, cpu)->text, c->page, PAGE);
	c->len = 0;
	return spool_pass(&d->spool, cpu, kept, err);
}

static void put_word(struct of_cpu *c, uint32_t word)
{
	set_n(c->page + PAGE_HEADER + c->len, word, 4);
	c->len += 4;
}

/* The record, whose length is a multiple of four, goes into the CPU's page, with the time since the one before it. */
static int put_record(struct trace_dat *d, const struct stream_item *item, struct error *err)
{
	enum { LEAD = 16 }; /* a longer time, and a longer length */
	struct of_cpu *c;
	uint64_t delta;

	d->cpus = array_reach(d->cpus, item->cpu, &d->cap, sizeof *d->cpus);
	c = &d->cpus[item->cpu];
	if (item->cpu >= d->n_cpus)
		d->n_cpus = item->cpu + 1;
	if (c->len && c->len + LEAD + d->record.len > PAGE - PAGE_HEADER && end_page(d, item->cpu, err) < 0)
		return -1;
	if (!c->len)
		c->page_ns = c->ns = item->ns;
	delta = item->ns - c->ns;
	c->ns = item->ns;
	if (delta >> DELTA_BITS) {
		put_word(c, TIME_EXTEND | (uint32_t)(delta & ((1u << DELTA_BITS) - 1)) << 5);
		put_word(c, (uint32_t)(delta >> DELTA_BITS));
		delta = 0;
	}
	if (d->record.len / 4 <= 28) {
		put_word(c, (uint32_t)(d->record.len / 4) | (uint32_t)delta << 5);
	} else {
		put_word(c, (uint32_t)delta << 5);
		put_word(c, (uint32_t)d->record.len + 4);
	}
	memcpy(c->page + PAGE_HEADER + c->len, d->record.data, d->record.len);
	c->len += d->record.len;
	return 0;
}

static uint64_t address_of(const struct trace_dat *d, uint32_t function)
{
	uint64_t own;

	return names_own_address(d->session->names, function, &own) ? own : made_up_addresses + function * UINT64_C(16);
}

static uint32_t pid_of(struct trace_dat *d, struct call_stream *stream, uint32_t thread)
{
	const struct stream_thread *t = thread == STREAM_NOBODY ? NULL : call_stream_thread(stream, thread);

	if (!t || t->idle)
		return 0; /* that readers call idle */
	if (call_stream_meets(stream, thread)) {
		buf_printf(&d->comms, "%" PRIu32 " ", t->id);
		plain_text_put(&d->comms, t->name);
		buf_put_u8(&d->comms, '\n');
	}
	return t->id;
}

/* What all records begin with. */
static void begin_record(struct trace_dat *d, struct call_stream *stream, const struct stream_item *item, unsigned id)
{
	d->record.len = 0;
	put_n(&d->record, id, 2);
	put_n(&d->record, 0, 2); /* flags, preemption */
	put_n(&d->record, pid_of(d, stream, item->thread), 4);
}

static void end_record(struct trace_dat *d)
{
	while (d->record.len % 4)
		buf_put_u8(&d->record, 0);
}

static void put_call(struct trace_dat *d, struct call_stream *stream, const struct stream_item *item)
{
	bool begins = item->kind == STREAM_BEGIN;

	d->called[item->function] = true;
	begin_record(d, stream, item, begins ? ID_ENTRY : ID_EXIT);
	put_n(&d->record, address_of(d, item->function), 8);
	put_n(&d->record, item->depth, 4);
	put_n(&d->record, 0, 4); /* overrun, or nothing */
	if (begins)
		return;
	put_n(&d->record, item->entry_ns, 8);
	put_n(&d->record, item->ns, 8);
}

/* A name as it is in a task_struct. */
static void put_comm(struct trace_dat *d, struct call_stream *stream, uint32_t thread)
{
	enum { COMM = 16 };
	const char *name = thread == STREAM_NOBODY ? "?" : call_stream_thread(stream, thread)->name;
	size_t n = strnlen(name, COMM - 1);

	buf_put(&d->record, name, n);
	for (; n < COMM; n++)
		buf_put_u8(&d->record, 0);
}

static void put_switch(struct trace_dat *d, struct call_stream *stream, const struct stream_item *item)
{
	enum { PRIORITY = 120 };

	begin_record(d, stream, item, ID_SWITCH);
	put_comm(d, stream, item->thread);
	put_n(&d->record, pid_of(d, stream, item->thread), 4);
	put_n(&d->record, PRIORITY, 4);
	put_n(&d->record, stream_task_state(item->leaves), 8);
	put_comm(d, stream, item->next);
	put_n(&d->record, pid_of(d, stream, item->next), 4);
	put_n(&d->record, PRIORITY, 4);
}

static void put_wakeup(struct trace_dat *d, struct call_stream *stream, const struct stream_item *item)
{
	enum { PRIORITY = 120 };

	begin_record(d, stream, item, ID_WAKEUP);
	put_comm(d, stream, item->next);
	put_n(&d->record, pid_of(d, stream, item->next), 4);
	put_n(&d->record, PRIORITY, 4);
	put_n(&d->record, item->next_cpu, 4);
}

/* As trace_printk() makes it: where from, and a text. */
static void put_print(struct trace_dat *d, struct call_stream *stream, const struct stream_item *item)
{
	enum { LONGEST = 2048 };

	d->text.len = 0;
	if (item->kind == STREAM_EVENT)
		event_put_line(d->options->events, d->options->formats, item->fact, &d->text);
	else
		buf_printf(&d->text, "%s", item->line->text);
	buf_put_u8(&d->text, 0);
	begin_record(d, stream, item, ID_PRINT);
	put_n(&d->record, 0, 8);
	if (d->text.len > LONGEST)
		d->text.data[LONGEST - 1] = 0;
	buf_printf(&d->record, "%s: ", item->kind == STREAM_EVENT ? "event" : "printk");
	plain_text_put(&d->record, (char *)d->text.data);
	buf_put_u8(&d->record, '\n');
	buf_put_u8(&d->record, 0);
}

static int take(void *state, struct call_stream *stream, const struct stream_item *item, struct error *err)
{
	struct trace_dat *d = state;

	switch (item->kind) {
	case STREAM_BEGIN:
	case STREAM_END:
		put_call(d, stream, item);
		break;
	case STREAM_SWITCH:
		put_switch(d, stream, item);
		break;
	case STREAM_WAKE:
		put_wakeup(d, stream, item);
		break;
	case STREAM_LOG:
	case STREAM_EVENT:
		put_print(d, stream, item);
		break;
	default:
		return 0;
	}
	end_record(d);
	return put_record(d, item, err);
}

static const char header_page[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
				  "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
				  "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
				  "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";

static const char header_event[] =
	"# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n\tarray       :   32 bits\n\n"
	"\tpadding     : type == 29\n\ttime_extend : type == 30\n\ttime_stamp : type == 31\n\tdata max type_len  == 28\n";

#define COMMON                                                                         \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char *const ftrace_formats[] = {
	"name: funcgraph_entry\nID: 11\nformat:\n" COMMON "\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n\n"
	"print fmt: \"--> %ps (%d)\", (void *)REC->func, REC->depth\n",
	"name: funcgraph_exit\nID: 10\nformat:\n" COMMON "\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned int overrun;\toffset:20;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned long long calltime;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long long rettime;\toffset:32;\tsize:8;\tsigned:0;\n\n"
	"print fmt: \"<-- %ps (%d) (start: %llx  end: %llx) over: %u\", (void *)REC->func, REC->depth, REC->calltime, "
	"REC->rettime, REC->overrun\n",
	"name: print\nID: 5\nformat:\n" COMMON "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n\n"
	"print fmt: \"%ps: %s\", (void *)REC->ip, REC->buf\n",
};

static const char *const sched_formats[] = {
	"name: sched_switch\nID: 100\nformat:\n" COMMON "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
	"\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
	"\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
	"\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\n"
	"print fmt: \"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s ==> next_comm=%s next_pid=%d next_prio=%d\", "
	"REC->prev_comm, REC->prev_pid, REC->prev_prio, __print_flags(REC->prev_state, \"|\", { 1, \"S\" }, { 2, \"D\" }, "
	"{ 64, \"X\" }), REC->next_comm, REC->next_pid, REC->next_prio\n",
	"name: sched_wakeup\nID: 101\nformat:\n" COMMON "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n"
	"\tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n\n"
	"print fmt: \"comm=%s pid=%d prio=%d target_cpu=%03d\", REC->comm, REC->pid, REC->prio, REC->target_cpu\n",
};

static void put_sized(struct buf *out, const char *text)
{
	put_n(out, strlen(text), 8);
	buf_put(out, text, strlen(text));
}

/* Of the functions that were called. Names have no blanks there: a module's would be behind one. */
static void put_symbols(const struct trace_dat *d, struct buf *out)
{
	const struct names *names = d->session->names;
	struct buf list = { 0 };

	for (uint32_t i = 0; i < names_count(names); i++) {
		if (!d->called[i])
			continue;
		buf_printf(&list, "%016" PRIx64 " t ", address_of(d, i));
		plain_word_put(&list, names_function(names, i));
		buf_put_u8(&list, '\n');
	}
	buf_put_u8(&list, 0);
	put_n(out, list.len, 4);
	buf_put(out, list.data, list.len);
	buf_free(&list);
}

static void put_formats(struct buf *out)
{
	put_n(out, sizeof ftrace_formats / sizeof *ftrace_formats, 4);
	for (size_t i = 0; i < sizeof ftrace_formats / sizeof *ftrace_formats; i++)
		put_sized(out, ftrace_formats[i]);
	put_n(out, 1, 4);
	buf_put(out, "sched", 6);
	put_n(out, sizeof sched_formats / sizeof *sched_formats, 4);
	for (size_t i = 0; i < sizeof sched_formats / sizeof *sched_formats; i++)
		put_sized(out, sched_formats[i]);
}

static void put_head(struct trace_dat *d, struct buf *out)
{
	static const char magic[] = "\x17\x08\x44tracing6";
	uint64_t at;

	buf_put(out, magic, sizeof magic);
	buf_put_u8(out, 0); /* little-endian */
	buf_put_u8(out, 8); /* bytes of a long */
	put_n(out, PAGE, 4);
	buf_put(out, "header_page", 12);
	put_sized(out, header_page);
	buf_put(out, "header_event", 13);
	put_sized(out, header_event);
	put_formats(out);
	put_symbols(d, out);
	put_n(out, 0, 4); /* no formats of printk */
	put_n(out, d->comms.len, 8);
	buf_put(out, d->comms.data, d->comms.len);
	put_n(out, d->n_cpus, 4);
	buf_put(out, "options  ", 10);
	put_n(out, 0, 2);
	buf_put(out, "flyrecord", 10);
	at = (out->len + d->n_cpus * 16 + PAGE - 1) / PAGE * PAGE;
	for (size_t i = 0; i < d->n_cpus; i++) {
		uint64_t length = spool_length(&d->spool, i);

		put_n(out, at, 8);
		put_n(out, length, 8);
		at += length;
	}
	while (out->len % PAGE)
		buf_put_u8(out, 0);
}

static int write_all_of(struct trace_dat *d, const struct sink *sink, struct error *err)
{
	struct buf head = { 0 };
	int r = 0;

	for (unsigned i = 0; i < d->n_cpus && r == 0; i++)
		r = end_page(d, i, err);
	if (r == 0)
		put_head(d, &head);
	r = sink_end(sink, &head, r, err);
	for (unsigned i = 0; i < d->n_cpus && r == 0; i++)
		r = spool_copy(&d->spool, i, sink, kept, err);
	return r;
}

static int put(const struct session *session, const struct export_options *options, const struct sink *sink,
	       struct error *err)
{
	struct trace_dat d = {
		.session = session,
		.options = options,
		.called = xcalloc(names_count(session->names), sizeof *d.called),
	};
	const struct stream_listener to = { take, &d };
	int r;

	spool_init(&d.spool);
	r = call_stream_tell(session, &options->part, &to, options->left, err);
	if (r == 0)
		r = write_all_of(&d, sink, err);
	spool_deinit(&d.spool);
	free(d.cpus);
	free(d.called);
	buf_free(&d.comms);
	buf_free(&d.record);
	buf_free(&d.text);
	return r;
}

const struct exporter export_trace_dat = {
	.name = "trace.dat",
	.help = "a recording of trace-cmd's, for trace-cmd report and KernelShark",
	.kind = EXPORTS_STREAM,
	.call_bytes = 76,
	.put = put,
};
