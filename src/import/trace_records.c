/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace_records.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "graph_trace.h"
#include "replay/stacks.h"
#include "trace/facts.h"

#define PROGRAM_OUTSIDE "[not instrumented]"

enum { FUNCTION_BITS = 40 };

/* What is written now. */
struct writing {
	const struct records_source *of;
	struct graph_writer to;
	struct map named; /* functions */
	uint64_t lost;    /* in gaps */
};

static bool is_outside(const struct writing *w, uint32_t function)
{
	const char *name = names_function(w->of->session->names, function);

	return names_is_group(w->of->session->names, function) || !strcmp(name, GRAPH_OUTSIDE) ||
	       !strcmp(name, PROGRAM_OUTSIDE);
}

static int32_t pid_of(const struct writing *w, const struct stack *stack)
{
	const struct thread *t = threads_at(w->of->session->threads, stack->thread);

	return t ? t->pid : 0;
}

/* The calls around the one on top, but for what stands for none. */
static unsigned depth_of(const struct writing *w, const struct stack *stack)
{
	size_t depth = stack->depth - 1;

	if (depth && is_outside(w, stack->frames[0].function))
		depth--;
	return depth < UINT16_MAX / 4 ? (unsigned)depth : UINT16_MAX / 4;
}

static uint64_t function_of(struct writing *w, uint32_t function, uint64_t ns)
{
	uint64_t number = w->of->number << FUNCTION_BITS | (function + 1u);
	uint64_t *named = map_put(&w->named, function, 0);
	cleanup_free char *name = NULL;

	if (!*named) {
		*named = 1;
		name = xasprintf("%s%s", names_function(w->of->session->names, function), w->of->object);
		graph_writer_put(&w->to, &(struct graph_record){ .kind = GRAPH_NAME, .ns = ns, .function = number },
				 name);
	}
	return number;
}

static void put_call(struct writing *w, const struct stacks *stacks, const struct stack *stack,
		     const struct frame *frame, enum graph_kind kind)
{
	struct graph_record r = {
		.kind = kind,
		.ns = stacks->ns + w->of->base_ns,
		.cpu = stack->cpu < 0 ? 0 : (uint32_t)stack->cpu,
		.pid = pid_of(w, stack),
		.depth = (uint16_t)depth_of(w, stack),
	};

	if (is_outside(w, frame->function) || stack->cpu < 0)
		return;
	r.function = function_of(w, frame->function, r.ns);
	graph_writer_put(&w->to, &r, NULL);
}

/* Behind a gap a call may show up that began before. */
static void enter(void *state, struct stacks *stacks, struct stack *stack, struct frame *frame)
{
	if (frame_is_called(frame) && frame->at_start)
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
	struct writing *w = state;
	const struct thread *t = threads_at(w->of->session->threads, to->thread);

	if (w->of->is_kernel && from != to && t)
		graph_writer_put(&w->to,
				 &(struct graph_record){
					 .kind = GRAPH_SWITCH,
					 .ns = stacks->ns + w->of->base_ns,
					 .cpu = cpu,
					 /* where nobody was known to run, nobody leaves */
					 .pid = threads_at(w->of->session->threads, from->thread) ? pid_of(w, from)
												  : t->pid,
					 .other = t->pid,
				 },
				 threads_comm(w->of->session->threads, t, stacks->ns));
}

/* Where a CPU lost something, each thread that may have run meanwhile has a gap of its own, of no events. */
static void gap(void *state, struct stacks *stacks, const struct stack *stack, uint64_t from_ns)
{
	struct writing *w = state;
	const struct event *e = stacks->event;

	(void)from_ns;
	if (!e || e->kind != EVENT_GAP || e->args[GAP_REASON] != GAP_IS_LOST || stack->cpu < 0)
		return;
	w->lost += e->args[GAP_LOST];
	graph_writer_put(&w->to,
			 &(struct graph_record){
				 .kind = GRAPH_LOST,
				 .ns = stacks->ns + w->of->base_ns,
				 .cpu = (uint32_t)stack->cpu,
				 .pid = pid_of(w, stack),
				 .other = !e->args[GAP_LOST],
				 .count = e->args[GAP_LOST],
			 },
			 NULL);
}

static int32_t pid_of_task(const struct writing *w, uint64_t task, uint64_t ns)
{
	const struct thread *t = threads_at(w->of->session->threads, threads_find(w->of->session->threads, task, ns));

	return t ? t->pid : 0;
}

/* Formats are told of in the order of their numbers. */
static void put_formats(struct writing *w)
{
	const struct reader *reader = w->of->session->reader;
	struct graph_record r = { .kind = GRAPH_FORMAT, .ns = w->of->base_ns, .other = !reader_lacks(reader, "syscalls") };
	const char *text;
	char key[32];

	for (;; r.count++) {
		snprintf(key, sizeof key, "event.%" PRIu64, r.count);
		text = meta_get(&reader->meta, key);
		if (!text)
			return;
		graph_writer_put(&w->to, &r, text);
	}
}

static void put_fact(struct writing *w, const struct fact *f)
{
	struct graph_record r = { .ns = f->ns + w->of->base_ns, .cpu = f->cpu, .pid = pid_of_task(w, f->task, f->ns) };

	switch (f->kind) {
	case FACT_WAKE:
		r.kind = GRAPH_WAKE;
		r.other = pid_of_task(w, f->numbers[0], f->ns);
		graph_writer_put(&w->to, &r, NULL);
		break;
	case FACT_LOG:
		r.kind = GRAPH_LOG;
		graph_writer_put(&w->to, &r, fact_text(f, 0));
		break;
	case FACT_EVENT:
		r.kind = GRAPH_EVENT;
		r.count = f->numbers[0];
		graph_writer_put_bytes(&w->to, &r, f->texts[0], f->lens[0]);
		break;
	default:
		break;
	}
}

static int put_facts(struct writing *w, struct error *err)
{
	struct facts facts;
	int r = facts_read(w->of->session->reader, &facts, err);

	if (w->of->is_kernel)
		put_formats(w);
	for (size_t i = 0; r == 0 && i < facts.count; i++)
		put_fact(w, &facts.list[i]);
	facts_deinit(&facts);
	return r;
}

/* Who was there before was there from the begin on, though it has been seen first when it ran, or somewhat later. */
static int by_time(const void *va, const void *vb)
{
	const struct task_record *a = *(const struct task_record *const *)va,
				 *b = *(const struct task_record *const *)vb;

	if ((a->change == TASK_SEEN) != (b->change == TASK_SEEN))
		return a->change == TASK_SEEN ? -1 : 1;
	if (a->ns != b->ns)
		return a->ns < b->ns ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* Who was there and who was made, or what became of them. */
static void put_task(struct writing *w, const struct task_record *t, bool made)
{
	struct graph_record r = { .ns = t->ns + w->of->base_ns, .cpu = t->cpu, .pid = t->pid, .other = t->pid };
	struct buf text = { 0 };

	if (t->pid <= 0 || made != (t->change == TASK_SEEN || t->change == TASK_NEW))
		return;
	switch (t->change) {
	case TASK_SEEN:
		r.kind = GRAPH_THERE;
		r.ns = w->of->base_ns;
		r.pid = t->tgid;
		r.count = (uint64_t)t->ppid;
		r.depth = t->mm != 0;
		buf_printf(&text, "%s%c%s", t->comm, 0, t->exe);
		break;
	case TASK_NEW:
		r.kind = GRAPH_FORK;
		r.pid = pid_of_task(w, t->maker, t->ns);
		r.depth = t->tgid == t->pid ? GRAPH_IS_PROCESS : GRAPH_IS_THREAD;
		buf_printf(&text, "%s", t->comm);
		break;
	case TASK_EXEC:
		r.kind = GRAPH_EXEC;
		buf_printf(&text, "%s", t->exe);
		break;
	case TASK_EXIT:
		r.kind = GRAPH_GONE;
		buf_printf(&text, "%s", t->comm);
		break;
	default:
		r.kind = GRAPH_COMM;
		buf_printf(&text, "%s", t->comm);
	}
	graph_writer_put_bytes(&w->to, &r, text.data, text.len);
	buf_free(&text);
}

static void put_tasks(struct writing *w, bool made)
{
	const struct task_records *all = &w->of->session->reader->tasks;
	const struct task_record **list = xcalloc(all->count + 1, sizeof *list);

	for (size_t i = 0; i < all->count; i++)
		list[i] = &all->records[i];
	qsort(list, all->count, sizeof *list, by_time);
	for (size_t i = 0; i < all->count && w->of->is_kernel; i++)
		put_task(w, list[i], made);
	free(list);
}

static int put_calls(struct writing *w, struct error *err)
{
	const struct stacks_visitor visitor = { .enter = enter, .leave = leave, .switched = switched, .gap = gap };
	struct stacks stacks;
	int r = stacks_replay(&stacks, w->of->session, NULL, UINT64_MAX, &visitor, w, err);

	if (r == 0 && reader_lost(w->of->session->reader) > w->lost)
		graph_writer_put(&w->to,
				 &(struct graph_record){
					 .kind = GRAPH_LOST,
					 .ns = stacks.ns + w->of->base_ns,
					 .cpu = GRAPH_NO_CPU,
					 .count = reader_lost(w->of->session->reader) - w->lost,
				 },
				 NULL);
	stacks_deinit(&stacks);
	map_free(&w->named);
	return r;
}

static int put_part(struct writing *w, enum records_part part, struct error *err)
{
	switch (part) {
	case RECORDS_CALLS:
		return put_calls(w, err);
	case RECORDS_FACTS:
		return put_facts(w, err);
	default:
		put_tasks(w, part == RECORDS_MADE);
		return 0;
	}
}

int trace_records_end(struct graph_writer *w, const char *path, struct error *err)
{
	graph_writer_put(w, &(struct graph_record){ .kind = GRAPH_END }, NULL);
	graph_writer_flush(w);
	buf_free(&w->out);
	if (!w->failed && lseek(w->fd, 0, SEEK_SET) < 0)
		w->failed = errno;
	return w->failed ? error_set(err, "%s: its calls, in a temporary file (TMPDIR): %s", path, strerror(w->failed))
			 : 0;
}

static int no_file(const char *path, struct error *err)
{
	return error_set(err, "%s: no temporary file (TMPDIR): %s", path, strerror(errno));
}

/* The same file, with a place of its own. */
static int open_again(int fd)
{
	char path[32];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

struct graph_reader *trace_records_read(const struct records_source *of, enum records_part part, const char *path,
					int *again, struct error *err)
{
	struct writing w = { .of = of, .to = { .fd = file_open_temporary() } };
	int r;

	if (w.to.fd < 0) {
		no_file(path, err);
		return NULL;
	}
	r = put_part(&w, part, err);
	if (r == 0 && again) {
		*again = open_again(w.to.fd);
		r = *again < 0 ? no_file(path, err) : 0;
	}
	if (r == 0)
		r = trace_records_end(&w.to, path, err);
	if (r == 0)
		return graph_reader_of(w.to.fd, path);
	buf_free(&w.to.out);
	close(w.to.fd);
	return NULL;
}
