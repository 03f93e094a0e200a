/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes what remains of a trace once spans and calls were chosen, as a trace: that of `upto thin`, of filters while
 * recording, and of the same options while reading.
 *
 * Outside the spans nothing remains; a gap tells of it. A limit makes the spans shorter: what it cuts off is outside.
 * Within them, a call that is not chosen loses its events, from its entry and its exit; what it called may remain. A
 * frame from which another one is entered or left by one event remains with that one, so that returns match. Jumps that
 * neither enter nor leave a call are left out: where control is within a call is known to the call only.
 *
 * What is lost so is kept in sums (trace/left_sums.h): of each function, how often it was called and how long it ran,
 * and of each pair of caller and function. With them top gives the same figures as before.
 */
#ifndef UPTO_ANALYSIS_THIN_H
#define UPTO_ANALYSIS_THIN_H

#include "replay/session.h"
#include "thin_options.h"
#include "trace/builder.h"

struct intervals;

/* Words behind "did not happen", if the function whose exit was waited for `jumps` instead; else nothing. */
static inline const char *thin_why_not(bool jumps)
{
	return jumps ? ": it does not return, but jumps elsewhere ('upto calls' shows where to); wait for the entry there"
		     : "";
}

/* When the spans begin and end. Fails if none does. The caller frees ret->list, also after an error. */
int thin_find_spans(const struct session *session, const struct thin_options *options, struct intervals *ret,
		    struct error *err);

/*
 * The sink gets all chunks, END included. The session's thunks must not be folded. Fails if no span begins: *ret is
 * then set as far as it was counted.
 */
int thin(const struct session *session, const struct thin_options *options, const struct builder_sink *sink,
	 struct thin_counts *ret, struct error *err);

#endif
