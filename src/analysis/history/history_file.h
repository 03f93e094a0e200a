/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A history beside its trace: TRACE.history, so that it is made once. It may be removed at any time, and is made anew
 * when it belongs to another trace, is damaged, or is of another version.
 */
#ifndef UPTO_ANALYSIS_HISTORY_FILE_H
#define UPTO_ANALYSIS_HISTORY_FILE_H

#include "history.h"

enum { HISTORY_VERSION = 24 }; /* of the file, and of what stands in it */

/*
 * Read the history that is kept beside the trace, or make it and, if `keep`, keep it there if that can be done. Call
 * history_deinit() also after an error. The reader, names and threads must outlive *ret. The session's fold gets what
 * folded calls cost; where a history is kept, only if all of the trace is asked for.
 */
int history_open(const struct session *session, bool keep, struct history *ret,
		 struct error *err);

/*
 * What the file holds behind its header, and a history out of that; -1: it is damaged. For history_open(), and for
 * fuzzing.
 */
void history_encode(const struct history *h, struct buf *out);
int history_decode(struct cursor *in, const struct session *session, struct history *ret,
		   struct error *err);

#endif
