/* SPDX-License-Identifier: MIT */
/*
 * For programs that are compiled with -finstrument-functions and linked with -lupto: they write what functions they
 * call, and for how long, into PROGRAM.PID.upto (UPTO_OUT), which upto reads. Nothing of this needs to be called: a
 * program records from its start on, unless UPTO_ARM=0 is in its environment.
 *
 * On x86-64 also for those that are compiled with -pg (and -mfentry), and linked without: functions that were not
 * inlined. Their return addresses are replaced while they run, which backtrace(3), pthread_cancel(3) and debuggers see:
 * there the stack ends. C++ exceptions pass all the same: in programs with libupto.a, or with the unwinder within
 * (-static-libgcc), return addresses stay, and a call ends where the next one begins that is not in it.
 *
 * All of it may be called by any thread, and by signal handlers.
 */
#ifndef UPTO_H
#define UPTO_H

#ifdef __cplusplus
extern "C" {
#endif

/* From here on calls are recorded. Of calls that were under way before, only the ends are seen. */
void upto_start(void);

/* From here on they are not, until upto_start(). */
void upto_stop(void);

/* A mark at this moment, as a line of the log. At most 200 bytes of the text are kept. */
void upto_mark(const char *text);

#ifdef __cplusplus
}
#endif

#endif
