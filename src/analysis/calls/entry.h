/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds when one of some functions was entered first, and by whom. */
#ifndef UPTO_ANALYSIS_ENTRY_H
#define UPTO_ANALYSIS_ENTRY_H

#include "replay/index.h"

struct entry {
	uint64_t ns;
	uint32_t stack;     /* its number: of a thread, or behind those of a vCPU before its first switch */
	uint32_t function;
};

/*
 * Functions are marked by number (names.h). With the session's index only the part of the trace is replayed that has
 * the entry. Returns 1 if one was found, 0 if none of them was entered in that time.
 */
int entry_analyse(const struct session *session, const bool *functions, const struct span *within, struct entry *ret,
		  struct error *err);

#endif
