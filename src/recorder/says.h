/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the recorder has to say to the person who records, when the guest has ended. */
#ifndef UPTO_RECORDER_SAYS_H
#define UPTO_RECORDER_SAYS_H

/*
 * One more line, without its end. The same line again is not told twice; of those that there is no room for, the
 * number is told. From any thread.
 */
void recorder_says(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
