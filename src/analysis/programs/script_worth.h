/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which parts of a trace, from one entry of its index to the next, are worth to be replayed for a program. */
#ifndef UPTO_ANALYSIS_SCRIPT_WORTH_H
#define UPTO_ANALYSIS_SCRIPT_WORTH_H

#include "script_runner.h"

/*
 * Do the program's probes fire where functions are entered or left, and by what is beside the events, but by nothing
 * else? Then parts of the trace in which nothing of that is can be gone past.
 */
bool script_fires_by_calls(const struct script_runner *r);

/* By function: does something fire where it is entered, or left? The caller frees it. */
bool *script_asked_functions(const struct script_runner *r);

/* When the next entry of the index is, in ns. */
uint64_t script_end_of_entry(const struct script_runner *r, size_t entry);

/* May something fire, or a call begin whose return does, between this entry of the index and the next? */
bool script_is_worth(struct script_runner *r, size_t entry);

/* Are most of the index's entries not worth to be replayed? False: there is no index. */
bool script_is_seldom(struct script_runner *r);

#endif
