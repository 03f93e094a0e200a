/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recording_choice.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cli/args/thin_file.h"
#include "cli/print/output_file.h"
#include "cli/print/terminal.h"
#include "kfi/config.h"

enum { CONFIG_SIZE_MAX = 1 << 24 };

int recording_config_read(const char *path, struct kfi_config *ret, struct error *err)
{
	struct buf text = { 0 };
	int result;

	*ret = (struct kfi_config){ 0 };
	result = file_read(path, CONFIG_SIZE_MAX, &text, err);
	if (result == 0)
		result = kfi_config_parse(path, (char *)text.data, text.len, ret, err);
	buf_free(&text);
	return result;
}

/* The runs of a configuration, if there are several, each have a trace of their own. */
static char *run_path(const struct kfi_config *config, const char *path, size_t i)
{
	return config->count > 1 ? xasprintf("%s.%zu", path, i + 1) : xstrdup(path);
}

static int check_runs(const struct kfi_config *config, const char *path, bool force, struct error *err)
{
	int result = 0;

	for (size_t i = 0; result == 0 && config->count > 1 && i < config->count; i++) {
		cleanup_free char *of_run = run_path(config, path, i);

		result = output_file_check(of_run, OUTPUT_TRACE, force, NULL, err);
	}
	return result;
}

int recording_choice_check(const struct args *args, const char *path, struct error *err)
{
	struct kfi_config config;
	int status = EXIT_OK;

	if (!arg(args, "kfi"))
		return EXIT_OK; /* main() has checked the values of the other options */
	if (select_is_asked(args)) {
		error_set(err, "--kfi: its triggers and filters, or those of other options: not both");
		return EXIT_USAGE;
	}
	if (recording_config_read(arg(args, "kfi"), &config, err) < 0 ||
	    check_runs(&config, path, arg(args, "force"), err) < 0)
		status = EXIT_FAILED;
	kfi_config_deinit(&config);
	return status;
}

/* KFI was primed again by what stops a run; one that starts at once, or never stops, repeats nothing. */
static bool repeats(const struct kfi_run *run)
{
	return run->start.kind && run->stop.kind;
}

void recording_choice_notes(const struct args *args, struct buf *out)
{
	static const char *const notes[KFI_ENTRIES] = {
		[KFI_LOGENTRIES] = "logentries: a trace does not fill up; 'upto thin --limit N' cuts one",
		[KFI_OVERWRITE] =
			"overwrite: a trace does not fill up, so all is kept; 'upto thin --limit N --keep last' keeps the end",
		[KFI_UNTIMED] = "untimed: has no meaning here: a trace has each entry and exit, with its time",
		[KFI_STACK] =
			"watch stack: a trace has the stacks of all threads; 'upto ps --stack-watch' shows how much each used, and where",
		[KFI_AUTOREPEAT] = "autorepeat: nothing repeats in a run without both triggers",
		[KFI_WORST_STACK] =
			"watch worst-stack: a trace has all stacks; 'upto ps --stack-watch' and 'upto stack --deepest' show the worst",
	};
	struct kfi_config config;
	struct error ignored;

	if (!arg(args, "kfi"))
		return;
	recording_config_read(arg(args, "kfi"), &config, &ignored);
	for (size_t i = 0; i < config.count; i++)
		for (int e = 0; e < KFI_ENTRIES; e++)
			if (notes[e] && config.runs[i].lines[e] && !(e == KFI_AUTOREPEAT && repeats(&config.runs[i]))) {
				buf_printf(out, "upto: ");
				terminal_escape(out, arg(args, "kfi"));
				buf_printf(out, ":%u: %s\n", config.runs[i].lines[e], notes[e]);
			}
	kfi_config_deinit(&config);
}

/* NULL: there is none, or the recorder cannot tell by that, such as by a function's address. */
static char *condition_of(const struct kfi_trigger *t, bool stops)
{
	switch (t->kind) {
	case KFI_TRIGGER_TIME:
		return xasprintf("time:%s%" PRIu64 "us", stops ? "+" : "", t->usecs);
	case KFI_TRIGGER_ENTRY:
	case KFI_TRIGGER_EXIT:
		if (strncmp(t->function.name, "0x", 2))
			return xasprintf("%s:%s", t->kind == KFI_TRIGGER_ENTRY ? "entry" : "exit", t->function.name);
		return NULL;
	default:
		return NULL;
	}
}

static void put_key(const char *key, size_t span, const char *value, struct buf *lines)
{
	char buffer[CONDITION_KEY];

	meta_put(lines, condition_key(key, span, buffer), value);
}

/* False: when it is over is known only afterwards. */
static bool put_run(const struct kfi_run *run, size_t span, bool last, struct buf *lines)
{
	cleanup_free char *start = condition_of(&run->start, false), *stop = condition_of(&run->stop, true);
	bool told = start || !run->start.kind, over = told && stop && (last || !run->autorepeat);

	if (start)
		put_key("start", span, start, lines);
	if (over)
		put_key("stop", span, stop, lines);
	if (over && start && run->autorepeat)
		put_key("every", span, "yes", lines);
	return over;
}

static void put_kfi(const char *path, struct buf *lines)
{
	struct kfi_config config;
	struct error err;
	size_t n = 0;

	if (recording_config_read(path, &config, &err) == 0)
		while (n < config.count && put_run(&config.runs[n], n, n + 1 == config.count, lines))
			n++;
	if (config.count)
		meta_put_u64(lines, "spans", n < config.count ? n + 1 : n);
	kfi_config_deinit(&config);
}

void recording_choice_put(const struct args *args, struct buf *lines)
{
	static const char *const keys[] = { "start", "stop", "every" };
	struct error err;
	uint64_t before;

	if (arg(args, "kfi"))
		put_kfi(arg(args, "kfi"), lines);
	if (arg(args, "before") && arg_time(args, "before", &before, &err) == 0)
		meta_put_u64(lines, "before", before);
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (arg(args, keys[i]))
			meta_put(lines, keys[i], arg(args, keys[i]));
}

/* The recorder has counted how often the start condition held while it waited. */
static void count_hits(struct thin_options *o, const struct reader *r)
{
	o->start_hits = meta_get_u64(&r->meta, "start_hits", 0);
	o->after_ns = meta_get_u64(&r->meta, "start_ns", 0);
}

static int apply(const struct selected *selected, const struct trace_arg *t, const char *path,
		 struct thin_counts *counts, struct recording_chosen *chosen, struct error *err)
{
	if (thin_file(selected, t, path, true, counts, err) < 0)
		return -1;
	buf_printf(&chosen->lines, "upto: ");
	thin_put(counts, path, &chosen->lines);
	return 0;
}

/* The runs of a configuration, one after the other: each waits for its start once the one before has stopped. */
static int apply_kfi(const struct args *args, const struct trace_arg *t, const char *path, struct recording_chosen *ret,
		     struct error *err)
{
	const char *file = arg(args, "kfi");
	struct kfi_config config;
	uint64_t after_ns = 0;
	int result = recording_config_read(file, &config, err);

	for (size_t i = 0; result == 0 && i < config.count; i++) {
		cleanup_free char *of_run = run_path(&config, path, i);
		struct thin_counts counts;
		struct selected selected;

		result = select_kfi(&config.runs[i], file, &t->session, after_ns, &selected, err);
		if (result == 0)
			result = apply(&selected, t, of_run, &counts, ret, err);
		if (result == 0)
			after_ns = counts.stop_ns;
		selected_deinit(&selected);
	}
	ret->replaced = result == 0 && config.count == 1;
	kfi_config_deinit(&config);
	return result;
}

static int apply_options(const struct args *args, const struct trace_arg *t, const char *path,
			 struct recording_chosen *ret, struct error *err)
{
	struct thin_counts counts;
	struct selected selected;
	int result = select_arg(args, &t->session, &selected, err);

	count_hits(&selected.options, t->reader);
	if (result == 0)
		result = apply(&selected, t, path, &counts, ret, err);
	ret->replaced = result == 0;
	selected_deinit(&selected);
	return result;
}

/* Append what a recording has of which nothing is taken out: all, or from when to when the recorder has not waited. */
static void put_what_it_has(const struct reader *r, bool waited, struct buf *out)
{
	uint64_t from = UINT64_MAX, to = 0;

	for (size_t i = 0; i < r->n_chunks; i++) {
		const struct chunk_header *h = &r->chunks[i].header;

		if (h->type != CHUNK_EVENTS)
			continue;
		waited |= h->flags & CHUNK_GAP;
		from = h->first_ns < from ? h->first_ns : from;
		to = h->last_ns > to ? h->last_ns : to;
	}
	if (!r->n_event_chunks)
		buf_printf(out, "has no events");
	else if (waited)
		buf_printf(out, "has what was recorded, from %.6f s to %.6f s; nothing was taken out",
			   (double)from / 1e9, (double)to / 1e9);
	else
		buf_printf(out, "is whole, nothing was taken out");
	buf_put_u8(out, 0);
}

/* An error about the trace itself has its name already. */
static void put_before(struct error *err, const char *path, const char *has)
{
	size_t n = strlen(path);
	bool named = !strncmp(err->text, path, n) && !strncmp(err->text + n, ": ", 2);
	struct error told = *err;

	error_set(err, "%s: %s: %s", path, has, told.text + (named ? n + 2 : 0));
}

bool recording_chooses(const struct args *args)
{
	return arg(args, "kfi") || select_is_asked(args);
}

int recording_choice_apply(const struct args *args, const char *path, bool quiet, bool waited,
			   struct recording_chosen *ret, struct error *err)
{
	struct buf has = { 0 };
	struct trace_arg t;
	int result;

	if (!recording_chooses(args))
		return 0;
	if (open_trace(path, &t, err) < 0)
		return -1;
	if (!quiet)
		t.reader->progress = terminal_progress;
	if (arg(args, "kfi"))
		result = apply_kfi(args, &t, path, ret, err);
	else if (!t.reader->n_event_chunks)
		result = error_set(err, "what is to start it (--start %s) did not happen", arg(args, "start"));
	else
		result = apply_options(args, &t, path, ret, err);
	if (result < 0) {
		put_what_it_has(t.reader, waited, &has);
		put_before(err, path, (char *)has.data);
	}
	buf_free(&has);
	trace_arg_close(&t);
	return result;
}
