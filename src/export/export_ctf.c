/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A folder in the Common Trace Format, version 1.8 (diamon.org), for babeltrace2 and Trace Compass: a stream for each
 * CPU. Switches, wake-ups and lines of the log have the names and fields of LTTng's, so that its views of a kernel show
 * them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "export.h"
#include "folder_file.h"

enum { PACKET = 1 << 16 };
enum { FUNC_ENTRY, FUNC_EXIT, SCHED_SWITCH, SCHED_WAKEUP, PRINTK, EVENT };

/* Of a packet, up to its events: magic, uuid, stream; begin, end, sizes, CPU. */
enum { HEADER = 4 + 16 + 4, CONTEXT = 8 + 8 + 8 + 8 + 4 };

static const uint8_t uuid[16] = { 0x75, 0x70, 0x74, 0x6f, 0x2d, 0x63, 0x41, 0x74,
				  0x80, 0x01, 0x2d, 0x65, 0x78, 0x70, 0x6f, 0x72 };

struct of_stream {
	struct buf packet;
	uint64_t begin_ns, end_ns;
};

struct ctf {
	const struct session *session;
	const struct export_options *options;
	struct folder *folder;
	struct of_stream *cpus;
	size_t cap;
	struct buf text;
};

static const char metadata[] =
	"/* CTF 1.8 */\n"
	"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	"typealias integer { size = 64; align = 8; signed = true; } := int64_t;\n"
	"trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"7570746f-2d63-4174-8001-2d6578706f72\";\n\tbyte_order = le;\n"
	"\tpacket.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; };\n};\n"
	"env {\n\thostname = \"guest\";\n\tdomain = \"kernel\";\n\ttracer_name = \"lttng-modules\";\n\ttracer_major = 2;\n"
	"\ttracer_minor = 13;\n\tsysname = \"Linux\";\n};\n"
	"clock {\n\tname = monotonic;\n\tdescription = \"guest time\";\n\tfreq = 1000000000;\n\toffset = 0;\n};\n"
	"typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := time_t;\n"
	"stream {\n\tid = 0;\n\tevent.header := struct { uint32_t id; time_t timestamp; };\n"
	"\tpacket.context := struct { time_t timestamp_begin; time_t timestamp_end; uint64_t content_size;\n"
	"\t\tuint64_t packet_size; uint32_t cpu_id; };\n};\n"
	"event { name = \"func_entry\"; id = 0; stream_id = 0;\n"
	"\tfields := struct { int32_t _tid; string _name; string _object; }; };\n"
	"event { name = \"func_exit\"; id = 1; stream_id = 0;\n\tfields := struct { int32_t _tid; string _name; }; };\n"
	"event { name = \"sched_switch\"; id = 2; stream_id = 0;\n"
	"\tfields := struct { string _prev_comm; int32_t _prev_tid; int32_t _prev_prio; int64_t _prev_state;\n"
	"\t\tstring _next_comm; int32_t _next_tid; int32_t _next_prio; }; };\n"
	"event { name = \"sched_wakeup\"; id = 3; stream_id = 0;\n"
	"\tfields := struct { string _comm; int32_t _tid; int32_t _prio; int32_t _target_cpu; }; };\n"
	"event { name = \"printk_console\"; id = 4; stream_id = 0;\n\tfields := struct { string _msg; }; };\n"
	"event { name = \"trace_event\"; id = 5; stream_id = 0;\n\tfields := struct { int32_t _tid; string _text; }; };\n";

static void put_u32(struct buf *out, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		buf_put_u8(out, (uint8_t)(v >> 8 * i));
}

static void put_u64(struct buf *out, uint64_t v)
{
	put_u32(out, (uint32_t)v);
	put_u32(out, (uint32_t)(v >> 32));
}

static void put_string(struct buf *out, const char *text)
{
	buf_put(out, text, strlen(text) + 1);
}

static void put_header(const struct of_stream *s, unsigned cpu, struct buf *out)
{
	put_u32(out, 0xc1fc1fc1);
	buf_put(out, uuid, sizeof uuid);
	put_u32(out, 0);
	put_u64(out, s->begin_ns);
	put_u64(out, s->end_ns);
	put_u64(out, (HEADER + CONTEXT + s->packet.len) * 8);
	put_u64(out, (HEADER + CONTEXT + s->packet.len) * 8);
	put_u32(out, cpu);
}

static int write_packet(struct ctf *c, unsigned cpu, struct error *err)
{
	struct of_stream *s = &c->cpus[cpu];
	struct buf header = { 0 };
	char name[32];
	int r;

	if (!s->packet.len)
		return 0;
	put_header(s, cpu, &header);
	snprintf(name, sizeof name, "channel0_%u", cpu);
	r = folder_file_append(c->folder, name, &header, err);
	if (r == 0)
		r = folder_file_append(c->folder, name, &s->packet, err);
	buf_free(&header);
	return r;
}

static struct buf *begin_event(struct ctf *c, const struct stream_item *item, uint32_t id)
{
	struct of_stream *s;

	c->cpus = array_reach(c->cpus, item->cpu, &c->cap, sizeof *c->cpus);
	s = &c->cpus[item->cpu];
	if (!s->packet.len)
		s->begin_ns = item->ns;
	s->end_ns = item->ns;
	put_u32(&s->packet, id);
	put_u64(&s->packet, item->ns);
	return &s->packet;
}

/* Idle threads are 0, as they are to whoever reads such traces. */
static const char *whose(struct call_stream *stream, uint32_t thread, uint32_t *ret_tid)
{
	const struct stream_thread *t = thread == STREAM_NOBODY ? NULL : call_stream_thread(stream, thread);

	*ret_tid = t && !t->idle ? t->id : 0;
	return t ? t->name : "?";
}

static void put_call(struct ctf *c, struct call_stream *stream, const struct stream_item *item)
{
	struct buf *out = begin_event(c, item, item->kind == STREAM_BEGIN ? FUNC_ENTRY : FUNC_EXIT);
	uint32_t tid;

	whose(stream, item->thread, &tid);
	put_u32(out, tid);
	put_string(out, names_function(c->session->names, item->function));
	if (item->kind == STREAM_BEGIN)
		put_string(out, names_object(c->session->names, item->function));
}

static void put_switch(struct ctf *c, struct call_stream *stream, const struct stream_item *item)
{
	enum { PRIORITY = 20 };
	struct buf *out = begin_event(c, item, SCHED_SWITCH);
	uint32_t tid;

	put_string(out, whose(stream, item->thread, &tid));
	put_u32(out, tid);
	put_u32(out, PRIORITY);
	put_u64(out, stream_task_state(item->leaves));
	put_string(out, whose(stream, item->next, &tid));
	put_u32(out, tid);
	put_u32(out, PRIORITY);
}

static void put_wake(struct ctf *c, struct call_stream *stream, const struct stream_item *item)
{
	enum { PRIORITY = 20 };
	struct buf *out = begin_event(c, item, SCHED_WAKEUP);
	uint32_t tid;

	put_string(out, whose(stream, item->next, &tid));
	put_u32(out, tid);
	put_u32(out, PRIORITY);
	put_u32(out, item->next_cpu);
}

static void put_event(struct ctf *c, struct call_stream *stream, const struct stream_item *item)
{
	struct buf *out = begin_event(c, item, EVENT);
	uint32_t tid;

	whose(stream, item->thread, &tid);
	put_u32(out, tid);
	c->text.len = 0;
	event_put_line(c->options->events, c->options->formats, item->fact, &c->text);
	buf_put_u8(&c->text, 0);
	put_string(out, (char *)c->text.data);
}

static int take(void *state, struct call_stream *stream, const struct stream_item *item, struct error *err)
{
	struct ctf *c = state;

	switch (item->kind) {
	case STREAM_BEGIN:
	case STREAM_END:
		put_call(c, stream, item);
		break;
	case STREAM_SWITCH:
		put_switch(c, stream, item);
		break;
	case STREAM_WAKE:
		put_wake(c, stream, item);
		break;
	case STREAM_LOG:
		put_string(begin_event(c, item, PRINTK), item->line->text);
		break;
	case STREAM_EVENT:
		put_event(c, stream, item);
		break;
	default:
		return 0;
	}
	return c->cpus[item->cpu].packet.len < PACKET ? 0 : write_packet(c, item->cpu, err);
}

static int put_folder(const struct session *session, const struct export_options *options, struct folder *folder,
		      struct error *err)
{
	struct ctf c = { .session = session, .options = options, .folder = folder };
	const struct stream_listener to = { take, &c };
	struct buf text = { 0 };
	int r;

	buf_put(&text, metadata, sizeof metadata - 1);
	r = folder_file_append(folder, "metadata", &text, err);
	buf_free(&text);
	if (r == 0)
		r = call_stream_tell(session, &options->part, &to, options->left, err);
	for (unsigned i = 0; i < c.cap; i++) {
		if (r == 0)
			r = write_packet(&c, i, err);
		buf_free(&c.cpus[i].packet);
	}
	free(c.cpus);
	buf_free(&c.text);
	return r;
}

const struct exporter export_ctf = {
	.name = "ctf",
	.help = "a folder in the Common Trace Format, for babeltrace2 and Trace Compass",
	.kind = EXPORTS_STREAM,
	.call_bytes = 80,
	.put_folder = put_folder,
};
