/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source lines of a trace's addresses, out of files with debug information. To
 * which code a file belongs is seen from its functions: nearly all of the
 * kernel's, of a module's or of a mapped file's have to be in it, and to lie as
 * they do there.
 */
#ifndef UPTO_REPLAY_SOURCE_LINES_H
#define UPTO_REPLAY_SOURCE_LINES_H

#include "names.h"
#include "symbols/source.h"

struct source_match;

struct source_lines {
	struct source **sources;
	size_t n_sources;
	struct source_match *matches;
	size_t count, cap;
};

/* Open a file. Fails also if the file belongs to nothing in the trace. `names` must outlive `l`. */
int source_lines_add(struct source_lines *l, const struct names *names, const char *path, struct error *err);
void source_lines_deinit(struct source_lines *l);

/* As source_at(), for an address as names_address() takes it. */
size_t source_lines_at(const struct source_lines *l, const struct names *names, uint64_t addr, uint64_t ns,
		       uint32_t version, struct source_line ret[SOURCE_LINES_MAX]);

#endif
