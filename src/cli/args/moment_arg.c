/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "moment_arg.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/ending/ending.h"
#include "base/alloc.h"
#include "base/decimal.h"
#include "cli/print/terminal.h"
#include "open_trace.h"
#include "select_arg.h"
#include "trace/damage.h"
#include "trace/thinned.h"
#include "trace_has.h"

/* Is that word one, or may it be a condition? Anything else is a time that is written wrongly. */
static bool is_moment(const char *text)
{
	static const char *const words[] = { "end", "panic", "trigger" };
	static const char *const kinds[] = { "entry:", "exit:", "exec:", "log:", "test:" };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (!strcmp(text, words[i]))
			return true;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (!strncmp(text, kinds[i], strlen(kinds[i])))
			return true;
	return false;
}

static int find_panic(const struct trace_arg *t, uint64_t *ret, struct error *err)
{
	const struct trouble *panic = NULL;
	struct kernel_log log = { 0 };
	struct ending e = { 0 };
	struct facts facts;
	int result = facts_read(t->reader, &facts, err);

	if (result == 0) {
		kernel_log_init(&log, &facts, &t->reader->boots);
		ending_find(t->reader, &log, &e);
		panic = ending_panic(&e);
		if (panic)
			*ret = panic->ns;
		else
			result = error_set(err, "%s: the trace has no panic", t->reader->path);
	}
	ending_deinit(&e);
	kernel_log_deinit(&log);
	facts_deinit(&facts);
	return result;
}

/*
 * What a flight recorder waited for: the first time that its condition holds behind what was to be kept before it. How
 * often it had held before is not in the trace.
 */
static int find_trigger(const struct trace_arg *t, uint64_t *ret, struct error *err)
{
	const struct meta *m = &t->reader->meta;
	cleanup_free char *start = thinned_start(m);
	const char *by = thinned_by(m), *before = by ? strstr(by, "--before ") : NULL;
	uint64_t before_ns = 0, from_ns;
	struct kept_span *spans;
	char *nth;

	if (!by || !strstr(by, "--start ") || !thinned_spans(m, &spans))
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
	const char *by = thinned_by(&t->reader->meta);
	struct error ignored;

	if (!by || !strstr(by, "--before ") || find_trigger(t, ret, &ignored) < 0)
		return false;
	++*ret;
	return true;
}

static int find(const struct trace_arg *t, const char *option, const char *text, uint64_t *ret, struct error *err)
{
	if (!strcmp(text, "end")) {
		*ret = trace_end_ns(t);
		return 0;
	}
	if (!strcmp(text, "panic"))
		return find_panic(t, ret, err);
	if (!strcmp(text, "trigger"))
		return find_trigger(t, ret, err);
	return select_moment(&t->session, option, text, 0, ret, err);
}

static int resolve(struct args *args, unsigned i, struct error *err)
{
	const struct option *o = &args->command->options[i];
	struct trace_arg t;
	uint64_t ns;
	int result;

	if (open_trace(args->operands[0], &t, err) < 0)
		return -1;
	if (args->tolerant || args->command->reads_all)
		damage_take_out(t.reader);
	t.reader->progress = terminal_progress;
	result = find(&t, o->name, args->values[i], &ns, err);
	terminal_end_progress();
	trace_arg_close(&t);
	if (result < 0)
		return -1;
	/* what stands on a stack at a moment is what the event has left there that happens then */
	ns += !strcmp(o->name, "at") && strcmp(args->values[i], "end") != 0;
	free(args->joined[i]);
	args->values[i] = args->joined[i] = xasprintf("%" PRIu64 "ns", ns);
	return 0;
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

static void set_time(struct args *args, const char *name, uint64_t ns)
{
	const struct option *options = args->command->options;

	for (unsigned i = 0; options[i].name; i++)
		if (!strcmp(options[i].name, name) && !strcmp(options[i].arg, "TIME") && !args->values[i])
			args->values[i] = args->joined[i] = xasprintf("%" PRIu64 "ns", ns);
}

static int resolve_boot(struct args *args, struct error *err)
{
	struct trace_arg t;
	struct span span;
	int r;

	if (!arg_if_any(args, "boot") || !args->n_operands)
		return 0;
	if (open_trace(args->operands[0], &t, err) < 0)
		return -1;
	r = boot_arg(args, t.reader, &span, err);
	trace_arg_close(&t);
	if (r < 0)
		return -1;
	set_time(args, "from", span.from_ns);
	if (span.to_ns != UINT64_MAX) {
		set_time(args, "to", span.to_ns);
		set_time(args, "until", span.to_ns);
	}
	return 0;
}

int moments_resolve(struct args *args, struct error *err)
{
	static const char *const names[] = { "at", "from", "to", "until" };
	const struct option *options = args->command->options;

	if (resolve_boot(args, err) < 0)
		return -1;
	for (unsigned i = 0; options[i].name; i++)
		for (size_t k = 0; k < sizeof names / sizeof *names; k++)
			if (!strcmp(options[i].name, names[k]) && options[i].arg && !strcmp(options[i].arg, "TIME") &&
			    args->values[i] && args->n_operands && is_moment(args->values[i]) &&
			    resolve(args, i, err) < 0)
				return -1;
	return 0;
}
