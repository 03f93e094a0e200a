/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file beside a trace that keeps what was made of it, so that it is made once. It may be removed at any time, and
 * counts for nothing where it is of another trace, of other names or folded calls, of another version, or damaged.
 */
#ifndef UPTO_REPLAY_KEPT_FILE_H
#define UPTO_REPLAY_KEPT_FILE_H

#include "base/buf.h"
#include "session.h"

struct kept_file {
	const char *suffix; /* of the trace's name: ".history" */
	char magic[8];
	uint32_t version; /* of what is in it */
};

/* What the file holds. False: there is none that counts. */
bool kept_file_load(const struct kept_file *k, const struct session *session, struct buf *ret);

/* All of it or nothing. Where it cannot be kept, it is made again next time. */
void kept_file_store(const struct kept_file *k, const struct session *session, const struct buf *data);

#endif
