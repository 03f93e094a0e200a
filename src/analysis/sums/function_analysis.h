/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each function did (functions.h): event by event or, of a session with a fold, on the stacks that are shown. */
#ifndef UPTO_ANALYSIS_FUNCTION_ANALYSIS_H
#define UPTO_ANALYSIS_FUNCTION_ANALYSIS_H

#include "functions.h"

/* Of all that ran, or of the threads that the session is of (session.h). */
int functions_analyse(const struct session *session, const struct span *span, struct functions *ret, struct error *err);

#endif
