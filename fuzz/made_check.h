/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For targets that make traces of what others recorded: such a trace is one that `upto check` accepts. */
#ifndef UPTO_FUZZ_MADE_CHECK_H
#define UPTO_FUZZ_MADE_CHECK_H

#include <stdio.h>

#include "analysis/check/check.h"
#include "fuzz.h"
#include "trace/writer.h"

/* builder_sink.put, into a writer */
static inline void made_put(void *context, const struct chunk_header *header, struct buf *payload, int level)
{
	must(writer_put(context, header, payload, level ? level : 1) == 0);
}

/* `lost`: as many events are missing as it must say; `has_gaps`: that may be found, too. */
static inline void made_check(int fd, uint64_t lost, bool has_gaps)
{
	struct reader *reader;
	struct names names;
	struct check found;
	struct error err;
	char path[32];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	must(reader_open(path, &reader, &err) == 0);
	must(reader->ended && reader_lost(reader) == lost);
	must(names_init(&names, reader, &err) == 0);
	must(check_analyse(reader, &names, true, &found, &err) == 0);
	if (found.n_findings && !has_gaps)
		fprintf(stderr, "%s\n", found.findings[0].text);
	must(!found.n_findings || has_gaps);
	check_deinit(&found);
	names_deinit(&names);
	reader_free(reader);
}

#endif
