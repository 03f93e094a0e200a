/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When were some functions under way? */
#ifndef UPTO_ANALYSIS_TOUCHED_H
#define UPTO_ANALYSIS_TOUCHED_H

#include "replay/session.h"

struct touched {
	uint64_t first_ns, last_ns; /* from when control first is in one of them until it has left the last; none: 0 */
};

/* `functions`: marks by number. Errors name the file. */
int touched_analyse(const struct session *session, const bool *functions, struct touched *ret, struct error *err);

#endif
