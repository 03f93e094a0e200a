/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Perfetto's own traces (perfetto.dev, protos/perfetto/trace/trace_packet.proto): a track for each thread with its
 * calls, who runs where and who waits, lines of the kernel's log, trace events. It is one sequence of packets in the
 * order of time, whose clock tells the time since the packet before; names are written once and have numbers from then
 * on.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "export.h"
#include "protobuf.h"

enum { SEQUENCE = 1, CLOCK = 64, BOOT_CLOCK = 6 };
enum { NEEDS_STATE = 2, STATE_CLEARED = 1 };

/* Fields of TracePacket. */
enum {
	PACKET = 1,
	CLOCK_SNAPSHOT = 6,
	TIMESTAMP = 8,
	SEQUENCE_ID = 10,
	TRACK_EVENT = 11,
	INTERNED_DATA = 12,
	SEQUENCE_FLAGS = 13,
	DEFAULT_CLOCK = 58,
	DEFAULTS = 59,
	TRACK_DESCRIPTOR = 60,
	TASK_STATE = 117,
};
/* … of TrackEvent and InternedData. */
enum {
	EVENT_CATEGORY = 3,
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_NAME = 10,
	EVENT_TRACK = 11,
	EVENT_LOG = 21,
	EVENT_NAME_TEXT = 23,
};
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3 };
enum { INTERNED_CATEGORY = 1, INTERNED_NAME = 2, INTERNED_LOG = 20 };
/* GenericKernelTaskStateEvent */
enum { STATE_CPU = 1, STATE_COMM = 2, STATE_TID = 3, STATE_IS = 4 };
enum { IS_RUNNABLE = 2, IS_RUNNING = 3, IS_SLEEPING = 4, IS_DEAD = 7 };

struct perfetto {
	const struct session *session;
	const struct export_options *options;
	const struct sink *sink;
	struct buf out, text;
	uint64_t ns;          /* of the packet before */
	bool *named;          /* by function: its name has its number + 1 */
	uint32_t *categories; /* by function: the category's number; 0: not seen yet */
	struct map by_object; /* object's name → category */
	uint32_t n_categories, n_logs;
	bool *described; /* by thread: its track is */
	size_t cap;
	struct map processes; /* likewise */
	uint32_t *on;         /* by vCPU: number of the thread that it runs, + 1; 0: nobody's */
	size_t on_cap;
};

static size_t begin_packet(struct perfetto *p)
{
	size_t at = proto_begin(&p->out, PACKET);

	proto_number(&p->out, SEQUENCE_ID, SEQUENCE);
	return at;
}

/* A packet that needs names and the clock from before. */
static size_t begin_timed(struct perfetto *p, uint64_t ns)
{
	size_t at = begin_packet(p);

	proto_number(&p->out, SEQUENCE_FLAGS, NEEDS_STATE);
	proto_number(&p->out, TIMESTAMP, ns - p->ns);
	p->ns = ns;
	return at;
}

static void put_clock(struct perfetto *p, unsigned id, bool incremental)
{
	size_t at = proto_begin(&p->out, 1);

	proto_number(&p->out, 1, id);
	proto_number(&p->out, 2, p->ns);
	if (incremental)
		proto_number(&p->out, 3, 1);
	proto_end(&p->out, at);
}

static void put_start(struct perfetto *p)
{
	size_t at = begin_packet(p), inner;

	p->ns = p->options->part.from_ns;
	proto_number(&p->out, SEQUENCE_FLAGS, STATE_CLEARED);
	inner = proto_begin(&p->out, CLOCK_SNAPSHOT);
	put_clock(p, CLOCK, true);
	put_clock(p, BOOT_CLOCK, false);
	proto_end(&p->out, inner);
	inner = proto_begin(&p->out, DEFAULTS);
	proto_number(&p->out, DEFAULT_CLOCK, CLOCK);
	proto_end(&p->out, inner);
	proto_end(&p->out, at);
}

static void put_interned(struct perfetto *p, unsigned field, uint64_t number, const char *text)
{
	size_t at = begin_packet(p), data, entry;

	proto_number(&p->out, SEQUENCE_FLAGS, NEEDS_STATE);
	data = proto_begin(&p->out, INTERNED_DATA);
	entry = proto_begin(&p->out, field);
	proto_number(&p->out, 1, number);
	proto_text(&p->out, 2, text);
	proto_end(&p->out, entry);
	proto_end(&p->out, data);
	proto_end(&p->out, at);
}

/* The numbers of its name and its category are known to the reader. */
static void intern(struct perfetto *p, uint32_t function)
{
	const struct names *names = p->session->names;
	const char *object = names_object(names, function);
	uint64_t *known;

	if (p->named[function])
		return;
	p->named[function] = true;
	put_interned(p, INTERNED_NAME, function + 1, names_function(names, function));
	object = *object ? object : names_is_user(names, function) ? "user" : "kernel";
	known = map_put(&p->by_object, hash_text(1, object), 0);
	if (!*known) {
		*known = ++p->n_categories;
		put_interned(p, INTERNED_CATEGORY, *known, object);
	}
	p->categories[function] = (uint32_t)*known;
}

static uint64_t track_of(uint32_t thread)
{
	return thread + UINT64_C(1);
}

static uint64_t process_track(uint32_t process)
{
	return UINT64_C(1) << 40 | process;
}

static void put_process(struct perfetto *p, const struct stream_thread *t)
{
	uint64_t *known = map_put(&p->processes, t->process + UINT64_C(1), 0);
	size_t at, track, inner;

	if ((*known)++)
		return;
	at = begin_packet(p);
	track = proto_begin(&p->out, TRACK_DESCRIPTOR);
	proto_number(&p->out, 1, process_track(t->process));
	inner = proto_begin(&p->out, 3);
	proto_number(&p->out, 1, t->process);
	proto_text(&p->out, 6, t->process_name);
	proto_end(&p->out, inner);
	proto_end(&p->out, track);
	proto_end(&p->out, at);
}

static const struct stream_thread *thread_of(struct perfetto *p, struct call_stream *stream, uint32_t number)
{
	const struct stream_thread *t = call_stream_thread(stream, number);
	size_t at, track, inner;

	p->described = array_reach(p->described, number, &p->cap, sizeof *p->described);
	if (p->described[number])
		return t;
	p->described[number] = true;
	put_process(p, t);
	at = begin_packet(p);
	track = proto_begin(&p->out, TRACK_DESCRIPTOR);
	proto_number(&p->out, 1, track_of(number));
	proto_number(&p->out, 5, process_track(t->process));
	inner = proto_begin(&p->out, 4);
	proto_number(&p->out, 1, t->process);
	proto_number(&p->out, 2, t->id);
	proto_text(&p->out, 5, t->name);
	proto_end(&p->out, inner);
	proto_end(&p->out, track);
	proto_end(&p->out, at);
	return t;
}

/* Where there is room for it. */
static uint8_t *add_varint(uint8_t *at, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*at++ = (uint8_t)v | 0x80;
	*at++ = (uint8_t)v;
	return at;
}

static uint8_t *add_number(uint8_t *at, unsigned field, uint64_t v)
{
	return add_varint(add_varint(at, field << 3 | PROTO_VARINT), v);
}

/* Nearly all packets are these: as begin_timed() and proto_begin() would do it, in one piece, whose lengths take a
 * byte. */
static void put_call(struct perfetto *p, const struct stream_item *item)
{
	enum { LONGEST = 100 };
	bool begins = item->kind == STREAM_BEGIN;
	uint8_t *packet, *event, *at;

	if (begins)
		intern(p, item->function);
	buf_reserve(&p->out, LONGEST);
	packet = at = p->out.data + p->out.len + 2;
	packet[-2] = PACKET << 3 | PROTO_BYTES;
	at = add_number(at, SEQUENCE_ID, SEQUENCE);
	at = add_number(at, SEQUENCE_FLAGS, NEEDS_STATE);
	at = add_number(at, TIMESTAMP, item->ns - p->ns);
	*at = TRACK_EVENT << 3 | PROTO_BYTES;
	event = at += 2;
	at = add_number(at, EVENT_TYPE, begins ? TYPE_BEGIN : TYPE_END);
	at = add_number(at, EVENT_TRACK, track_of(item->thread));
	if (begins) {
		at = add_number(at, EVENT_NAME, item->function + UINT64_C(1));
		at = add_number(at, EVENT_CATEGORY, p->categories[item->function]);
	}
	event[-1] = (uint8_t)(at - event);
	packet[-1] = (uint8_t)(at - packet);
	p->out.len = (size_t)(at - p->out.data);
	p->ns = item->ns;
}

static void put_state(struct perfetto *p, struct call_stream *stream, const struct stream_item *item, uint32_t thread,
		      unsigned state)
{
	const struct stream_thread *t;
	size_t at, inner;

	if (thread == STREAM_NOBODY)
		return;
	t = thread_of(p, stream, thread);
	if (t->idle)
		return; /* a CPU that runs nobody is idle */
	at = begin_timed(p, item->ns);
	inner = proto_begin(&p->out, TASK_STATE);
	proto_number(&p->out, STATE_CPU, item->cpu);
	proto_text(&p->out, STATE_COMM, t->name);
	proto_number(&p->out, STATE_TID, t->id);
	proto_number(&p->out, STATE_IS, state);
	proto_end(&p->out, inner);
	proto_end(&p->out, at);
}

static uint32_t *thread_on(struct perfetto *p, unsigned cpu)
{
	p->on = array_reach(p->on, cpu, &p->on_cap, sizeof *p->on);
	return &p->on[cpu];
}

static void put_runs(struct perfetto *p, struct call_stream *stream, const struct stream_item *item)
{
	uint32_t *on = thread_on(p, item->cpu);

	if (*on)
		put_state(p, stream, item, *on - 1, IS_SLEEPING);
	put_state(p, stream, item, item->thread, IS_RUNNING);
	*on = item->thread + 1; /* of STREAM_NOBODY, 0 */
}

static void put_switch(struct perfetto *p, struct call_stream *stream, const struct stream_item *item)
{
	static const unsigned states[] = {
		[LEAVES_READY] = IS_RUNNABLE,
		[LEAVES_ASLEEP] = IS_SLEEPING,
		[LEAVES_DEAD] = IS_DEAD,
	};

	put_state(p, stream, item, item->thread, states[item->leaves]);
	put_state(p, stream, item, item->next, IS_RUNNING);
	*thread_on(p, item->cpu) = item->next + 1;
}

/* Of the log's levels, 0 is the worst; here 7 is, and 2 the least. */
static unsigned priority(const struct log_line *line)
{
	static const unsigned of[] = { 7, 7, 7, 6, 5, 4, 4, 3 };

	return of[line->level & 7];
}

static void put_log(struct perfetto *p, const struct stream_item *item)
{
	size_t at, event, log;
	uint32_t number = ++p->n_logs;

	put_interned(p, INTERNED_LOG, number, item->line->text);
	at = begin_timed(p, item->ns);
	event = proto_begin(&p->out, TRACK_EVENT);
	proto_number(&p->out, EVENT_TYPE, TYPE_INSTANT);
	if (item->thread != STREAM_NOBODY)
		proto_number(&p->out, EVENT_TRACK, track_of(item->thread));
	proto_text(&p->out, EVENT_NAME_TEXT, "printk");
	log = proto_begin(&p->out, EVENT_LOG);
	proto_number(&p->out, 2, number);
	proto_number(&p->out, 3, priority(item->line));
	proto_end(&p->out, log);
	proto_end(&p->out, event);
	proto_end(&p->out, at);
}

static void put_event(struct perfetto *p, const struct stream_item *item)
{
	size_t at, event, note;
	char *colon;

	p->text.len = 0;
	event_put_line(p->options->events, p->options->formats, item->fact, &p->text);
	buf_put_u8(&p->text, 0);
	colon = strstr((char *)p->text.data, ": ");
	if (colon)
		*colon = 0;
	at = begin_timed(p, item->ns);
	event = proto_begin(&p->out, TRACK_EVENT);
	proto_number(&p->out, EVENT_TYPE, TYPE_INSTANT);
	if (item->thread != STREAM_NOBODY)
		proto_number(&p->out, EVENT_TRACK, track_of(item->thread));
	proto_text(&p->out, EVENT_NAME_TEXT, (char *)p->text.data);
	note = proto_begin(&p->out, EVENT_ANNOTATION);
	proto_text(&p->out, 10, "text");
	proto_text(&p->out, 6, colon ? colon + 2 : "");
	proto_end(&p->out, note);
	proto_end(&p->out, event);
	proto_end(&p->out, at);
}

static int take(void *state, struct call_stream *stream, const struct stream_item *item, struct error *err)
{
	struct perfetto *p = state;

	if (item->thread != STREAM_NOBODY && (item->thread >= p->cap || !p->described[item->thread]))
		thread_of(p, stream, item->thread);
	switch (item->kind) {
	case STREAM_BEGIN:
	case STREAM_END:
		put_call(p, item);
		break;
	case STREAM_RUNS:
		put_runs(p, stream, item);
		break;
	case STREAM_SWITCH:
		put_switch(p, stream, item);
		break;
	case STREAM_WAKE:
		put_state(p, stream, item, item->next, IS_RUNNABLE);
		break;
	case STREAM_LOG:
		put_log(p, item);
		break;
	case STREAM_EVENT:
		put_event(p, item);
		break;
	default:
		break;
	}
	return sink_pass(p->sink, &p->out, err);
}

static int put(const struct session *session, const struct export_options *options, const struct sink *sink,
	       struct error *err)
{
	size_t functions = names_count(session->names);
	struct perfetto p = {
		.session = session,
		.options = options,
		.sink = sink,
		.named = xcalloc(functions, sizeof *p.named),
		.categories = xcalloc(functions, sizeof *p.categories),
	};
	const struct stream_listener to = { take, &p };
	int r;

	put_start(&p);
	r = call_stream_tell(session, &options->part, &to, options->left, err);
	r = sink_end(sink, &p.out, r, err);
	free(p.named);
	free(p.categories);
	free(p.described);
	free(p.on);
	map_free(&p.by_object);
	map_free(&p.processes);
	buf_free(&p.text);
	return r;
}

const struct exporter export_perfetto = {
	.name = "perfetto",
	.help = "a trace of Perfetto's, for ui.perfetto.dev and trace_processor",
	.kind = EXPORTS_STREAM,
	.call_bytes = 40,
	.put = put,
};
