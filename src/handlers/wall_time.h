/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times of the guest as its users' clocks show them. */
#ifndef UPTO_HANDLERS_WALL_TIME_H
#define UPTO_HANDLERS_WALL_TIME_H

#include <stddef.h>
#include <stdint.h>

/*
 * The local time of so many ns since 1970, by strftime()'s format, and %f for microseconds. Returns how long the text
 * is; 0: there is no room.
 */
size_t wall_time(const char *format, uint64_t ns, char *text, size_t size);

#endif
