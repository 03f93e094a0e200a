/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cli/args/select_arg.h"
#include "cli/args/trace_arg.h"
#include "cli/child.h"
#include "cli/commands.h"
#include "cli/commands/run_script.h"
#include "recording.h"
#include "shell_words.h"
#include "stand_in.h"

enum { SAID_MAX = 16 << 20 };

/* A folder with what is between upto and the command. */
struct run_place {
	char *folder, *said, *traces;
};

/* Names of QEMU, all of which are this program. */
static int put_names(const struct run_place *p, struct error *err)
{
	char self[PATH_MAX];

	if (!realpath("/proc/self/exe", self))
		return error_set(err, "/proc/self/exe: %s", strerror(errno));
	for (size_t i = 0; stand_in_names[i]; i++) {
		cleanup_free char *name = xasprintf("%s/%s", p->folder, stand_in_names[i]);

		if (stand_in_stands_for(stand_in_names[i]) && symlink(self, name) < 0)
			return error_set(err, "%s: %s", name, strerror(errno));
	}
	return 0;
}

static int run_place_init(struct run_place *p, struct error *err)
{
	const char *tmp = getenv("TMPDIR");
	char *real;

	*p = (struct run_place){ .folder = xasprintf("%s/upto-run.XXXXXX", tmp && *tmp ? tmp : "/tmp") };
	if (!mkdtemp(p->folder))
		return error_set(err, "%s: %s", p->folder, strerror(errno));
	/* the command may start its guests in another folder */
	real = realpath(p->folder, NULL);
	if (real) {
		free(p->folder);
		p->folder = real;
	}
	p->said = xasprintf("%s/said", p->folder);
	p->traces = xasprintf("%s/traces", p->folder);
	return put_names(p, err);
}

static void run_place_deinit(struct run_place *p)
{
	for (size_t i = 0; stand_in_names[i]; i++) {
		cleanup_free char *name = xasprintf("%s/%s", p->folder, stand_in_names[i]);

		unlink(name);
	}
	if (p->said)
		unlink(p->said);
	if (p->traces)
		unlink(p->traces);
	rmdir(p->folder);
	free(p->folder);
	free(p->said);
	free(p->traces);
}

/* A file that is there, in words that are true in any folder; anything else as it is. "FILE@ADDRESS" is one, too. */
static void put_absolute(const char *piece, size_t len, const char *here, struct buf *out)
{
	cleanup_free char *text = xstrndup(piece, len), *path = xstrndup(piece, strcspn(text, "@"));
	bool relative = *text && *text != '/' && here;

	if (relative && (access(text, F_OK) == 0 || access(path, F_OK) == 0))
		buf_printf(out, "%s/", here);
	buf_printf(out, "%s", text);
}

/* Files and folders are meant from here, and guests may be started elsewhere. */
static char *option_value(const struct option *o, const char *value, const char *here)
{
	bool files = !strncmp(o->arg, "FILE", 4) || !strcmp(o->arg, "ROOTS") || !strcmp(o->name, "program");
	const char separators[] = { o->join, 0 };
	struct buf out = { 0 };

	for (size_t n; *value; value += n) {
		n = o->join ? strcspn(value, separators) : strlen(value);
		if (files)
			put_absolute(value, n, here, &out);
		else
			buf_put(&out, value, n);
		if (value[n])
			buf_put_u8(&out, (uint8_t)value[n++]);
	}
	buf_put_u8(&out, 0);
	return (char *)out.data;
}

/* The options for upto record, behind those of the environment. */
static void set_options(const struct args *args)
{
	const char *before = getenv("UPTO_OPTIONS");
	cleanup_free char *here = getcwd(NULL, 0);
	struct buf out = { 0 };

	buf_printf(&out, "%s", before ? before : "");
	for (int i = 0; args->command->options[i].name; i++) {
		const struct option *o = &args->command->options[i];

		if (!args->values[i] || !strcmp(o->name, "dir"))
			continue;
		buf_printf(&out, " --%s ", o->name);
		if (o->arg) {
			cleanup_free char *value = option_value(o, args->values[i], here);

			shell_words_quote(value, &out);
		}
	}
	buf_put_u8(&out, 0);
	setenv("UPTO_OPTIONS", (char *)out.data, 1);
	buf_free(&out);
}

/* "qemu-system-aarch64": a guest that is not recorded, and has to find its own QEMU. */
static bool is_of_other_machine(const char *command)
{
	static const char begin[] = "qemu-system-";
	const char *name = command;

	for (size_t i = 0; command[i] && command[i] != ' '; i++)
		if (command[i] == '/')
			name = command + i + 1;
	return !strncmp(name, begin, strlen(begin)) &&
	       strncmp(name, stand_in_names[0], strlen(stand_in_names[0])) != 0;
}

/*
 * A variable that may name a QEMU names upto from now on. What it named, which may have options behind it, is the QEMU
 * that the user wants, where none is named for upto.
 */
static void set_qemu(const char *variable, const char *qemu)
{
	const char *own = getenv(variable);
	size_t len = own ? access(own, X_OK) == 0 ? strlen(own) : strcspn(own, " ") : 0;
	cleanup_free char *command = own ? xstrndup(own, len) : NULL;
	cleanup_free char *meant = own && *command ? stand_in_find(command) : NULL;
	cleanup_free char *all = xasprintf("%s%s", qemu, own ? own + len : "");

	if (own && is_of_other_machine(own))
		return;
	if (meant)
		setenv("UPTO_QEMU", meant, 0);
	setenv(variable, all, 1);
}

/* Where traces go: --dir, UPTO_DIR or here, by a name that is true in any folder; NULL: there is no such folder. */
static char *folder_of_traces(const struct args *args)
{
	const char *dir = arg(args, "dir") ? arg(args, "dir") : getenv("UPTO_DIR");

	return realpath(dir && *dir ? dir : ".", NULL);
}

/*
 * Programs that do not look in PATH have a variable each: libguestfs, runners of tests that call theirs QEMU,
 * QEMU_BIN or QEMU_BINARY, and kdevops.
 */
static void set_environment(const struct args *args, const struct run_place *p, const char *folder)
{
	static const char *const named[] = { "LIBGUESTFS_HV", "QEMU", "QEMU_BIN", "QEMU_BINARY", "QEMU_BIN_PATH" };
	const char *path = getenv("PATH"), *sought = path ? path : "/usr/bin:/bin";
	cleanup_free char *all = xasprintf("%s:%s", p->folder, sought);
	cleanup_free char *qemu = xasprintf("%s/%s", p->folder, stand_in_names[0]);

	for (size_t i = 0; i < sizeof named / sizeof *named; i++)
		set_qemu(named[i], qemu);
	setenv("PATH", all, 1);
	setenv("UPTO_DIR", folder, 1);
	setenv("UPTO_SAID", p->said, 1);
	setenv("UPTO_TRACES", p->traces, 1);
	set_options(args);
}

/* A guest that outlives the command goes on to be recorded. */
static void tell_going_on(const char *trace)
{
	struct error ignored;
	struct reader *r;
	struct stat st;

	if (stat(trace, &st) < 0)
		return;
	if (reader_open(trace, &r, &ignored) == 0) {
		if (!r->ended)
			fprintf(stderr, "upto: %s: has no end yet: its guest still runs, or was killed\n", trace);
		reader_free(r);
	}
}

static void tell(const struct run_place *p)
{
	struct buf said = { 0 }, traces = { 0 };
	struct error ignored;

	if (file_read(p->said, SAID_MAX, &said, &ignored) == 0)
		fwrite(said.data, 1, said.len, stderr);
	if (file_read(p->traces, SAID_MAX, &traces, &ignored) < 0)
		fprintf(stderr,
			"upto: no guest was started: nothing is recorded (a QEMU that is called by its path is not seen: give its starter "
			"upto-qemu-system-x86_64 as the QEMU)\n");
	for (size_t i = 0; i < traces.len; i += strlen((char *)traces.data + i) + 1)
		tell_going_on((char *)traces.data + i);
	buf_free(&said);
	buf_free(&traces);
}

static int run_command(const struct args *args, struct error *err)
{
	cleanup_free char *folder = folder_of_traces(args);
	const char *dir = arg(args, "dir") ? arg(args, "dir") : getenv("UPTO_DIR");
	struct run_place place;
	int status = -1;

	if (!args->rest[0]) {
		error_set(err, "a command is missing: upto run -- COMMAND …");
		return EXIT_USAGE;
	}
	if (!folder || (dir && *dir && access(folder, W_OK | X_OK) < 0)) {
		error_set(err, "%s: %s", dir && *dir ? dir : ".", strerror(errno));
		return EXIT_FAILED;
	}
	if (run_place_init(&place, err) == 0) {
		set_environment(args, &place, folder);
		status = child_run(args->rest, err);
		if (status >= 0)
			tell(&place);
	}
	run_place_deinit(&place);
	return status < 0 ? EXIT_FAILED : child_pass_status(status);
}

/* A program on a trace would not heed options of what is recorded. */
static int check_options(const struct args *args, struct error *err)
{
	static const struct option own[] = { SCRIPT_OPTIONS };

	if (select_is_asked(args))
		return error_set(err, "options that choose are for what is recorded, with -- COMMAND; from a trace, "
				      "'upto thin' chooses");
	for (size_t i = sizeof own / sizeof *own; args->command->options[i].name; i++)
		if (args->values[i])
			return error_set(err, "--%s: is for what is recorded, with -- COMMAND",
					 args->command->options[i].name);
	return 0;
}

static int run(const struct args *args, struct error *err)
{
	if (args->rest)
		return run_command(args, err);
	return check_options(args, err) < 0 ? EXIT_USAGE : run_script(args, err);
}

/* Those of a program first: check_options(). */
static const struct option options[] = {
	SCRIPT_OPTIONS,
	{ 'd', "dir", "DIR",
	  "where the traces go, named by time and process (default: UPTO_DIR, or the working folder)" },
	RECORDING_OPTIONS,
	HELP_OPTION,
	{ 0 },
};

const struct command cmd_run = {
	.name = "run",
	.operands = "-e PROGRAM [ARG…] TRACE | FILE.bt [ARG…] TRACE | -- COMMAND…",
	.summary = "run a command and record every guest that it starts; run a program on a trace",
	.description =
		"With a program in handlers: runs it on a trace. The language is bpftrace's (upto-handlers in docs/handlers.md): probes, what is asked "
		"before they fire, and what is done then; kprobe, kretprobe, fentry, fexit, uprobe, uretprobe, tracepoint, profile, interval, "
		"software, BEGIN and END, and call, return, span, wait and log of upto's own. Calls, returns and system calls are in every trace. Trace "
		"events, arguments and what they lead to are recorded by 'upto record -e PROGRAM'; if the trace lacks them, and its run can be made "
		"again, the guest runs again, and the trace has them from then on. $1, $2 … are the ARGs. Ctrl-C ends the program, which prints what "
		"it has. --follow goes on with a trace that is being recorded.\n"
		"With a command: runs any command, and records each QEMU that it starts: libguestfs' tools, virtme-ng, kunit.py, mkosi, a script of one's own. For the "
		"command, a folder with upto under QEMU's names stands before all others in PATH, and LIBGUESTFS_HV, QEMU, QEMU_BIN, QEMU_BINARY and QEMU_BIN_PATH name it. "
		"What is given a path of QEMU instead gets upto-qemu-system-x86_64: vng --qemu, libvirt's <emulator>.\n"
		"Questions (-version, -device help, -machine none) go to QEMU as they are. KVM cannot be recorded: -enable-kvm, -accel kvm, "
		"accel=kvm:tcg and -cpu host become TCG and -cpu max. Output, exit status and descriptors are the guest's own; what upto says comes "
		"once the command has ended. Several guests are several traces.\n",
	.examples =
		"  upto run -e 'kprobe:vfs_* { @[probe] = count(); }' trace.upto\n      how often each of these functions was called\n"
		"  upto run -e 'return:ext4_* /duration > 1000000/ { @[func, comm] = hist(duration / 1000); }' trace.upto\n"
		"      calls of a millisecond or more, by function and who made them, in microseconds\n"
		"  upto run opensnoop.bt trace.upto\n      one of the programs that 'upto run --list' shows\n"
		"  upto run -- virt-cat -a disk.img /etc/hostname\n      libguestfs' appliance\n"
		"  upto run -d traces -- ./tools/testing/kunit/kunit.py run --arch x86_64\n      a test run of the kernel's\n"
		"  upto run -- vng --disable-kvm --force-9p -r bzImage -- true\n      virtme-ng\n"
		"  upto run --start 'log:BUG:' --before 2s -- make check\n      the last two seconds before a guest complains, and what follows, of each\n",
	.options = options,
	.rest = true,
	.prepare = run_script_prepare,
	.reads_all = true,
	.for_programs = true,
	.max_operands = OPERANDS_MAX,
	.run = run,
};
