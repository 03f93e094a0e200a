/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The machine begins anew, by a reset, by a snapshot or because its kernel started another one (kexec). What the
 * recorder knows of tasks, files, blocks, descriptor tables and the kernel is not true of the next boot.
 */
#ifndef UPTO_RECORDER_BOOT_H
#define UPTO_RECORDER_BOOT_H

#include "recorder.h"

enum boot_cause {
	BOOT_RESET,
	BOOT_KEXEC,    /* a kernel has brought the next one into memory: no firmware runs */
	BOOT_SNAPSHOT, /* the guest goes on where it was: its kernel runs already */
};

/*
 * A boot has begun at that time; later events are of it. Called in the thread of the vCPU that boots, while no other
 * executes.
 */
void boot_begin(uint64_t ns, enum boot_cause cause);

/* META's key for something of the boot that is under way; valid until the next call. Under `lock`. */
const char *boot_meta_key(const char *key);

/* Append META's line of the boot's layout. Under `lock`. */
void boot_put_layout(const struct layout *l, struct buf *lines);

/* Tell META what was learnt of the boot's kernel, and what could not be, as the boot or the recording ends. */
void boot_tell_learnt(void);

#endif
