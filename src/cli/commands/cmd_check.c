/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/check/check.h"
#include "cli/args/trace_arg.h"
#include "cli/args/trace_lacks.h"
#include "cli/commands.h"
#include "cli/print/json_output.h"
#include "cli/print/terminal.h"
#include "replay/unknown.h"

enum { PRINTED_MAX = 64 };

static size_t n_kept(const struct check *c)
{
	return c->n_findings < CHECK_FINDINGS_MAX ? c->n_findings : CHECK_FINDINGS_MAX;
}

static void print_finding(const char *path, const struct finding *f)
{
	struct buf text = { 0 };

	terminal_escape(&text, f->text);
	buf_put_u8(&text, 0);
	printf("%s: ", path);
	if (f->cpu >= 0)
		printf("%" PRIu64 ".%09" PRIu64 " s, vCPU %d, event %" PRIu64 ": ", f->ns / 1000000000,
		       f->ns % 1000000000, f->cpu, f->event);
	fputs((char *)text.data, stdout);
	if (f->cpu >= 0 && f->count > 1)
		printf(" (the first of %" PRIu64 ")", f->count);
	putchar('\n');
	buf_free(&text);
}

/* Where something is not known, rules about it cannot be held against anything. */
static const char *const not_checked[UNKNOWN_KINDS] = {
	[UNKNOWN_KERNEL] = "which kernel it was",
	[UNKNOWN_NAMES] = "that control flows from function to function in the kernel, for they have no names",
	[UNKNOWN_THREADS] = "who threads are, for they have neither numbers nor names",
	[UNKNOWN_PROGRAMS] = "which programs ran",
};

static void print_text(const char *path, const struct check *c, const struct trace_arg *t, bool insns)
{
	size_t printed = n_kept(c) < PRINTED_MAX ? n_kept(c) : PRINTED_MAX;
	struct buf safe = { 0 };

	terminal_escape(&safe, path);
	buf_put_u8(&safe, 0);
	path = (char *)safe.data;
	for (size_t i = 0; i < printed; i++)
		print_finding(path, &c->findings[i]);
	if (c->n_findings > printed)
		printf("%s: %zu more\n", path, c->n_findings - printed);
	if (!c->n_findings)
		printf("%s: whole and consistent: %" PRIu64 " events in %" PRIu64 " chunks, %" PRIu64
		       " %s, every one accounted for\n",
		       path, c->events, c->chunks, c->insns, insns ? "instructions" : "nanoseconds");
	if (c->unmatched.returns)
		printf("%s: stacks: %" PRIu64 " returns, of which %" PRIu64 " matched no call, %" PRIu64
		       " of them in the kernel; %" PRIu64 " threads' first ones and %" PRIu64
		       " firmware's besides; %" PRIu64 " frames left without a return\n",
		       path, c->unmatched.returns, c->unmatched.elsewhere, c->unmatched_kernel, c->unmatched.new_thread,
		       c->unmatched.firmware, c->unmatched.abandoned);
	for (int i = 0; i < UNKNOWN_KINDS; i++)
		if (is_unknown(t->reader, &t->threads, (enum unknown)i))
			printf("%s: could not check %s\n", path, not_checked[i]);
	buf_free(&safe);
}

static void put_finding_json(struct json *j, const struct finding *f)
{
	json_object(j, NULL);
	json_text(j, "kind", check_kind_name(f->kind));
	json_text(j, "text", f->text);
	json_number(j, "count", f->count);
	if (f->cpu >= 0) {
		json_signed(j, "cpu", f->cpu);
		json_number(j, "ns", f->ns);
		json_number(j, "event", f->event);
	}
	json_close(j);
}

static void put_returns_json(struct json *j, const struct check *c)
{
	json_object(j, "returns");
	json_number(j, "all", c->unmatched.returns);
	json_number(j, "unmatched", c->unmatched.elsewhere);
	json_number(j, "unmatched_kernel", c->unmatched_kernel);
	json_number(j, "new_thread", c->unmatched.new_thread);
	json_number(j, "firmware", c->unmatched.firmware);
	json_number(j, "abandoned", c->unmatched.abandoned);
	json_close(j);
}

static void print_json(const struct check *c, const struct trace_arg *t, bool insns)
{
	struct json j;

	json_output_begin(&j);
	json_object(&j, NULL);
	put_returns_json(&j, c);
	json_flag(&j, "ok", !c->n_findings);
	json_number(&j, "events", c->events);
	json_known(&j, "instructions", insns, c->insns);
	json_array(&j, "findings");
	for (size_t i = 0; i < n_kept(c); i++)
		put_finding_json(&j, &c->findings[i]);
	json_close(&j);
	json_array(&j, "not_checked");
	for (int i = 0; i < UNKNOWN_KINDS; i++)
		if (is_unknown(t->reader, &t->threads, (enum unknown)i))
			json_text(&j, NULL, not_checked[i]);
	json_close(&j);
	json_close(&j);
	json_output_end(&j);
}

static int run(const struct args *args, struct error *err)
{
	struct check c;
	struct trace_arg t;
	int r = EXIT_FAILED;

	if (trace_arg_open(args, &t, err) < 0)
		return EXIT_FAILED;
	if (check_analyse(t.reader, &t.names, !arg(args, "no-stacks"), &c, err) == 0) {
		bool insns = !trace_lacks(&t, "instructions");

		terminal_end_progress();
		if (arg(args, "json"))
			print_json(&c, &t, insns);
		else
			print_text(args->operands[0], &c, &t, insns);
		r = c.n_findings ? EXIT_FAILED : EXIT_OK;
	}
	check_deinit(&c);
	trace_arg_close(&t);
	return r;
}

static const struct option options[] = {
	{ 0, "json", NULL, "print JSON" },
	{ 0, "no-stacks", NULL, "do not replay call stacks, which takes longest" },
	HELP_OPTION,
	{ 0 },
};

static const struct term terms[] = {
	{ "ok", "nothing was found" },
	{ "not_checked", "what could not be, since it is not known of this guest" },
	{ "findings", "what does not hold, the first of them" },
	{ "events, instructions", "how many were looked at" },
	{ "returns", "all; those that matched no call; those of new threads and of firmware; frames left without one" },
	{ 0 },
};

static const struct legend legends[] = { { "json", NULL, terms }, { 0 } };

const struct command cmd_check = {
	.name = "check",
	.operands = "TRACE",
	.summary = "verify everything that must hold of a trace",
	.description =
		"Checks checksums, structure and order of every chunk, that clocks never go back, that counts are "
		"as told, and conservation: self time of all functions and halted time sum to each vCPU's "
		"counter. Replays everything in the order of time: calls lie within their callers', returns match "
		"calls, a task runs on one vCPU at a time and only while it lives, what is halted does not run, kernel code "
		"has names. Prints what does not hold, with the first place and how often, and exits with 1.\n",
	.examples = "  upto check trace.upto\n      is it whole?\n",
	.options = options,
	.reads_all = true,
	.legends = legends,
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
