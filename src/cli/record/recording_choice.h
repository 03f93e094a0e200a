/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Triggers and filters while recording. The recorder waits where nothing is asked for (recorder/spans/waiting.h);
 * beyond that all is recorded, and what was not chosen is taken out once the guest has ended: so the result is what
 * thinning gives, to the event.
 */
#ifndef UPTO_CLI_RECORD_RECORDING_CHOICE_H
#define UPTO_CLI_RECORD_RECORDING_CHOICE_H

#include "cli/args/select_arg.h"
#include "kfi/config.h"

#define RECORDING_CHOICE                                                                                          \
	{ 0, "kfi", "FILE",                                                                                       \
	  "triggers and filters from a configuration of KFI or KFT; of several runs, the Nth goes to TRACE.N" },  \
		SELECT_SPANS, SELECT_RING, SELECT_MIN_DURATION, SELECT_NO_INTERRUPTS, SELECT_CALLS, SELECT_DEPTH, \
		SELECT_PID, SELECT_COMM, SELECT_CODE

/* The configuration of --kfi. The caller deinitialises *ret also after an error. */
int recording_config_read(const char *path, struct kfi_config *ret, struct error *err);

/*
 * Before: is what was asked for right, as far as that can be told? Fails also with --kfi beside the other options, and
 * where a run's trace exists. Returns an exit status.
 */
int recording_choice_check(const struct args *args, const char *path, struct error *err);

/*
 * Append a line for each entry of --kfi's configuration that asks for nothing here, since a trace has no such limit, or
 * has it anyway.
 */
void recording_choice_notes(const struct args *args, struct buf *out);

/* For the recorder: the spans' conditions, as lines of its configuration. */
void recording_choice_put(const struct args *args, struct buf *lines);

struct recording_chosen {
	struct buf lines;  /* for each trace that was written one that says what it has */
	bool replaced;     /* one of them is in the recording's place; else the recording is as it was */
};

/* Is there anything to be taken out? */
bool recording_chooses(const struct args *args);

/*
 * After: take out of the trace what was not chosen. If that fails, all of it stays. `waited`: the recorder did when the
 * guest ended. The caller frees ret->lines.
 */
int recording_choice_apply(const struct args *args, const char *path, bool quiet, bool waited,
			   struct recording_chosen *ret, struct error *err);

#endif
