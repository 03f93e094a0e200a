/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMU's own record/replay (its docs/system/replay.rst): what comes into a guest from outside goes to a log, and comes
 * from there when the guest is run again. It takes a command line of its own: a replay driver over each disk's image, a
 * filter at each network, one vCPU, a counter of instructions.
 */
#ifndef UPTO_CLI_RECORD_QEMU_REPLAY_H
#define UPTO_CLI_RECORD_QEMU_REPLAY_H

#include "base/error.h"
#include "shell_words.h"

/*
 * Make a command line that writes the log, or, `replays`, reads it, from any other, or from one that does so already.
 * Disks stay as they are: what the guest writes is forgotten. An error: it has what QEMU cannot replay. The caller
 * deinitialises *ret in either case.
 */
int qemu_replay_words(char *const *argv, const char *log, bool replays, struct shell_words *ret, struct error *err);

#endif
