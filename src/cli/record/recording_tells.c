/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recording_tells.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/check/summary.h"
#include "base/alloc.h"
#include "cli/args/trace_arg.h"
#include "cli/print/ending_note.h"
#include "cli/print/see.h"
#include "cli/print/terminal.h"
#include "kernel_names.h"
#include "qemu.h"
#include "trace/reader.h"

/* A run that is to repeat has nothing to do with what does not. */
static void tell_outside(const struct recording *rec, struct buf *lines)
{
	struct buf words = { 0 };

	if (rec->deterministic)
		qemu_outside(rec->argv, &words);
	if (words.len)
		buf_printf(lines, "upto: --deterministic: what lies outside of the machine does not repeat: %.*s\n",
			   (int)words.len, (char *)words.data);
	buf_free(&words);
}

void recording_tell_asked(const struct recording *rec, const struct kernel_files *kernel)
{
	struct buf lines = { 0 };

	if (rec->quiet)
		return;
	recording_choice_notes(rec->args, &lines);
	tell_outside(rec, &lines);
	kernel_names_lacking(rec->args, &kernel->sources, &lines);
	if (lines.len)
		fwrite(lines.data, 1, lines.len, stderr);
	buf_free(&lines);
}

void recording_tell_status(const struct recording *rec, const struct stats *st, uint64_t events_before, unsigned ms)
{
	double rate = (double)(st->events - events_before) * 1000 / ms;

	if (st->waits) {
		const char *start = arg(rec->args, "start");
		struct buf line = { 0 };

		terminal_escape(&line, st->waits == 1 && start ? start : "its end");
		buf_put_u8(&line, 0);
		fprintf(stderr, "\r\033[Kguest %.2f s  waits for %s", (double)st->guest_ns / 1e9, (char *)line.data);
		buf_free(&line);
		fflush(stderr);
		return;
	}
	fprintf(stderr, "\r\033[Kguest %.2f s  %.1f M events  %.1f M/s  %.1f MB", (double)st->guest_ns / 1e9,
		(double)st->events / 1e6, rate / 1e6, (double)st->bytes / 1e6);
	fflush(stderr);
}

static void print_costs(const struct stats *st)
{
	for (int k = 1; k < FACT_KINDS; k++)
		if (st->facts[k])
			fprintf(stderr, "upto: cost of %-10s %8" PRIu64 " times  %10.3f ms\n",
				fact_kind_name((enum fact_kind)k), st->facts[k], (double)st->fact_ns[k] / 1e6);
}

static void print_learning(const struct stats *st)
{
	if (st->learn_tries)
		fprintf(stderr, "upto: cost of %-10s %8" PRIu64 " times  %10.3f ms\n", "learning", st->learn_tries,
			(double)st->learn_ns / 1e6);
}

/* "was killed (SIGKILL)", "crashed (SIGSEGV)", of a recorder that could not write the end */
static void put_how_qemu_ended(int killed_by, struct buf *out)
{
	static const int crashes[] = { SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE };
	bool crashed = false;

	for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
		crashed |= killed_by == crashes[i];
	if (killed_by)
		buf_printf(out, "%s (SIG%s)", crashed ? "crashed" : "was killed",
			   sigabbrev_np(killed_by) ? sigabbrev_np(killed_by) : "RT");
	else
		buf_printf(out, "ended on its own");
}

void recording_tell_faults(const struct recording *rec, const struct stats *st, int killed_by)
{
	const char *start = arg(rec->args, "start");
	struct buf how = { 0 };

	/* what a killed one was saying may lack its end */
	for (size_t at = 0, n; at < sizeof st->says && (n = strcspn(st->says + at, "\n")); at += n + 1)
		fprintf(stderr, "upto: %.*s\n", (int)n, st->says + at);
	if (st->write_error && st->waits == 1 && !st->events)
		fprintf(stderr, "upto: %s: cut short: %s; it has no events: what is to start it%s%s%s did not happen\n",
			rec->output, strerror(st->write_error), start ? " (--start " : "", start ? start : "",
			start ? ")" : "");
	else if (st->write_error)
		fprintf(stderr,
			"upto: %s: cut short: %s; the %" PRIu64 " events before are whole, %" PRIu64 " were lost\n",
			rec->output, strerror(st->write_error), st->events - st->lost, st->lost);
	if (!st->write_error && st->lost)
		fprintf(stderr, "upto: %s: %" PRIu64 " events are not in it: 'upto info' and 'upto check' tell of them\n",
			rec->output, st->lost);
	put_how_qemu_ended(killed_by, &how);
	if (!st->write_error && !st->finished)
		fprintf(stderr, "upto: %s: cut short: QEMU %.*s; what was written before is whole\n", rec->output,
			(int)how.len, (char *)how.data);
	buf_free(&how);
	if (st->limits)
		fprintf(stderr,
			"upto: %s: %" PRIu64
			" things were not watched, since tables were full: 'upto info' says which\n",
			rec->output, st->limits);
}

bool recording_is_cut_short(const struct stats *st)
{
	return st->write_error || !st->finished;
}

/* What a trace has that was cut short; of another one, what was recorded. */
static struct summary figures(const struct recording *rec, const struct stats *st)
{
	struct summary all = { .events = st->events, .insns = st->insns, .duration_ns = st->guest_ns }, kept;
	struct reader *r;
	struct error ignored;

	if (!recording_is_cut_short(st) || reader_open(rec->output, &r, &ignored) < 0)
		return all;
	if (summary_analyse(r, &kept, &ignored) == 0)
		all = kept;
	reader_free(r);
	return all;
}

/* Of a recording of which nothing was taken out. */
static void tell_all(const struct recording *rec, const struct stats *st)
{
	struct summary all = figures(rec, st);
	struct stat file;
	double bytes = stat(rec->output, &file) == 0 ? (double)file.st_size : (double)st->bytes;

	fprintf(stderr,
		"upto: %s: %.1f M events, %.2f G instructions, %.2f s of guest time, %.1f MB (%.3f bytes an event)%s\n",
		rec->output, (double)all.events / 1e6, (double)all.insns / 1e9, (double)all.duration_ns / 1e9,
		bytes / 1e6, all.events ? bytes / (double)all.events : 0.0,
		st->names || st->objects ? "" : ", no kernel symbols");
}

/* How the guest ended, and what its kernel complained of. */
static void tell_ending(const struct recording *rec)
{
	struct buf text = { 0 }, path = { 0 };
	struct facts facts = { 0 };
	const char *moment = NULL;
	struct trace_arg t;
	struct error ignored;

	if (open_trace(rec->output, &t, &ignored) < 0)
		return;
	if (facts_read(t.reader, &facts, &ignored) == 0)
		moment = ending_note(&t, &facts, &text);
	if (text.len)
		fprintf(stderr, "upto: %s: ended: %.*s\n", rec->output, (int)text.len, (char *)text.data);
	see_path(&path, rec->output);
	if (moment)
		fprintf(stderr, "see: upto stack --at %s %.*s\n", moment, (int)path.len, (char *)path.data);
	buf_free(&path);
	facts_deinit(&facts);
	buf_free(&text);
	trace_arg_close(&t);
}

/* Most of a distribution's programs and libraries. */
static void tell_stripped(const struct recording *rec, const struct file_symbols *found)
{
	struct buf names = { 0 }, packages = { 0 };

	terminal_escape(&names, found->stripped_names);
	if (found->stripped > STRIPPED_NAMED)
		buf_printf(&names, " …");
	file_symbols_put_packages(found, &packages);
	fprintf(stderr,
		"upto: %s: of the programs and libraries that ran, %zu are stripped (%.*s): with their debug packages%.*s below ROOT, or DEBUGINFOD_URLS "
		"set, 'upto symbols --sysroot ROOT %s' adds their names\n",
		rec->output, found->stripped, (int)names.len, (char *)names.data, (int)packages.len,
		(char *)packages.data, rec->output);
	buf_free(&names);
	buf_free(&packages);
}

void recording_summarise(const struct recording *rec, const struct stats *st, const struct recording_chosen *chosen,
			 const struct file_symbols *files)
{
	cleanup_free char *next = see_path_text(rec->output);

	if (rec->costs) {
		print_costs(st);
		print_learning(st);
	}
	if (rec->quiet)
		return;
	if (!chosen->replaced)
		tell_all(rec, st);
	if (chosen->lines.len)
		fwrite(chosen->lines.data, 1, chosen->lines.len, stderr);
	tell_ending(rec);
	if (files->stripped)
		tell_stripped(rec, files);
	if (st->never_ran[0])
		fprintf(stderr, "upto: %s: nothing of these ran, or not where it was said to: %.*s\n", rec->output,
			(int)sizeof st->never_ran, st->never_ran);
	if (!st->kernel && !st->names && !st->objects && st->events)
		fprintf(stderr,
			"upto: %s: no kernel of Linux was found: give --symbols FILE with the functions of what ran\n",
			rec->output);
	if (st->no_names[0])
		fprintf(stderr,
			"upto: %s: kernel without names: %.*s, and no vmlinux or System.map lies beside it; give --symbols vmlinux\n",
			rec->output, (int)sizeof st->no_names, st->no_names);
	if (st->learnt)
		fprintf(stderr,
			"upto: %s: nothing describes this kernel's types: %u places in its structures were learnt from the guest ('upto layout %s')\n",
			rec->output, st->learnt, rec->output);
	if (st->lacks[0] && !st->no_names[0])
		fprintf(stderr, "upto: %s: the kernel lacks %.*s: what upto reads there is not in the trace\n",
			rec->output, (int)sizeof st->lacks, st->lacks);
	if (!st->events)
		return; /* nothing to ask about */
	/* without a Linux kernel nobody was woken up, and there is nothing to ask why about */
	fprintf(stderr,
		st->facts[FACT_WAKE] ? "next: upto timeline %s | upto why %s | upto top %s | upto syscalls %s\n"
				     : "next: upto top %s | upto first %s | upto syscalls %s | upto info %s\n",
		next, next, next, next);
}
