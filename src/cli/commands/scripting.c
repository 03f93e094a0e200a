/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scripting.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/events/event_times.h"
#include "analysis/history/history_file.h"
#include "analysis/programs/script_fields.h"
#include "base/alloc.h"
#include "cli/args/trace_has.h"
#include "cli/print/event_losses.h"
#include "handlers/script_map.h"

static volatile sig_atomic_t interrupts_left = 1;

/* Who asks once more does not wait for what there is. */
static void say_enough(int number)
{
	if (interrupts_left) {
		interrupts_left--;
		return;
	}
	signal(number, SIG_DFL);
	raise(number); /* it ends upto, once this handler has returned */
}

void scripting_hear_interrupts(int times)
{
	interrupts_left = times;
	signal(SIGINT, say_enough);
}

bool scripting_is_enough(void)
{
	return !interrupts_left;
}

static bool is_enough(void *context)
{
	(void)context;
	return scripting_is_enough();
}

/* Twice, since sizes of values are told by the records that the first time finds. */
int scripting_compile(struct scripting *s, const struct script_trace *t, struct error *err)
{
	struct script_formats known = { &t->formats, t->decoder, t->trace.reader->arch, NULL, NULL, NULL };
	struct field_types types = { script_field_find, &known, false, true };
	struct script_code first = { 0 };
	int r = script_compile(&s->script, &types, &first, err);

	if (r == 0)
		r = script_needs_find(&s->script, &first.types, &s->needs, err);
	if (r == 0)
		script_needs_choose(&s->needs, &t->formats);
	known.script = &s->script;
	known.types = &first.types;
	known.needs = &s->needs;
	types.no_sizes = false;
	if (r == 0) {
		script_forget(&s->script);
		r = script_compile(&s->script, &types, &s->code, err);
	}
	script_code_deinit(&first);
	return r;
}

int script_trace_begin(struct script_trace *t, struct error *err)
{
	if (event_formats_read(&t->trace.reader->meta, &t->formats, err) < 0)
		return error_prefix(err, "%s", t->trace.reader->path);
	names_fold_thunks(&t->trace.names);
	t->decoder = event_decoder_new(&t->formats, &t->trace.names);
	return 0;
}

/* Who has enough before it is made gets a program to which nothing happened. */
static int read_history(struct script_trace *t, struct error *err)
{
	struct session session = t->trace.session;

	session.is_given_up = is_enough;
	if (history_open(&session, is_worth_index(&t->trace), &t->history, err) == 0) {
		t->has_history = true;
		return 0;
	}
	history_deinit(&t->history);
	if (!scripting_is_enough())
		return -1;
	err->text[0] = 0;
	return 0;
}

int script_trace_read(struct script_trace *t, const struct scripting *s, struct error *err)
{
	const struct reader *r = t->trace.reader;

	t->told = script_wants_texts(&s->script) ? syscall_events_new(r, &t->formats) : NULL;
	if ((t->told || script_wants_facts(&s->script, &s->needs, &s->code)) &&
	    (facts_read(r, &t->facts, err) < 0 || event_times_settle(r, &t->facts, err) < 0))
		return -1;
	if (script_wants_texts(&s->script) && texts_read(r, &t->texts, err) < 0)
		return -1;
	if (script_wants_arguments(&s->code) && syscalls_analyse(r, &t->trace.threads, &SPAN_ALL, &t->calls, err) < 0)
		return -1;
	return script_wants_history(&s->script) ? read_history(t, err) : 0;
}

void script_trace_close(struct script_trace *t)
{
	if (t->decoder)
		event_decoder_free(t->decoder);
	syscall_events_free(t->told);
	event_formats_deinit(&t->formats);
	facts_deinit(&t->facts);
	texts_deinit(&t->texts);
	syscalls_deinit(&t->calls);
	if (t->has_history)
		history_deinit(&t->history);
	trace_arg_close(&t->trace);
}

struct script_run_options scripting_options(struct scripting *s, const struct script_trace *t, const struct sink *to)
{
	return (struct script_run_options){
		.session = &t->trace.session,
		.script = &s->script,
		.code = &s->code,
		.needs = &s->needs,
		.facts = &t->facts,
		.formats = &t->formats,
		.decoder = t->decoder,
		.texts = &t->texts,
		.told = t->told,
		.calls = t->calls.arch ? &t->calls : NULL,
		.history = t->has_history ? &t->history : NULL,
		.from_ns = s->span.from_ns,
		.to_ns = s->span.to_ns,
		.end_ns = trace_end_ns(&t->trace),
		.out = *to,
		.json = arg(s->args, "json"),
		.is_enough = is_enough,
		.make_index = is_worth_index(&t->trace),
		.began_ns = meta_get_u64(&t->trace.reader->meta, "started", 0) * 1000000000,
	};
}

void scripting_deinit(struct scripting *s)
{
	free(s->outcome.passed_over);
	script_needs_deinit(&s->needs);
	script_code_deinit(&s->code);
	script_free(&s->script);
}

static void say_outcome(const struct script_outcome *o)
{
	for (const char *at = o->passed_over, *end; at && (end = strchr(at, '\n')); at = end + 1)
		fprintf(stderr, "upto: %.*s\n", (int)(end - at), at);
	if (o->losses.keys)
		fprintf(stderr,
			"upto: maps are full (%d MB, or what the program says): %" PRIu64 " times there was no room for another key or text\n",
			SCRIPT_MAPS_BYTES >> 20, o->losses.keys);
	if (o->stacks)
		fprintf(stderr, "upto: there was no room for %" PRIu64 " more stacks: they are shown as empty\n",
			o->stacks);
	if (o->losses.cut)
		fprintf(stderr, "upto: %" PRIu64 " handlers were ended: one has room for 256 kB of texts\n",
			o->losses.cut);
	if (o->losses.led)
		fprintf(stderr,
			"upto: %" PRIu64 " values are 0, or empty: the program's maps had other addresses than the "
			"recorder\n", o->losses.led);
	if (o->losses.loops)
		fprintf(stderr, "upto: %" PRIu64 " handlers were ended after a million rounds of their loops\n",
			o->losses.loops);
}

/* Records and values of the program's probes that are not there. */
static void say_missing(const struct scripting *s, const struct script_trace *t)
{
	cleanup_free bool *marks = xcalloc(t->formats.count + 1, sizeof *marks);

	for (size_t i = 0; i < s->needs.count; i++) {
		const struct script_need *need = &s->needs.list[i];

		for (size_t e = 0; e < t->formats.count; e++)
			marks[e] |= script_need_is(need, &s->script.handlers[need->handler].places[need->place],
						   &t->formats.list[e]);
	}
	event_losses_warn(t->trace.reader->path, &t->formats, marks);
}

void scripting_say_losses(const struct scripting *s, const struct script_trace *t)
{
	say_outcome(&s->outcome);
	say_missing(s, t);
}
