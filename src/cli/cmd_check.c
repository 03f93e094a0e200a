/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/check.h"
#include "base/alloc.h"
#include "commands.h"
#include "json.h"
#include "terminal.h"
#include "trace_arg.h"

static void print_text(const char *path, const struct check *c)
{
	size_t kept = c->n_findings < CHECK_FINDINGS_MAX ? c->n_findings : CHECK_FINDINGS_MAX;
	struct buf safe = { 0 };

	terminal_escape(&safe, path);
	buf_put_u8(&safe, 0);
	path = (char *)safe.data;
	for (size_t i = 0; i < kept; i++)
		printf("%s: %s\n", path, c->findings[i].text);
	if (c->n_findings > kept)
		printf("%s: %zu more\n", path, c->n_findings - kept);
	if (!c->n_findings)
		printf("%s: whole and consistent: %" PRIu64 " events in %" PRIu64 " chunks, %" PRIu64
		       " instructions, every one accounted for\n",
		       path, c->events, c->chunks, c->insns);
	if (c->unmatched.returns)
		printf("%s: stacks: %" PRIu64 " returns, of which %" PRIu64 " matched no call; %" PRIu64
	       " threads' first ones and %" PRIu64 " firmware's besides; %" PRIu64 " frames left without a return\n",
	       path, c->unmatched.returns, c->unmatched.elsewhere, c->unmatched.new_thread, c->unmatched.firmware,
	       c->unmatched.abandoned);
	buf_free(&safe);
}

static void print_json(const struct check *c)
{
	size_t kept = c->n_findings < CHECK_FINDINGS_MAX ? c->n_findings : CHECK_FINDINGS_MAX;

	printf("{\"returns\":{\"all\":%" PRIu64 ",\"unmatched\":%" PRIu64 ",\"new_thread\":%" PRIu64 ",\"firmware\":%" PRIu64 ",\"abandoned\":%" PRIu64 "},",
	       c->unmatched.returns, c->unmatched.elsewhere, c->unmatched.new_thread, c->unmatched.firmware,
	       c->unmatched.abandoned);
	printf("\"ok\":%s,\"events\":%" PRIu64 ",\"instructions\":%" PRIu64 ",\"findings\":[",
	       c->n_findings ? "false" : "true", c->events, c->insns);
	for (size_t i = 0; i < kept; i++) {
		fputs(i ? "," : "", stdout);
		json_string(stdout, c->findings[i].text);
	}
	printf("]}\n");
}

static int run(const struct args *args, struct error *err)
{
	struct check *c;
	struct trace_arg t;
	int r = EXIT_FAILED;

	if (trace_arg_open(args->operands[0], &t, err) < 0)
		return EXIT_FAILED;
	c = xcalloc(1, sizeof *c);
	if (check_analyse(t.reader, &t.names, !arg(args, "no-stacks"), c, err) == 0) {
		terminal_end_progress();
		if (arg(args, "json"))
			print_json(c);
		else
			print_text(args->operands[0], c);
		r = c->n_findings ? EXIT_FAILED : EXIT_OK;
	}
	free(c);
	trace_arg_close(&t);
	return r;
}

static const struct option options[] = {
	{ 0, "json", NULL, "print JSON" },
	{ 0, "no-stacks", NULL, "do not replay call stacks, which takes longest" },
	HELP_OPTION,
	{ 0 },
};

const struct command cmd_check = {
	.name = "check",
	.operands = "TRACE",
	.summary = "verify everything that must hold of a trace",
	.description = "Checks checksums, structure and order of every chunk, that clocks never go back, that counts are "
		       "as told, and conservation: self time of all functions and halted time sum to each vCPU's "
		       "counter. Replays the call stacks and tells how many returns matched no call. Prints what does not "
		       "hold and where, and exits with 1.\n",
	.examples = "  upto check trace.upto\n      is it whole?\n",
	.options = options,
	.min_operands = 1, .max_operands = 1,
	.run = run,
};
