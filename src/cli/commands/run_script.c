/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run_script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/programs/script_fields.h"
#include "analysis/programs/script_live.h"
#include "analysis/programs/script_places.h"
#include "base/alloc.h"
#include "base/file.h"
#include "base/near.h"
#include "cli/args/trace_has.h"
#include "cli/past/past.h"
#include "cli/print/file_sink.h"
#include "cli/print/terminal.h"
#include "follow_script.h"
#include "script_tools.h"
#include "scripting.h"

int run_script_prepare(struct args *args, struct error *err)
{
	const char *trace;

	if (arg(args, "list"))
		return args->n_operands || args->rest ? error_set(err, "--list goes alone") : 0;
	if (arg(args, "follow") && (args->rest || arg(args, "from") || arg(args, "to")))
		return error_set(err, "--follow is for a program on a trace, and goes without --from and --to");
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

/* One that comes with upto, with .bt behind its name or without; NULL: there is none of that name. */
static const struct script_tool *find_tool(const char *name)
{
	for (const struct script_tool *t = script_tools; t->name; t++) {
		size_t n = strlen(name);

		if (!strncmp(t->name, name, n) && (!t->name[n] || !strcmp(t->name + n, ".bt")))
			return t;
	}
	return NULL;
}

/* A program has a { somewhere; what has none, and is there, or is called as files of programs are, is a file. */
static bool is_file(const char *text)
{
	size_t n = strlen(text);

	return !strpbrk(text, "{\n") && ((n > 3 && !strcmp(text + n - 3, ".bt")) || access(text, F_OK) == 0);
}

/* No program, however short, is one word. */
static bool is_word(const char *text)
{
	return *text && !strpbrk(text, "{:, \t\r\n/") && strcmp(text, "BEGIN") != 0 && strcmp(text, "END") != 0;
}

static int no_such_tool(const char *name, struct error *err)
{
	cleanup_free char *file = xasprintf("%s.bt", name);
	const char **names, *near;
	size_t n = 0;

	while (script_tools[n].name)
		n++;
	names = xcalloc(n + 1, sizeof *names);
	for (size_t i = 0; i < n; i++)
		names[i] = script_tools[i].name;
	near = near_best(file, strlen(file), names);
	error_set(err, "%s: no file, and no program that comes with upto%s%s", name,
		  near ? ": did you mean " : "; 'upto run --list' has those", near ? near : "");
	free(names);
	return -1;
}

int run_script_read(const char *text, const char *const *parameters, size_t n, struct script *ret, struct error *err)
{
	char *const *given = (char *const *)parameters;
	const struct script_tool *tool = find_tool(text);
	struct buf file = { 0 };
	int r;

	*ret = (struct script){ 0 };
	if (tool && access(text, F_OK) < 0)
		return script_parse(tool->name, tool->text, strlen(tool->text), given, n, ret, err);
	if (!tool && !is_file(text) && is_word(text))
		return no_such_tool(text, err);
	if (!is_file(text))
		return script_parse("-e", text, strlen(text), given, n, ret, err);
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

static int find_span(struct scripting *s, const struct trace_arg *t, struct error *err)
{
	uint64_t end = trace_end_ns(t);

	s->span = SPAN_ALL;
	if (arg_time(s->args, "from", &s->span.from_ns, err) < 0 || arg_time(s->args, "to", &s->span.to_ns, err) < 0)
		return -1;
	if (s->span.from_ns >= s->span.to_ns)
		return error_set(err, "--from %s is not before --to %s", arg(s->args, "from"), arg(s->args, "to"));
	if (s->span.from_ns && s->span.from_ns >= end) /* an empty trace is asked like others */
		return error_set(err, "--from %s: the trace ends before", arg(s->args, "from"));
	return 0;
}

/* What the sink's context is. */
struct running {
	struct scripting *s;
	struct script_trace *t;
};

static int put_answer(void *state, const struct sink *to, struct error *err)
{
	struct running *running = state;
	const struct script_run_options options = scripting_options(running->s, running->t, to);

	return script_run(&options, &running->s->outcome, err);
}

static int run_on_trace(struct scripting *s, struct script_trace *t, struct error *err)
{
	struct running running = { s, t };

	if (find_span(s, &t->trace, err) < 0 || script_trace_begin(t, err) < 0)
		return -1;
	trace_arg_open_index(&t->trace);
	scripting_hear_interrupts(1);
	if (scripting_compile(s, t, err) < 0 || script_trace_read(t, s, err) < 0)
		return -1;
	terminal_end_progress();
	t->trace.reader->progress = NULL;
	if (file_sink_write(NULL, false, put_answer, &running, err) < 0)
		return -1;
	scripting_say_losses(s, t);
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
	if (r == 0 && formats)
		script_needs_choose(&needs, formats);
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

	if (open_reader(path, &reader, err) < 0)
		return -1;
	r = event_formats_read(&reader->meta, ret, err);
	reader_free(reader);
	return r < 0 ? error_prefix(err, "%s", path) : 0;
}

/* Are there functions of such names at all? Before a guest runs again to tell that there are not. */
static int check_functions(const struct args *args, struct error *err)
{
	unsigned first = script_parameters(args);
	struct script script;
	struct trace_arg t;
	int r = run_script_read(script_text(args), args->operands + first, args->n_operands - first, &script, err);

	if (r == 0)
		r = trace_arg_open_whole(args, &t, err);
	if (r == 0) {
		r = script_places_check(&t.session, &script, err);
		trace_arg_close(&t);
	}
	script_free(&script);
	return r;
}

/* What the program asks for and the trace lacks: the guest runs again, if it can. */
static int ask_the_past(const struct args *args, struct error *err)
{
	const char *path = args->operands[0], *text = script_text(args);
	unsigned first = script_parameters(args);
	struct event_formats formats = { 0 };
	struct buf probes = { 0 }, events = { 0 };
	int r = run_script_asks(text, args->operands + first, args->n_operands - first, NULL, &probes, &events, err);

	/* what is asked for at all may be there */
	if (r == 0 && (*probes.data || *events.data)) {
		probes.len = events.len = 0;
		r = read_formats(path, &formats, err);
		if (r == 0)
			r = run_script_asks(text, args->operands + first, args->n_operands - first, &formats, &probes,
					    &events, err);
	}
	if (r == 0 && (*probes.data || *events.data))
		r = check_functions(args, err);
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

bool scripting_lacks_nothing(const struct scripting *s, const struct event_formats *formats)
{
	unsigned first = script_parameters(s->args);
	struct buf probes = { 0 }, events = { 0 };
	struct error ignored;
	int r = run_script_asks(script_text(s->args), s->args->operands + first, s->args->n_operands - first, formats,
				&probes, &events, &ignored);
	bool nothing = r == 0 && !*probes.data && !*events.data;

	buf_free(&probes);
	buf_free(&events);
	return nothing;
}

static int run_whole(struct scripting *s, struct error *err)
{
	struct script_trace t = { 0 };
	int r;

	if (ask_the_past(s->args, err) < 0 || read_script(s, err) < 0 ||
	    trace_arg_open_whole(s->args, &t.trace, err) < 0)
		return -1;
	r = run_on_trace(s, &t, err);
	script_trace_close(&t);
	return r;
}

int run_script_is_live(const char *text, bool *ret, const char **ret_why, struct error *err)
{
	struct script script;
	int r = run_script_read(text, NULL, 0, &script, err);

	*ret_why = r == 0 && script_speaks(&script) ? script_waits_for_end(&script) : NULL;
	*ret = r == 0 && script_speaks(&script) && !*ret_why;
	script_free(&script);
	return r;
}

/* What the program has said with exit(2), as the shell has it. */
static int exit_status(int result, const struct scripting *s)
{
	return result < 0 ? EXIT_FAILED : s->outcome.exit_code & 0xff;
}

int run_script_follow(const struct args *args, bool (*guest_has_ended)(void), struct error *err)
{
	struct scripting s = { .args = args, .span = SPAN_ALL };
	int r = read_script(&s, err), status;

	if (r == 0 && script_waits_for_end(&s.script))
		r = error_set(err, "%s are known only when the guest has ended: then it goes without --follow",
			      script_waits_for_end(&s.script));
	if (r == 0)
		r = follow_script(&s, args->operands[0], guest_has_ended, err);
	status = exit_status(r, &s);
	scripting_deinit(&s);
	return status;
}

static int run_to_end(const struct args *args, struct error *err)
{
	struct scripting s = { .args = args };
	int status = exit_status(run_whole(&s, err), &s);

	scripting_deinit(&s);
	terminal_end_progress();
	return status;
}

int run_script(const struct args *args, struct error *err)
{
	if (arg(args, "list"))
		return list_tools();
	if (!arg(args, "follow"))
		return run_to_end(args, err);
	scripting_hear_interrupts(1);
	return run_script_follow(args, NULL, err);
}
