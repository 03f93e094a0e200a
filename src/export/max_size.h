/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What must be left out of an export so that it is not larger than somebody wants: short or deep calls, small sums. */
#ifndef UPTO_EXPORT_MAX_SIZE_H
#define UPTO_EXPORT_MAX_SIZE_H

#include "export.h"

/*
 * Set `part.min_ns`, `part.max_depth` and `part.no_calls`, or `smallest`, of the options, if need be: the format is
 * written without being kept, until it fits. A folder's size is that of all its files.
 */
int max_size_fit(const struct exporter *e, const struct session *session, struct export_options *options,
		 uint64_t max_bytes, struct error *err);

#endif
