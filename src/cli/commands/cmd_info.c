/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/check/digest.h"
#include "analysis/check/summary.h"
#include "analysis/thin/thin.h"
#include "base/alloc.h"
#include "cli/args/trace_arg.h"
#include "cli/commands.h"
#include "cli/print/ending_note.h"
#include "cli/print/json_output.h"
#include "cli/print/quantity.h"
#include "cli/print/terminal.h"
#include "guest/layout.h"
#include "kfi/log_meta.h"
#include "trace/facts.h"
#include "trace/thinned.h"

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

/* The third word of "Linux version 6.12…". */
static void put_release(const struct boot *boot, struct buf *out)
{
	const char *banner = or_empty(boot->kernel);

	if (!strncmp(banner, "Linux version ", 14))
		buf_put(out, banner + 14, strcspn(banner + 14, " "));
	buf_put_u8(out, 0);
}

static void line(const char *name, const char *text)
{
	struct buf safe = { 0 };

	terminal_escape(&safe, text);
	buf_put_u8(&safe, 0);
	printf("%-16s %s\n", name, safe.data);
	buf_free(&safe);
}

/* A number, below other numbers if it is set in. */
static void count(const char *name, uint64_t n, bool set_in, bool exact)
{
	struct buf text = { 0 };

	if (exact)
		buf_printf(&text, "%" PRIu64, n);
	else
		put_count(&text, n);
	buf_put_u8(&text, 0);
	if (set_in)
		printf("  %-20s %14s\n", name, text.data);
	else
		printf("%-16s %s\n", name, text.data);
	buf_free(&text);
}

/* What the chunks hold, for people and for JSON's keys; NULL: not worth a line. */
static const char *const contents[CHUNK_TYPES] = {
	[CHUNK_EVENTS] = "events", [CHUNK_SITES] = "sites", [CHUNK_SYMBOLS] = "symbols", [CHUNK_TASKS] = "tasks",
	[CHUNK_CODE] = "code",     [CHUNK_FILES] = "files", [CHUNK_TEXTS] = "texts",     [CHUNK_FACTS] = "facts",
	[CHUNK_SUMS] = "sums",     [CHUNK_HELD] = "held",   [CHUNK_STACKS] = "stacks",
};

static bool is_limit(const char *key)
{
	return !strncmp(key, READER_LIMIT, strlen(READER_LIMIT));
}

/* "strings 44, modules 3" */
static void print_limits(const struct reader *r)
{
	struct buf text = { 0 };

	for (size_t i = 0; i < meta_count(&r->meta); i++)
		if (is_limit(meta_key(&r->meta, i)))
			buf_printf(&text, "%s%s %s", text.len ? ", " : "", meta_key(&r->meta, i) + strlen(READER_LIMIT),
				   meta_value(&r->meta, i));
	buf_put_u8(&text, 0);
	if (text.len > 1)
		line("not watched", (char *)text.data);
	buf_free(&text);
}

/* Every boot, if there are several. */
static void print_boots(const struct boots *b)
{
	if (b->count > 1)
		printf("%-16s %zu\n", "boots", b->count);
	for (size_t i = 0; i < b->count && b->count > 1; i++) {
		struct buf release = { 0 }, safe = { 0 };

		put_release(&b->list[i], &release);
		terminal_escape(&safe, (char *)release.data);
		buf_put_u8(&safe, 0);
		printf("  at %12.6f s   slide 0x%-10" PRIx64 "  %s\n", (double)b->list[i].start_ns / 1e9,
		       b->list[i].slide, *safe.data ? (char *)safe.data : "no kernel seen");
		buf_free(&release);
		buf_free(&safe);
	}
}

/* How often the guest was suspended to RAM and woken, if it was. */
static void print_wakes(const struct boots *b)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < b->n_wakes; i++)
		ns += b->wakes[i].start_ns - b->wakes[i].sleep_ns;
	if (b->n_wakes)
		printf("%-16s %zu %s to RAM, for %.6f s\n", "suspended", b->n_wakes,
		       b->n_wakes == 1 ? "time" : "times", (double)ns / 1e9);
}

static void put_wakes_json(struct json *j, const struct boots *b)
{
	json_array(j, "wakes");
	for (size_t i = 0; i < b->n_wakes; i++) {
		const struct wake *w = &b->wakes[i];

		json_object(j, NULL);
		json_number(j, "sleep_ns", w->sleep_ns);
		json_number(j, "start_ns", w->start_ns);
		json_known(j, "kernel_ns", w->kernel_ns != UINT64_MAX, w->kernel_ns);
		json_close(j);
	}
	json_close(j);
}

static void put_boots_json(struct json *j, const struct boots *b)
{
	json_array(j, "boots");
	for (size_t i = 0; i < b->count; i++) {
		struct buf release = { 0 };

		put_release(&b->list[i], &release);
		json_object(j, NULL);
		json_number(j, "start_ns", b->list[i].start_ns);
		json_text(j, "kernel", *release.data ? (char *)release.data : NULL);
		json_number(j, "slide", b->list[i].slide);
		json_close(j);
		buf_free(&release);
	}
	json_close(j);
}

/* "wake 11812, log 632": what was read from the kernel, how often. */
static void print_facts(const struct facts *f)
{
	struct buf text = { 0 };

	for (int k = 1; k < FACT_KINDS; k++)
		if (f->sums[k].count) {
			buf_printf(&text, "%s%s ", text.len ? ", " : "", fact_kind_name((enum fact_kind)k));
			put_count(&text, f->sums[k].count);
		}
	buf_put_u8(&text, 0);
	if (text.len > 1)
		line("facts", (char *)text.data);
	buf_free(&text);
}

static void put_facts_json(struct json *j, const struct facts *f)
{
	json_object(j, "facts");
	for (int k = 1; k < FACT_KINDS; k++) {
		json_object(j, fact_kind_name((enum fact_kind)k));
		json_number(j, "count", f->sums[k].count);
		json_number(j, "bytes", f->sums[k].bytes);
		json_close(j);
	}
	json_close(j);
}

/* Of a trace that is a part of another: what it has, and what was left out, in the words of KFI's logs. */
static void print_thinned(const struct reader *r)
{
	enum { SHOWN = 10 };
	static const struct { const char *reason, *text;
	} filters[] = {
		{ "duration", "Execution time filter count" },
		{ "interrupt", "No Interrupt functions filter count" },
		{ "no_interrupt", "Only Interrupt functions filter count" },
		{ "function", "Function List filter count" },
		{ "depth", "Depth filter count" },
		{ "thread", "Process filter count" },
	};
	struct kept_span *spans;
	size_t n = thinned_spans(&r->meta, &spans);
	uint64_t all = 0;

	if (!thinned_by(&r->meta))
		return;
	line("chosen by", thinned_by(&r->meta));
	printf("%-16s %zu\n", "spans", n);
	for (size_t i = 0; i < n && i < SHOWN; i++)
		if (spans[i].stop_ns == UINT64_MAX)
			printf("  from %12.6f s to the end\n", (double)spans[i].start_ns / 1e9);
		else
			printf("  from %12.6f s to %12.6f s\n", (double)spans[i].start_ns / 1e9,
			       (double)spans[i].stop_ns / 1e9);
	if (n > SHOWN)
		printf("  … %zu more\n", n - SHOWN);
	for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
		uint64_t left_out = thinned_left_out(&r->meta, filters[i].reason);

		all += left_out;
		if (left_out)
			printf("%s = %" PRIu64 "\n", filters[i].text, left_out);
	}
	if (all)
		printf("Total entries filtered = %" PRIu64 "\nNumber of entries after filters = %" PRIu64 "\n", all,
		       thinned_left_out(&r->meta, "calls") - all);
	free(spans);
}

static void put_spans_json(struct json *j, const struct meta *m)
{
	struct kept_span *spans;
	size_t n = thinned_spans(m, &spans);

	json_array(j, "spans");
	for (size_t i = 0; i < n; i++) {
		json_object(j, NULL);
		json_number(j, "start_ns", spans[i].start_ns);
		json_known(j, "stop_ns", spans[i].stop_ns != UINT64_MAX, spans[i].stop_ns);
		json_close(j);
	}
	json_close(j);
	free(spans);
}

static void put_left_out_json(struct json *j, const struct meta *m)
{
	json_object(j, "left_out");
	/* of spans alone, calls are not counted */
	if (thinned_left_out(m, "calls")) {
		json_number(j, "calls", thinned_left_out(m, "calls"));
		for (int i = 0; i < THIN_REASONS; i++)
			json_number(j, thin_reason_name(i), thinned_left_out(m, thin_reason_name(i)));
	}
	json_close(j);
}

/* What the header of a log of KFI says of its filters and triggers. */
static void print_kfi_lines(const struct meta *m)
{
	for (size_t i = 0; meta_get(m, "imported") && kfi_meta_line(m, i); i++)
		line(i ? "" : "log", kfi_meta_line(m, i));
}

/* "73 places learnt, 3 image": where it is known from where the kernel keeps what was read. */
static void print_layout(const struct meta *m)
{
	unsigned counts[LAYOUT_SOURCES] = { 0 };
	struct buf text = { 0 };
	struct layout layout;

	if (!meta_get(m, "layout"))
		return;
	layout_from_text(meta_get(m, "layout"), &layout);
	for (int i = 0; i < MEMBERS; i++)
		counts[layout.from[i]]++;
	for (int i = LAYOUT_NOWHERE + 1; i < LAYOUT_SOURCES; i++)
		if (counts[i])
			buf_printf(&text, "%s%u %s", text.len ? ", " : "", counts[i],
				   layout_source_name((enum layout_source)i));
	buf_put_u8(&text, 0);
	if (text.len > 1)
		line("places in types", (char *)text.data);
	buf_free(&text);
}

static void print_ending(const struct trace_arg *t, const struct facts *facts)
{
	struct buf text = { 0 };

	ending_note(t, facts, &text);
	buf_put_u8(&text, 0);
	if (text.len > 1)
		line("ended", (char *)text.data);
	buf_free(&text);
}

static void print_stopped(const char *why)
{
	cleanup_free char *text = xasprintf("stopped early: %s", why);

	line("state", text);
}

static void print_text(const struct trace_arg *t, const struct summary *s, const struct facts *facts,
		       const char *release, bool exact)
{
	const struct reader *r = t->reader;

	line("trace", r->path);
	if (meta_get(&r->meta, "imported"))
		line("imported from", meta_get(&r->meta, "imported"));
	print_kfi_lines(&r->meta);
	if (meta_get(&r->meta, "imported") && meta_get(&r->meta, "absent"))
		line("absent", meta_get(&r->meta, "absent"));
	line("guest", or_empty(meta_get(&r->meta, "arch")));
	line("kernel", *release ? release : "not known");
	line("command line", or_empty(meta_get(&r->meta, "command_line")));
	if (meta_get(&r->meta, "changed"))
		line("guest changed", meta_get(&r->meta, "changed"));
	line("qemu", or_empty(meta_get(&r->meta, "qemu")));
	printf("%-16s 0x%" PRIx64 "\n", "slide", r->boots.list->slide);
	print_boots(&r->boots);
	print_wakes(&r->boots);
	printf("%-16s %u\n", "vcpus", s->vcpus);
	line("clock", or_empty(meta_get(&r->meta, "clock")));
	printf("%-16s %.6f s of guest time; halted %.6f s%s\n", "duration", (double)s->duration_ns / 1e9,
	       (double)s->halted_ns / 1e9, s->vcpus > 1 ? ", all vCPUs added up" : "");
	print_ending(t, facts);
	if (!reader_lacks(r, "instructions"))
		count("instructions", s->insns, false, exact);
	count("events", s->events, false, exact);
	for (int k = 1; k < EVENT_KINDS; k++)
		if (s->kinds[k])
			count(event_kind_name((enum event_kind)k), s->kinds[k], true, exact);
	count("bytes", r->size, false, exact);
	if (s->events)
		printf("%-16s %.3f\n", "bytes an event", (double)r->size / (double)s->events);
	for (int i = 0; i < CHUNK_TYPES; i++)
		if (contents[i] && s->stored[i])
			count(contents[i], s->stored[i], true, exact);
	print_facts(facts);
	count("lost", s->lost, false, exact);
	if (meta_get_u64(&r->meta, "late_arrivals", 0))
		printf("%-16s %" PRIu64
		       " jump targets were translated before they were known; entries there may be missing until QEMU translated them again\n",
		       "arrivals", meta_get_u64(&r->meta, "late_arrivals", 0));
	print_thinned(r);
	print_limits(r);
	print_layout(&r->meta);
	if (*or_empty(meta_get(&r->meta, "no_names")))
		line("without names", meta_get(&r->meta, "no_names"));
	if (*or_empty(meta_get(&r->meta, "lacks")))
		line("kernel lacks", meta_get(&r->meta, "lacks"));
	if (*or_empty(meta_get(&r->meta, "early")))
		line("learnt late", meta_get(&r->meta, "early"));
	if (r->n_damages)
		printf("%-16s damaged: %zu parts of it cannot be had\n", "state", r->n_damages);
	else if (r->cut_why)
		printf("%-16s cut: %s at byte %" PRIu64 "; the events before are whole\n", "state", r->cut_why,
		       r->cut_at);
	else if (meta_get(&r->meta, "stopped"))
		print_stopped(meta_get(&r->meta, "stopped"));
	else
		printf("%-16s %s\n", "state", reader_complete(r) ? "whole" :
		       r->ended ? "whole, with losses" : "cut: no end; still recording, or the recorder was killed");
}

static void put_contents_json(struct json *j, const struct summary *s)
{
	json_object(j, "events_by_kind");
	for (int k = 1; k < EVENT_KINDS; k++)
		json_number(j, event_kind_name((enum event_kind)k), s->kinds[k]);
	json_close(j);
	json_object(j, "bytes_by_content");
	for (int i = 0; i < CHUNK_TYPES; i++)
		if (contents[i])
			json_number(j, contents[i], s->stored[i]);
	json_close(j);
}

static void put_meta_json(struct json *j, const struct meta *m)
{
	json_object(j, "not_watched");
	for (size_t i = 0; i < meta_count(m); i++)
		if (is_limit(meta_key(m, i)))
			json_number(j, meta_key(m, i) + strlen(READER_LIMIT), meta_get_u64(m, meta_key(m, i), 0));
	json_close(j);
	put_spans_json(j, m);
	put_left_out_json(j, m);
	json_object(j, "meta");
	for (size_t i = 0; i < meta_count(m); i++)
		json_text(j, meta_key(m, i), meta_value(m, i));
	json_close(j);
}

static void print_json(const struct trace_arg *t, const struct summary *s, const struct facts *facts,
		       const char *release)
{
	const struct reader *r = t->reader;
	struct json j;

	json_output_begin(&j);
	json_object(&j, NULL);
	json_number(&j, "events", s->events);
	json_known(&j, "instructions", !reader_lacks(r, "instructions"), s->insns);
	json_number(&j, "bytes", r->size);
	json_number(&j, "lost", s->lost);
	json_flag(&j, "complete", reader_complete(r));
	json_number(&j, "vcpus", s->vcpus);
	json_number(&j, "duration_ns", s->duration_ns);
	json_number(&j, "halted_ns", s->halted_ns);
	json_number(&j, "slide", r->boots.list->slide);
	json_text(&j, "kernel_release", release);
	put_boots_json(&j, &r->boots);
	put_wakes_json(&j, &r->boots);
	ending_note_json(&j, t, facts);
	json_text(&j, "cut", r->cut_why);
	put_contents_json(&j, s);
	put_facts_json(&j, facts);
	put_meta_json(&j, &r->meta);
	json_close(&j);
	json_output_end(&j);
}

static int print_digest(const struct reader *r, struct error *err)
{
	uint64_t digest;

	if (digest_analyse(r, &digest, err) < 0)
		return EXIT_FAILED;
	terminal_end_progress();
	printf("%016" PRIx64 "\n", digest);
	return EXIT_OK;
}

static int run(const struct args *args, struct error *err)
{
	struct buf release = { 0 };
	struct facts facts = { 0 };
	struct summary s;
	struct trace_arg t;
	int r = EXIT_FAILED;

	if (trace_arg_open(args, &t, err) < 0)
		return EXIT_FAILED;
	if (arg(args, "digest")) {
		r = print_digest(t.reader, err);
	} else if (summary_analyse(t.reader, &s, err) == 0 && facts_read(t.reader, &facts, err) == 0) {
		terminal_end_progress();
		put_release(t.reader->boots.list, &release);
		if (arg(args, "json"))
			print_json(&t, &s, &facts, (char *)release.data);
		else
			print_text(&t, &s, &facts, (char *)release.data, arg(args, "exact"));
		r = EXIT_OK;
	}
	facts_deinit(&facts);
	buf_free(&release);
	trace_arg_close(&t);
	return r;
}

static const struct option options[] = {
	{ 0, "json", NULL, "print JSON" },
	{ 0, "exact", NULL, "numbers without commas" },
	{ 0, "digest", NULL, "only one number, equal for recordings that are equal event for event" },
	HELP_OPTION,
	{ 0 },
};

static const struct term terms[] = {
	{ "events, instructions, bytes", "how many; bytes of the file" },
	{ "lost", "events that were lost while recording" },
	{ "complete", "it ended in order, and nothing was lost" },
	{ "cut", "why it ends within a chunk; null: it does not" },
	{ "duration_ns", "guest time of the last event" },
	{ "not_watched", "what was not watched since there was too much of it, and how often" },
	{ "halted_ns", "of that, what vCPUs were halted, all together" },
	{ "slide", "how far KASLR moved the kernel; of several boots, the first one's" },
	{ "wakes", "each time that the guest was suspended to RAM and woken: sleep_ns, when it stood still; start_ns, when "
		   "firmware ran; kernel_ns, when the kernel went on (null: it did not)" },
	{ "boots", "each boot: start_ns, when it began; kernel, its release (null: none was seen); slide" },
	{ "events_by_kind", "the same events, by kind" },
	{ "facts",
	  "what was read from the kernel's own structures, by kind: how often, and its bytes before they are packed" },
	{ "bytes_by_content", "the same bytes, by what they are of" },
	{ "kernel_release, vcpus", "the guest's" },
	{ "spans",
	  "of a trace that is a part of another one: start_ns and stop_ns of each (null: the trace's end); empty: it is whole" },
	{ "left_out",
	  "in them: calls, how many there were; and how many of these were left out, by the first reason that applied: duration, interrupt, "
	  "no_interrupt, function, depth, thread; empty: calls were not chosen" },
	ENDING_TERMS,
	{ "meta", "what the recorder wrote down, as text" },
	{ 0 },
};

static const struct legend legends[] = { { "json", NULL, terms }, { 0 } };

const struct command cmd_info = {
	.name = "info",
	.operands = "TRACE",
	.summary = "what a trace holds, and whether it is whole",
	.description =
		"Prints guest, kernel release, command line, slide, clocks, vCPUs, events by kind, instructions, "
		"size, what was lost, and whether the trace is whole or was cut short.\n",
	.examples = "  upto info trace.upto\n      at a glance\n"
		    "  upto info --json trace.upto\n      for programs\n",
	.options = options,
	.legends = legends,
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
