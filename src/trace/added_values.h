/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values for a trace that has ended, from one of the same run, made again: records of probes and trace events,
 * arguments and results (facts EVENT, ARGS and RETURNS), with the lines of META that say what they are
 * (docs/format.md). They get the numbers behind those that the trace has.
 */
#ifndef UPTO_TRACE_ADDED_VALUES_H
#define UPTO_TRACE_ADDED_VALUES_H

#include "reader.h"

struct added_values {
	struct buf events;   /* payloads of chunks: what the values are, … */
	struct buf *facts;   /* … they, … */
	struct buf question; /* … and what was asked */
	size_t n_facts, facts_cap;
	uint64_t records, calls; /* how many of EVENT, and of ARGS */
};

/*
 * Read what `from` has, for `to`. An event whose name that one has already gets another: "vfs_read_1". `asked`: the
 * words that asked for it are kept. Errors name the file. Call added_values_deinit() in either case.
 */
int added_values_read(const struct reader *from, const struct reader *to, const char *asked, struct added_values *ret,
		      struct error *err);
void added_values_deinit(struct added_values *a);

/* Put them at the trace's end; it then has to be opened anew. */
int added_values_append(const struct added_values *a, const struct reader *to, struct error *err);

/* Were these words asked before? Then *ret_names are the events ("group:event", with commas); the caller frees them. */
bool added_values_known(const struct meta *meta, const char *asked, char **ret_names);

#endif
