/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perf_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/map.h"
#include "perf_line.h"
#include "trace/format.h"

enum {
	LINE = 1 << 20, /* with callindent, which indents by the depth */
	LOOK_LINES = 4096,
	DEPTH_MAX = UINT16_MAX,
	INSN_MAX = 15, /* bytes */
};

/* What led into an open call. */
enum way { BY_CALL, BY_SYSCALL, BY_INTERRUPT, BY_GUEST, BY_NO_TRACE };

struct open_call {
	uint64_t function;
	uint64_t site; /* the instruction that led there; 0: not known */
	enum way way;
	bool untraced; /* what it does is not in the text */
	uint16_t depth;
};

struct perf_thread {
	int32_t pid; /* as the records have it */
	unsigned cpu;
	uint64_t ns;
	struct open_call *calls;
	size_t count, cap;
};

struct text {
	struct graph_writer *to;
	struct perf_thread *threads;
	size_t n_threads, cap;
	uint32_t last_on[CPUS_MAX]; /* number of the thread + 1 */
	struct map thread_numbers;
	struct map comms;   /* hash of a task's name, by PID */
	struct map numbers; /* of functions, by the hashes of their names and files */
	struct map entries; /* where they begin, by number: the lowest that was called */
	uint64_t n_functions;
	uint64_t n_line;
	char why[256]; /* it cannot be read */
};

static void put(struct text *t, const struct graph_record *r, const char *text)
{
	graph_writer_put(t->to, r, text);
}

static void fail(struct text *t, const char *why)
{
	if (!*t->why)
		snprintf(t->why, sizeof t->why, "line %" PRIu64 ": %s", t->n_line, why);
}

static uint64_t number_of_name(struct text *t, const char *name, const char *file)
{
	uint64_t *at = map_put(&t->numbers, hash_text(hash_text(0, file), name), 0);

	if (!*at) {
		*at = ++t->n_functions;
		put(t, &(struct graph_record){ .kind = GRAPH_NAME, .function = *at }, name);
	}
	return *at;
}

/* What has no name is called by its address. */
static uint64_t number_of(struct text *t, const struct perf_place *p)
{
	char address[24];

	if (*p->name)
		return number_of_name(t, p->name, p->file);
	snprintf(address, sizeof address, "0x%" PRIx64, p->address);
	return number_of_name(t, address, "");
}

static void note_entry(struct text *t, uint64_t function, const struct perf_place *p)
{
	uint64_t *at = map_put(&t->entries, function, p->address);

	if (p->address < *at)
		*at = p->address;
}

static bool is_entry(const struct text *t, uint64_t function, const struct perf_place *p)
{
	const uint64_t *at = map_get(&t->entries, function);

	return p->has_offset ? !p->offset : at && *at == p->address;
}

/* Can it be told whether the function begins there? */
static bool is_known(const struct text *t, uint64_t function, const struct perf_place *p)
{
	return p->has_offset || map_get(&t->entries, function);
}

/* Threads that have a number are the same on each CPU; of others there is one on each. */
static uint64_t key_of(const struct perf_line *l)
{
	return l->tid > 0 ? (uint64_t)l->tid : UINT64_C(1) << 32 | (uint64_t)(unsigned)(l->cpu + 1) << 1 | (l->tid < 0);
}

static struct perf_thread *thread_of(struct text *t, const struct perf_line *l)
{
	uint64_t *at = map_put(&t->thread_numbers, key_of(l), UINT64_MAX);
	struct perf_thread *thread;

	if (*at == UINT64_MAX) {
		*at = t->n_threads;
		t->threads = array_grow(t->threads, t->n_threads, &t->cap, sizeof *t->threads);
		t->threads[t->n_threads++] = (struct perf_thread){
			.pid = l->tid < 0 ? -2 - l->cpu : l->tid,
		};
	}
	thread = &t->threads[*at];
	/* where text does not tell the CPU, each thread has its own */
	thread->cpu = l->cpu == PERF_NO_CPU ? (unsigned)*at : (unsigned)l->cpu;
	if (thread->cpu >= CPUS_MAX) {
		fail(t, "more threads than a trace can have CPUs for: 'perf script -F +cpu'");
		thread->cpu = 0;
	}
	t->last_on[thread->cpu] = (uint32_t)*at + 1;
	return thread;
}

static struct graph_record record_of(const struct perf_thread *thread, enum graph_kind kind)
{
	return (struct graph_record){
		.kind = (uint16_t)kind,
		.ns = thread->ns,
		.cpu = thread->cpu,
		.pid = thread->pid,
	};
}

static void note_comm(struct text *t, const struct perf_thread *thread, const char *comm)
{
	struct graph_record r = record_of(thread, GRAPH_COMM);
	uint64_t *at, hash = hash_text(0, comm);

	if (!thread->pid || !*comm)
		return;
	at = map_put(&t->comms, (uint32_t)thread->pid, 0);
	if (*at == hash)
		return;
	*at = hash;
	r.other = thread->pid;
	put(t, &r, comm);
}

static void lose(struct text *t, struct perf_thread *thread, uint64_t count)
{
	struct graph_record r = record_of(thread, GRAPH_SWITCH);

	/* it is this thread's calls that are not known any more, whoever runs there by now */
	r.other = r.pid;
	put(t, &r, NULL);
	r.kind = GRAPH_LOST;
	r.count = count;
	put(t, &r, NULL);
	thread->count = 0;
}

static void enter_at(struct text *t, struct perf_thread *thread, struct open_call call)
{
	struct graph_record r = record_of(thread, GRAPH_ENTER);

	r.depth = call.depth;
	r.function = call.function;
	put(t, &r, NULL);
	thread->calls = array_grow(thread->calls, thread->count, &thread->cap, sizeof *thread->calls);
	thread->calls[thread->count++] = call;
}

static void enter(struct text *t, struct perf_thread *thread, struct open_call call)
{
	if (thread->count == DEPTH_MAX)
		lose(t, thread, 0);
	call.depth = (uint16_t)thread->count;
	enter_at(t, thread, call);
}

static void put_end(struct text *t, const struct perf_thread *thread, uint64_t function, uint16_t depth)
{
	struct graph_record r = record_of(thread, GRAPH_EXIT);

	r.depth = depth;
	r.function = function;
	put(t, &r, NULL);
}

/*
 * So many calls remain. The outermost one that goes has an end; those in it that nobody said to have ended are mended
 * by who reads the records, and counted there.
 */
static void leave_up_to(struct text *t, struct perf_thread *thread, size_t remain)
{
	for (; thread->count > remain; thread->count--) {
		const struct open_call *c = &thread->calls[thread->count - 1];

		if (c->untraced || thread->count == remain + 1)
			put_end(t, thread, c->function, c->depth);
	}
}

/* Does control that goes on there come from that call? All but calls may go back to the instruction that led there. */
static bool comes_from(const struct open_call *c, uint64_t address)
{
	return c->site && address - c->site <= INSN_MAX && (c->way != BY_CALL || address != c->site);
}

/* Its number + 1; 0: there is none. */
static size_t find_by_site(const struct perf_thread *thread, uint64_t address)
{
	size_t i = thread->count;

	while (i && !comes_from(&thread->calls[i - 1], address))
		i--;
	return i;
}

static size_t find_by_function(const struct perf_thread *thread, uint64_t function)
{
	size_t i = thread->count;

	while (i && (thread->calls[i - 1].untraced || thread->calls[i - 1].function != function))
		i--;
	return i;
}

static size_t find_by_way(const struct perf_thread *thread, enum way way)
{
	size_t i = thread->count;

	while (i && thread->calls[i - 1].way != way)
		i--;
	return i;
}

/* The innermost call goes on as another function, which returns in its stead. */
static void jump(struct text *t, struct perf_thread *thread, uint64_t function)
{
	struct open_call call = { .function = function };

	if (thread->count && !thread->calls[thread->count - 1].untraced) {
		call = thread->calls[thread->count - 1];
		leave_up_to(t, thread, thread->count - 1);
	}
	call.function = function;
	enter(t, thread, call);
}

/* Control is there, in a function that is open, or in one that nothing is known of. False: in none. */
static bool go_back(struct text *t, struct perf_thread *thread, uint64_t function)
{
	size_t in = find_by_function(thread, function);

	leave_up_to(t, thread, in);
	return in;
}

/* Control goes on there, where that was not known before. */
static void resume(struct text *t, struct perf_thread *thread, const struct perf_place *to)
{
	uint64_t function = number_of(t, to);
	size_t ended = find_by_site(thread, to->address);

	if (ended)
		leave_up_to(t, thread, ended - 1);
	else if (is_entry(t, function, to))
		enter(t, thread, (struct open_call){ .function = function });
	else
		go_back(t, thread, function);
}

static void add_return(struct text *t, struct perf_thread *thread, const struct perf_line *l)
{
	const struct open_call *top = thread->count ? &thread->calls[thread->count - 1] : NULL;
	uint64_t from = number_of(t, &l->from), to = number_of(t, &l->to);
	size_t ended = find_by_site(thread, l->to.address);

	if (ended)
		leave_up_to(t, thread, ended - 1);
	else if (top && top->function == from && (!top->site || !l->to.address))
		leave_up_to(t, thread, thread->count - 1);
	else if (l->to.address && is_entry(t, to, &l->to))
		jump(t, thread, to); /* as a retpoline does: the address that a call pushed was replaced */
	else if (!go_back(t, thread, to))
		put_end(t, thread, from, 0);
}

/*
 * Out of the kernel, or of an interrupt. Where a function begins, it is a handler of signals, or a thread's first;
 * where a program does, nothing of what ran before it goes on.
 */
static void add_way_back(struct text *t, struct perf_thread *thread, const struct perf_line *l)
{
	uint64_t to = number_of(t, &l->to);
	size_t ended = find_by_site(thread, l->to.address);
	bool goes_on = ended;

	if (!ended)
		ended = find_by_way(thread, l->branch == PERF_SYSCALL_RETURN ? BY_SYSCALL : BY_INTERRUPT);
	if (!ended)
		ended = find_by_way(thread, BY_SYSCALL);
	if (ended)
		leave_up_to(t, thread, ended - 1);
	else if (!go_back(t, thread, to))
		put_end(t, thread, number_of(t, &l->from), 0);
	if (goes_on || !l->to.address || !is_entry(t, to, &l->to))
		return;
	if (!strcmp(l->to.name, "_start"))
		leave_up_to(t, thread, 0);
	enter(t, thread, (struct open_call){ .function = to });
}

static void add_call(struct text *t, struct perf_thread *thread, const struct perf_line *l, enum way way)
{
	static const char *const unknown[] = {
		[BY_CALL] = "[untraced]", [BY_SYSCALL] = "[syscall]",   [BY_INTERRUPT] = "[interrupt]",
		[BY_GUEST] = "[guest]",   [BY_NO_TRACE] = "[untraced]",
	};
	struct open_call call = { .site = l->from.address, .way = way, .untraced = l->ends || way >= BY_GUEST };
	bool known = l->to.address && way < BY_GUEST;

	call.function = known ? number_of(t, &l->to) : number_of_name(t, unknown[way], "");
	/* a function's own way to find where it is, or a thunk's to keep the CPU from guessing, is no call */
	if (known && way == BY_CALL) {
		if (call.function == number_of(t, &l->from) && is_known(t, call.function, &l->to) &&
		    !is_entry(t, call.function, &l->to))
			return;
		note_entry(t, call.function, &l->to);
	}
	enter(t, thread, call);
}

static void add_jump(struct text *t, struct perf_thread *thread, const struct perf_line *l)
{
	uint64_t to = number_of(t, &l->to);

	/* without offsets: into another function is to its begin */
	if (to != number_of(t, &l->from) && (is_entry(t, to, &l->to) || (*l->to.name && !l->to.has_offset)))
		jump(t, thread, to);
}

/* What is not traced from then on is no call of what runs there, unless calls are open around it. */
static void end_trace(struct text *t, struct perf_thread *thread, const struct perf_line *l)
{
	struct open_call call = { .site = l->from.address, .way = BY_NO_TRACE, .untraced = true };

	if (!call.site)
		call.site = l->to.address;
	if (!thread->count)
		return;
	call.function = number_of_name(t, "[untraced]", "");
	enter(t, thread, call);
}

static void add_branch(struct text *t, struct perf_thread *thread, const struct perf_line *l)
{
	size_t guest;

	if (l->begins && l->to.address)
		resume(t, thread, &l->to);
	switch (l->branch) {
	case PERF_CALL:
		add_call(t, thread, l, BY_CALL);
		return;
	case PERF_SYSCALL:
		add_call(t, thread, l, BY_SYSCALL);
		return;
	case PERF_INTERRUPT:
		add_call(t, thread, l, BY_INTERRUPT);
		return;
	case PERF_GUEST:
		add_call(t, thread, l, BY_GUEST);
		return;
	case PERF_GUEST_EXIT:
		if ((guest = find_by_way(thread, BY_GUEST)))
			leave_up_to(t, thread, guest - 1);
		return;
	case PERF_RETURN:
		add_return(t, thread, l);
		break;
	case PERF_SYSCALL_RETURN:
	case PERF_INTERRUPT_RETURN:
		add_way_back(t, thread, l);
		break;
	case PERF_JUMP:
		add_jump(t, thread, l);
		return;
	case PERF_ASYNC:
		if (!l->ends)
			resume(t, thread, &l->to);
		break;
	case PERF_NO_BRANCH:
		break;
	}
	if (l->ends)
		end_trace(t, thread, l);
}

/* A function and how deep it is are all that the text has: calls that are as deep, or deeper, have ended. */
static void add_indented(struct text *t, struct perf_thread *thread, const struct perf_line *l)
{
	const bool is_begin = l->branch == PERF_CALL || l->branch == PERF_SYSCALL || l->branch == PERF_INTERRUPT;
	const bool is_end =
		l->branch == PERF_RETURN || l->branch == PERF_SYSCALL_RETURN || l->branch == PERF_INTERRUPT_RETURN;
	uint16_t depth = (uint16_t)l->depth;
	uint64_t function;

	if (!is_begin && !is_end)
		return;
	while (thread->count && thread->calls[thread->count - 1].depth >= depth + is_end)
		thread->count--;
	function = number_of(t, is_begin ? &l->to : &l->from);
	if (is_begin) {
		enter_at(t, thread, (struct open_call){ .function = function, .depth = depth });
	} else if (thread->count && thread->calls[thread->count - 1].depth == depth) {
		/* it may have gone on to the one that returns by a jump */
		put_end(t, thread, thread->calls[--thread->count].function, depth);
	} else {
		put_end(t, thread, function, depth);
	}
}

/* Of the thread that it names, or of the CPU; or nobody knows whose. */
static void add_error(struct text *t, const struct perf_line *l)
{
	struct perf_thread *thread = NULL;

	if (l->tid > 0 && map_get(&t->thread_numbers, key_of(l)))
		thread = &t->threads[*map_get(&t->thread_numbers, key_of(l))];
	else if (l->cpu != PERF_NO_CPU && t->last_on[l->cpu])
		thread = &t->threads[t->last_on[l->cpu] - 1];
	for (size_t i = 0; i < t->n_threads; i++)
		if (!thread || thread == &t->threads[i]) {
			if (l->has_time && l->ns > t->threads[i].ns)
				t->threads[i].ns = l->ns;
			lose(t, &t->threads[i], thread ? l->count : 0);
		}
}

static void add_line(struct text *t, char *text)
{
	struct perf_thread *thread;
	struct perf_line l;

	perf_line_parse(text, &l);
	if (l.is == PERF_LINE_BAD)
		fail(t, l.why);
	else if (l.is == PERF_LINE_ERROR)
		add_error(t, &l);
	if (l.is != PERF_LINE_BRANCH)
		return;
	thread = thread_of(t, &l);
	thread->ns = l.ns;
	note_comm(t, thread, l.comm);
	if (l.depth == PERF_NO_DEPTH)
		add_branch(t, thread, &l);
	else
		add_indented(t, thread, &l);
}

static void read_lines(struct text *t, FILE *file)
{
	char *text = xcalloc(1, LINE);

	while (!*t->why && fgets(text, LINE, file)) {
		size_t n = strcspn(text, "\r\n");

		t->n_line++;
		if (n == LINE - 1)
			fail(t, "no line of perf script's: it is too long");
		text[n] = 0;
		add_line(t, text);
	}
	free(text);
}

static void text_free(struct text *t)
{
	for (size_t i = 0; i < t->n_threads; i++)
		free(t->threads[i].calls);
	free(t->threads);
	map_free(&t->thread_numbers);
	map_free(&t->comms);
	map_free(&t->numbers);
	map_free(&t->entries);
	free(t);
}

void perf_text_read(struct graph_writer *w, int fd)
{
	struct text *t = xcalloc(1, sizeof *t);
	FILE *file = fdopen(dup(fd), "r");

	t->to = w;
	if (file) {
		read_lines(t, file);
		fclose(file);
	}
	put(t, &(struct graph_record){ .kind = *t->why ? GRAPH_FAILED : GRAPH_END }, *t->why ? t->why : NULL);
	text_free(t);
}

bool perf_text_is_one(const char *text, size_t len)
{
	const char *end = text + len;
	bool found = false;

	for (int i = 0; !found && i < LOOK_LINES && text < end; i++) {
		const char *nl = memchr(text, '\n', (size_t)(end - text));
		size_t n = nl ? (size_t)(nl - text) : (size_t)(end - text);
		cleanup_free char *line = xstrndup(text, n);
		struct perf_line l;

		perf_line_parse(line, &l);
		found = l.is == PERF_LINE_BRANCH || l.is == PERF_LINE_ERROR ||
			(l.is == PERF_LINE_BAD && memmem(text, n, " branches:", 10));
		text = nl ? nl + 1 : end;
	}
	return found;
}

struct graph_reader *perf_text_open(int fd, const char *path, struct error *err)
{
	return graph_reader_start_file(perf_text_read, fd, path, "perf script's text", err);
}
