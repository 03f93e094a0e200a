/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The options that choose calls (thin.h), asked of a history: it is made of all calls, since a wait, and who ended it,
 * cannot be told from a few; what is chosen are its rows. A wait is in all calls of its stack; what was done is in all
 * that it is a part of.
 */
#ifndef UPTO_ANALYSIS_HISTORY_CHOOSE_H
#define UPTO_ANALYSIS_HISTORY_CHOOSE_H

#include "analysis/thin/thin.h"
#include "history.h"

/*
 * Does the filter choose that absence? By how long it was; `functions` and `below`: one of these is on its stack;
 * `not`: none of these is; `threads`: whose it is. The rest of the filter means nothing here.
 */
bool history_chooses_wait(const struct history *h, const struct thin_filter *f, const struct away *a);

/*
 * Does it choose what was done? Likewise: `functions` are that of the span itself, `below` and `not` also those of what
 * it is a part of.
 */
bool history_chooses_span(const struct history *h, const struct thin_filter *f, const struct span_of *x);

#endif
