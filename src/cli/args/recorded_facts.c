/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recorded_facts.h"

#include "analysis/events/event_times.h"

/*
 * What is no record of an event with a known format is not shown, nor what a program read, so that whoever shows them
 * need not ask.
 */
static void forget_unknown(struct recorded_facts *f)
{
	struct event_record r;
	size_t n = 0;

	for (size_t i = 0; i < f->facts.count; i++)
		if (f->facts.list[i].kind != FACT_EVENT || (event_record_of(&f->formats, &f->facts.list[i], &r) &&
							    !event_is_of_program(&f->formats.list[r.event])))
			f->facts.list[n++] = f->facts.list[i];
	f->facts.count = n;
}

int recorded_facts_read(const struct args *args, struct trace_arg *t, bool log, struct recorded_facts *ret,
			struct error *err)
{
	*ret = (struct recorded_facts){ .log = log };
	if (!arg(args, "no-events") && event_formats_read(&t->reader->meta, &ret->formats, err) < 0)
		return error_prefix(err, "%s", t->reader->path);
	ret->events = ret->formats.count > 0;
	if (!ret->log && !ret->events)
		return 0;
	if (facts_read(t->reader, &ret->facts, err) < 0)
		return -1;
	if (!ret->events)
		return 0;
	forget_unknown(ret);
	ret->of = (struct event_sources){
		.formats = &ret->formats,
		.threads = &t->threads,
		.decoder = event_decoder_new(&ret->formats, &t->names),
	};
	return event_times_settle(t->reader, &ret->facts, err);
}

void recorded_facts_deinit(struct recorded_facts *f)
{
	if (f->of.decoder)
		event_decoder_free(f->of.decoder);
	event_formats_deinit(&f->formats);
	facts_deinit(&f->facts);
}
