/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The call by which control has come to a function of the kernel, found when that is entered: while the recorder waits
 * (waiting.h) calls are not watched, but the span that begins with one has it as its first event.
 */
#ifndef UPTO_RECORDER_ENTRY_CALL_H
#define UPTO_RECORDER_ENTRY_CALL_H

#include "recorder/recorder.h"

struct entry_call {
	bool known;          /* else it was entered otherwise, or that cannot be told */
	struct site site;
	uint64_t slot, from; /* of the return address, and that itself */
};

/* Both at the function's first instruction, in a callback with registers. */
void entry_call_find(struct vcpu *v, struct entry_call *ret);

/*
 * Put the call into the ring, or if it is not known, that control arrived; not if the block that begins there tells
 * that itself.
 */
void entry_call_put(struct vcpu *v, uint64_t function, const struct entry_call *call, bool arrival_told);

#endif
