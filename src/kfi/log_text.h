/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A log as the text that KFI printed, once its addresses were resolved. */
#ifndef UPTO_KFI_LOG_TEXT_H
#define UPTO_KFI_LOG_TEXT_H

#include "base/buf.h"
#include "log.h"

/* Append everything up to the rows. */
void kfi_log_put_header(const struct kfi_log *log, struct buf *out);

/*
 * Append a row. Times are cut to microseconds such that what lies in another call still does: an end is cut, and not a
 * duration. What has no exit has -1, and what ran in an interrupt an i behind its PID.
 */
void kfi_log_put_call(const struct kfi_log *log, const struct kfi_call *call, struct buf *out);

#endif
