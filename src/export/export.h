/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes traces in the formats of other tools. To add a format: a file that puts it into a sink, or into a folder, and
 * a line in export.c.
 */
#ifndef UPTO_EXPORT_EXPORT_H
#define UPTO_EXPORT_EXPORT_H

#include "analysis/events/event_decoder.h"
#include "base/sink.h"
#include "call_stream.h"
#include "folder_file.h"

struct export_options {
	bool by_ns;      /* what is weighed is guest time, not instructions */
	bool make_index; /* the trace is worth one (replay/index.h) */
	enum export_split { SPLIT_NONE, SPLIT_PROCESS, SPLIT_THREAD } split; /* sums are told apart by that */
	uint64_t smallest;          /* of sums: what weighs less is its caller's own */
	struct stream_options part; /* of formats that list calls */
	/* how records of trace events read; `formats` is NULL, and they are not in the part's facts, if there are none
	 */
	const struct event_formats *formats;
	struct event_decoder *events;
	const char *title;        /* of whoever shows it: the trace's name */
	struct stream_left *left; /* not NULL: gets what was left out of the list */
};

/* What its options may ask of a format. */
enum exporter_kind {
	EXPORTS_LOG,    /* calls as they were recorded: nothing */
	EXPORTS_ROWS,   /* a line for each call: chosen threads and functions */
	EXPORTS_STREAM, /* calls in the order of time: these, a part of the time, and how short calls may be */
	EXPORTS_SUMS,   /* sums: what is weighed */
};

struct exporter {
	const char *name, *help;
	enum exporter_kind kind;
	bool split;          /* its sums can be told apart (enum export_split) */
	unsigned call_bytes; /* STREAM: so much does a call take, about (max_size.h) */
	/* The session's thunks are folded. One of these is there. */
	int (*put)(const struct session *session, const struct export_options *options, const struct sink *sink,
		   struct error *err);
	/* It is a folder with several files. */
	int (*put_folder)(const struct session *session, const struct export_options *options, struct folder *folder,
			  struct error *err);
};

/* The formats, from 0 on; NULL: there is none of that number. */
const struct exporter *exporter_at(size_t i);

/* NULL: there is none of that name. */
const struct exporter *exporter_find(const char *name);

/* export.c's table has these. */
extern const struct exporter export_callgrind, export_chrome, export_csv, export_ctf, export_firefox, export_flamegraph,
	export_folded, export_ftrace, export_gprof, export_kfi, export_perfetto, export_pprof, export_speedscope,
	export_trace_dat, export_uftrace;

#endif
