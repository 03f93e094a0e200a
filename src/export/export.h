/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes traces in the formats of other tools. To add a format: a file that puts it into a sink, and a line in
 * export.c.
 */
#ifndef UPTO_EXPORT_EXPORT_H
#define UPTO_EXPORT_EXPORT_H

#include "base/sink.h"
#include "replay/session.h"

struct export_options {
	bool by_ns;      /* what is weighed is guest time, not instructions */
	bool make_index; /* the trace is worth one (replay/index.h) */
};

struct exporter {
	const char *name, *help;
	bool heeds_threads; /* chosen threads may be marked in the session: the trace has the others, too */
	bool has_clock;     /* it weighs something */
	/* The session's thunks are folded. */
	int (*put)(const struct session *session, const struct export_options *options, const struct sink *sink,
		   struct error *err);
};

/* The formats, from 0 on; NULL: there is none of that number. */
const struct exporter *exporter_at(size_t i);

/* NULL: there is none of that name. */
const struct exporter *exporter_find(const char *name);

/* export.c's table has these. */
extern const struct exporter export_kfi, export_folded, export_csv;

#endif
