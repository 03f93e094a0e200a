/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flight recorder that waits again behind each span (--every): when chunks are written, and when they are held
 * (hold.h). All is recorded, so the drain thread can tell. Whoever sees the start condition hold tells it (waiting.h),
 * there or a little before, and what is held goes to the file. Then the stop condition is counted anew, whether or not
 * that was in a span: so all spans are in the file, whichever of the times count.
 */
#ifndef UPTO_RECORDER_FLIGHT_H
#define UPTO_RECORDER_FLIGHT_H

#include "function_events.h"

/* Before anything is recorded. All stay the caller's. */
void flight_await(const struct condition *start, const struct functions *starts, const struct condition *stop,
		  const struct functions *stops);
bool flight_awaits(void);

/*
 * In the drain thread: in the order of that vCPU's events, it does at that time; or the stop condition, of a kind that
 * is no event's.
 */
void flight_start(unsigned cpu, uint64_t ns);
void flight_stop(unsigned cpu, uint64_t ns);

/* Likewise: each event, with the vCPU's last clock before it. */
void flight_event(unsigned cpu, const struct event *e, uint64_t last_ns);

#endif
