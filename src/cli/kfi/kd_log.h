/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where kd has its calls from: a log of KFI or KFT, or a trace: the first operand. "-" is a log on standard input. */
#ifndef UPTO_CLI_KFI_KD_LOG_H
#define UPTO_CLI_KFI_KD_LOG_H

#include "analysis/kd/kd_sums.h"
#include "cli/command.h"

/* Read a whole log. The caller deinitialises *ret also after an error. */
int kd_log_open(const struct args *args, struct kfi_log *ret, struct error *err);

/* The calls of a trace that are chosen, in the form of a log's. Likewise. */
int kd_log_calls(const struct args *args, struct kfi_log *ret, struct error *err);

bool kd_log_is_trace(const char *path);

/*
 * Read it, and sum it up: of a trace, without having all calls in memory. Of *ret_log only names and header are sure to
 * be set.
 */
int kd_log_sums(const struct args *args, bool as_kd, struct kfi_log *ret_log, struct kd_sums *ret, struct error *err);

struct kd_log_reader {
	/* Each call, as soon as its line is read. Calls are not in the log then, only their names, and the header. */
	void (*call)(void *data, const struct kfi_call *call);
	void *data;
};

/*
 * Read a log as it comes. Its rows must be in the order of time, and the functions of callers that are addresses are
 * not found. The caller deinitialises *ret also after an error.
 */
int kd_log_stream(const struct args *args, const struct kd_log_reader *reader, struct kfi_log *ret, struct error *err);

#endif
