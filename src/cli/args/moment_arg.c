/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "moment_arg.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/ending/ending.h"
#include "base/alloc.h"
#include "base/decimal.h"
#include "cli/print/terminal.h"
#include "function_arg.h"
#include "open_trace.h"
#include "select_arg.h"
#include "trace/damage.h"
#include "trace/thinned.h"
#include "trace_has.h"

/* May it be one, or a condition? Times begin with a number. */
static bool is_moment(const char *text)
{
	return isalpha((unsigned char)*text) || *text == '_';
}

static int find_panic(const struct trace_arg *t, const struct span *boot, uint64_t *ret, struct error *err)
{
	const struct trouble *panic = NULL;
	struct kernel_log log = { 0 };
	struct ending e = { 0 };
	struct facts facts;
	int result = facts_read(t->reader, &facts, err);

	if (result == 0) {
		kernel_log_init(&log, &facts, &t->reader->boots);
		ending_find(t->reader, &log, &e);
		panic = ending_panic(&e, boot);
		if (panic)
			*ret = panic->ns;
		else
			result = error_set(err, "%s: %s no panic", t->reader->path,
					   boot->to_ns == UINT64_MAX && !boot->from_ns ? "the trace has"
										       : "that boot has");
	}
	ending_deinit(&e);
	kernel_log_deinit(&log);
	facts_deinit(&facts);
	return result;
}

/* The options from the last --start on, which is what the spans began with; NULL: there is none. */
static const char *last_start(const struct meta *m)
{
	const char *by = thinned_by(m), *last = NULL;

	for (const char *at = by; at && (at = strstr(at, "--start ")); at++)
		last = at;
	return last;
}

/* The --before that goes with it: not one of a later choice. NULL: nothing from before it was kept. */
static const char *kept_before(const char *by)
{
	const char *before = by ? strstr(by, "--before ") : NULL, *then = by ? strstr(by, ", then ") : NULL;

	return before && then && then < before ? NULL : before;
}

/*
 * What a flight recorder waited for. Of a trace that an earlier upto made, the first time that its condition holds
 * behind what was to be kept before it: how often it had held before is not in the trace.
 */
static int find_trigger(const struct trace_arg *t, uint64_t *ret, struct error *err)
{
	const struct meta *m = &t->reader->meta;
	cleanup_free char *start = thinned_start(m);
	const char *by = last_start(m), *before = kept_before(by);
	uint64_t before_ns = 0, from_ns;
	struct kept_span *spans;
	char *nth;

	if (by && strstr(by, "--keep last"))
		return error_set(err, "%s: --keep last has left out what it began with: when its trigger was is not known",
				 t->reader->path);
	if (by && meta_get(m, "trigger_ns")) {
		*ret = meta_get_u64(m, "trigger_ns", 0);
		return 0;
	}
	if (!by || !thinned_spans(m, &spans))
		return error_set(err, "%s: was not recorded with --start: it has no trigger", t->reader->path);
	if (before) {
		cleanup_free char *time =
			xstrndup(before + strlen("--before "), strcspn(before + strlen("--before "), " ,"));

		time_parse(time, &before_ns);
	}
	from_ns = spans[0].start_ns ? spans[0].start_ns + before_ns : 0;
	free(spans);
	nth = strrchr(start, '#');
	if (nth && nth[1] && !nth[1 + strspn(nth + 1, "0123456789")])
		*nth = '\0';
	if (time_parse(start, ret) || (!strncmp(start, "time:", 5) && time_parse(start + 5, ret)))
		return 0;
	return select_moment(&t->session, "start", start, from_ns, ret, err);
}

bool moment_trigger(const struct trace_arg *t, uint64_t *ret)
{
	struct error ignored;

	if (!kept_before(last_start(&t->reader->meta)) || find_trigger(t, ret, &ignored) < 0)
		return false;
	++*ret;
	return true;
}

int moment_find(const struct trace_arg *t, const struct span *boot, const char *option, const char *text,
		uint64_t *ret, struct error *err)
{
	uint64_t end_ns = trace_end_ns(t);

	if (!strcmp(text, "end")) {
		*ret = boot->to_ns < end_ns ? boot->to_ns : end_ns;
		return 0;
	}
	if (!strcmp(text, "panic"))
		return find_panic(t, boot, ret, err);
	if (!strcmp(text, "trigger"))
		return find_trigger(t, ret, err);
	if (select_moment(&t->session, option, text, boot->from_ns, ret, err) < 0)
		return -1;
	return *ret < boot->to_ns ? 0 : error_set(err, "--%s %s: did not happen in that boot", option, text);
}

/* A word alone is a function's name. One of none is a time that is written wrongly, or a name. */
static int check_word(const struct trace_arg *t, const char *option, const char *text, struct error *err)
{
	static const char *const words[] = { "end", "panic", "trigger" };
	bool *marks;

	if (strpbrk(text, ":#"))
		return 0;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (!strcmp(text, words[i]))
			return 0;
	if (functions_named(text, &t->names, &marks, err) < 0)
		return error_prefix(err, "--%s %s: not a time", option, text);
	free(marks);
	return 0;
}

static void set_ns(struct args *args, unsigned i, uint64_t ns)
{
	free(args->joined[i]);
	args->values[i] = args->joined[i] = xasprintf("%" PRIu64 "ns", ns);
}

/* Returns an exit status. */
static int resolve(struct args *args, unsigned i, const struct span *boot, struct error *err)
{
	const struct option *o = &args->command->options[i];
	struct trace_arg t;
	uint64_t ns;
	int result;

	if (open_trace(args->operands[0], &t, err) < 0)
		return EXIT_FAILED;
	if (args->tolerant || args_read_all(args))
		damage_take_out(t.reader);
	if (check_word(&t, o->name, args->values[i], err) < 0) {
		trace_arg_close(&t);
		return EXIT_USAGE;
	}
	t.reader->progress = terminal_progress;
	result = moment_find(&t, boot, o->name, args->values[i], &ns, err);
	terminal_end_progress();
	trace_arg_close(&t);
	if (result < 0)
		return EXIT_FAILED;
	/* what stands on a stack at a moment is what the event has left there that happens then */
	ns += !strcmp(o->name, "at") && strcmp(args->values[i], "end") != 0;
	set_ns(args, i, ns);
	return EXIT_OK;
}

int boot_arg(const struct args *args, const struct reader *r, struct span *ret, struct error *err)
{
	const struct boots *b = &r->boots;
	uint64_t number = 0;

	*ret = SPAN_ALL;
	if (!arg_if_any(args, "boot"))
		return 0;
	if (arg_u64(args, "boot", &number, err) < 0)
		return -1;
	if (!number || number > b->count)
		return error_set(err, "--boot %" PRIu64 ": the trace has %zu boot%s", number, b->count,
				 b->count == 1 ? "" : "s, which are counted from 1 on");
	ret->from_ns = b->list[number - 1].start_ns;
	if (number < b->count)
		ret->to_ns = b->list[number].start_ns;
	return 0;
}

/* That of --boot. */
static int read_boot(struct args *args, struct span *ret, struct error *err)
{
	struct trace_arg t;
	int r;

	*ret = SPAN_ALL;
	if (!arg_if_any(args, "boot") || !args->n_operands)
		return 0;
	if (open_trace(args->operands[0], &t, err) < 0)
		return -1;
	r = boot_arg(args, t.reader, ret, err);
	trace_arg_close(&t);
	return r;
}

/*
 * A time that is not given is the boot's own; one that is given is not outside of it. What is no time the command will
 * complain of.
 */
static int keep_in_boot(struct args *args, unsigned i, const struct span *boot, struct error *err)
{
	const char *name = args->command->options[i].name;
	bool begins = !strcmp(name, "from"), behind;
	uint64_t bound = begins ? boot->from_ns : boot->to_ns, ns = bound;
	struct error ignored;

	if (!args->values[i]) {
		if (bound != UINT64_MAX)
			set_ns(args, i, bound);
		return 0;
	}
	if (arg_time(args, name, &ns, &ignored) < 0)
		return 0;
	behind = begins ? ns >= boot->to_ns : !strcmp(name, "at") && ns > boot->to_ns;
	if (behind || (!begins && ns <= boot->from_ns))
		return error_set(err, "--%s %s: that boot %s at %.6f s", name, args->values[i],
				 behind ? "ends" : "begins", (double)(behind ? boot->to_ns : boot->from_ns) / 1e9);
	if (begins ? ns < bound : ns > bound)
		set_ns(args, i, bound);
	return 0;
}

int moments_resolve(struct args *args, struct error *err)
{
	static const char *const names[] = { "at", "from", "to", "until" };
	const struct option *options = args->command->options;
	struct span boot;
	int r;

	if (read_boot(args, &boot, err) < 0)
		return EXIT_FAILED;
	for (unsigned i = 0; options[i].name; i++)
		for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
			if (strcmp(options[i].name, names[k]) || !options[i].arg || strcmp(options[i].arg, "TIME") ||
			    !args->n_operands)
				continue;
			r = args->values[i] && is_moment(args->values[i]) ? resolve(args, i, &boot, err) : EXIT_OK;
			if (r != EXIT_OK)
				return r;
			if (arg_if_any(args, "boot") && keep_in_boot(args, i, &boot, err) < 0)
				return EXIT_FAILED;
		}
	return EXIT_OK;
}
