/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recording.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "analysis/check/summary.h"
#include "arch/arch.h"
#include "base/alloc.h"
#include "base/file.h"
#include "cli/args/trace_arg.h"
#include "cli/end_signals.h"
#include "cli/print/ending_note.h"
#include "cli/print/see.h"
#include "cli/print/terminal.h"
#include "config.h"
#include "file_symbols.h"
#include "kernel_files.h"
#include "kernel_names.h"
#include "qemu.h"
#include "qemu_replay.h"
#include "recording_args.h"
#include "recording_probes.h"
#include "recorder/stats.h"
#include "run_inputs.h"
#include "run_register.h"
#include "shared_folders.h"
#include "trace/reader.h"

enum { STATUS_MS = 250, BESIDE_MS = 50 /* between two looks at what runs beside the guest */ };

/* The state of a recording. */
struct recorded {
	int out, config, stats_fd;
	struct buf inside;     /* what of QEMU may be used, for the recorder */
	struct stats *stats;
	char **argv;           /* QEMU's command line; its memory is this structure's … */
	size_t own_words;      /* … and so is that of its words from this number on */
	pid_t pid;
	struct kernel_files kernel;
	struct buf probes;     /* for the recorder */
	bool made;             /* the output file is new */
	struct buf folders;    /* that virtiofsd lends, with a 0 behind each */
	bool ended;            /* the run that is made again was ended behind its span */
	int quiet;             /* QEMU's standard error in a run made again, shown if that does not start; -1: none */
	int messages;          /* QEMU's standard error, where that is not upto's; -1: it is */
	int killed_by;         /* the signal that ended QEMU; 0: none did */
	struct sigaction signals[END_SIGNALS]; /* what they did before */
};

char *recording_log(const char *output)
{
	cleanup_free char *here = *output == '/' ? NULL : getcwd(NULL, 0);

	return xasprintf("%s%s%s.replay", here ? here : "", here ? "/" : "", output);
}

void recording_args(const struct args *args, struct recording *ret)
{
	*ret = (struct recording){
		.output = arg(args, "output") ? arg(args, "output") : "trace.upto",
		.inside = arg(args, "qemu-inside"),
		.sysroot = arg(args, "sysroot"),
		.force = arg(args, "force"),
		.deterministic = arg_if_any(args, "deterministic"),
		.quiet = arg(args, "quiet"),
		.thunks = arg(args, "thunks"),
		.costs = arg(args, "costs"),
		.args = args,
		.argv = args->rest,
	};
}

/* An existing file keeps its contents until the recorder begins to write. */
static int open_output(const struct recording *rec, bool *ret_made, struct error *err)
{
	int fd;

	if (output_file_check(rec->output, OUTPUT_TRACE, rec->force, NULL, err) < 0)
		return -1;
	fd = open(rec->output, O_WRONLY | O_CREAT | O_EXCL, 0644);
	*ret_made = fd >= 0;
	if (fd < 0 && errno == EEXIST && rec->force)
		fd = open(rec->output, O_WRONLY | O_NONBLOCK);
	return fd < 0 ? error_set(err, "%s: %s", rec->output, strerror(errno)) : fd;
}

/* The recorder beside this program: installed, or in the build folder. */
static char *find_plugin(struct error *err)
{
	char self[4096], *slash, *path;
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	path = xasprintf("%s/upto-recorder.so", UPTO_PLUGIN_DIR);
	if (n > 0) {
		self[n] = '\0';
		slash = strrchr(self, '/');
		*slash = '\0';
		for (int i = 0; i < 2; i++) {
			char *beside = xasprintf(
				i ? "%s/../lib/upto/upto-recorder.so" : "%s/../recorder/upto-recorder.so", self);

			if (access(beside, R_OK) == 0) {
				free(path);
				return beside;
			}
			free(beside);
		}
	}
	if (access(path, R_OK) == 0)
		return path;
	error_set(err, "%s: not there: is upto installed?", path);
	free(path);
	return NULL;
}

static char *join(char *const *argv)
{
	struct buf text = { 0 };

	for (; *argv; argv++)
		buf_printf(&text, "%s%s", text.len ? " " : "", *argv);
	buf_put_u8(&text, 0);
	return (char *)text.data;
}

/* Several vCPUs share a thread, if something asks for that: recorder/qemu/qemu_inside.h, turns_tell(). */
static void put_turns(const struct recording *rec, struct buf *lines)
{
	const char *accel = qemu_option(rec->argv, "accel"), *why = NULL;

	if (rec->deterministic)
		why = "--deterministic";
	else if (qemu_option(rec->argv, "icount"))
		why = "-icount";
	else if (accel && strstr(accel, "thread=single"))
		why = "thread=single";
	if (why && qemu_vcpus(rec->argv) > 1)
		meta_put(lines, "turns", why);
}

/* The trace is a part of what the guest did, chosen by that option. */
static void put_snapshot(const struct recording *rec, struct buf *lines)
{
	char *const *option = qemu_snapshot(rec->argv);
	cleanup_free char *both = option ? xasprintf("%s %s", option[0], option[1]) : NULL;

	if (!both)
		return;
	meta_put(lines, "snapshot", "1");
	meta_put(lines, "meta.thinned", both);
}

/* What guest time is. Of several vCPUs, QEMU's clock goes on with each one's instructions. */
static void put_icount(const struct recording *rec, struct buf *lines)
{
	bool icount = rec->deterministic || qemu_option(rec->argv, "icount");
	int shift = rec->deterministic ? 0 : qemu_icount_shift(rec->argv);
	bool exact = icount && shift >= 0 && qemu_vcpus(rec->argv) == 1;

	if (icount)
		meta_put_u64(lines, "icount", 1);
	if (exact) {
		meta_put_u64(lines, "icount_shift", (uint64_t)shift);
		meta_put_u64(lines, "meta.icount_shift", (uint64_t)shift);
	}
	meta_put(lines, "meta.clock", exact ? "instructions retired; guest ns (icount: exact)" : icount ?
		 "instructions retired; guest ns (icount; interpolated between sync points)" :
		 "instructions retired; guest ns (interpolated between sync points)");
}

/* The files that tell of the kernel. */
static void put_sources(const struct kernel_sources *sources, struct buf *lines)
{
	if (sources->image)
		meta_put(lines, "kernel", sources->image);
	if (sources->types)
		meta_put(lines, "types", sources->types);
	if (sources->cache)
		meta_put(lines, "cache", sources->cache);
	for (size_t i = 0; i < sources->n_symbols; i++) {
		char key[32];

		snprintf(key, sizeof key, "symbols.%zu", i);
		meta_put(lines, key, sources->symbols[i].path);
		snprintf(key, sizeof key, "address.%zu", i);
		if (sources->symbols[i].placed)
			meta_put_u64(lines, key, sources->symbols[i].address);
	}
}

/* What it takes to run that guest again, and to record it. */
static void put_run(const struct recording *rec, struct buf *lines)
{
	static const char *const options[] = { "symbols", "types", "sysroot" };
	struct buf run = { 0 };
	char key[32];

	run_inputs_put(rec->argv, &run);
	if (rec->log)
		meta_put(&run, "meta.run.log", rec->log);
	for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
		snprintf(key, sizeof key, "meta.run.%s", options[i]);
		if (arg(rec->args, options[i]))
			meta_put(&run, key, arg(rec->args, options[i]));
	}
	run_register_put(&run);
	buf_put(lines, run.data, run.len);
	buf_free(&run);
}

static int write_config(const struct recording *rec, struct recorded *s, const char *version, struct error *err)
{
	const char *append = qemu_option(rec->argv, "append");
	cleanup_free char *command = join(rec->argv), *kernel_args = recording_args_of_kernel(rec->args);
	struct buf lines = { 0 };
	int r;

	meta_put_u64(&lines, "out", (uint64_t)s->out);
	meta_put_u64(&lines, "stats", (uint64_t)s->stats_fd);
	put_sources(&s->kernel.sources, &lines);
	meta_put(&lines, "meta.arch", arch_x86_64.name);
	meta_put(&lines, "meta.upto", UPTO_VERSION);
	meta_put(&lines, "meta.qemu", version);
	meta_put(&lines, "meta.qemu_command", command);
	if (append)
		meta_put(&lines, "meta.command_line", append);
	if (rec->changed)
		meta_put(&lines, "meta.changed", rec->changed);
	put_icount(rec, &lines);
	put_turns(rec, &lines);
	put_snapshot(rec, &lines);
	if (!rec->again && (rec->deterministic || rec->log))
		put_run(rec, &lines);
	recording_choice_put(rec->args, &lines);
	meta_put(&lines, "inside", (char *)s->inside.data);
	if (rec->thunks)
		meta_put(&lines, "thunks", "1");
	if (kernel_args)
		meta_put(&lines, "args", kernel_args);
	if (arg(rec->args, "event"))
		meta_put(&lines, "event", arg(rec->args, "event"));
	if (arg(rec->args, "event-check"))
		meta_put(&lines, "meta.event_check", "1");
	buf_put(&lines, s->probes.data, s->probes.len);
	meta_put_u64(&lines, "meta.vcpus", qemu_vcpus(rec->argv));
	meta_put_u64(&lines, "meta.started", (uint64_t)time(NULL));
	s->config = memfd_create("upto-config", 0);
	r = s->config < 0 ? -errno : write_all(s->config, lines.data, lines.len);
	buf_free(&lines);
	if (r < 0)
		return error_set(err, "configuration: %s", strerror(-r));
	lseek(s->config, 0, SEEK_SET);
	return 0;
}

static int share_stats(struct recorded *s, struct error *err)
{
	s->stats_fd = memfd_create("upto-stats", 0);
	if (s->stats_fd < 0 || ftruncate(s->stats_fd, sizeof *s->stats) < 0)
		return error_set(err, "shared statistics: %s", strerror(errno));
	s->stats = mmap(NULL, sizeof *s->stats, PROT_READ | PROT_WRITE, MAP_SHARED, s->stats_fd, 0);
	if (s->stats == MAP_FAILED)
		return error_set(err, "shared statistics: %s", strerror(errno));
	return 0;
}

/* Make QEMU's command line, with the recorder's options at its end. */
static int build_argv(const struct recording *rec, struct recorded *s, struct error *err)
{
	cleanup_free char *plugin = find_plugin(err);
	size_t n = 0;

	if (!plugin)
		return -1;
	if (strchr(plugin, ','))
		return error_set(err, "%s: QEMU cannot load a plugin whose path has a comma", plugin);
	while (rec->argv[n])
		n++;
	s->argv = xcalloc(n + 16, sizeof *s->argv);
	memcpy(s->argv, rec->argv, n * sizeof *s->argv);
	s->own_words = n;
	if (rec->deterministic) {
		s->argv[n++] = xstrdup("-icount");
		s->argv[n++] = xstrdup("shift=0,sleep=off");
		s->argv[n++] = xstrdup("-rtc");
		s->argv[n++] = xstrdup("clock=vm,base=2020-01-01");
		s->argv[n++] = xstrdup("-seed");
		s->argv[n++] = xstrdup("42");
	}
	if (rec->again && rec->deterministic) /* what disks hold stays as it is */
		s->argv[n++] = xstrdup("-snapshot");
	s->argv[n++] = xstrdup("-plugin");
	s->argv[n++] = xasprintf("%s,config=%d", plugin, s->config);
	return 0;
}

static volatile pid_t child;
static struct stats *volatile child_stats;

/* Ask the guest to stop. The recorder then writes the end of the trace. */
static void ask_to_end(pid_t pid, struct stats *stats)
{
	stats->end_asked = 1;
	kill(pid, SIGTERM);
}

static void on_signal(int sig)
{
	(void)sig;
	if (child > 0)
		ask_to_end(child, child_stats);
}

static void catch_signals(struct sigaction before[END_SIGNALS])
{
	struct sigaction sa = { .sa_handler = on_signal };

	for (int i = 0; i < END_SIGNALS; i++)
		sigaction(end_signals[i], &sa, &before[i]);
}

static const char unnamed[] =
	"\nupto: interrupted: the trace has all that was recorded, but maybe no names of user code; 'upto symbols' adds them\n";
static const char unchosen[] =
	"\nupto: interrupted: the trace has all that was recorded, also what was not asked for; 'upto thin' chooses from it\n";

static const char *volatile unfinished; /* what there is to say if upto ends now */

static void tell_unfinished(int sig)
{
	ssize_t ignored = write(STDERR_FILENO, unfinished, strlen(unfinished));

	(void)ignored;
	raise(sig); /* it ends upto, once the handler has returned */
}

/* QEMU has ended: from now on a signal ends upto, and the trace remains as it was recorded. */
static void let_signals_end(const struct recording *rec, const struct sigaction before[END_SIGNALS])
{
	const struct sigaction sa = { .sa_handler = tell_unfinished, .sa_flags = (int)SA_RESETHAND };

	unfinished = recording_chooses(rec->args) ? unchosen : unnamed;
	for (int i = 0; i < END_SIGNALS; i++)
		sigaction(end_signals[i], before[i].sa_handler == SIG_DFL ? &sa : &before[i], NULL);
}

/* All is done but to say so. */
static void restore_signals(const struct sigaction before[END_SIGNALS])
{
	for (int i = 0; i < END_SIGNALS; i++)
		sigaction(end_signals[i], &before[i], NULL);
}

/* What the guest reads and says nobody writes or sees. */
static void be_quiet(const struct recorded *s)
{
	int null = open("/dev/null", O_RDWR);

	if (null < 0)
		return;
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	if (s->quiet >= 0)
		dup2(s->quiet, STDERR_FILENO);
}

static void show_messages(const struct recorded *s)
{
	char text[4096];
	ssize_t n = s->quiet >= 0 ? pread(s->quiet, text, sizeof text, 0) : 0;

	if (n > 0)
		fwrite(text, 1, (size_t)n, stderr);
}

static int start(const struct recording *rec, struct recorded *s, struct error *err)
{
	pid_t parent = getpid();

	s->quiet = rec->again ? memfd_create("upto-messages", MFD_CLOEXEC) : -1;
	s->pid = fork();
	if (s->pid < 0)
		return error_set(err, "cannot start %s: %s", s->argv[0], strerror(errno));
	if (s->pid == 0) {
		/* if upto ends, QEMU gets SIGTERM too, and the trace gets its end */
		if (prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && getppid() != parent)
			_exit(127);
		if (s->messages >= 0)
			dup2(s->messages, STDERR_FILENO);
		if (rec->again)
			be_quiet(s);
		execvp(s->argv[0], s->argv);
		fprintf(stderr, "upto: %s: %s\n", s->argv[0], strerror(errno));
		_exit(127);
	}
	child_stats = s->stats;
	child = s->pid;
	catch_signals(s->signals);
	return 0;
}

/*
 * What runs beside the guest begins once the trace is this guest's: until then the file has what it had. If it ends
 * well before the guest does, so does the guest.
 */
static void look_beside(const struct recording *rec, const struct recorded *s)
{
	if (!rec->beside)
		return;
	if (s->stats->begun)
		beside_start(rec->beside, rec->output);
	if (beside_has_ended(rec->beside) && !rec->beside->failed && child)
		ask_to_end(s->pid, s->stats);
}

static void status_line(const struct recording *rec, const struct stats *st, const struct stats *before)
{
	double rate = (double)(st->events - before->events) * 1000 / STATUS_MS;

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

/* What comes behind the span was recorded before. */
static void end_behind_span(const struct recording *rec, struct recorded *s)
{
	enum { BEHIND = 2 }; /* stats.waits */

	if (!rec->again || s->ended || s->stats->waits != BEHIND)
		return;
	s->ended = true;
	kill(s->pid, SIGTERM);
}

/* Wait for QEMU. Show the progress if a terminal is free for that. */
static int wait_for(const struct recording *rec, struct recorded *s, bool tell)
{
	struct stats before = { 0 };
	int status;

	for (;;) {
		pid_t pid = waitpid(s->pid, &status, tell || rec->again || rec->beside ? WNOHANG : 0);

		if (pid == s->pid)
			break;
		if (pid < 0 && errno != EINTR)
			return EXIT_FAILED;
		if (pid == 0) {
			usleep((rec->beside ? BESIDE_MS : STATUS_MS) * 1000);
			end_behind_span(rec, s);
			look_beside(rec, s);
		}
		if (tell && pid == 0) {
			status_line(rec, s->stats, &before);
			before = *s->stats;
		}
	}
	child = 0;
	if (tell)
		fputs("\r\033[K", stderr);
	s->killed_by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
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

/* `killed_by`: the signal that ended QEMU; 0: none did */
static void tell_faults(const struct recording *rec, const struct stats *st, int killed_by)
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

/* Is the trace without what came last? */
static bool is_cut_short(const struct stats *st)
{
	return st->write_error || !st->finished;
}

/* What a trace has that was cut short; of another one, what was recorded. */
static struct summary figures(const struct recording *rec, const struct stats *st)
{
	struct summary all = { .events = st->events, .insns = st->insns, .duration_ns = st->guest_ns }, kept;
	struct reader *r;
	struct error ignored;

	if (!is_cut_short(st) || reader_open(rec->output, &r, &ignored) < 0)
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
	struct buf names = { 0 };

	terminal_escape(&names, found->stripped_names);
	fprintf(stderr,
		"upto: %s: of the programs and libraries that ran, %zu are stripped (%.*s%s): with their debug packages below ROOT, or DEBUGINFOD_URLS "
		"set, 'upto symbols --sysroot ROOT %s' adds their names\n",
		rec->output, found->stripped, (int)names.len, (char *)names.data,
		found->stripped > STRIPPED_NAMED ? " …" : "", rec->output);
	buf_free(&names);
}

/* What there is now. */
static void summarise(const struct recording *rec, const struct stats *st, const struct recording_chosen *chosen,
		      const struct file_symbols *files)
{
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
		rec->output, rec->output, rec->output, rec->output);
}

static int prepare(const struct recording *rec, struct recorded *s, struct error *err)
{
	struct buf version = { 0 };
	int r = -1;

	if (qemu_refuse(rec->argv, err) < 0 || qemu_probe(rec->argv[0], &version, err) < 0 ||
	    qemu_inside(rec->argv, (char *)version.data, rec->inside, &s->inside, err) < 0)
		goto out;
	s->out = open_output(rec, &s->made, err);
	if (s->out < 0)
		goto out;
	if (share_stats(s, err) == 0 && write_config(rec, s, (char *)version.data, err) == 0 &&
	    build_argv(rec, s, err) == 0)
		r = 0;
out:
	buf_free(&version);
	return r;
}

/* Add names of user code. The recording is whole without them. */
static void add_file_symbols(const struct recording *rec, const struct buf *folders, struct file_symbols *ret)
{
	struct roots roots = { 0 };
	struct error err;

	roots_add_list(&roots, rec->sysroot);
	roots_add_guest(&roots, rec->argv);
	for (size_t i = 0; i < folders->len; i += strlen((char *)folders->data + i) + 1)
		roots_add(&roots, (char *)folders->data + i, strlen((char *)folders->data + i), false);
	if (file_symbols_add(rec->output, &roots, ret, &err) < 0)
		fprintf(stderr, "upto: no names for user code: %s; 'upto symbols' adds them later\n", err.text);
	else if (ret->unsure)
		fprintf(stderr,
			"upto: %s: %zu files have no names: their content was not seen, or is not enough to tell which of several files they are\n",
			rec->output, ret->unsure);
	else if (ret->left_out)
		fprintf(stderr, "upto: %s: the symbols of %zu files did not fit into the trace\n", rec->output,
			ret->left_out);
	roots_deinit(&roots);
}

/*
 * Put what was learnt where the next recording of the same build finds it. That it cannot be kept is no fault of this
 * one.
 */
static void keep_layout(const char *path, const char *folder)
{
	struct layout layout;
	struct reader *r;
	struct error ignored;
	const char *id, *text;

	if (!folder || reader_open(path, &r, &ignored) < 0)
		return;
	id = meta_get(&r->meta, "build_id");
	text = meta_get(&r->meta, "layout");
	if (id && text) {
		layout_from_text(text, &layout);
		layout_keep(folder, id, &layout);
	}
	reader_free(r);
}

static int check_sysroot(const struct recording *rec, struct error *err)
{
	struct roots roots = { 0 };
	int r;

	roots_add_list(&roots, rec->sysroot);
	r = roots_check(&roots, err);
	roots_deinit(&roots);
	return r;
}

/* What is to be known of what was asked for, while the firmware runs. */
static void tell_asked(const struct recording *rec, const struct kernel_files *kernel)
{
	struct buf lines = { 0 };

	if (rec->quiet)
		return;
	recording_choice_notes(rec->args, &lines);
	kernel_names_lacking(rec->args, &kernel->sources, &lines);
	if (lines.len)
		fwrite(lines.data, 1, lines.len, stderr);
	buf_free(&lines);
}

static int record_guest(const struct recording *rec, struct recorded *s, struct error *err)
{
	struct recording_chosen chosen = { 0 };
	struct file_symbols files = { 0 };
	bool tell, failed = false;
	int r;

	if (check_sysroot(rec, err) < 0 || kernel_names_check(rec->args, &s->kernel.sources, err) < 0 ||
	    prepare(rec, s, err) < 0)
		return EXIT_FAILED;
	tell = !rec->quiet && isatty(STDERR_FILENO) && !qemu_uses_terminal(rec->argv);
	if (start(rec, s, err) < 0)
		return EXIT_FAILED;
	tell_asked(rec, &s->kernel);
	r = wait_for(rec, s, tell && !rec->beside);
	look_beside(rec, s); /* of a short one, too */
	if (rec->beside)
		beside_finish(rec->beside);
	let_signals_end(rec, s->signals);
	if (!s->stats->begun && r) {
		/* no instruction ran, and QEMU has printed why */
		show_messages(s);
		if (s->made)
			unlink(rec->output);
		if (s->stats->refused[0]) {
			error_set(err, "%.*s", (int)sizeof s->stats->refused, s->stats->refused);
			return EXIT_FAILED;
		}
		error_set(err, "QEMU did not start the recording (exit status %d)", r);
		return r;
	}
	if (s->stats->hopeless[0]) {
		error_set(err, "%s: %.*s; give --symbols vmlinux", rec->output, (int)sizeof s->stats->hopeless,
			  s->stats->hopeless);
		return EXIT_FAILED;
	}
	tell_faults(rec, s->stats, s->killed_by);
	if (s->stats->finished && !s->stats->write_error) {
		add_file_symbols(rec, &s->folders, &files);
		if (s->stats->learnt)
			keep_layout(rec->output, s->kernel.sources.cache);
		failed = recording_choice_apply(rec->args, rec->output, rec->quiet, s->stats->waits, &chosen, err) < 0;
	}
	restore_signals(s->signals);
	summarise(rec, s->stats, &chosen, &files);
	buf_free(&chosen.lines);
	return (failed || is_cut_short(s->stats)) && !r ? EXIT_FAILED : r;
}

/* From now on stderr is that file. */
static int redirect(const char *path, struct recorded *s, struct error *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

	if (fd < 0)
		return error_set(err, "%s: %s", path, strerror(errno));
	fflush(stderr);
	s->messages = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	dup2(fd, STDERR_FILENO);
	close(fd);
	return 0;
}

/* Whoever started upto in place of QEMU sees it end as QEMU did. */
static void end_alike(const struct recorded *s)
{
	const struct rlimit no_core = { 0 };

	if (s->messages < 0 || !s->killed_by)
		return;
	fflush(NULL);
	setrlimit(RLIMIT_CORE, &no_core);
	signal(s->killed_by, SIG_DFL);
	raise(s->killed_by);
}

static void recorded_deinit(struct recorded *s)
{
	const int fds[] = { s->out, s->config, s->stats_fd, s->quiet };

	for (size_t i = s->own_words; s->argv && s->argv[i]; i++)
		free(s->argv[i]);
	free(s->argv);
	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	if (s->stats && s->stats != MAP_FAILED)
		munmap(s->stats, sizeof *s->stats);
	kernel_files_deinit(&s->kernel);
	buf_free(&s->inside);
	buf_free(&s->folders);
	buf_free(&s->probes);
}

static int run(const struct recording *rec, struct error *err)
{
	struct recorded s = { .out = -1, .config = -1, .stats_fd = -1, .quiet = -1, .messages = -1 };
	int r = recording_choice_check(rec->args, rec->output, err);
	if (r != EXIT_OK)
		return r;
	if (kernel_files_init(rec->args, qemu_option(rec->argv, "kernel"), &s.kernel, err) < 0) {
		recorded_deinit(&s);
		return EXIT_USAGE;
	}
	r = recording_probes_put(rec->args, s.kernel.sources.image, &s.probes, err) < 0 ? EXIT_USAGE
	    : rec->said && redirect(rec->said, &s, err) < 0			     ? EXIT_FAILED
										     : EXIT_OK;
	if (r == EXIT_OK) {
		shared_folders_find(rec->argv, &s.folders);
		r = record_guest(rec, &s, err);
	}
	end_alike(&s);
	/* that nothing was started, the starter has to see */
	if (!s.pid && s.messages >= 0)
		dup2(s.messages, STDERR_FILENO);
	recorded_deinit(&s);
	return r;
}

/* With a command line that is made for QEMU's log. */
static int run_with_log(const struct recording *rec, struct error *err)
{
	struct recording made = *rec;
	struct shell_words words;
	int r = EXIT_USAGE;

	if (rec->deterministic) {
		error_set(err, "--deterministic: a run with QEMU's log repeats by that");
		return r;
	}
	if (qemu_replay_words(rec->argv, rec->log, rec->replays, &words, err) == 0) {
		made.argv = words.list;
		r = run(&made, err);
	}
	shell_words_deinit(&words);
	return r;
}

int recording_run(const struct recording *rec, struct error *err)
{
	if (!rec->argv || !rec->argv[0]) {
		error_set(err, "QEMU's command line is missing: -- qemu-system-x86_64 …");
		return EXIT_USAGE;
	}
	return rec->log ? run_with_log(rec, err) : run(rec, err);
}
