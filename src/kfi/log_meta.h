/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The header of a log of KFI in META, line by line: kfi.1, kfi.2 … (docs/format.md). A trace that was made of a log has
 * that log's; one that was made by choosing from another has what KFI would say of its triggers and filters.
 */
#ifndef UPTO_KFI_LOG_META_H
#define UPTO_KFI_LOG_META_H

#include "log.h"
#include "trace/meta.h"

/* Line number n, from 0 on; NULL: there are no more. */
const char *kfi_meta_line(const struct meta *m, size_t n);
void kfi_meta_put(struct buf *meta_lines, size_t n, const char *text);

/* Fill in the header from all lines. What is not understood is passed over. */
void kfi_meta_read(const struct meta *m, struct kfi_log *log);

#endif
