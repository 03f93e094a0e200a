/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls, and all that happened, of a hostile trace by a hostile index. The first
 * byte has the options; two more are the trace's size: chunks as
 * chunk_header + unpacked payload. The index's entries are the rest, each a
 * byte for its time, a byte of marks for functions, two for a size, and a checkpoint
 * of that size. With bit 7 a chunk is appended to the trace, too.
 */
#include "fuzz.h"

#include <unistd.h>
#include <zstd.h>

#include "analysis/calls/calls.h"
#include "analysis/calls/flow.h"
#include "base/alloc.h"
#include "base/file.h"
#include "trace/append.h"
#include "trace/writer.h"

enum { NO_INTERRUPTS = 1, SHALLOW = 2, LONG = 4, PART = 8, ONE_THREAD = 16, ONE_PID = 32, ONE_CPU = 64, APPEND = 128 };
enum { NS_STEP = 8, MARKS = 8, PART_FROM = 60, PART_TO = 400, LONG_NS = 30 };

static void write_chunks(int fd, struct cursor *in)
{
	struct chunk_header h;
	struct writer w;

	must(writer_init(&w, fd) == 0);
	while (cursor_left(in) >= sizeof h) {
		struct buf payload = { 0 };
		size_t n;

		memcpy(&h, cursor_take(in, sizeof h), sizeof h);
		n = h.unpacked < cursor_left(in) ? h.unpacked : cursor_left(in);
		buf_put(&payload, cursor_take(in, n), n);
		must(writer_put(&w, &h, &payload, 1) == 0);
		buf_free(&payload);
	}
	writer_deinit(&w);
}

static size_t size_in(struct cursor *in)
{
	size_t low = cursor_u8(in), n = low | (size_t)cursor_u8(in) << 8;

	return n < cursor_left(in) ? n : cursor_left(in);
}

static void add_entry(struct index *x, size_t *cap, struct cursor *in, uint32_t n_functions)
{
	uint8_t packed[ZSTD_COMPRESSBOUND(UINT16_MAX)];
	struct index_entry e = { .ns = (x->count ? x->entries[x->count - 1].ns : 0) + NS_STEP * cursor_u8(in) };
	uint8_t marks = cursor_u8(in);
	size_t n = size_in(in);

	e.functions = xcalloc(MARKS, sizeof *e.functions);
	for (uint32_t i = 0; i < MARKS && i < n_functions; i++)
		if (marks >> i & 1)
			e.functions[e.n_functions++] = i;
	e.offset = (uint64_t)lseek(x->fd, 0, SEEK_END);
	e.unpacked = (uint32_t)n;
	e.stored = (uint32_t)ZSTD_compress(packed, sizeof packed, n ? cursor_take(in, n) : NULL, n, 1);
	must(!ZSTD_isError(e.stored) && write_all(x->fd, packed, e.stored) == 0);
	x->entries = array_grow(x->entries, x->count, cap, sizeof *x->entries);
	x->entries[x->count++] = e;
}

/* NULL: an index has an entry at least. */
static struct index *make_index(struct cursor *in, uint32_t n_functions)
{
	struct index *x = xcalloc(1, sizeof *x);
	size_t cap = 0;

	x->fd = memfd_create("index", MFD_CLOEXEC);
	x->zstd = ZSTD_createDCtx();
	must(x->fd >= 0);
	while (cursor_left(in) && !in->bad)
		add_entry(x, &cap, in, n_functions);
	if (x->count)
		return x;
	index_free(x);
	return NULL;
}

static bool no_interrupts;

/* What all records ran by themselves, and what they left out, is what the first one ran. */
static int take_call(void *state, const struct thread *thread, struct call_records *records)
{
	struct left_out left_out = { 0 };
	uint64_t insns = 0;

	(void)thread;
	must(call_records_count(records) > 0);
	for (uint64_t i = 0; i < call_records_count(records); i++) {
		const struct call_record *r = call_records_get(records, i);

		must(r->function < names_count(state) && !r->depth == !i);
		call_records_left_out(records, r, &left_out);
		insns += r->self_insns + left_out_total(&left_out).insns;
	}
	/* nothing is told of what one level calls, and of interrupts that are left out */
	if (call_records_count(records) > 1 && !no_interrupts)
		must(insns == call_records_get(records, 0)->insns);
	left_out_deinit(&left_out);
	return 0;
}

static int take_step(void *state, const struct flow_step *step)
{
	must(step->function < names_count(state) && step->kind <= FLOW_LEAVE);
	return 0;
}

static void ask(const struct reader *r, uint8_t options, struct cursor *entries)
{
	struct calls_options calls = {
		.to_ns = UINT64_MAX, .cpu = options & ONE_CPU ? 0 : -1, .max_depth = options & SHALLOW ? 1 : 0,
		.min_duration_ns = options & LONG ? LONG_NS : 0,
		.no_interrupts = options & NO_INTERRUPTS,
	};
	struct flow_options flow;
	struct threads threads;
	struct session session;
	struct names names;
	struct index *x;
	struct error err;
	bool *marks, *one;

	if (names_init(&names, r, &err) < 0)
		return;
	threads_init(&threads, r);
	one = xcalloc(threads.count, sizeof *one);
	for (size_t i = 0; i < threads.count; i++)
		one[i] = threads.list[i].pid == 1;
	calls.threads = options & ONE_PID ? one : NULL;
	x = make_index(entries, names_count(&names));
	marks = xcalloc(names_count(&names), sizeof *marks);
	for (uint32_t i = 0; i < names_count(&names); i++)
		marks[i] = i % 2;
	calls.functions = marks;
	if (options & PART) {
		calls.from_ns = PART_FROM;
		calls.to_ns = PART_TO;
	}
	flow = (struct flow_options){
		.from_ns = calls.from_ns, .to_ns = calls.to_ns, .min_duration_ns = calls.min_duration_ns,
		.max_depth = calls.max_depth, .threads = calls.threads, .no_interrupts = calls.no_interrupts,
		.one_thread = options & ONE_THREAD, .cpu = calls.cpu,
	};
	no_interrupts = calls.no_interrupts;
	session = (struct session){ .reader = r, .names = &names, .threads = &threads, .index = x };
	calls_analyse(&session, &calls, take_call, &names, &err);
	flow_analyse(&session, &flow, take_step, &names, &err);
	index_free(x);
	free(marks);
	free(one);
	threads_deinit(&threads);
	names_deinit(&names);
}

/* Whatever can be read can be read afterwards, with the chunk and another END. */
static void append(const struct reader *r)
{
	static const struct buf nothing;
	struct reader *longer;
	struct error err;

	if (trace_append(r, CHUNK_FILES, &nothing, &err) < 0)
		return;
	must(reader_open(r->path, &longer, &err) == 0);
	must(longer->n_chunks == r->n_chunks + 2 && longer->ended && !longer->cut_why);
	must(longer->n_event_chunks == r->n_event_chunks && longer->tasks.count == r->tasks.count);
	reader_free(longer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cursor in = cursor_over(data, size), trace;
	struct reader *r;
	struct error err;
	uint8_t options;
	char path[64];
	size_t n;
	int fd;

	if (size < 3)
		return 0;
	options = cursor_u8(&in);
	n = size_in(&in);
	trace = cursor_over(n ? cursor_take(&in, n) : data, n);
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	must(fd >= 0);
	write_chunks(fd, &trace);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (reader_open(path, &r, &err) == 0) {
		ask(r, options, &in);
		if (options & APPEND)
			append(r);
		reader_free(r);
	}
	close(fd);
	return 0;
}
