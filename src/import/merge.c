/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "merge.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "trace_records.h"

/* Records in the order of time, the next of which is there. */
struct stream {
	struct graph_reader *reader;
	struct graph_record record;
	const char *text;
	bool over, is_program;
};

/*
 * When a thread was in the kernel. Its own code ran at no such time: where a record of that says so, the two clocks are
 * apart by a little, and it belongs to the nearer end.
 */
struct visits {
	struct visit {
		uint64_t from_ns, to_ns;
	} * list;
	size_t count, cap, at;
	uint64_t last_ns; /* of the program's records so far */
};

struct merge {
	struct graph_writer to;
	struct map cpus;    /* of threads, by PID: where they were seen last + 1 */
	struct map depths;  /* of programs' open calls, by PID */
	unsigned next_cpu;  /* for threads that the kernel's trace does not know */
	struct map numbers; /* of visits, by PID */
	struct visits *visits;
	size_t n_visits, cap;
};

static struct visits *visits_of(struct merge *m, int32_t pid)
{
	uint64_t *at = map_put(&m->numbers, (uint32_t)pid, UINT64_MAX);

	if (*at == UINT64_MAX) {
		m->visits = array_grow(m->visits, m->n_visits, &m->cap, sizeof *m->visits);
		*at = m->n_visits;
		m->visits[m->n_visits++] = (struct visits){ 0 };
	}
	return &m->visits[*at];
}

/* `fd`: the kernel's records, which are read once more then. */
static int find_visits(struct merge *m, int fd, const char *path, struct error *err)
{
	struct graph_reader *reader = graph_reader_of(fd, path);
	struct graph_record r;
	const char *text;
	int more;

	while ((more = graph_reader_next(reader, &r, &text, err)) > 0) {
		struct visits *v;

		if ((r.kind != GRAPH_ENTER && r.kind != GRAPH_EXIT) || r.depth || !r.pid)
			continue;
		v = visits_of(m, r.pid);
		if (r.kind == GRAPH_ENTER) {
			v->list = array_grow(v->list, v->count, &v->cap, sizeof *v->list);
			v->list[v->count++] = (struct visit){ r.ns, r.ns };
		} else if (v->count) {
			v->list[v->count - 1].to_ns = r.ns;
		}
	}
	graph_reader_free(reader);
	return more;
}

/* When a record of a program's thread was, by the kernel's records of that thread. */
static uint64_t moved(struct merge *m, int32_t pid, uint64_t ns)
{
	struct visits *v = visits_of(m, pid);
	const struct visit *visit;

	while (v->at < v->count && v->list[v->at].to_ns < ns)
		v->at++;
	visit = v->at < v->count ? &v->list[v->at] : NULL;
	if (visit && ns >= visit->from_ns)
		ns = ns - visit->from_ns < visit->to_ns - ns ? visit->from_ns - 1 : visit->to_ns + 1;
	if (ns < v->last_ns)
		ns = v->last_ns;
	v->last_ns = ns;
	return ns;
}

static struct stream *earliest(struct stream *list, size_t n)
{
	struct stream *first = NULL;

	for (size_t i = 0; i < n; i++)
		if (!list[i].over && (!first || list[i].record.ns < first->record.ns))
			first = &list[i];
	return first;
}

/* Where the kernel has the thread; one that it does not know is alone on a CPU that is not the machine's. */
static unsigned cpu_of(struct merge *m, int32_t pid)
{
	uint64_t *cpu = map_put(&m->cpus, (uint32_t)pid, 0);

	if (!*cpu)
		*cpu = ++m->next_cpu;
	return (unsigned)*cpu - 1;
}

static void note_kernel(struct merge *m, struct graph_record *r)
{
	uint64_t *depth;

	if (r->kind == GRAPH_SWITCH && r->other)
		*map_put(&m->cpus, (uint32_t)r->other, 0) = r->cpu + 1u;
	if (r->kind == GRAPH_FORK)
		*map_put(&m->depths, (uint32_t)r->other, 0) = 0;
	if ((r->kind != GRAPH_ENTER && r->kind != GRAPH_EXIT) || !r->pid)
		return;
	*map_put(&m->cpus, (uint32_t)r->pid, 0) = r->cpu + 1u;
	depth = map_put(&m->depths, (uint32_t)r->pid, 0);
	r->depth = (uint16_t)(r->depth + *depth);
}

static void note_program(struct merge *m, struct graph_record *r)
{
	if (r->kind == GRAPH_NAME || r->cpu == GRAPH_NO_CPU)
		return;
	r->cpu = cpu_of(m, r->pid);
	if (r->kind == GRAPH_ENTER || r->kind == GRAPH_EXIT)
		*map_put(&m->depths, (uint32_t)r->pid, 0) = r->depth + (r->kind == GRAPH_ENTER);
	else if (r->kind == GRAPH_LOST)
		*map_put(&m->depths, (uint32_t)r->pid, 0) = 0;
}

static int advance(struct merge *m, struct stream *s, struct error *err)
{
	int more = graph_reader_next(s->reader, &s->record, &s->text, err);

	s->over = more == 0;
	if (more > 0 && s->is_program && (s->record.kind == GRAPH_ENTER || s->record.kind == GRAPH_EXIT))
		s->record.ns = moved(m, s->record.pid, s->record.ns);
	return more < 0 ? -1 : 0;
}

static int merge(struct stream *list, size_t n, unsigned cpus, int kernel, const char *path, int fd, struct error *err)
{
	struct merge m = { .to = { .fd = fd }, .next_cpu = cpus };
	struct stream *s;
	int r = find_visits(&m, kernel, path, err);

	for (size_t i = 0; i < n && r == 0; i++)
		r = advance(&m, &list[i], err);
	while (r == 0 && (s = earliest(list, n))) {
		if (s->is_program)
			note_program(&m, &s->record);
		else
			note_kernel(&m, &s->record);
		graph_writer_put_bytes(&m.to, &s->record, s->text, s->record.text_bytes);
		r = advance(&m, s, err);
	}
	if (r == 0)
		r = trace_records_end(&m.to, path, err);
	buf_free(&m.to.out);
	map_free(&m.cpus);
	map_free(&m.depths);
	map_free(&m.numbers);
	for (size_t i = 0; i < m.n_visits; i++)
		free(m.visits[i].list);
	free(m.visits);
	return r;
}

static struct records_source source_of(const struct session *session, size_t number)
{
	const struct meta *meta = &session->reader->meta;
	const char *exe = meta_get(meta, "program.exe"), *slash = exe ? strrchr(exe, '/') : NULL;
	bool is_kernel = meta_get(meta, MERGE_KERNEL);

	return (struct records_source){
		.session = session,
		.number = number,
		.is_kernel = is_kernel,
		.base_ns = meta_get_u64(meta, is_kernel ? MERGE_KERNEL : MERGE_PROGRAM, 0),
		.object = is_kernel ? xstrdup("")
				    : xasprintf(" [%s]", !exe    ? "program"
							 : slash ? slash + 1
								 : exe),
	};
}

/* One file of all of them. -1: *err is set. */
static int make_records(const struct session *const *sessions, size_t n, const char *path, struct error *err)
{
	struct stream *list = xcalloc(n * RECORDS_PARTS, sizeof *list);
	unsigned cpus = 0;
	size_t made = 0;
	int fd = -1, kernel = -1, r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		struct records_source s = source_of(sessions[i], i);

		if (s.is_kernel)
			cpus = reader_vcpus(sessions[i]->reader);
		for (int part = 0; part < RECORDS_PARTS && r == 0; part++) {
			bool again = s.is_kernel && part == RECORDS_CALLS;

			list[made].is_program = !s.is_kernel;
			list[made].reader =
				trace_records_read(&s, (enum records_part)part, path, again ? &kernel : NULL, err);
			r = list[made++].reader ? 0 : -1;
		}
		free(s.object);
	}
	fd = r == 0 ? file_open_temporary() : -1;
	if (r == 0 && fd < 0)
		r = error_set(err, "%s: no temporary file (TMPDIR): %s", path, strerror(errno));
	if (r == 0)
		r = merge(list, made, cpus, kernel, path, fd, err);
	else if (kernel >= 0)
		close(kernel);
	for (size_t i = 0; i < made; i++)
		graph_reader_free(list[i].reader);
	free(list);
	if (r < 0 && fd >= 0)
		close(fd);
	return r < 0 ? -1 : fd;
}

int merge_write(const struct session *const *sessions, size_t n, const char *path, const struct builder_sink *sink,
		struct graph_trace_counts *ret, struct error *err)
{
	int fd = make_records(sessions, n, path, err), r;
	struct graph_reader *reader;

	if (fd < 0)
		return -1;
	reader = graph_reader_of(fd, path);
	r = graph_trace_write(reader, "this kernel's function_graph, and what programs with libupto wrote", path, NULL,
			      sink, ret, err);
	graph_reader_free(reader);
	return r;
}
