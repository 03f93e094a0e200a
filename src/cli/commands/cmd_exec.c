/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cli/args/trace_arg.h"
#include "cli/child.h"
#include "cli/commands.h"
#include "cli/print/output_file.h"
#include "cli/print/see.h"
#include "config.h"
#include "kfi/config.h"

enum { FILES_MAX = 16 << 20, KFI_CONFIG_BYTES = (1 << 16) - 1 };

/* The library beside this program: installed, or in the build folder. */
static char *find_library(struct error *err)
{
	static const char *const beside[] = { "../../libupto/libupto.so", "../lib/libupto.so", "../" UPTO_LIB_DIR "/libupto.so" };
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	self[n < 0 ? 0 : n] = 0;
	if (n > 0 && strrchr(self, '/'))
		*strrchr(self, '/') = 0;
	for (size_t i = 0; n > 0 && i < sizeof beside / sizeof *beside; i++) {
		cleanup_free char *path = xasprintf("%s/%s", self, beside[i]);
		char *found = realpath(path, NULL);

		if (found)
			return found;
	}
	error_set(err, "libupto.so: not there: is upto installed?");
	return NULL;
}

static void preload(const char *library)
{
	const char *before = getenv("LD_PRELOAD");
	cleanup_free char *all = xasprintf("%s%s%s", library, before && *before ? ":" : "", before ? before : "");

	setenv("LD_PRELOAD", all, 1);
}

static int check_run(const char *path, const struct kfi_run *run, struct error *err)
{
	const struct {
		bool asked;
		const char *words, *instead;
	} not_there[] = {
		{ run->max_us, "filter maxtime", "upto thin --max-duration takes long calls out of what was recorded" },
		{ run->only_interrupts, "filter onlyints", "a program has no interrupts" },
		{ run->stack || run->worst_stack, "watch stack", "upto calls shows how deep stacks were" },
		{ run->overwrite, "overwrite", "all of it is kept, in a file" },
	};

	for (size_t i = 0; i < sizeof not_there / sizeof *not_there; i++)
		if (not_there[i].asked)
			return error_set(err, "%s: %s is not there for programs: %s", path, not_there[i].words,
					 not_there[i].instead);
	return 0;
}

/* The library reads it, too, and knows its functions. Here are better words for what is wrong. */
static int set_configuration(const char *path, struct error *err)
{
	struct buf text = { 0 };
	struct kfi_config config = { 0 };
	char *whole = realpath(path, NULL);
	int ret = file_read(path, KFI_CONFIG_BYTES, &text, err);

	if (ret == 0)
		ret = kfi_config_parse(path, (char *)text.data, text.len, &config, err);
	if (ret == 0 && config.count > 1)
		ret = error_set(err, "%s:%u: a program has one run", path, config.runs[1].line);
	if (ret == 0)
		ret = check_run(path, &config.runs[0], err);
	if (ret == 0)
		setenv("UPTO_KFI", whole ? whole : path, 1);
	kfi_config_deinit(&config);
	buf_free(&text);
	free(whole);
	return ret;
}

/* The library takes what it can read of it. */
static int check_buffer(const char *text, struct error *err)
{
	char *end = NULL;
	bool is_number = text && isdigit((unsigned char)*text) && strtoull(text, &end, 10);

	if (!text || (is_number && (!*end || (strchr("kKMG", *end) && !end[1]))))
		return 0;
	return error_set(err, "--buffer %s: not a size: expected a number, and k, M or G behind it: 4M", text);
}

/* What the library is asked for; see libupto/upto.h. */
static int set_environment(const struct args *args, int list, struct error *err)
{
	cleanup_free char *library = find_library(err), *files = xasprintf("/proc/%d/fd/%d", (int)getpid(), list);
	const char *output = arg(args, "output");

	if (!library)
		return -1;
	preload(library);
	setenv("UPTO_FILES", files, 1);
	if (output)
		setenv("UPTO_OUT", output, 1);
	if (arg(args, "buffer"))
		setenv("UPTO_BUFFER", arg(args, "buffer"), 1);
	if (arg(args, "drop"))
		setenv("UPTO_OVERFLOW", "drop", 1);
	if (arg(args, "disarmed"))
		setenv("UPTO_ARM", "0", 1);
	return arg(args, "kfi") ? set_configuration(arg(args, "kfi"), err) : 0;
}

/* One who wants to have them at hand again has asked for that. */
static int check_output(const struct args *args, struct error *err)
{
	const char *output = arg(args, "output");

	if (!output || !*output || strstr(output, "%p") || output[strlen(output) - 1] == '/' || access(output, F_OK) < 0)
		return 0;
	if (!arg(args, "force"))
		return error_set(err, "%s: is there already; -f replaces it", output);
	return unlink(output) < 0 ? error_set(err, "%s: %s", output, strerror(errno)) : 0;
}

static bool tell_file(const char *path)
{
	struct trace_arg t;
	struct error err;

	if (open_trace(path, &t, &err) < 0) {
		fprintf(stderr, "upto: %s\n", err.text);
		return false;
	}
	fprintf(stderr, "upto: %s: %s%s%s\n", path, reader_complete(t.reader) ? "whole" : "not whole",
		meta_get(&t.reader->meta, "program.args") ? ": " : "",
		meta_get(&t.reader->meta, "program.args") ? meta_get(&t.reader->meta, "program.args") : "");
	trace_arg_close(&t);
	return true;
}

/* The first screen: where the time went, of the process that was started first. */
static void show_top(const char *path)
{
	char *const words[] = { "/proc/self/exe", "--no-pager", "top", "-n", "10", (char *)path, NULL };
	cleanup_free char *next = see_path_text(path);
	struct error ignored;

	unsetenv("LD_PRELOAD");
	child_run(words, &ignored);
	fprintf(stderr, "next: upto tree %s | upto calls %s | upto report %s -o report.html\n", next, next, next);
}

/* A name that leads there from this folder. */
static const char *near_name(const char *path)
{
	cleanup_free char *folder = getcwd(NULL, 0);
	size_t n = folder ? strlen(folder) : 0;

	return n > 1 && !strncmp(path, folder, n) && path[n] == '/' ? path + n + 1 : path;
}

static void tell(const struct args *args, int list)
{
	struct buf files = { 0 };
	struct error ignored;
	const char *first = NULL;
	char path[32];

	snprintf(path, sizeof path, "/proc/self/fd/%d", list);
	if (file_read(path, FILES_MAX, &files, &ignored) < 0 || !files.len) {
		fprintf(stderr, "upto: nothing was recorded: libupto has said why, or no program was started that is linked with the C library "
				"of this system; a static one needs libupto.a within\n");
		return;
	}
	buf_put_u8(&files, 0);
	/* one that stepped aside for another has left its name to that */
	for (const char *at = (char *)files.data, *before = ""; *at; before = at, at += strlen(at) + 1)
		if (strcmp(at, before) && access(at, F_OK) == 0 && tell_file(near_name(at)) && !first)
			first = near_name(at);
	if (first && !arg(args, "quiet"))
		show_top(first);
	buf_free(&files);
}

static int run(const struct args *args, struct error *err)
{
	int list, status;

	if (!args->rest || !args->rest[0]) {
		error_set(err, "a program is missing: upto exec -- ./program …");
		return EXIT_USAGE;
	}
	if (check_buffer(arg(args, "buffer"), err) < 0)
		return EXIT_USAGE;
	list = memfd_create("upto", MFD_CLOEXEC);
	if (list < 0) {
		error_set(err, "no memory: %s", strerror(errno));
		return EXIT_FAILED;
	}
	if (check_output(args, err) < 0 || set_environment(args, list, err) < 0)
		return EXIT_FAILED;
	status = child_run(args->rest, err);
	if (status < 0)
		return EXIT_FAILED;
	/* 127: it was not started, which child_run() has told, or it says so itself */
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 127 || lseek(list, 0, SEEK_END) > 0)
		tell(args, list);
	close(list);
	return child_pass_status(status);
}

static const struct option options[] = {
	{ 'o', "output", "FILE", "where it goes; %p is the process's number, children's have .1, .2, … (default: PROGRAM.PID.upto)" },
	FORCE_OPTION("file"),
	{ 0, "buffer", "SIZE", "of each thread, for what is not written yet: 4M (default: 1.5 MiB)" },
	{ 0, "drop", NULL, "where a buffer is full, lose calls, and count them, instead of waiting" },
	{ 0, "disarmed", NULL, "record from upto_start() on, which the program calls (<upto.h>)" },
	{ 0, "kfi", "FILE", "a run as KFI's configurations describe it: triggers, filter mintime and funclist, logentries, autorepeat" },
	{ 'q', "quiet", NULL, "do not show where the time went" },
	HELP_OPTION,
	{ 0 },
};

const struct command cmd_exec = {
	.name = "exec",
	.operands = "-- PROGRAM [ARGS…]",
	.summary = "run a program that was compiled for it, and record its calls",
	.description =
		"Runs a program that was compiled with -finstrument-functions (gcc or clang; C, C++ and others; libraries, too), and records every call and "
		"return of each of its functions, in all threads and in all processes that it starts. On x86-64, -pg does, too, with -mfentry or without: calls of "
		"what was not inlined. It need not be linked with libupto: that is loaded "
		"before it. A program that is linked with it (-lupto) records by itself, wherever it runs, without upto: UPTO_OUT, UPTO_BUFFER, "
		"UPTO_OVERFLOW=drop, UPTO_ARM=0 and UPTO_KFI in its environment are what -o, --buffer, --drop, --disarmed and --kfi are here.\n"
		"What it writes is read by all commands, as a trace is; 'upto import' makes one of it, which is smaller, and needs neither the program's "
		"file nor its libraries. A program that is killed loses nothing: what it had not written yet is in FILE.ring, which is to be kept beside FILE.\n"
		"Times are those of the clock, with what a thread waited. A function that longjmp(3) or an exception leaves ends when its caller goes on.\n",
	.examples = "  cc -g -O2 -finstrument-functions -o app app.c\n  upto exec -- ./app\n      where its time went\n"
		    "  upto exec --kfi slow.kfi -- ./app\n      only calls of 500 us, once main() has been entered: begin trigger start entry main filter mintime 500 end\n"
		    "  cc -g -O2 -finstrument-functions -o app app.c -lupto\n  ./app\n  upto tree app.*.upto\n      without upto at hand\n",
	.options = options,
	.rest = true,
	.run = run,
};
