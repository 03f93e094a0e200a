/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Texts that a function was given, and that were not in memory when it was entered: a page of a program that nobody had
 * touched. The function itself has touched it, most often, so they are read again when it returns.
 */
#ifndef UPTO_RECORDER_UNREAD_TEXTS_H
#define UPTO_RECORDER_UNREAD_TEXTS_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/prototypes.h"

struct unread_texts {
	uint64_t task, slot, function; /* which call: slot is its return address's, function its number */
	uint64_t at[PROTOTYPE_TEXTS];  /* addresses; 0: it has none there, or it was read */
};

/* Where there is no room, the oldest is forgotten. From any vCPU's thread. */
void unread_texts_keep(const struct unread_texts *texts);

/* Those of the call, which is over. False: there are none. */
bool unread_texts_take(struct unread_texts *call);

#endif
