/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "graph_records.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

enum { PIECE = 1 << 18 };

struct graph_reader {
	char *path;
	pid_t child;
	int fd;
	struct buf in;
	size_t at;
	bool over;
	char text[GRAPH_TEXT_MAX + 1];
};

void graph_writer_flush(struct graph_writer *w)
{
	int r = w->failed ? 0 : write_all(w->fd, w->out.data, w->out.len);

	if (r < 0)
		w->failed = -r;
	w->out.len = 0;
}

void graph_record_put(struct buf *out, const struct graph_record *record, const void *bytes, size_t n)
{
	struct graph_record r = *record;

	if (n > GRAPH_TEXT_MAX)
		return;
	r.text_bytes = (uint32_t)n;
	buf_put(out, &r, sizeof r);
	buf_put(out, bytes, n);
}

void graph_writer_put_bytes(struct graph_writer *w, const struct graph_record *record, const void *bytes, size_t n)
{
	graph_record_put(&w->out, record, bytes, n);
	if (w->out.len >= PIECE)
		graph_writer_flush(w);
}

void graph_writer_put(struct graph_writer *w, const struct graph_record *record, const char *text)
{
	graph_writer_put_bytes(w, record, text, text ? strnlen(text, GRAPH_TEXT_MAX) : 0);
}

/* The library may do anything with a file that was made for it to. */
static void limit(void)
{
	enum { GIGABYTES = 8 };
	const struct rlimit memory = { (rlim_t)GIGABYTES << 30, (rlim_t)GIGABYTES << 30 }, none = { 0 };
	int null = open("/dev/null", O_RDWR);

/* the sanitizer's shadow alone is larger; of clang's, with which libFuzzer comes, only our own name tells */
#if !defined __SANITIZE_ADDRESS__ && !defined UPTO_SMALL_TABLES
	setrlimit(RLIMIT_AS, &memory);
#else
	(void)memory;
#endif
	setrlimit(RLIMIT_CORE, &none);
	/* what the library prints is not for the user */
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	signal(SIGPIPE, SIG_DFL);
	/* the terminal's Ctrl-C is this process's, too, unless all is to be written in spite of it */
	if (signal(SIGINT, SIG_DFL) == SIG_IGN)
		signal(SIGINT, SIG_IGN);
}

struct graph_reader *graph_reader_of(int fd, const char *path)
{
	struct graph_reader *r = xcalloc(1, sizeof *r);

	r->path = xstrdup(path);
	r->fd = fd;
	return r;
}

struct graph_reader *graph_reader_start(void (*read)(struct graph_writer *w, int fd), int fd, const char *path,
					struct error *err)
{
	struct graph_reader *r;
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) < 0) {
		error_set(err, "%s: %s", path, strerror(errno));
		return NULL;
	}
	child = fork();
	if (child == 0) {
		struct graph_writer w = { .fd = ends[1] };

		limit();
		read(&w, fd);
		graph_writer_flush(&w);
		_exit(w.failed ? 1 : 0);
	}
	close(ends[1]);
	if (child < 0) {
		close(ends[0]);
		error_set(err, "%s: no process to read it in: %s", path, strerror(errno));
		return NULL;
	}
	r = graph_reader_of(ends[0], path);
	r->child = child;
	return r;
}

struct graph_reader *graph_reader_start_file(void (*read)(struct graph_writer *w, int fd), int fd, const char *path,
					     const char *what, struct error *err)
{
	if (lseek(fd, 0, SEEK_SET) < 0) {
		error_set(err, "%s: %s is read as a file, not through a pipe", path, what);
		return NULL;
	}
	return graph_reader_start(read, fd, path, err);
}

static int wait_for(struct graph_reader *r)
{
	int status = 0;

	close(r->fd);
	r->fd = -1;
	while (r->child && waitpid(r->child, &status, 0) < 0 && errno == EINTR)
		;
	r->child = 0;
	return status;
}

void graph_reader_free(struct graph_reader *r)
{
	if (!r)
		return;
	if (r->child)
		kill(r->child, SIGKILL);
	if (r->fd >= 0)
		wait_for(r);
	buf_free(&r->in);
	free(r->path);
	free(r);
}

/* At least so many bytes behind `at`. False: there are not. */
static bool has(struct graph_reader *r, size_t n)
{
	static char piece[PIECE];

	while (r->in.len - r->at < n) {
		ssize_t got = read(r->fd, piece, sizeof piece);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		if (r->at) {
			memmove(r->in.data, r->in.data + r->at, r->in.len - r->at);
			r->in.len -= r->at;
			r->at = 0;
		}
		buf_put(&r->in, piece, (size_t)got);
	}
	return true;
}

/* It ended without a last word. */
static int fail(struct graph_reader *r, struct error *err)
{
	int status = wait_for(r);

	r->over = true;
	if (WIFSIGNALED(status))
		return error_set(err, "%s: is damaged: the library that reads it was ended by signal %d (%s)", r->path,
				 WTERMSIG(status), strsignal(WTERMSIG(status)));
	return error_set(err, "%s: is damaged: the library that reads it gave up", r->path);
}

int graph_reader_next(struct graph_reader *r, struct graph_record *ret, const char **ret_text, struct error *err)
{
	if (r->over)
		return 0;
	if (!has(r, sizeof *ret))
		return fail(r, err);
	memcpy(ret, r->in.data + r->at, sizeof *ret);
	if (ret->text_bytes > GRAPH_TEXT_MAX || !has(r, sizeof *ret + ret->text_bytes))
		return fail(r, err);
	memcpy(r->text, r->in.data + r->at + sizeof *ret, ret->text_bytes);
	r->text[ret->text_bytes] = 0;
	r->at += sizeof *ret + ret->text_bytes;
	*ret_text = r->text;
	if (ret->kind == GRAPH_FAILED)
		return error_set(err, "%s: %s", r->path, r->text);
	r->over = ret->kind == GRAPH_END;
	return !r->over;
}
