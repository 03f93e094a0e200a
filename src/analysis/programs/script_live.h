/* SPDX-License-Identifier: GPL-2.0-or-later */
/* May a program's answer come while the guest is being recorded? */
#ifndef UPTO_ANALYSIS_SCRIPT_LIVE_H
#define UPTO_ANALYSIS_SCRIPT_LIVE_H

#include "handlers/script.h"

/* Does it say anything, or end, before the guest does? */
bool script_speaks(const struct script *p);

/* What of it is known only when the guest has ended, for a message; NULL: nothing, it can follow a recording. */
const char *script_waits_for_end(const struct script *p);

#endif
