/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What record says on standard error: before the guest runs, while it does, and when it has ended. */
#ifndef UPTO_CLI_RECORD_RECORDING_TELLS_H
#define UPTO_CLI_RECORD_RECORDING_TELLS_H

#include "file_symbols.h"
#include "kernel_files.h"
#include "recorder/stats.h"
#include "recording.h"
#include "recording_args.h"

/* What is to be known of what was asked for, while the firmware runs. */
void recording_tell_asked(const struct recording *rec, const struct kernel_files *kernel);

/* The line that a terminal shows meanwhile; so many events there were so long ago. */
void recording_tell_status(const struct recording *rec, const struct stats *st, uint64_t events_before, unsigned ms);

/* What went wrong. `killed_by`: the signal that ended QEMU; 0: none did. */
void recording_tell_faults(const struct recording *rec, const struct stats *st, int killed_by);

/* Is the trace without what came last? */
bool recording_is_cut_short(const struct stats *st);

/* What there is now, and what one may ask next. */
void recording_summarise(const struct recording *rec, const struct stats *st, const struct recording_chosen *chosen,
			 const struct file_symbols *files);

#endif
