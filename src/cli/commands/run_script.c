/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run_script.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/events/event_times.h"
#include "analysis/history/history_file.h"
#include "analysis/programs/script_fields.h"
#include "analysis/programs/script_run.h"
#include "base/alloc.h"
#include "base/file.h"
#include "cli/args/trace_arg.h"
#include "cli/args/trace_has.h"
#include "cli/past/past.h"
#include "cli/print/event_losses.h"
#include "cli/print/file_sink.h"
#include "cli/print/terminal.h"
#include "script_tools.h"

/* Ctrl-C: what there is is printed. */
static volatile sig_atomic_t enough;

static void say_enough(int signal)
{
	(void)signal;
	enough = 1;
}

static bool is_enough(void *context)
{
	(void)context;
	return enough;
}

/* A program, and the trace that it is run on. */
struct scripting {
	const struct args *args;
	struct trace_arg trace;
	struct script script;
	struct script_code code;
	struct script_needs needs;
	struct facts facts;
	struct event_formats formats;
	struct event_decoder *decoder;
	struct texts texts;
	struct syscalls calls;
	struct history history;
	bool has_history;
	struct span span;
	struct script_outcome outcome;
};

int run_script_prepare(struct args *args, struct error *err)
{
	const char *trace;

	if (arg(args, "list"))
		return args->n_operands || args->rest ? error_set(err, "--list goes alone") : 0;
	if (args->rest && (arg(args, "program") || arg(args, "json") || arg(args, "from") || arg(args, "to")))
		return error_set(err,
				 "--program, --json, --from and --to are for a program on a trace, not for a command");
	if (args->rest)
		return args->n_operands
			       ? error_set(err, "'%s' stands before --: expected upto run [OPTION…] -- COMMAND",
					   args->operands[0])
			       : 0;
	if (args->n_operands < (arg(args, "program") ? 1 : 2))
		return error_set(err,
				 "expected upto run -e PROGRAM TRACE, upto run FILE.bt TRACE, or upto run -- COMMAND");
	trace = args->operands[args->n_operands - 1];
	memmove(args->operands + 1, args->operands, (args->n_operands - 1) * sizeof *args->operands);
	args->operands[0] = trace;
	return 0;
}

/* One that comes with upto; NULL: there is none of that name. */
static const struct script_tool *find_tool(const char *name)
{
	for (const struct script_tool *t = script_tools; t->name; t++)
		if (!strcmp(t->name, name))
			return t;
	return NULL;
}

static bool is_file(const char *text)
{
	size_t n = strlen(text);

	return n > 3 && !strcmp(text + n - 3, ".bt") && !strpbrk(text, "{\n");
}

int run_script_read(const char *text, const char *const *parameters, size_t n, struct script *ret, struct error *err)
{
	char *const *given = (char *const *)parameters;
	const struct script_tool *tool = find_tool(text);
	struct buf file = { 0 };
	int r;

	*ret = (struct script){ 0 };
	if (!is_file(text))
		return script_parse("-e", text, strlen(text), given, n, ret, err);
	if (tool && access(text, F_OK) < 0)
		return script_parse(text, tool->text, strlen(tool->text), given, n, ret, err);
	if (file_read(text, SCRIPT_BYTES_MAX, &file, err) < 0)
		return -1;
	r = script_parse(text, file.len ? (const char *)file.data : "", file.len, given, n, ret, err);
	buf_free(&file);
	return r;
}

/* -e PROGRAM, or the operand behind the trace … */
static const char *script_text(const struct args *a)
{
	return arg(a, "program") ? arg(a, "program") : a->operands[1];
}

/* … and the first of those that are $1 … */
static unsigned script_parameters(const struct args *a)
{
	return arg(a, "program") ? 1 : 2;
}

static int read_script(struct scripting *s, struct error *err)
{
	const struct args *a = s->args;
	unsigned first = script_parameters(a);

	return run_script_read(script_text(a), a->operands + first, a->n_operands - first, &s->script, err);
}

/* Twice, since sizes of values are told by the records that the first time finds. */
static int compile(struct scripting *s, struct error *err)
{
	struct script_formats known = { &s->formats, s->decoder, s->trace.reader->arch, NULL, NULL, NULL };
	struct field_types types = { script_field_find, &known, false, true };
	struct script_code first = { 0 };
	int r = script_compile(&s->script, &types, &first, err);

	if (r == 0)
		r = script_needs_find(&s->script, &first.types, &s->needs, err);
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

/* What the program hears of besides calls. */
static int read_beside(struct scripting *s, struct error *err)
{
	const struct reader *r = s->trace.reader;

	if (script_wants_facts(&s->script, &s->needs, &s->code) &&
	    (facts_read(r, &s->facts, err) < 0 || event_times_settle(r, &s->facts, err) < 0))
		return -1;
	if (script_wants_texts(&s->script) && texts_read(r, &s->texts, err) < 0)
		return -1;
	if (script_wants_arguments(&s->code) && syscalls_analyse(r, &s->trace.threads, &SPAN_ALL, &s->calls, err) < 0)
		return -1;
	if (!script_wants_history(&s->script))
		return 0;
	s->has_history = true;
	return history_open(&s->trace.session, is_worth_index(&s->trace), &s->history, err);
}

static int put_answer(void *state, const struct sink *to, struct error *err)
{
	struct scripting *s = state;
	const struct script_run_options options = {
		.session = &s->trace.session,
		.script = &s->script,
		.code = &s->code,
		.needs = &s->needs,
		.facts = &s->facts,
		.formats = &s->formats,
		.decoder = s->decoder,
		.texts = &s->texts,
		.calls = s->calls.arch ? &s->calls : NULL,
		.history = s->has_history ? &s->history : NULL,
		.from_ns = s->span.from_ns,
		.to_ns = s->span.to_ns,
		.end_ns = trace_end_ns(&s->trace),
		.out = *to,
		.json = arg(s->args, "json"),
		.is_enough = is_enough,
		.make_index = is_worth_index(&s->trace),
		.began_ns = meta_get_u64(&s->trace.reader->meta, "started", 0) * 1000000000,
	};

	return script_run(&options, &s->outcome, err);
}

/* What was left out, since a program's answer would else seem whole. */
static void say_losses(const struct script_outcome *o)
{
	if (o->losses.keys)
		fprintf(stderr,
			"upto: maps are full (192 MB): %" PRIu64 " times there was no room for another key or text\n",
			o->losses.keys);
	if (o->stacks)
		fprintf(stderr, "upto: there was no room for %" PRIu64 " more stacks: they are shown as empty\n",
			o->stacks);
	if (o->losses.cut)
		fprintf(stderr, "upto: %" PRIu64 " handlers were ended: one has room for 256 kB of texts\n",
			o->losses.cut);
	if (o->losses.loops)
		fprintf(stderr, "upto: %" PRIu64 " handlers were ended after a million rounds of their loops\n",
			o->losses.loops);
}

static int find_span(struct scripting *s, struct error *err)
{
	uint64_t end = trace_end_ns(&s->trace);

	s->span = SPAN_ALL;
	if (arg_time(s->args, "from", &s->span.from_ns, err) < 0 || arg_time(s->args, "to", &s->span.to_ns, err) < 0)
		return -1;
	if (s->span.from_ns >= s->span.to_ns)
		return error_set(err, "--from %s is not before --to %s", arg(s->args, "from"), arg(s->args, "to"));
	if (s->span.from_ns && s->span.from_ns >= end) /* an empty trace is asked like others */
		return error_set(err, "--from %s: the trace ends before", arg(s->args, "from"));
	return 0;
}

/* Records and values of the program's probes that are not there. */
static void say_missing(const struct scripting *s)
{
	cleanup_free bool *marks = xcalloc(s->formats.count + 1, sizeof *marks);

	for (size_t i = 0; i < s->needs.count; i++) {
		const struct script_need *need = &s->needs.list[i];

		for (size_t e = 0; e < s->formats.count; e++)
			marks[e] |= script_need_is(need, &s->script.handlers[need->handler].places[need->place],
						   &s->formats.list[e]);
	}
	event_losses_warn(s->trace.reader->path, &s->formats, marks);
}

static int run_on_trace(struct scripting *s, struct error *err)
{
	if (find_span(s, err) < 0)
		return -1;
	if (event_formats_read(&s->trace.reader->meta, &s->formats, err) < 0)
		return error_prefix(err, "%s", s->trace.reader->path);
	names_fold_thunks(&s->trace.names);
	trace_arg_open_index(&s->trace);
	s->decoder = event_decoder_new(&s->formats, &s->trace.names);
	signal(SIGINT, say_enough);
	if (compile(s, err) < 0 || read_beside(s, err) < 0 || file_sink_write(NULL, false, put_answer, s, err) < 0)
		return -1;
	say_losses(&s->outcome);
	say_missing(s);
	return 0;
}

int run_script_asks(const char *text, const char *const *parameters, size_t n, const struct event_formats *formats,
		    struct buf *ret_probes, struct buf *ret_events, struct error *err)
{
	struct script_formats nothing = { 0 };
	struct field_types types = { script_field_find, &nothing, false, true };
	struct script_needs needs = { 0 };
	struct script_code code = { 0 };
	struct script script;
	int r = run_script_read(text, parameters, n, &script, err);

	types.guesses = r == 0 && script_has_tracepoints(&script);
	if (r == 0)
		r = types.guesses ? types_find(&script, &types, &code.types, err)
				  : script_compile(&script, &types, &code, err);
	if (r == 0)
		r = script_needs_find(&script, &code.types, &needs, err);
	if (r == 0)
		script_needs_put(&needs, &script, formats, ret_probes, ret_events);
	script_needs_deinit(&needs);
	script_code_deinit(&code);
	script_free(&script);
	return r;
}

static int read_formats(const char *path, struct event_formats *ret, struct error *err)
{
	struct reader *reader;
	int r;

	if (reader_open(path, &reader, err) < 0)
		return -1;
	r = event_formats_read(&reader->meta, ret, err);
	reader_free(reader);
	return r < 0 ? error_prefix(err, "%s", path) : 0;
}

/* What the program asks for and the trace lacks: the guest runs again, if it can. */
static int ask_the_past(const struct args *args, struct error *err)
{
	const char *path = args->operands[0], *text = script_text(args);
	unsigned first = script_parameters(args);
	struct event_formats formats = { 0 };
	struct buf probes = { 0 }, events = { 0 };
	int r = read_formats(path, &formats, err);

	if (r == 0)
		r = run_script_asks(text, args->operands + first, args->n_operands - first, &formats, &probes, &events,
				    err);
	if (r == 0 && (*probes.data || *events.data) &&
	    past_add(path, (char *)probes.data, (char *)events.data, err) < 0)
		r = error_prefix(err, "not all that the program asks for was recorded, as 'upto record -e' does it");
	event_formats_deinit(&formats);
	buf_free(&probes);
	buf_free(&events);
	return r;
}

/* Each with the first line of its head comment. */
static int list_tools(void)
{
	for (const struct script_tool *t = script_tools; t->name; t++)
		printf("%-16s %.*s\n", t->name, (int)strcspn(t->text + strlen("// "), "\n"), t->text + strlen("// "));
	return EXIT_OK;
}

int run_script(const struct args *args, struct error *err)
{
	if (arg(args, "list"))
		return list_tools();

	struct scripting s = { .args = args };
	int r = ask_the_past(args, err) < 0 ? -1 : read_script(&s, err);

	if (r == 0 && trace_arg_open_whole(args, &s.trace, err) < 0)
		r = -1;
	else if (r == 0) {
		r = run_on_trace(&s, err);
		if (s.decoder)
			event_decoder_free(s.decoder);
		event_formats_deinit(&s.formats);
		facts_deinit(&s.facts);
		texts_deinit(&s.texts);
		syscalls_deinit(&s.calls);
		if (s.has_history)
			history_deinit(&s.history);
		trace_arg_close(&s.trace);
	}
	script_needs_deinit(&s.needs);
	script_code_deinit(&s.code);
	script_free(&s.script);
	terminal_end_progress();
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}
