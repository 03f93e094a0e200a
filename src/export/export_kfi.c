/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A log of KFI: its calls by entry, which are known only once they are over. All are in memory until then. */
#include "analysis/kd_recorded.h"
#include "export.h"
#include "kfi/log_text.h"

static int put_log(const struct kfi_log *log, const struct sink *sink, struct error *err)
{
	struct buf text = { 0 };
	int r = 0;

	kfi_log_put_header(log, &text);
	for (size_t i = 0; r == 0 && i < log->n; i++) {
		kfi_log_put_call(log, &log->calls[i], &text);
		r = sink_pass(sink, &text, err);
	}
	return sink_end(sink, &text, r, err);
}

static int put(const struct session *session, const struct export_options *options, const struct sink *sink, struct error *err)
{
	struct kfi_log log;
	int r = kd_recorded_calls(session, &log, err);

	(void)options;
	if (r == 0)
		r = put_log(&log, sink, err);
	kfi_log_deinit(&log);
	return r;
}

const struct exporter export_kfi = { .name = "kfi", .help = "a log of KFI, its addresses resolved", .put = put };
