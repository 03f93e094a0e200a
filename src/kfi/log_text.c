/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "log_text.h"

#include <inttypes.h>
#include <stdio.h>

static void put_filters(const struct kfi_header *h, struct buf *out)
{
	static const char *const texts[KFI_FILTERS] = {
		[KFI_MIN_TIME] = "%" PRIu64 " usecs minimum execution time",
		[KFI_MAX_TIME] = "%" PRIu64 " usecs maximum execution time",
		[KFI_LIST] = "%" PRIu64 "-entry function list",
		[KFI_NO_INTERRUPTS] = "no functions in interrupt context",
		[KFI_ONLY_INTERRUPTS] = "no functions NOT in interrupt context",
	};

	buf_printf(out, "Filters:\n");
	for (int i = 0; i < KFI_FILTERS; i++)
		if (h->filters[i].has) {
			char line[80];

			snprintf(line, sizeof line, texts[i], h->filters[i].value);
			buf_printf(out, "\t%s\n", line);
		}
}

static void put_counters(const struct kfi_header *h, struct buf *out)
{
	static const char *const texts[KFI_COUNTERS] = {
		[KFI_TIME_FILTERED] = "Execution time filter count",
		[KFI_NO_INTERRUPT_FILTERED] = "No Interrupt functions filter count",
		[KFI_ONLY_INTERRUPT_FILTERED] = "Only Interrupt functions filter count",
		[KFI_LIST_FILTERED] = "Function List filter count",
		[KFI_ALL_FILTERED] = "Total entries filtered",
		[KFI_NOT_FOUND] = "Entries not found",
	};

	buf_printf(out, "\nFilter Counters:\n\n");
	for (int i = 0; i < KFI_COUNTERS; i++)
		if (texts[i] && h->counters[i].has)
			buf_printf(out, "%s = %" PRIu64 "\n", texts[i], h->counters[i].value);
}

static void put_moment(const struct kfi_log *log, const char *what, const struct kfi_moment *m, struct buf *out)
{
	if (m->by == KFI_BY_NOTHING)
		return;
	buf_printf(out, "Logging %s at %" PRIu64 " usec by ", what, m->at_us);
	if (m->by == KFI_BY_ENTRY || m->by == KFI_BY_EXIT)
		buf_printf(out, "%s function %s\n", m->by == KFI_BY_ENTRY ? "entry to" : "exit from",
			   kfi_log_name(log, m->function));
	else if (m->by == KFI_BY_SYSTEM_CALL || m->by == KFI_BY_LOG_FULL)
		buf_printf(out, "%s\n", m->by == KFI_BY_LOG_FULL ? "log full" : "system call");
	else
		buf_printf(out, "time at %" PRIu64 " usec from %s\n", m->usecs,
			   m->by == KFI_BY_TIME_FROM_BOOT ? "boot" : "start trigger");
}

void kfi_log_put_header(const struct kfi_log *log, struct buf *out)
{
	buf_printf(out, "\nKernel Instrumentation Run ID %" PRIu64 "\n\n", log->header.run_id.value);
	put_filters(&log->header, out);
	put_counters(&log->header, out);
	buf_printf(out, "\nNumber of entries after filters = %zu\n\n", log->n);
	put_moment(log, "started", &log->header.start, out);
	put_moment(log, "stopped", &log->header.stop, out);
	if (log->header.start.by || log->header.stop.by)
		buf_printf(out, "\n");
	buf_printf(out, " Entry      Delta       PID      Function                            Caller\n"
			"--------   --------   --------   ----------------------------------- --------\n");
}

void kfi_log_put_call(const struct kfi_log *log, const struct kfi_call *call, struct buf *out)
{
	uint64_t entry_us = call->entry_ns / 1000, end_us = (call->entry_ns + (uint64_t)call->duration_ns) / 1000;
	int64_t delta_us = call->no_exit ? -1 : (int64_t)(end_us - entry_us);
	char pid[16];

	snprintf(pid, sizeof pid, call->interrupt ? "%" PRId32 "i" : "%" PRId32, call->pid);
	buf_printf(out, "%8" PRIu64 "   %8" PRId64 "   %8s   %-35s %s", entry_us, delta_us, pid,
		   kfi_log_name(log, call->function), kfi_log_name(log, call->caller));
	if (call->offset)
		buf_printf(out, "+0x%" PRIx64, call->offset);
	buf_printf(out, "\n");
}
