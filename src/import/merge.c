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
#include "replay/stacks.h"
#include "trace/facts.h"

#define PROGRAM_OUTSIDE "[not instrumented]"

enum { FUNCTION_BITS = 40, STREAMS = 2 };

/* A trace's calls, as records in a file. */
struct source {
	const struct session *session;
	char *object; /* behind a program's functions: " [app]"; "": behind the kernel's */
	uint64_t base_ns, number;
	bool is_kernel;
	struct graph_writer to;
	struct map named;
};

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

static bool is_outside(const struct source *s, uint32_t function)
{
	const char *name = names_function(s->session->names, function);

	return names_is_group(s->session->names, function) || !strcmp(name, GRAPH_OUTSIDE) ||
	       !strcmp(name, PROGRAM_OUTSIDE);
}

static int32_t pid_of(const struct source *s, const struct stack *stack)
{
	const struct thread *t = threads_at(s->session->threads, stack->thread);

	return t ? t->pid : 0;
}

/* The calls around the one on top, but for what stands for none. */
static unsigned depth_of(const struct source *s, const struct stack *stack)
{
	size_t depth = stack->depth - 1;

	if (depth && is_outside(s, stack->frames[0].function))
		depth--;
	return depth < UINT16_MAX / 4 ? (unsigned)depth : UINT16_MAX / 4;
}

static uint64_t function_of(struct source *s, uint32_t function, uint64_t ns)
{
	uint64_t number = s->number << FUNCTION_BITS | (function + 1u);
	uint64_t *named = map_put(&s->named, function, 0);
	cleanup_free char *name = NULL;

	if (!*named) {
		*named = 1;
		name = xasprintf("%s%s", names_function(s->session->names, function), s->object);
		graph_writer_put(&s->to, &(struct graph_record){ .kind = GRAPH_NAME, .ns = ns, .function = number },
				 name);
	}
	return number;
}

static void put_call(struct source *s, const struct stacks *stacks, const struct stack *stack,
		     const struct frame *frame, enum graph_kind kind)
{
	struct graph_record r = {
		.kind = kind,
		.ns = stacks->ns + s->base_ns,
		.cpu = stack->cpu < 0 ? 0 : (uint32_t)stack->cpu,
		.pid = pid_of(s, stack),
		.depth = (uint16_t)depth_of(s, stack),
	};

	if (is_outside(s, frame->function) || stack->cpu < 0)
		return;
	r.function = function_of(s, frame->function, r.ns);
	graph_writer_put(&s->to, &r, NULL);
}

static void enter(void *state, struct stacks *stacks, struct stack *stack, struct frame *frame)
{
	put_call(state, stacks, stack, frame, GRAPH_ENTER);
}

/* Where it is not known how a call ended, what comes next in its thread shows that it has. */
static void leave(void *state, struct stacks *stacks, struct stack *stack, const struct frame *frame)
{
	if (stacks->end == FRAME_RETURNED || stacks->end == FRAME_CUT)
		put_call(state, stacks, stack, frame, GRAPH_EXIT);
}

static void switched(void *state, struct stacks *stacks, const struct stack *from, const struct stack *to, unsigned cpu)
{
	struct source *s = state;
	const struct thread *t = threads_at(s->session->threads, to->thread);

	if (s->is_kernel && from != to && t)
		graph_writer_put(&s->to,
				 &(struct graph_record){
					 .kind = GRAPH_SWITCH,
					 .ns = stacks->ns + s->base_ns,
					 .cpu = cpu,
					 .pid = pid_of(s, from),
					 .other = t->pid,
				 },
				 threads_comm(s->session->threads, t, stacks->ns));
}

static int32_t pid_of_task(const struct source *s, uint64_t task, uint64_t ns)
{
	const struct thread *t = threads_at(s->session->threads, threads_find(s->session->threads, task, ns));

	return t ? t->pid : 0;
}

/* Wake-ups, and lines of the log, which are in the order of time. */
static void put_facts(struct source *s, const struct facts *facts)
{
	for (size_t i = 0; i < facts->count; i++) {
		const struct fact *f = &facts->list[i];
		struct graph_record r = { .ns = f->ns + s->base_ns, .cpu = f->cpu };

		r.pid = pid_of_task(s, f->task, f->ns);
		if (f->kind == FACT_WAKE) {
			r.kind = GRAPH_WAKE;
			r.other = pid_of_task(s, f->numbers[0], f->ns);
			graph_writer_put(&s->to, &r, NULL);
		} else if (f->kind == FACT_LOG) {
			r.kind = GRAPH_LOG;
			graph_writer_put(&s->to, &r, fact_text(f, 0));
		}
	}
}

/* All are written, to be read from the first one on. */
static int end_records(struct graph_writer *w, const char *path, struct error *err)
{
	graph_writer_put(w, &(struct graph_record){ .kind = GRAPH_END }, NULL);
	graph_writer_flush(w);
	buf_free(&w->out);
	if (!w->failed && lseek(w->fd, 0, SEEK_SET) < 0)
		w->failed = errno;
	return w->failed ? error_set(err, "%s: its calls, in a temporary file (TMPDIR): %s", path, strerror(w->failed))
			 : 0;
}

static struct graph_reader *finish(struct source *s, const char *path, struct error *err)
{
	int r = end_records(&s->to, path, err);

	map_free(&s->named);
	if (r == 0)
		return graph_reader_of(s->to.fd, path);
	close(s->to.fd);
	return NULL;
}

static int open_between(struct source *s, const char *path, struct error *err)
{
	s->to.fd = file_open_temporary();
	return s->to.fd < 0 ? error_set(err, "%s: no temporary file (TMPDIR): %s", path, strerror(errno)) : 0;
}

/* The same file, with a place of its own. */
static int open_again(int fd)
{
	char path[32];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* `again`: another file of the same, to be read before; NULL: none. */
static struct graph_reader *read_calls(struct source s, const char *path, int *again, struct error *err)
{
	const struct stacks_visitor visitor = { .enter = enter, .leave = leave, .switched = switched };
	struct stacks stacks;
	int r;

	if (open_between(&s, path, err) < 0)
		return NULL;
	r = stacks_replay(&stacks, s.session, NULL, UINT64_MAX, &visitor, &s, err);
	stacks_deinit(&stacks);
	if (r == 0 && again) {
		*again = open_again(s.to.fd);
		r = *again < 0 ? error_set(err, "%s: no temporary file (TMPDIR): %s", path, strerror(errno)) : 0;
	}
	if (r == 0)
		return finish(&s, path, err);
	buf_free(&s.to.out);
	map_free(&s.named);
	close(s.to.fd);
	return NULL;
}

static struct graph_reader *read_facts(struct source s, const char *path, struct error *err)
{
	struct graph_reader *ret = NULL;
	struct facts facts;

	if (facts_read(s.session->reader, &facts, err) == 0 && open_between(&s, path, err) == 0) {
		put_facts(&s, &facts);
		ret = finish(&s, path, err);
	}
	facts_deinit(&facts);
	return ret;
}

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
	if ((r->kind != GRAPH_ENTER && r->kind != GRAPH_EXIT) || !r->pid)
		return;
	*map_put(&m->cpus, (uint32_t)r->pid, 0) = r->cpu + 1u;
	depth = map_put(&m->depths, (uint32_t)r->pid, 0);
	r->depth = (uint16_t)(r->depth + *depth);
}

static void note_program(struct merge *m, struct graph_record *r)
{
	if (r->kind == GRAPH_NAME)
		return;
	r->cpu = cpu_of(m, r->pid);
	if (r->kind == GRAPH_ENTER || r->kind == GRAPH_EXIT)
		*map_put(&m->depths, (uint32_t)r->pid, 0) = r->depth + (r->kind == GRAPH_ENTER);
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
		graph_writer_put(&m.to, &s->record, s->text);
		r = advance(&m, s, err);
	}
	if (r == 0)
		r = end_records(&m.to, path, err);
	buf_free(&m.to.out);
	map_free(&m.cpus);
	map_free(&m.depths);
	map_free(&m.numbers);
	for (size_t i = 0; i < m.n_visits; i++)
		free(m.visits[i].list);
	free(m.visits);
	return r;
}

static struct source source_of(const struct session *session, size_t number)
{
	const struct meta *meta = &session->reader->meta;
	const char *exe = meta_get(meta, "program.exe"), *slash = exe ? strrchr(exe, '/') : NULL;
	bool is_kernel = meta_get(meta, MERGE_KERNEL);

	return (struct source){
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
	struct stream *list = xcalloc(n * STREAMS, sizeof *list);
	unsigned cpus = 0;
	size_t made = 0;
	int fd = -1, kernel = -1, r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		struct source s = source_of(sessions[i], i);

		if (s.is_kernel)
			cpus = reader_vcpus(sessions[i]->reader);
		for (int k = 0; k < STREAMS && r == 0; k++) {
			list[made].is_program = !s.is_kernel;
			list[made].reader =
				k ? read_facts(s, path, err) : read_calls(s, path, s.is_kernel ? &kernel : NULL, err);
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
