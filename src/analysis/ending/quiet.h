/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Since when nothing but the kernel's own threads ran: a guest that waits for something, or hangs. */
#ifndef UPTO_ANALYSIS_QUIET_H
#define UPTO_ANALYSIS_QUIET_H

#include "replay/session.h"

/*
 * The time from which on no process ran, up to end_ns: the process 1 counts as one before its first program, too.
 * UINT64_MAX: one ran in the last second, or nothing tells, since there are no threads or the trace is a part of
 * another one. Looks at the trace's end, and as far back as it must.
 */
int quiet_since(const struct session *s, uint64_t end_ns, uint64_t *ret_ns, struct error *err);

#endif
