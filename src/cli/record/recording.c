/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recording.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cli/end_signals.h"
#include "cli/print/terminal.h"
#include "config.h"
#include "file_symbols.h"
#include "kernel_files.h"
#include "kernel_names.h"
#include "qemu.h"
#include "qemu_replay.h"
#include "recorder/stats.h"
#include "recording_args.h"
#include "recording_config.h"
#include "recording_probes.h"
#include "recording_tells.h"
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
		signal(SIGXFSZ, SIG_IGN); /* a trace that may not grow any more is no reason to end the guest */
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
	uint64_t before = 0;
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
			recording_tell_status(rec, s->stats, before, STATUS_MS);
			before = s->stats->events;
		}
	}
	child = 0;
	if (tell)
		fputs("\r\033[K", stderr);
	s->killed_by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
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
	if (share_stats(s, err) < 0)
		goto out;
	s->config = recording_config(rec, &(struct recording_parts){
					      .out = s->out, .stats_fd = s->stats_fd, .version = (char *)version.data,
					      .inside = (char *)s->inside.data, .sources = &s->kernel.sources,
					      .probes = &s->probes,
				      }, err);
	if (s->config >= 0)
		r = build_argv(rec, s, err);
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

/*
 * Whoever started upto in place of QEMU asked for a guest, and not for a recording: its status is the guest's, whatever
 * became of the trace, which upto's words tell.
 */
static int status_of(const struct recording *rec, int r, bool failed, struct error *err)
{
	struct error *missed = rec->args->missed;

	if (!rec->said)
		return failed && !r ? EXIT_FAILED : r;
	if (err->text[0])
		fprintf(stderr, "upto: %s\n", err->text);
	err->text[0] = 0;
	if (missed->text[0])
		fprintf(stderr, "upto: %s\n", missed->text);
	missed->text[0] = 0;
	return r;
}

/* Nothing was recorded: no file that was made for it is in the way of the next. */
static void remove_made(const struct recording *rec, const struct recorded *s)
{
	if (s->made)
		unlink(rec->output);
}

/* No instruction ran, and QEMU has printed why, or what it was asked. */
static int tell_not_begun(const struct recording *rec, const struct recorded *s, int r, struct error *err)
{
	show_messages(s);
	remove_made(rec, s);
	if (s->made && rec->log && !rec->replays)
		unlink(rec->log);
	if (s->stats->refused[0]) {
		error_set(err, "%.*s", (int)sizeof s->stats->refused, s->stats->refused);
		return EXIT_FAILED;
	}
	if (r) {
		error_set(err, "QEMU did not start the recording (exit status %d)", r);
		return r;
	}
	error_set(err, "QEMU ended before anything ran: nothing is recorded");
	return status_of(rec, r, true, err);
}

static int record_guest(const struct recording *rec, struct recorded *s, struct error *err)
{
	struct recording_chosen chosen = { 0 };
	struct file_symbols files = { 0 };
	bool tell, failed = false;
	int r;

	if (check_sysroot(rec, err) < 0 || kernel_names_check(rec->args, &s->kernel.sources, err) < 0)
		return EXIT_FAILED;
	if (prepare(rec, s, err) < 0 || start(rec, s, err) < 0) {
		remove_made(rec, s);
		return EXIT_FAILED;
	}
	tell = !rec->quiet && isatty(STDERR_FILENO) && !qemu_uses_terminal(rec->argv);
	recording_tell_asked(rec, &s->kernel);
	r = wait_for(rec, s, tell && !rec->beside);
	look_beside(rec, s); /* of a short one, too */
	if (rec->beside)
		beside_finish(rec->beside);
	let_signals_end(rec, s->signals);
	if (!s->stats->begun && (r || !s->stats->finished))
		return tell_not_begun(rec, s, r, err);
	if (s->stats->hopeless[0]) {
		error_set(err, "%s: %.*s; give --symbols vmlinux", rec->output, (int)sizeof s->stats->hopeless,
			  s->stats->hopeless);
		return status_of(rec, r, true, err);
	}
	recording_tell_faults(rec, s->stats, s->killed_by);
	if (s->stats->finished && !s->stats->write_error) {
		add_file_symbols(rec, &s->folders, &files);
		if (s->stats->learnt)
			keep_layout(rec->output, s->kernel.sources.cache);
		failed = recording_choice_apply(rec->args, rec->output, rec->quiet, s->stats->waits, &chosen, err) < 0;
	}
	restore_signals(s->signals);
	recording_summarise(rec, s->stats, &chosen, &files);
	buf_free(&chosen.lines);
	return status_of(rec, r, failed || recording_is_cut_short(s->stats), err);
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
