/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace in the forms of a log of KFI: its calls of functions of the kernel and its modules, as kfi/log.h has them, or
 * their sums. Here all is known: what lies in what, what a call ran itself, and how it ended. Functions of the same
 * name stay apart: the second one of a name is "name#2". Calls that are held (held_calls.h) are not listed.
 */
#ifndef UPTO_ANALYSIS_KD_RECORDED_H
#define UPTO_ANALYSIS_KD_RECORDED_H

#include "kd_sums.h"
#include "replay/session.h"

/*
 * All calls, by entry. Fails if there are more than KFI_ROWS_MAX. A call that did not return, or was not over at the
 * trace's end, has no exit. The caller deinitialises *ret also after an error.
 */
int kd_recorded_calls(const struct session *session, struct kfi_log *ret, struct error *err);

struct recorded_listener {
	/*
	 * Before the first call. Of *log the header is set, and how many calls will come. Returns 0, or -1 with *err
	 * set: then nothing more comes.
	 */
	int (*begin)(void *data, const struct kfi_log *log, struct error *err);
	/* The next call, by entry. *log has the names of it. Returns as begin(). */
	int (*call)(void *data, const struct kfi_log *log, const struct kfi_call *call, struct error *err);
	void *data;
};

/*
 * The same, one after the other: however many there are, they are not kept. Goes through the trace twice: first for
 * when each call ends.
 */
int kd_recorded_tell(const struct session *session, const struct recorded_listener *listener, struct error *err);

/*
 * Their sums. Local time is what ran in the function, as top has it: also in calls that did not end, and with the sums
 * of what was left out of the trace, so that it is the same with and without a filter. As kd has it, it is what
 * sub-time leaves, with that of other threads. Of *ret_log only the names and the header are set. The caller
 * deinitialises both, also after an error.
 */
int kd_recorded_sums(const struct session *session, bool as_kd, struct kfi_log *ret_log, struct kd_sums *ret,
		     struct error *err);

#endif
