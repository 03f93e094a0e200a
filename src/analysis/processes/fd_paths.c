/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fd_paths.h"

#include <stdlib.h>
#include <string.h>

#include "arch/syscall_args.h"
#include "base/alloc.h"

enum { FD_MAX = 1 << 16 };

struct open_file {
	const char *path;   /* NULL: closed, or not known */
	bool closes;        /* with the next exec: O_CLOEXEC */
};

/* The descriptors of a process. */
struct table {
	struct open_file *files;
	size_t count;
};

struct fd_memory {
	char **texts;
	size_t n_texts, cap;
};

struct following {
	const struct syscalls *calls;
	const struct texts *texts;
	const struct threads *threads;
	struct fd_paths *ret;
	struct map tables;   /* tgid → number in list + 1 */
	struct table *list;
	size_t count, cap;
	uint32_t *births, *execs; /* numbers of threads by start, and of programs by start */
	size_t n_births, n_execs;
};

static struct table *table_of(struct following *f, int32_t tgid)
{
	uint64_t *at = map_put(&f->tables, (uint64_t)(uint32_t)tgid + 1, 0);

	if (!*at) {
		f->list = array_grow(f->list, f->count, &f->cap, sizeof *f->list);
		f->list[f->count++] = (struct table){ 0 };
		*at = f->count;
	}
	return &f->list[*at - 1];
}

static struct open_file *file_at(struct table *t, int64_t fd, bool make)
{
	if (fd < 0 || fd >= FD_MAX || ((size_t)fd >= t->count && !make))
		return NULL;
	if ((size_t)fd >= t->count) {
		size_t count = (size_t)fd + 16;

		t->files = xreallocarray(t->files, count, sizeof *t->files);
		memset(t->files + t->count, 0, (count - t->count) * sizeof *t->files);
		t->count = count;
	}
	return &t->files[fd];
}

static void set_file(struct table *t, int64_t fd, const char *path, bool closes)
{
	struct open_file *file = file_at(t, fd, path != NULL);

	if (file)
		*file = (struct open_file){ .path = path, .closes = closes };
}

static const char *path_at(struct table *t, uint64_t fd)
{
	const struct open_file *file = file_at(t, (int32_t)fd, false);

	return file ? file->path : NULL;
}

static const char *keep(struct following *f, char *text)
{
	struct fd_memory *m = f->ret->memory;

	m->texts = array_grow(m->texts, m->n_texts, &m->cap, sizeof *m->texts);
	return m->texts[m->n_texts++] = text;
}

/* The text of an argument; a path below an open folder with that before it. NULL: not known. */
static const char *path_argument(struct following *f, const struct syscall_record *c, unsigned arg, const char *folder)
{
	const struct text *text = texts_find(f->texts, c->cpu, c->insns, arg);
	const char *bytes = text ? text->bytes : NULL;

	if (!text || text->cut)
		return NULL;
	if (folder && text->len && bytes[0] != '/')
		return keep(f, xasprintf("%s/%.*s", folder, (int)text->len, bytes));
	return keep(f, xstrndup(bytes, text->len));
}

static void clear(struct table *t)
{
	free(t->files);
	*t = (struct table){ 0 };
}

/* A new process has what its maker had. */
static void copy_table(struct following *f, const struct thread *child, int32_t maker)
{
	struct table *to = table_of(f, child->tgid), from = *table_of(f, maker);

	to = table_of(f, child->tgid);
	if (child->tgid == maker)
		return;
	free(to->files);
	*to = (struct table){ .count = from.count, .files = xcalloc(from.count + 1, sizeof *to->files) };
	if (from.count)
		memcpy(to->files, from.files, from.count * sizeof *to->files);
}

static void close_for_exec(struct table *t)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->files[i].closes)
			t->files[i] = (struct open_file){ 0 };
}

static int32_t maker_of(const struct following *f, const struct thread *t)
{
	const struct task_record *r = threads_record(f->threads, t->task, t->start_ns);
	long maker = r && r->maker ? threads_find(f->threads, r->maker, t->start_ns) : THREAD_NONE;

	return maker == THREAD_NONE ? t->ppid : f->threads->list[maker].tgid;
}

/* Processes that were made, and programs that were begun, before that time. */
static void go_to(struct following *f, uint64_t ns, size_t *birth, size_t *exec)
{
	for (;;) {
		const struct thread *t = *birth < f->n_births ? &f->threads->list[f->births[*birth]] : NULL;
		const struct program *p = *exec < f->n_execs ? &f->threads->programs[f->execs[*exec]] : NULL;

		if (t && t->start_ns <= ns && (!p || t->start_ns <= p->start_ns)) {
			/* what was there before it was seen has files of its own */
			if (t->pid == t->tgid && t->seen)
				clear(table_of(f, t->tgid));
			else if (t->pid == t->tgid)
				copy_table(f, t, maker_of(f, t));
			++*birth;
		} else if (p && p->start_ns <= ns) {
			close_for_exec(table_of(f, f->threads->list[p->thread].tgid));
			++*exec;
		} else {
			return;
		}
	}
}

/* What the call does to the process's descriptors. */
static void follow(struct following *f, const struct syscall_record *c, int32_t tgid)
{
	enum {
		O_CLOEXEC = 02000000, F_DUPFD = 0, F_SETFD = 2, F_DUPFD_CLOEXEC = 1030, FD_CLOEXEC = 1,
		CLOSE_RANGE_CLOEXEC = 4, /* include/uapi/linux/close_range.h */
	};
	const char *name = c->abi->call_name(c->nr);
	struct table *t = table_of(f, tgid);
	const uint64_t *a = c->args;
	struct open_file *file;

	if (!name || !c->has_result || c->result < 0)
		return;
	if (!strcmp(name, "openat") || !strcmp(name, "openat2")) {
		const char *folder = (int32_t)a[0] == -100 ? NULL : path_at(t, a[0]);

		set_file(t, c->result, path_argument(f, c, 1, folder), !strcmp(name, "openat") && a[2] & O_CLOEXEC);
	} else if (!strcmp(name, "open") || !strcmp(name, "creat")) {
		set_file(t, c->result, path_argument(f, c, 0, NULL), !strcmp(name, "open") && a[1] & O_CLOEXEC);
	} else if (!strcmp(name, "close")) {
		set_file(t, (int32_t)a[0], NULL, false);
	} else if (!strcmp(name, "close_range")) {
		for (uint64_t fd = (uint32_t)a[0]; fd <= (uint32_t)a[1] && fd < t->count; fd++)
			if (a[2] & CLOSE_RANGE_CLOEXEC)
				t->files[fd].closes = true;
			else
				set_file(t, (int64_t)fd, NULL, false);
	} else if (!strcmp(name, "dup") || !strcmp(name, "dup2") || !strcmp(name, "dup3")) {
		set_file(t, c->result, path_at(t, a[0]), !strcmp(name, "dup3") && a[2] & O_CLOEXEC);
	} else if (!strncmp(name, "fcntl", 5) && (a[1] == F_DUPFD || a[1] == F_DUPFD_CLOEXEC)) {
		set_file(t, c->result, path_at(t, a[0]), a[1] == F_DUPFD_CLOEXEC);
	} else if (!strncmp(name, "fcntl", 5) && a[1] == F_SETFD) {
		file = file_at(t, (int32_t)a[0], false);
		if (file)
			file->closes = a[2] & FD_CLOEXEC;
	} else if (!strcmp(name, "socket")) {
		set_file(t, c->result, "socket", a[1] & O_CLOEXEC);
	} else if (!strcmp(name, "accept") || !strcmp(name, "accept4")) {
		set_file(t, c->result, path_at(t, a[0]), !strcmp(name, "accept4") && a[3] & O_CLOEXEC);
	} else if (!strcmp(name, "memfd_create") || !strncmp(name, "epoll_create", 12) ||
		   !strncmp(name, "eventfd", 7) || !strcmp(name, "timerfd_create") ||
		   !strncmp(name, "inotify_init", 12) || !strncmp(name, "signalfd", 8) || !strcmp(name, "pidfd_open")) {
		set_file(t, c->result, NULL, false);
	}
}

static const struct threads *sorting;

static int by_birth(const void *va, const void *vb)
{
	uint32_t a = *(const uint32_t *)va, b = *(const uint32_t *)vb;
	uint64_t a_ns = sorting->list[a].start_ns, b_ns = sorting->list[b].start_ns;

	return a_ns != b_ns ? (a_ns < b_ns ? -1 : 1) : a < b ? -1 : a > b;
}

static int by_exec(const void *va, const void *vb)
{
	uint32_t a = *(const uint32_t *)va, b = *(const uint32_t *)vb;
	uint64_t a_ns = sorting->programs[a].start_ns, b_ns = sorting->programs[b].start_ns;

	return a_ns != b_ns ? (a_ns < b_ns ? -1 : 1) : a < b ? -1 : a > b;
}

static void sort_threads(struct following *f)
{
	const struct threads *t = f->threads;

	f->births = xcalloc(t->count + 1, sizeof *f->births);
	f->execs = xcalloc(t->n_programs + 1, sizeof *f->execs);
	for (uint32_t i = 0; i < t->count; i++)
		f->births[f->n_births++] = i;
	for (uint32_t i = 0; i < t->n_programs; i++)
		if (i != t->list[t->programs[i].thread].first_program)
			f->execs[f->n_execs++] = i;
	sorting = t;
	if (f->n_births)
		qsort(f->births, f->n_births, sizeof *f->births, by_birth);
	if (f->n_execs)
		qsort(f->execs, f->n_execs, sizeof *f->execs, by_exec);
}

void fd_paths_init(struct fd_paths *ret, const struct syscalls *calls, const struct texts *texts,
		   const struct threads *threads)
{
	struct following f = { .calls = calls, .texts = texts, .threads = threads, .ret = ret };
	size_t birth = 0, exec = 0;
	uint64_t gaps = 0;

	*ret = (struct fd_paths){
		.paths = xcalloc(calls->count + 1, sizeof *ret->paths), .memory = xcalloc(1, sizeof *ret->memory),
	};
	/* the one that is left out may have been the one that closed a file */
	if (calls->filtered)
		return;
	sort_threads(&f);
	for (size_t i = 0; i < calls->count; i++) {
		const struct syscall_record *c = &calls->calls[i];
		const char *kinds = c->abi->call_args(c->nr);
		long thread = threads_find(threads, c->task, c->ns);

		for (size_t k = 0; c->gaps != gaps && k < f.count; k++)
			clear(&f.list[k]);
		gaps = c->gaps;
		go_to(&f, c->ns, &birth, &exec);
		if (thread == THREAD_NONE)
			continue;
		if (kinds && (kinds[0] == ARG_FD || kinds[0] == ARG_FOLDER))
			ret->paths[i] = path_at(table_of(&f, threads->list[thread].tgid), c->args[0]);
		follow(&f, c, threads->list[thread].tgid);
	}
	for (size_t i = 0; i < f.count; i++)
		clear(&f.list[i]);
	free(f.list);
	free(f.births);
	free(f.execs);
	map_free(&f.tables);
}

void fd_paths_deinit(struct fd_paths *p)
{
	for (size_t i = 0; p->memory && i < p->memory->n_texts; i++)
		free(p->memory->texts[i]);
	if (p->memory)
		free(p->memory->texts);
	free(p->memory);
	free(p->paths);
	*p = (struct fd_paths){ 0 };
}
