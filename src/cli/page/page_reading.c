/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "page_reading.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "cli/args/page_arg.h"
#include "cli/args/recorded_facts.h"
#include "cli/args/trace_has.h"
#include "cli/print/ending_note.h"
#include "replay/index.h"

struct page_reading {
	struct trace_arg trace;
	struct page_answers *answers;
	struct recorded_facts beside;
	struct report report;
};

struct page_reading *page_reading_open(const struct args *args, unsigned version, struct error *err)
{
	struct page_reading *r = xcalloc(1, sizeof *r);

	if ((version ? page_arg_open_again(args, &r->trace, err) : page_arg_open(args, &r->trace, err)) < 0) {
		free(r);
		return NULL;
	}
	r->answers = page_answers_new(&r->trace.session, trace_end_ns(&r->trace), version);
	if (recorded_facts_read(args, &r->trace, false, &r->beside, err) < 0) {
		page_reading_free(r);
		return NULL;
	}
	r->report.records = r->beside.events ? &r->beside.facts : NULL;
	r->report.records_of = &r->beside.of;
	r->trace.reader->progress = page_answers_progress;
	r->trace.reader->progress_context = r->answers;
	return r;
}

void page_reading_free(struct page_reading *r)
{
	page_answers_free(r->answers);
	report_deinit(&r->report);
	recorded_facts_deinit(&r->beside);
	trace_arg_close(&r->trace);
	free(r);
}

struct page_answers *page_reading_answers(struct page_reading *r)
{
	return r->answers;
}

bool page_reading_is_whole(const struct page_reading *r)
{
	return r->trace.reader->ended;
}

uint64_t page_reading_size(const struct page_reading *r)
{
	return r->trace.reader->size;
}

static int give(struct page_reading *r, struct error *err)
{
	struct buf ended = { 0 };
	int result;

	ending_note(&r->trace, &r->report.history.facts, &ended);
	buf_put_u8(&ended, 0);
	r->report.ended = (char *)ended.data;
	result = page_answers_give(r->answers, &r->report, err);
	r->report.ended = "";
	buf_free(&ended);
	return result;
}

int page_reading_read(struct page_reading *r, page_is_over *is_over, void *context, struct error *err)
{
	struct session *session = &r->trace.session;
	int result;

	trace_arg_index(&r->trace);
	session->is_given_up = is_over;
	session->given_up_context = context;
	result = report_analyse(session, is_worth_index(&r->trace), &r->report, err);
	if (result == 0)
		result = give(r, err);
	report_forget_sums(&r->report);
	give_back_memory(); /* most of what is forgotten was taken by threads that have ended */
	if (result < 0)
		page_answers_fail(r->answers, err->text);
	return result;
}

void page_reading_sums(struct page_reading *r, page_is_over *is_over, void *context)
{
	struct session session = r->trace.session;
	struct path_sums *sums;
	struct error ignored;

	session.is_given_up = is_over;
	session.given_up_context = context;
	session.index = index_open(session.reader, session.names);
	if (!session.index && is_worth_index_now(&r->trace) && index_make(&session, NULL, &ignored) == 0)
		session.index = index_open(session.reader, session.names);
	if (session.index && flame_sums_make(&session, &sums, &ignored) == 0)
		page_answers_give_sums(r->answers, sums);
	index_free(session.index);
}
