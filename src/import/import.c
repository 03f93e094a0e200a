/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "import.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "block_lines.h"
#include "calls_blocks.h"
#include "graph_text.h"
#include "instrument_dump.h"
#include "kfi/resolve.h"
#include "perf_text.h"
#include "trace/format.h"
#include "uftrace_folder.h"

enum { TO_TELL = 1 << 16, MAGIC = sizeof FORMAT_MAGIC - 1 };
#define LOG_MAX ((size_t)1 << 33) /* bytes of a log that is read as a whole */

static int read_all(struct import_input *in, struct error *err)
{
	ssize_t n;

	while ((n = import_read(in, err)) > 0)
		if (in->data.len > LOG_MAX)
			return error_set(err, "%s: more than the %zu bytes that a log can have", in->path, LOG_MAX);
	return n < 0 ? -1 : 0;
}

static int import_calls(struct import_input *in, const struct builder_sink *sink, struct imported *ret,
			struct error *err)
{
	cleanup_free char *path = xasprintf("%s.ring", in->path);
	struct buf ring = { 0 };
	int r;

	/*
	 * It is there if the program did not come to its end. If that runs still, what leaves the ring meanwhile is in
	 * the file, which is read behind it.
	 */
	if (access(path, F_OK) == 0 && file_read(path, LOG_MAX, &ring, err) < 0) {
		ring.len = 0;
		if (access(path, F_OK) == 0) { /* else the program has just come to its end */
			buf_free(&ring);
			return -1;
		}
	}
	r = read_all(in, err);
	if (r == 0)
		r = calls_trace_write(&in->data, &ring, in->path, sink, &ret->calls, err);
	buf_free(&ring);
	return r;
}

/* `reader` NULL: *err is set. */
static int import_graph(struct graph_reader *reader, const char *of, const struct import_input *in,
			const struct builder_sink *sink, struct imported *ret, struct error *err)
{
	int r;

	ret->format = IMPORT_GRAPH;
	if (!reader)
		return -1;
	r = graph_trace_write(reader, of, in->path, NULL, sink, &ret->graph, err);
	graph_reader_free(reader);
	return r;
}

/* As addr2sym does, line by line. */
static void name_addresses(struct import_input *in)
{
	struct resolver resolver = { .map = in->map };
	struct buf named = { 0 };
	const char *at = (char *)in->data.data, *end = at + in->data.len;

	while (at < end) {
		const char *line = memchr(at, '\n', (size_t)(end - at));
		size_t n = line ? (size_t)(line - at) + 1 : (size_t)(end - at);

		resolve_line(&resolver, at, n, &named);
		at += n;
	}
	buf_free(&in->data);
	in->data = named;
}

/* The log is taken. `r`: whether it could be read. */
static int write_kfi(struct kfi_log *log, int r, const struct import_input *in, const struct builder_sink *sink,
		     struct imported *ret, struct error *err)
{
	if (r == 0 && !log->n)
		r = error_set(err, "%s: has no calls", in->path);
	if (r == 0)
		r = kfi_trace_write(log, in->path, sink, &ret->kfi, err);
	kfi_log_deinit(log);
	return r;
}

/* Of a machine whose functions were instrumented (libupto/upto_instrument.h). */
static int import_memory(struct import_input *in, const struct builder_sink *sink, struct imported *ret,
			 struct error *err)
{
	struct kfi_log log = { 0 };
	size_t at;
	int r;

	if (read_all(in, err) < 0)
		return -1;
	if (!instrument_dump_find(in->data.data, in->data.len, &at))
		return error_set(err, "%s: neither text, nor memory with calls of upto_instrument in it", in->path);
	r = instrument_dump_read(in->path, in->data.data, in->data.len, at, in->map, &log, err);
	return write_kfi(&log, r, in, sink, ret, err);
}

static int import_kfi(struct import_input *in, const struct builder_sink *sink, struct imported *ret, struct error *err)
{
	struct kfi_log log = { 0 };
	int r;

	if (read_all(in, err) < 0)
		return -1;
	if (in->map)
		name_addresses(in);
	r = kfi_log_parse(in->path, (char *)in->data.data, in->data.len, &log, err);
	return write_kfi(&log, r, in, sink, ret, err);
}

static int import_uftrace(struct import_input *in, const struct builder_sink *sink, struct imported *ret,
			  struct error *err)
{
	if (!uftrace_folder_is_one(in->fd))
		return error_set(err, "%s: is a folder, and none that uftrace record wrote", in->path);
	return import_graph(uftrace_folder_open(in->fd, in->path, err), "a folder of uftrace", in, sink, ret, err);
}

/* Text has no NULs, or a few that are wrong there. */
static bool is_memory(const struct buf *data)
{
	enum { MANY = 16, LITTLE = 512 };
	size_t nuls = 0, at;

	for (size_t i = 0; i < data->len; i++)
		nuls += !data->data[i];
	return (data->len >= LITTLE && nuls > data->len / MANY) || instrument_dump_find(data->data, data->len, &at);
}

static int import_any(struct import_input *in, const struct builder_sink *sink, struct imported *ret, struct error *err)
{
	const struct buf *data = &in->data;
	struct stat st;
	ssize_t n = 1;

	if (fstat(in->fd, &st) == 0 && S_ISDIR(st.st_mode))
		return import_uftrace(in, sink, ret, err);
	/* enough to tell the format by */
	while (n > 0 && data->len < TO_TELL)
		if ((n = import_read(in, err)) < 0)
			return -1;
	if (data->len >= MAGIC && !memcmp(data->data, FORMAT_MAGIC, MAGIC))
		return error_set(err, "%s: is a trace already", in->path);
	if (calls_blocks_are_those(data->data, data->len)) {
		ret->format = IMPORT_CALLS;
		return import_calls(in, sink, ret, err);
	}
	if (graph_dat_is_one(data->data, data->len))
		return import_graph(graph_dat_open(in->fd, in->path, err), "a trace.dat of trace-cmd", in, sink, ret,
				    err);
	if (is_memory(data)) {
		ret->format = IMPORT_KFI;
		return import_memory(in, sink, ret, err);
	}
	if (graph_text_is_one((char *)data->data, data->len))
		return import_graph(graph_text_open(in->fd, in->path, err), "text of the kernel's function_graph", in,
				    sink, ret, err);
	if (perf_text_is_one((char *)data->data, data->len))
		return import_graph(perf_text_open(in->fd, in->path, err), "text of perf script", in, sink, ret, err);
	ret->format = block_lines_are_those((char *)data->data, data->len) ? IMPORT_BLOCKS : IMPORT_KFI;
	if (ret->format == IMPORT_KFI)
		return import_kfi(in, sink, ret, err);
	return block_trace_write(in, sink, &ret->blocks, err);
}

int import_log(int fd, const char *path, const struct symbol_map *map, const struct builder_sink *sink,
	       struct imported *ret, struct error *err)
{
	struct import_input in = { .fd = fd, .path = path, .map = map };
	int r;

	*ret = (struct imported){ 0 };
	r = import_any(&in, sink, ret, err);
	buf_free(&in.data);
	return r;
}
