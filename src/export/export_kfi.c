/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A log of KFI: its calls by entry, with what each took. */
#include "analysis/kd/kd_recorded.h"
#include "export.h"
#include "kfi/log_text.h"

struct log_export {
	const struct sink *sink;
	struct buf text;
};

static int put_header(void *data, const struct kfi_log *log, struct error *err)
{
	struct log_export *e = data;

	(void)err;
	kfi_log_put_header(log, &e->text);
	return 0;
}

static int put_call(void *data, const struct kfi_log *log, const struct kfi_call *call, struct error *err)
{
	struct log_export *e = data;

	kfi_log_put_call(log, call, &e->text);
	return sink_pass(e->sink, &e->text, err);
}

static int put(const struct session *session, const struct export_options *options, const struct sink *sink,
	       struct error *err)
{
	struct log_export e = { .sink = sink };
	int r = kd_recorded_tell(session, &(struct recorded_listener){ put_header, put_call, &e }, err);

	(void)options;
	return sink_end(sink, &e.text, r, err);
}

const struct exporter export_kfi = {
	.name = "kfi", .help = "a log of KFI, its addresses resolved", .kind = EXPORTS_LOG, .put = put
};
