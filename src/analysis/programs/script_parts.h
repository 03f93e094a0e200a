/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replays a trace for a program in several parts at the same time. What fires in them is heard by one machine, in the
 * order of time: the earliest part that is under way fires at once, later ones note the moments until it is their turn.
 */
#ifndef UPTO_ANALYSIS_SCRIPT_PARTS_H
#define UPTO_ANALYSIS_SCRIPT_PARTS_H

#include "replay/parts.h"
#include "script_runner.h"

/* Is all that the program's handlers may ask of a moment still known when it is noted? */
bool script_parts_may(struct script_runner *r);

int script_parts_replay(struct script_runner *r, struct error *err);

#endif
