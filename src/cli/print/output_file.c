/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/end_signals.h"

/* What ends the command leaves no unfinished file behind, which would be in the way of the next. */
static const char *volatile unfinished; /* for the handler: a command writes one file at a time */
static struct sigaction before[END_SIGNALS];

void output_file_discard(void)
{
	if (unfinished)
		unlink(unfinished);
}

static void remove_unfinished(int sig)
{
	output_file_discard();
	for (int i = 0; i < END_SIGNALS; i++)
		if (end_signals[i] == sig)
			sigaction(sig, &before[i], NULL);
	raise(sig); /* it does what it did before, once this handler has returned */
}

static void begin_unfinished(const char *part)
{
	const struct sigaction sa = { .sa_handler = remove_unfinished };

	unfinished = part;
	for (int i = 0; i < END_SIGNALS; i++)
		if (sigaction(end_signals[i], NULL, &before[i]) == 0 && before[i].sa_handler != SIG_IGN)
			sigaction(end_signals[i], &sa, NULL);
}

static void end_unfinished(void)
{
	for (int i = 0; unfinished && i < END_SIGNALS; i++)
		sigaction(end_signals[i], &before[i], NULL);
	unfinished = NULL;
}

static int exists(const char *path, struct error *err)
{
	return error_set(err, "%s: exists; --force overwrites it, -o names another", path);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool output_file_is_stdout(const struct stat *st)
{
	struct stat out;

	return fstat(STDOUT_FILENO, &out) == 0 && is_same(st, &out);
}

static bool is_as_it_goes(const struct stat *st, enum output_kind kind)
{
	return kind == OUTPUT_TEXT && (!S_ISREG(st->st_mode) || output_file_is_stdout(st));
}

static bool is_input(const struct stat *st, const char *input)
{
	struct stat in;

	return (strcmp(input, "-") ? stat(input, &in) : fstat(STDIN_FILENO, &in)) == 0 && is_same(st, &in);
}

/* The file itself, and the one that becomes it. */
static int check_input(const char *path, const char *input, struct error *err)
{
	cleanup_free char *part = xasprintf("%s.part", path);
	const char *const paths[] = { path, part };
	struct stat st;

	for (int i = 0; i < 2; i++)
		if (stat(paths[i], &st) == 0 && S_ISREG(st.st_mode) && is_input(&st, input))
			return error_set(err, "%s: is what is read; -o names another", paths[i]);
	return 0;
}

int output_file_check(const char *path, enum output_kind kind, bool force, const char *input, struct error *err)
{
	struct stat st;

	if (input && check_input(path, input, err) < 0)
		return -1;
	if (stat(path, &st) < 0)
		return 0;
	if (kind == OUTPUT_TRACE && !S_ISREG(st.st_mode))
		return error_set(err, "%s: not a regular file", path);
	if (!force && !is_as_it_goes(&st, kind))
		return exists(path, err);
	return 0;
}

static int open_as_it_goes(const char *path, const struct stat *st)
{
	return output_file_is_stdout(st) ? dup(STDOUT_FILENO) : open(path, O_WRONLY | O_CLOEXEC);
}

/* A signal comes before the file is made, or when it is known that it is to be removed. */
static int open_part(struct output_file *o, bool force)
{
	sigset_t blocked, old;
	int fd, why;

	o->part = xasprintf("%s.part", o->path);
	sigemptyset(&blocked);
	for (int i = 0; i < END_SIGNALS; i++)
		sigaddset(&blocked, end_signals[i]);
	pthread_sigmask(SIG_BLOCK, &blocked, &old);
	fd = open(o->part, O_RDWR | O_CREAT | (force ? O_TRUNC : O_EXCL) | O_CLOEXEC, 0666);
	why = errno;
	if (fd >= 0)
		begin_unfinished(o->part);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = why;
	return fd;
}

static void output_file_deinit(struct output_file *o)
{
	free(o->path);
	free(o->part);
	*o = (struct output_file){ .fd = -1 };
}

int output_file_open(struct output_file *ret, const char *path, enum output_kind kind, bool force, struct error *err)
{
	struct stat st;
	bool is_there = stat(path, &st) == 0;

	*ret = (struct output_file){ .path = is_there ? realpath(path, NULL) : NULL };
	if (!ret->path)
		ret->path = xstrdup(path);
	ret->fd = is_there && is_as_it_goes(&st, kind) ? open_as_it_goes(path, &st) : open_part(ret, force);
	if (ret->fd >= 0)
		return 0;
	if (ret->part && errno == EEXIST)
		exists(ret->part, err);
	else
		error_set(err, "%s: %s", ret->part ? ret->part : path, strerror(errno));
	output_file_deinit(ret);
	return -1;
}

int output_file_close(struct output_file *o, int result, struct error *err)
{
	if (o->fd >= 0 && close(o->fd) < 0 && result == 0)
		result = error_set(err, "%s: %s", o->path, strerror(errno));
	if (o->part && result == 0 && rename(o->part, o->path) < 0)
		result = error_set(err, "%s: %s", o->path, strerror(errno));
	if (o->part && result < 0)
		unlink(o->part);
	end_unfinished();
	output_file_deinit(o);
	return result;
}
