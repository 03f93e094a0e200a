/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds a chunk to a trace that has ended: it goes before its END. */
#ifndef UPTO_TRACE_APPEND_H
#define UPTO_TRACE_APPEND_H

#include "format.h"
#include "reader.h"

/* The trace must have its END. Errors name the file; the trace is then as it was. */
int trace_append(const struct reader *r, enum chunk_type type, const struct buf *payload, struct error *err);

#endif
