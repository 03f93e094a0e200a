/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Adds a chunk to a trace that has ended.
 *
 *   before            … END
 *   then              … END  new  END'     what follows END is no part of the trace yet
 *   at last           … META new  END'     END's header is another one: what it tells is the same
 *
 * Whoever is killed in between leaves the trace as it was, with something behind its END; the next append removes that.
 */
#ifndef UPTO_TRACE_APPEND_H
#define UPTO_TRACE_APPEND_H

#include "format.h"
#include "reader.h"

/*
 * The trace must have its END, and behind it at most what an append left. Errors name the file; the trace is then as it
 * was.
 */
int trace_append(const struct reader *r, enum chunk_type type, const struct buf *payload, struct error *err);

#endif
