/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stand_in.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/command.h"
#include "qemu.h"
#include "qemu_tcg.h"
#include "shell_words.h"

#define PROGRAM "qemu-system-x86_64"
#define OWN_NAME "upto-" PROGRAM

const char *const stand_in_names[] = { PROGRAM, "qemu", "kvm", "qemu-kvm", NULL };

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool stand_in_is(const char *argv0)
{
	const char *name = base_name(argv0);

	for (size_t i = 0; stand_in_names[i]; i++)
		if (!strcmp(name, stand_in_names[i]))
			return true;
	return !strcmp(name, OWN_NAME);
}

/* Is that file this program? */
static bool is_self(const char *path)
{
	char self[PATH_MAX], real[PATH_MAX];

	return realpath("/proc/self/exe", self) && realpath(path, real) && !strcmp(self, real);
}

/* The first QEMU in PATH that is not upto; NULL: there is none. */
static char *find_in_path(const char *name)
{
	const char *path = getenv("PATH");

	for (size_t n; path && *path; path += n + (path[n] == ':')) {
		char *file;

		n = strcspn(path, ":");
		file = xasprintf("%.*s%s%s", (int)n, path, n ? "/" : "./", name);
		if (access(file, X_OK) == 0 && !is_self(file))
			return file;
		free(file);
	}
	return NULL;
}

/* A QEMU that is a script looks for its own in PATH: not to find upto once more there. */
static void leave_path(void)
{
	const char *path = getenv("PATH");
	struct buf kept = { 0 };

	for (size_t n; path && *path; path += n + (path[n] == ':')) {
		cleanup_free char *file = NULL;

		n = strcspn(path, ":");
		file = xasprintf("%.*s/%s", (int)n, path, PROGRAM);
		if (!is_self(file))
			buf_printf(&kept, "%s%.*s", kept.len ? ":" : "", (int)n, path);
	}
	buf_put_u8(&kept, 0);
	setenv("PATH", (char *)kept.data, 1);
	buf_free(&kept);
}

char *stand_in_find(const char *named)
{
	if (!strchr(named, '/'))
		return find_in_path(named);
	return access(named, X_OK) == 0 && !is_self(named) ? realpath(named, NULL) : NULL;
}

bool stand_in_stands_for(const char *name)
{
	cleanup_free char *own = strcmp(name, PROGRAM) ? find_in_path(name) : NULL;

	return own || !strcmp(name, PROGRAM);
}

static char *find_qemu(void)
{
	const char *named = getenv("UPTO_QEMU");
	char *found;

	/* one that is upto again would find itself for ever */
	if (named && *named && (!strchr(named, '/') || !is_self(named)))
		return strchr(named, '/') ? xstrdup(named) : find_in_path(named);
	found = find_in_path(PROGRAM);
	return found ? found : find_in_path("qemu-kvm");
}

/*
 * Into UPTO_SAID; without upto run, into upto.log beside the traces, since the other program may read what QEMU prints.
 */
static char *said_path(const char *folder)
{
	const char *said = getenv("UPTO_SAID");

	return said && *said ? xstrdup(said) : xasprintf("%s/upto.log", folder);
}

static void note(const char *path, const void *text, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	ssize_t ignored;

	if (fd < 0)
		return;
	ignored = write(fd, text, n);
	(void)ignored;
	close(fd);
}

static void say(const char *path, const char *format, const char *a, const char *b)
{
	struct buf line = { 0 };

	buf_printf(&line, "upto: ");
	buf_printf(&line, format, a, b);
	buf_printf(&line, "\n");
	note(path, line.data, line.len);
	buf_free(&line);
}

static const char *folder_of_traces(void)
{
	const char *folder = getenv("UPTO_DIR");

	return folder && *folder ? folder : ".";
}

/* By time and process: 20261126-051233-4711.upto */
static char *trace_path(const char *folder)
{
	time_t now = time(NULL);
	struct tm tm;
	char when[32];

	localtime_r(&now, &tm);
	strftime(when, sizeof when, "%Y%m%d-%H%M%S", &tm);
	return xasprintf("%s/%s-%ld.upto", folder, when, (long)getpid());
}

static int fail(const char *text, const char *name)
{
	fprintf(stderr, "upto: %s: %s\n", name, text);
	return EXIT_FAILED;
}

static int become(const char *path, char **argv)
{
	execv(path, argv);
	return fail(strerror(errno), path);
}

/* Becomes 'upto record'. */
static int record(const char *folder, const char *said, char **qemu)
{
	char *trace = trace_path(folder), self[PATH_MAX];
	const char *traces = getenv("UPTO_TRACES"), *options = getenv("UPTO_OPTIONS");
	struct shell_words words = { 0 };
	struct error err;

	if (!realpath("/proc/self/exe", self))
		return fail(strerror(errno), "/proc/self/exe");
	shell_words_add(&words, "upto");
	shell_words_add(&words, "record");
	if (options && shell_words_split(&words, options, &err) < 0)
		return fail(err.text, "UPTO_OPTIONS");
	shell_words_add(&words, "--said");
	shell_words_add(&words, said);
	shell_words_add(&words, "--output");
	shell_words_add(&words, trace);
	shell_words_add(&words, "--");
	for (; *qemu; qemu++)
		shell_words_add(&words, *qemu);
	if (traces && *traces)
		note(traces, trace, strlen(trace) + 1);
	return become(self, words.list);
}

int stand_in_run(char **argv)
{
	const char *folder = folder_of_traces();
	char *qemu = find_qemu(), *said = said_path(folder), **tcg;
	struct buf changed = { 0 };
	struct error err;

	if (!qemu)
		return fail("there is none in PATH", PROGRAM);
	argv[0] = qemu;
	leave_path();
	if (qemu_only_asks(argv))
		return become(qemu, argv);
	tcg = qemu_with_tcg(argv, &changed);
	if (qemu_hangs(tcg, &err) < 0)
		return fail(err.text, PROGRAM);
	if (qemu_refuse(tcg, &err) < 0) {
		say(said, "not recorded: %s%s", err.text, "");
		return become(qemu, argv);
	}
	buf_put_u8(&changed, 0);
	if (changed.len > 1)
		say(said, "only what TCG runs can be recorded, so QEMU was started without %s%s", (char *)changed.data,
		    "");
	return record(folder, said, tcg);
}
