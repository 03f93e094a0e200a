/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "uftrace_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/search.h"
#include "trace/format.h"

enum { ENTRY, EXIT, LOST, EVENT, MAGIC = 5, RECORD = 16, LINE = 1024 };

struct thread {
	int fd;
	int32_t tid;
	uint64_t at; /* in the file */
	uint64_t ns; /* of the next record; UINT64_MAX: there is none */
	uint64_t bits;
	uint8_t buf[1 << 16];
	size_t used, len;
};

struct symbol {
	uint64_t address;
	char *name;
};

struct module {
	uint64_t from, to;
	struct symbol *symbols;
	size_t count, cap;
};

struct folder {
	int fd;
	struct graph_writer *to;
	struct thread *threads;
	size_t n_threads, threads_cap;
	struct module *modules;
	size_t n_modules, modules_cap;
	struct map named;
	const char *why; /* it cannot be read */
};

bool uftrace_folder_is_one(int folder)
{
	char magic[8] = "";
	int fd = openat(folder, "info", O_RDONLY | O_CLOEXEC);
	bool is = fd >= 0 && read(fd, magic, sizeof magic) == sizeof magic && !memcmp(magic, "Ftrace!", sizeof magic);

	if (fd >= 0)
		close(fd);
	return is;
}

static FILE *open_text(const struct folder *f, const char *name)
{
	int fd = openat(f->fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (!file && fd >= 0)
		close(fd);
	return file;
}

static int by_address(const void *va, const void *vb)
{
	const struct symbol *a = va, *b = vb;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return !!*a->name - !!*b->name; /* what ends there comes before what begins */
}

/* "0000000000001139 T main", "… P malloc" of the PLT, "… ? __sym_end" behind others: from where the module begins. */
static void read_symbols(struct folder *f, struct module *m, const char *path)
{
	const char *base = strrchr(path, '/');
	cleanup_free char *name = xasprintf("%s.sym", base ? base + 1 : path);
	FILE *file = open_text(f, name);
	char line[LINE], text[LINE], type;
	uint64_t address;

	while (file && fgets(line, sizeof line, file))
		if (*line != '#' && sscanf(line, "%" SCNx64 " %c %1023[^\n]", &address, &type, text) == 3 &&
		    strchr("TtWwP?", type)) {
			m->symbols = array_grow(m->symbols, m->count, &m->cap, sizeof *m->symbols);
			m->symbols[m->count++] = (struct symbol){ address, xstrdup(type == '?' ? "" : text) };
		}
	if (file)
		fclose(file);
	if (m->count)
		qsort(m->symbols, m->count, sizeof *m->symbols, by_address);
}

/* As /proc/PID/maps has them. Of several sessions all are read: what a later one has mapped elsewhere is not told
 * apart. */
static void read_map(struct folder *f, const char *name)
{
	FILE *file = open_text(f, name);
	char line[LINE], path[LINE];
	uint64_t from, to;

	while (file && fgets(line, sizeof line, file)) {
		struct module m = { 0 };

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %*s %1023s", &from, &to, path) != 3 ||
		    *path != '/')
			continue;
		m.from = from;
		m.to = to;
		read_symbols(f, &m, path);
		f->modules = array_grow(f->modules, f->n_modules, &f->modules_cap, sizeof *f->modules);
		f->modules[f->n_modules++] = m;
	}
	if (file)
		fclose(file);
}

static void add_thread(struct folder *f, const char *name)
{
	char *end;
	long tid = strtol(name, &end, 10);
	struct thread *t;

	if (end == name || strcmp(end, ".dat") || tid <= 0 || tid > INT32_MAX)
		return;
	if (f->n_threads == CPUS_MAX) {
		f->why = "has more threads than a trace can have CPUs for";
		return;
	}
	f->threads = array_grow(f->threads, f->n_threads, &f->threads_cap, sizeof *f->threads);
	t = &f->threads[f->n_threads++];
	memset(t, 0, sizeof *t);
	t->tid = (int32_t)tid;
	t->fd = openat(f->fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (t->fd < 0)
		f->why = "has a thread's file that cannot be opened: is 'ulimit -n' below the number of threads?";
}

static void find_files(struct folder *f)
{
	DIR *list = fdopendir(dup(f->fd));
	struct dirent *e;

	while (list && (e = readdir(list))) {
		size_t n = strlen(e->d_name);

		if (!strncmp(e->d_name, "sid-", 4) && n > 4 && !strcmp(e->d_name + n - 4, ".map"))
			read_map(f, e->d_name);
		else
			add_thread(f, e->d_name);
	}
	if (list)
		closedir(list);
}

/* Names of processes: "SESS … pid=7409 sid=… exename="/tmp/fib"", and whose threads others are. */
static void put_names(struct folder *f)
{
	FILE *file = open_text(f, "task.txt");
	char line[LINE], name[64] = "";
	int pid;

	while (file && fgets(line, sizeof line, file)) {
		const char *exe = strstr(line, "exename=\""), *id = strstr(line, "tid=");

		if (exe && (id = strstr(line, "pid="))) {
			const char *slash = strrchr(exe, '/');

			snprintf(name, sizeof name, "%.40s", slash ? slash + 1 : exe + 9);
			name[strcspn(name, "\"\n")] = 0;
		}
		if (!id)
			id = strstr(line, "pid=");
		if (id && sscanf(id + 4, "%d", &pid) == 1)
			graph_writer_put(f->to, &(struct graph_record){ .kind = GRAPH_COMM, .other = pid }, name);
	}
	if (file)
		fclose(file);
}

static void advance(struct folder *f, struct thread *t)
{
	ssize_t n;

	t->ns = UINT64_MAX;
	if (t->len - t->used < RECORD) {
		n = pread(t->fd, t->buf, sizeof t->buf, (off_t)t->at);
		if (n < 0)
			f->why = "has a thread's file that cannot be read";
		t->used = 0;
		t->len = n < 0 ? 0 : (size_t)n / RECORD * RECORD;
		t->at += t->len;
		if (!t->len)
			return;
	}
	memcpy(&t->ns, t->buf + t->used, sizeof t->ns);
	memcpy(&t->bits, t->buf + t->used + 8, sizeof t->bits);
	t->used += RECORD;
}

static const char *name_of(const struct folder *f, uint64_t address)
{
	for (size_t i = 0; i < f->n_modules; i++) {
		const struct module *m = &f->modules[i];
		size_t low;

		if (address < m->from || address >= m->to)
			continue;
		low = first_not(k, 0, m->count, m->symbols[k].address <= address - m->from);
		return low ? m->symbols[low - 1].name : "";
	}
	return "";
}

static void put_record(struct folder *f, const struct thread *t)
{
	unsigned type = t->bits & 3;
	struct graph_record r = {
		.ns = t->ns,
		.cpu = (uint32_t)(t - f->threads),
		.pid = t->tid,
		.depth = t->bits >> 6 & 1023,
	};
	uint64_t address = t->bits >> 16;

	if ((t->bits >> 3 & 7) != MAGIC) {
		f->why = "a thread's records are damaged";
		return;
	}
	if (t->bits & 4) {
		f->why = "was recorded with arguments or results (-A, -R), which are not read";
		return;
	}
	if (type == LOST) {
		r.kind = GRAPH_LOST;
		r.count = address;
		graph_writer_put(f->to, &r, NULL);
	}
	if (type != ENTRY && type != EXIT)
		return;
	if (!*map_put(&f->named, address, 0)) {
		*map_get(&f->named, address) = 1;
		graph_writer_put(f->to, &(struct graph_record){ .kind = GRAPH_NAME, .ns = t->ns, .function = address },
				 name_of(f, address));
	}
	r.kind = type == ENTRY ? GRAPH_ENTER : GRAPH_EXIT;
	r.function = address;
	graph_writer_put(f->to, &r, NULL);
}

static struct thread *earliest(struct folder *f)
{
	struct thread *first = NULL;

	for (size_t i = 0; i < f->n_threads; i++)
		if (f->threads[i].ns != UINT64_MAX && (!first || f->threads[i].ns < first->ns))
			first = &f->threads[i];
	return first;
}

static void read_folder(struct graph_writer *w, int fd)
{
	struct folder f = { .fd = fd, .to = w };
	struct thread *t;

	find_files(&f);
	put_names(&f);
	for (size_t i = 0; !f.why && i < f.n_threads; i++)
		advance(&f, &f.threads[i]);
	while (!f.why && (t = earliest(&f))) {
		put_record(&f, t);
		advance(&f, t);
	}
	graph_writer_put(w, &(struct graph_record){ .kind = f.why ? GRAPH_FAILED : GRAPH_END }, f.why);
}

struct graph_reader *uftrace_folder_open(int folder, const char *path, struct error *err)
{
	return graph_reader_start(read_folder, folder, path, err);
}
