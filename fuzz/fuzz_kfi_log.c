/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A log of KFI or KFT, and all that is computed of it. Sums must be whole, each call is told once, and its local time
 * fits into its duration.
 */
#include "fuzz.h"

#include "analysis/kd/kd_sums.h"
#include "analysis/kd/kd_trace.h"

struct told {
	const struct kfi_log *log;
	uint64_t calls, starts, ends;
	uint64_t last_ns;
	bool as_kd;
};

static void take_row(void *data, const struct kd_row *row)
{
	struct told *t = data;

	t->starts += row->kind == KD_TREE_STARTS;
	t->ends += row->kind == KD_TREE_ENDS;
	if (row->kind != KD_CALL)
		return;
	must(row->call.function < t->log->names.count && row->call.caller < t->log->names.count);
	must(row->call.entry_ns >= t->last_ns && row->depth <= t->calls);
	must(t->as_kd || (row->local_ns >= 0 && row->local_ns <= row->call.duration_ns));
	t->last_ns = row->call.entry_ns;
	t->calls++;
}

static void trace(const struct kfi_log *log, bool as_kd, bool no_local)
{
	struct told told = { .log = log, .as_kd = as_kd };
	struct kd_trace_options options = { .as_kd = as_kd, .no_local = no_local, .row = take_row, .data = &told };
	struct kd_trace *t = kd_trace_new(log, &options);

	for (size_t i = 0; i < log->n; i++)
		kd_trace_add(t, &log->calls[i]);
	kd_trace_finish(t);
	kd_trace_free(t);
	must(told.calls == log->n && told.starts == told.ends);
}

static void sums(const struct kfi_log *log, bool as_kd)
{
	struct kd_sums s;
	uint64_t calls = 0;

	kd_sums_analyse(log, as_kd, &s);
	for (size_t i = 0; i < s.count; i++) {
		const struct kd_sum *f = &s.list[i];

		calls += f->count;
		must(f->count && f->timed <= f->count && f->min_ns <= f->max_ns && f->max_ns <= f->total_ns);
		must(as_kd || (f->local_ns >= 0 && (uint64_t)f->local_ns <= f->total_ns));
		must(as_kd || f->sub_ns <= f->total_ns - (uint64_t)f->local_ns);
		for (size_t k = 0; k < f->n_subs; k++)
			must(f->subs[k].count && f->subs[k].function < log->names.count);
	}
	must(calls == log->n);
	kd_sums_deinit(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct guarded g = guarded_copy(data, size, 1);
	struct kfi_log log;
	struct error err;

	if (kfi_log_parse("log", (char *)g.data, size, &log, &err) == 0) {
		sums(&log, false);
		sums(&log, true);
		trace(&log, false, false);
		trace(&log, true, false);
		trace(&log, false, true);
	} else {
		must(!strncmp(err.text, "log:", 4));
	}
	kfi_log_deinit(&log);
	guarded_free(&g);
	return 0;
}
