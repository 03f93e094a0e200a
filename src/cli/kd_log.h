/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where kd has its calls from: logs of KFI and KFT. "-" is standard input. kd_log.c's open_trace() is where traces would be read. */
#ifndef UPTO_CLI_KD_LOG_H
#define UPTO_CLI_KD_LOG_H

#include "kfi/log.h"

/* Read a whole log. The caller deinitialises *ret also after an error. */
int kd_log_open(const char *path, struct kfi_log *ret, struct error *err);

struct kd_log_reader {
	/* Each call, as soon as its line is read. Calls are not in the log then, only their names, and the header. */
	void (*call)(void *data, const struct kfi_call *call);
	void *data;
};

/*
 * Read a log as it comes. Its rows must be in the order of time, and the functions of callers that are addresses are not
 * found. The caller deinitialises *ret also after an error.
 */
int kd_log_stream(const char *path, const struct kd_log_reader *reader, struct kfi_log *ret, struct error *err);

#endif
