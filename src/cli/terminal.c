/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "terminal.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct {
	pid_t pid;
	bool never;
} pager;

static struct {
	pthread_mutex_t lock;
	struct timespec begun;
	uint64_t chunks, shown_ms;
	bool shown;
} progress = { .lock = PTHREAD_MUTEX_INITIALIZER };

enum { PROGRESS_AFTER_MS = 1000, PROGRESS_EVERY_MS = 200 };

static void show_progress(size_t all)
{
	struct timespec now;
	uint64_t ms;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!progress.chunks++)
		progress.begun = now;
	ms = (uint64_t)((now.tv_sec - progress.begun.tv_sec) * 1000 + (now.tv_nsec - progress.begun.tv_nsec) / 1000000);
	if (ms < PROGRESS_AFTER_MS || ms < progress.shown_ms + PROGRESS_EVERY_MS)
		return;
	progress.shown_ms = ms;
	progress.shown = true;
	/* some commands go through a trace more than once */
	fprintf(stderr, "\r\033[Kreading: %u %%", (unsigned)(progress.chunks % (all + 1) * 100 / (all ? all : 1)));
	fflush(stderr);
}

void terminal_progress(size_t chunks)
{
	if (!isatty(STDERR_FILENO))
		return;
	pthread_mutex_lock(&progress.lock);
	show_progress(chunks);
	pthread_mutex_unlock(&progress.lock);
}

void terminal_end_progress(void)
{
	if (progress.shown)
		fputs("\r\033[K", stderr);
	progress.shown = false;
}

void terminal_no_pager(void)
{
	pager.never = true;
}

static const char *pager_command(void)
{
	const char *command = getenv("UPTO_PAGER");

	if (!command)
		command = getenv("PAGER");
	/* not everybody has it */
	return command ? command : "command -v less >/dev/null && exec less || exec cat";
}

/* Wait for the pager to be left. False: there was none to start, and the answer is lost. */
static bool wait_for_pager(void)
{
	enum { NOT_FOUND = 127 };
	int status = 0;

	close(STDOUT_FILENO);
	waitpid(pager.pid, &status, 0);
	return !WIFEXITED(status) || WEXITSTATUS(status) != NOT_FOUND;
}

/* The reader has seen enough: nothing is wrong, and nothing more is to be done. */
static void leave(int number)
{
	(void)number;
	_exit(wait_for_pager() ? EXIT_SUCCESS : EXIT_FAILURE);
}

void terminal_start_pager(void)
{
	const char *command = pager_command();
	int fds[2];

	terminal_end_progress();
	if (pager.pid || pager.never || !isatty(STDOUT_FILENO) || !*command || pipe(fds) < 0)
		return;
	fflush(stdout);
	pager.pid = fork();
	if (pager.pid == 0) {
		dup2(fds[0], STDIN_FILENO);
		close(fds[0]);
		close(fds[1]);
		setenv("LESS", "FRX", 0);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	close(fds[0]);
	if (pager.pid > 0) {
		signal(SIGPIPE, leave);
		dup2(fds[1], STDOUT_FILENO);
	}
	close(fds[1]);
}

int terminal_finish(void)
{
	int saved = 0;

	if (fflush(stdout) || ferror(stdout))
		saved = errno ? errno : EIO;
	if (pager.pid > 0) {
		/* the reader may leave the pager at any time */
		saved = wait_for_pager() ? 0 : ENOENT;
		pager.pid = 0;
	}
	return saved == EPIPE ? 0 : saved;
}

bool terminal_colour(void)
{
	return (pager.pid || isatty(STDOUT_FILENO)) && !getenv("NO_COLOR");
}

size_t terminal_rows(void)
{
	struct winsize size;

	if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 8)
		return size.ws_row - 6u;
	return 20;
}

void terminal_note(const char *fmt, ...)
{
	/* a pager would show later what was printed before */
	FILE *out = pager.pid > 0 ? stdout : stderr;
	va_list ap;

	if (pager.pid <= 0 && !isatty(STDERR_FILENO))
		return;
	fflush(stdout);
	va_start(ap, fmt);
	vfprintf(out, fmt, ap);
	va_end(ap);
	fputc('\n', out);
}

void terminal_escape(struct buf *out, const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
		/* C0, DEL, and C1 as UTF-8 encodes it */
		if (*p < 0x20 || *p == 0x7f || (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0))
			buf_printf(out, "\\x%02x", *p);
		else
			buf_put_u8(out, *p);
	}
}
