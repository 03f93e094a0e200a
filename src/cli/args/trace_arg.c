/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace_arg.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/print/left_out_note.h"
#include "cli/print/quantity.h"
#include "cli/print/terminal.h"
#include "replay/unknown.h"
#include "select_arg.h"
#include "thin_file.h"
#include "trace/damage.h"
#include "trace_has.h"
#include "trace_lacks.h"

static void warn(const struct reader *r)
{
	const char *stopped = meta_get(&r->meta, "stopped");
	uint64_t lost = reader_lost(r);
	struct buf path = { 0 }, why = { 0 };

	terminal_escape(&path, r->path);
	buf_put_u8(&path, 0);
	terminal_escape(&why, stopped ? stopped : "");
	buf_put_u8(&why, 0);

	if (stopped)
		fprintf(stderr, "upto: %s: recording stopped early: %s\n", (char *)path.data, (char *)why.data);
	else if (r->cut_why)
		fprintf(stderr, "upto: %s: %s at byte %" PRIu64 " (chunk %zu); the events before are whole\n",
			(char *)path.data, r->cut_why, r->cut_at, r->n_chunks);
	else if (!r->ended)
		fprintf(stderr, "upto: %s: has no end: it is being recorded, or its recorder was killed; "
				"the events so far are whole\n", (char *)path.data);
	if (lost)
		fprintf(stderr, "upto: %s: %" PRIu64 " events were lost\n", (char *)path.data, lost);
	buf_free(&path);
	buf_free(&why);
}

static void warn_damages(const struct reader *r)
{
	for (size_t i = 0; i < r->n_damages; i++) {
		const struct damage *d = &r->damages[i];
		struct buf line = { 0 };

		terminal_escape(&line, r->path);
		buf_printf(&line, ": ");
		damage_put_place(&line, d);
		buf_printf(&line, ": ");
		if (d->type == CHUNK_EVENTS) {
			buf_printf(&line, "%" PRIu64 " events of vCPU %u, from ", d->events, d->cpu);
			put_moment(&line, d->from_ns);
			buf_printf(&line, " to ");
			put_moment(&line, d->to_ns);
			buf_printf(&line, " s, cannot be had; the others can, as around a gap");
		} else if (d->type == DAMAGE_HOLE && d->offset) {
			buf_printf(&line, "%" PRIu64 " chunk%s in %" PRIu64 " bytes cannot be found; what is behind "
					  "can, as around a gap", d->chunks, d->chunks == 1 ? "" : "s", d->bytes);
		} else {
			buf_printf(&line, "some %s cannot be had; all others can", damage_of(d));
		}
		buf_put_u8(&line, 0);
		fprintf(stderr, "upto: %s\n", (char *)line.data);
		buf_free(&line);
	}
}

/* What answers will not have, and why. */
static void warn_unknown(const struct trace_arg *t)
{
	static const enum unknown told[] = { UNKNOWN_KERNEL, UNKNOWN_NAMES, UNKNOWN_THREADS, UNKNOWN_PROGRAMS };

	for (size_t i = 0; i < sizeof told / sizeof *told; i++)
		if (is_unknown(t->reader, &t->threads, told[i])) {
			struct buf line = { 0 }, safe = { 0 };

			unknown_put(t->reader, told[i], &line);
			buf_put_u8(&line, 0);
			terminal_escape(&safe, t->reader->path);
			buf_printf(&safe, ": ");
			terminal_escape(&safe, (char *)line.data);
			buf_put_u8(&safe, 0);
			fprintf(stderr, "upto: %s\n", (char *)safe.data);
			buf_free(&line);
			buf_free(&safe);
			return; /* what it is the reason of needs no line of its own */
		}
}

static int write_selected(const struct args *args, const struct trace_arg *t, int fd, enum chosen_for purpose,
			  struct error *err)
{
	struct thin_counts counts;
	struct selected selected;
	bool *thunks = NULL;
	int result = select_arg(args, &t->session, &selected, err);

	selected.of_all = args->command->of_all || purpose == CHOSEN_FOR_SUMS;
	selected.tells_held = purpose != CHOSEN_FOR_EVENTS;
	if (purpose != CHOSEN_FOR_EVENTS || (command_has(args->command, "thunks") && !arg(args, "thunks")))
		selected.options.thunks = thunks = names_thunks(&t->names);
	if (result == 0)
		result = thin_to(fd, &selected, t, NULL, &counts, err);
	free(thunks);
	terminal_end_progress();
	if (result == 0 && counts.unstopped)
		select_tell_unstopped(args, counts.stop_jumps);
	selected_deinit(&selected);
	return result;
}

/* What was chosen is written to memory, and read from there in place of the trace. */
static int open_selected(const struct args *args, enum chosen_for purpose, struct trace_arg *t, struct error *err)
{
	int fd = memfd_create("upto", MFD_CLOEXEC), result;
	struct trace_arg chosen;
	char path[32];

	if (fd < 0)
		return error_set(err, "no memory for what is chosen: %s", strerror(errno));
	result = write_selected(args, t, fd, purpose, err);
	/* there is no folder for an index there, so none is made */
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (result == 0)
		result = open_trace(path, &chosen, err);
	close(fd);
	if (result < 0)
		return -1;
	chosen.reader->progress = t->reader->progress;
	free(chosen.reader->path);
	chosen.reader->path = xstrdup(t->reader->path);
	trace_arg_close(t);
	*t = chosen;
	trace_arg_moved(t);
	return 0;
}

int trace_arg_open_whole(const struct args *args, struct trace_arg *ret, struct error *err)
{
	if (open_trace(args->operands[0], ret, err) < 0)
		return -1;
	if (trace_has_needs(args, ret, err) < 0) {
		trace_arg_close(ret);
		return -1;
	}
	if (args->tolerant || args_read_all(args))
		damage_take_out(ret->reader);
	warn(ret->reader);
	warn_damages(ret->reader);
	warn_unknown(ret);
	ret->reader->progress = terminal_progress;
	return 0;
}

static bool *copy_marks(const bool *marks, size_t count)
{
	return marks ? memcpy(xcalloc(count, sizeof *marks), marks, count * sizeof *marks) : NULL;
}

/*
 * The calls that are not chosen are folded into their callers. `rows`: functions only choose rows of sums that are of
 * all, in interrupts and elsewhere.
 */
static void fold_others(struct trace_arg *t, const struct thin_filter *f, bool rows)
{
	const bool *functions = rows ? NULL : f->functions;
	bool no_interrupts = !rows && f->no_interrupts, only_interrupts = !rows && f->only_interrupts;
	size_t count = names_count(&t->names);

	if (!functions && !f->not && !f->below && !f->depth && !no_interrupts && !only_interrupts)
		return;
	t->fold_marks = xcalloc(count, sizeof *t->fold_marks);
	for (size_t i = 0; i < count; i++)
		if ((functions && !functions[i]) || (f->not && f->not[i]))
			t->fold_marks[i] = FOLD_SELF;
	t->fold_below = copy_marks(f->below, count);
	t->fold = (struct fold){
		.marks = t->fold_marks, .below = t->fold_below, .depth = f->depth, .no_interrupts = no_interrupts,
		.only_interrupts = only_interrupts,
	};
	t->session.fold = &t->fold;
}

/* What is chosen is heeded as the trace is gone through. */
static int mark_selected(const struct args *args, struct trace_arg *t, struct error *err)
{
	struct selected selected;
	int result = select_arg(args, &t->session, &selected, err);

	if (result == 0) {
		t->in_pass = selected.what;
		selected.what = NULL;
	}
	if (result == 0 && selected.options.filter.threads) {
		t->threads.chosen = copy_marks(selected.options.filter.threads, t->threads.count);
		t->session.of_chosen = true;
	}
	if (result == 0)
		fold_others(t, &selected.options.filter, args->command->of_all);
	selected_deinit(&selected);
	return result;
}

/* `in_pass`: as in trace_arg_open_pass(); NULL: none. */
static int choose(const struct args *args, enum chosen_for purpose, const char *const *in_pass, struct trace_arg *t,
		  struct error *err)
{
	if (!select_is_asked(args))
		return 0;
	if (in_pass && !t->threads.chosen && !left_out_calls(t) && select_is_only(args, in_pass))
		return mark_selected(args, t, err);
	return open_selected(args, purpose, t, err) < 0 ? -1 : trace_has_pid(args, t, err);
}

static int open_asked(const struct args *args, enum chosen_for purpose, const char *const *in_pass,
		      struct trace_arg *ret, struct error *err)
{
	if (trace_arg_open_whole(args, ret, err) < 0)
		return -1;
	if (trace_has_asked(args, ret, err) < 0 || choose(args, purpose, in_pass, ret, err) < 0) {
		trace_arg_close(ret);
		return -1;
	}
	return 0;
}

int trace_arg_open(const struct args *args, struct trace_arg *ret, struct error *err)
{
	return open_asked(args, CHOSEN_FOR_EVENTS, NULL, ret, err);
}

const char *const folded_options[] = {
	"pid",    "comm", "functions", "not",           "below",           "depth",
	"kernel", "user", "module",    "no-interrupts", "only-interrupts", NULL,
};

int trace_arg_open_pass(const struct args *args, enum chosen_for purpose, const char *const *options,
			struct trace_arg *ret, struct error *err)
{
	return open_asked(args, purpose, options, ret, err);
}

int trace_arg_open_calls(const struct args *args, enum chosen_for purpose, struct trace_arg *ret, struct error *err)
{
	return open_asked(args, purpose, NULL, ret, err);
}

static bool ran_linux(const struct boots *boots)
{
	for (size_t i = 0; i < boots->count; i++)
		if (boots->list[i].kernel_ns != UINT64_MAX)
			return true;
	return false;
}

int trace_no_wakes(const struct trace_arg *t, struct error *err)
{
	if (!t->reader->n_event_chunks)
		return error_set(err, "%s: has no events", t->reader->path);
	if (!ran_linux(&t->reader->boots) && !meta_get(&t->reader->meta, "imported"))
		return error_set(err, "%s: no Linux ran in it, of which alone can be told who slept and who was ready",
				 t->reader->path);
	if (meta_get(&t->reader->meta, "imported"))
		return error_set(err,
				 "%s: was imported from %s: it has no wake-ups, by which alone who slept is told from who was ready",
				 t->reader->path, meta_get(&t->reader->meta, "imported"));
	if (t->threads.count < 2)
		return error_set(
			err,
			"%s: it ends before there was a second thread: nobody woke anybody up ('upto info' says how it ended)",
			t->reader->path);
	return error_set(
		err,
		"%s: the trace has no wake-ups, so who slept and who was ready cannot be told: it was recorded by an older upto, or its "
		"kernel lacks what they are read from ('upto info')",
		t->reader->path);
}

int clock_arg(const struct args *args, bool *ret_by_ns, struct error *err)
{
	const char *clock = arg(args, "clock");

	*ret_by_ns = clock && !strcmp(clock, "ns");
	if (clock && !*ret_by_ns && strcmp(clock, "insns"))
		return error_set(err, "--clock %s: insns or ns", clock);
	return 0;
}

int span_arg(const struct args *args, struct span *ret, struct error *err)
{
	struct span span = SPAN_ALL;
	uint64_t cpu = UINT64_MAX;

	if (arg_time(args, "from", &span.from_ns, err) < 0 || arg_time(args, "to", &span.to_ns, err) < 0 ||
	    arg_u64(args, "cpu", &cpu, err) < 0)
		return -1;
	if (span.from_ns > span.to_ns)
		return error_set(err, "--from %s is behind --to %s", arg(args, "from"), arg(args, "to"));
	if (arg(args, "cpu") && cpu >= CPUS_MAX)
		return error_set(err, "--cpu %s: there are at most %d", arg(args, "cpu"), CPUS_MAX);
	if (arg(args, "cpu"))
		span.cpu = (int)cpu;
	*ret = span;
	return 0;
}
