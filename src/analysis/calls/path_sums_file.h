/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums of paths beside their trace: TRACE.sums (replay/kept_file.h). */
#ifndef UPTO_ANALYSIS_PATH_SUMS_FILE_H
#define UPTO_ANALYSIS_PATH_SUMS_FILE_H

#include "base/cursor.h"
#include "path_sums.h"

enum { PATH_SUMS_VERSION = 1 };

/*
 * Read what is kept beside the trace, or make it (path_sums_make()) and, if `keep`, keep it there if that can be done.
 */
int path_sums_open(const struct session *session, const struct call_tree_apart *apart, bool keep,
		   struct path_sums **ret, struct error *err);

/* What the file holds, and sums out of that; -1: it is damaged. For path_sums_open(), and for fuzzing. */
void path_sums_encode(const struct path_sums *p, struct buf *out);
int path_sums_decode(struct cursor *in, size_t functions, uint32_t whose, struct path_sums **ret, struct error *err);

#endif
