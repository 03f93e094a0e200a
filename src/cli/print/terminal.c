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

#include "base/alloc.h"
#include "base/utf8.h"

static struct {
	pid_t pid;
	bool never;
} pager;

static int first_failure; /* of writing to standard output, an errno; 0: none was noted */

/* What the terminal was before the pager came in between. */
static size_t columns;

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
	/* some commands read a trace more than once */
	fprintf(stderr, "\r\033[Kreading: %u %%", (unsigned)(progress.chunks % (all + 1) * 100 / (all ? all : 1)));
	fflush(stderr);
}

void terminal_progress(void *context, size_t chunks)
{
	(void)context;
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
	return command ? command : "command -v less >/dev/null && exec less || exec cat";
}

/*
 * If the shell does not find the pager it says so, and the answer comes without one. What Ctrl-C does, the pager says:
 * less ends a search.
 */
static void run_pager(const char *command)
{
	cleanup_free char *script = xasprintf("trap : INT\n%s\nstatus=$?\n[ $status = 127 ] && exec cat\nexit $status", command);

	execl("/bin/sh", "sh", "-c", script, (char *)NULL);
}

/* Wait until the pager ends. Returns false if it did not start, so that the answer is lost. */
static bool wait_for_pager(void)
{
	enum { NOT_FOUND = 127 };
	int status = 0;

	close(STDOUT_FILENO);
	waitpid(pager.pid, &status, 0);
	return !WIFEXITED(status) || WEXITSTATUS(status) != NOT_FOUND;
}

/* The reader has closed the pipe: that is no error, and nothing more is printed. */
static void leave(int number)
{
	(void)number;
	_exit(wait_for_pager() ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* Ctrl-C is the pager's as long as that is there: it would be left alone with the terminal. */
static void leave_to_pager(int number)
{
	if (waitpid(pager.pid, NULL, WNOHANG) == 0)
		return;
	signal(number, SIG_DFL);
	raise(number); /* it ends upto, once this handler has returned */
}

static size_t find_columns(void)
{
	const char *told = getenv("COLUMNS");
	struct winsize size;
	int n = told ? atoi(told) : 0;

	if (!isatty(STDOUT_FILENO))
		return 0;
	if (n > 0)
		return (size_t)n;
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void terminal_start_pager(void)
{
	const char *command = pager_command();
	int fds[2];

	terminal_end_progress();
	if (pager.pid || pager.never || !isatty(STDOUT_FILENO) || !*command || pipe(fds) < 0)
		return;
	fflush(stdout);
	columns = find_columns();
	pager.pid = fork();
	if (pager.pid == 0) {
		dup2(fds[0], STDIN_FILENO);
		close(fds[0]);
		close(fds[1]);
		setenv("LESS", "FRX", 0);
		run_pager(command);
		_exit(127);
	}
	close(fds[0]);
	if (pager.pid > 0) {
		signal(SIGPIPE, leave);
		if (signal(SIGINT, leave_to_pager) == SIG_IGN)
			signal(SIGINT, SIG_IGN);
		dup2(fds[1], STDOUT_FILENO);
	}
	close(fds[1]);
}

void terminal_failed(int number)
{
	if (!first_failure)
		first_failure = number;
}

int terminal_finish(void)
{
	int saved = 0;

	if (fflush(stdout) || ferror(stdout))
		saved = first_failure ? first_failure : errno ? errno : EIO;
	if (pager.pid > 0) {
		/* the user may leave the pager at any time */
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

	if (!isatty(STDOUT_FILENO))
		return 0;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 8)
		return size.ws_row - 6u;
	return 20;
}

size_t terminal_columns(void)
{
	return pager.pid ? columns : find_columns();
}

static void print(const void *data, size_t n)
{
	if (fwrite(data, 1, n, stdout) < n)
		terminal_failed(errno);
}

void terminal_print(struct buf *lines, size_t width)
{
	struct buf cut = { 0 };

	buf_put_u8(lines, 0);
	for (char *line = (char *)lines->data, *end; width && *line; line = end + 1) {
		end = strchr(line, '\n');
		if (!end)
			break;
		*end = 0;
		utf8_put_cut(&cut, line, width);
		buf_put_u8(&cut, '\n');
	}
	if (width)
		print(cut.data, cut.len);
	else
		print(lines->data, lines->len - 1);
	buf_free(&cut);
}

void terminal_note(const char *fmt, ...)
{
	/* a pager would show this later than what was printed before */
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
	while (*text) {
		uint32_t c = 0;
		unsigned n = utf8_decode(text, &c);
		bool harmless = n && !utf8_is_control(c);

		n = n ? n : 1;
		if (harmless)
			buf_put(out, text, n);
		for (unsigned i = 0; !harmless && i < n; i++)
			buf_printf(out, "\\x%02x", (unsigned char)text[i]);
		text += n;
	}
}
