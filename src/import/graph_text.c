/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "graph_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/map.h"
#include "text_time.h"
#include "trace/format.h"

enum { LINE = 4096, FIELDS = 8, NAME = 512, LOOK_LINES = 64, NOT_TOLD = -2 };

/* What a line says. */
struct line {
	bool has_time, has_cpu, has_task, has_duration;
	uint64_t ns, duration_ns;
	unsigned cpu;
	int32_t pid;
	char comm[64];
	const char *rest; /* what the function's column has: "  vfs_read() {" */
};

/* Of a CPU: a call with nothing in it has its end behind its begin, where the next line is. */
struct cpu {
	int32_t pid; /* NOT_TOLD: it is not known yet */
	struct graph_record end;
	bool ends;
	uint64_t ns;
};

struct text {
	struct graph_writer *to;
	struct cpu *cpus; /* that were named */
	size_t n_cpus, cap;
	struct map numbers; /* of functions, by the hashes of their names */
	struct map comms;   /* hash of a task's name, by PID */
	uint64_t n_functions;
	uint64_t n_line;
	bool has_waking; /* or else wake-ups are told by sched_wakeup, which comes behind it */
	char why[256];   /* it cannot be read */
};

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " \t");
}

/* An interrupt's handler begins, or ends, which is what its functions show. */
static bool is_interrupt(const char *at)
{
	return !strncmp(at, "==========>", 11) || !strncmp(at, "<==========", 11);
}

/* "12.345 us", "6881.369 us", "1298309 us", with a mark of what is long before it */
static bool parse_duration(const char *at, uint64_t *ret_ns)
{
	char *end;
	uint64_t us, ns = 0;
	size_t digits = 3;

	at = skip_blanks(at);
	at += strspn(at, "+!#*@$");
	at = skip_blanks(at);
	us = strtoull(at, &end, 10);
	if (end == at || us > UINT64_MAX / 2000)
		return false;
	if (*end == '.') {
		at = end + 1;
		digits = strspn(at, "0123456789");
		ns = strtoull(at, &end, 10);
	}
	if (!digits || digits > 3 || strncmp(skip_blanks(end), "us", 2))
		return false;
	for (; digits < 3; digits++)
		ns *= 10;
	*ret_ns = us * 1000 + ns;
	return true;
}

/* A field that is a time, and nothing else. */
static bool parse_time(const char *at, uint64_t *ret_ns)
{
	const char *end;
	uint64_t ns;

	if (!text_time_parse(skip_blanks(at), &end, &ns) || *skip_blanks(end))
		return false;
	*ret_ns = ns;
	return true;
}

/* "cat-123", "<idle>-0", "my-thread-12" */
static bool parse_task(const char *at, size_t len, struct line *l)
{
	const char *dash;
	char *end;
	long pid;

	while (len && isspace((unsigned char)at[len - 1]))
		len--;
	for (; len && isspace((unsigned char)*at); len--)
		at++;
	dash = len ? memrchr(at, '-', len) : NULL;
	if (!dash || dash + 1 == at + len || !isdigit((unsigned char)dash[1]))
		return false;
	pid = strtol(dash + 1, &end, 10);
	if (end != at + len || pid > INT32_MAX)
		return false;
	l->pid = (int32_t)pid;
	snprintf(l->comm, sizeof l->comm, "%.*s", (int)(dash - at), at);
	return true;
}

/* "  0)", and what stands behind it in the same field. */
static const char *parse_cpu(const char *at, struct line *l)
{
	char *end;
	unsigned long cpu;

	at = skip_blanks(at);
	cpu = strtoul(at, &end, 10);
	if (end == at || *end != ')' || cpu >= CPUS_MAX)
		return NULL;
	l->cpu = (unsigned)cpu;
	l->has_cpu = true;
	return end + 1;
}

/* False: it is no line of the tracer's. Its fields are separated by |, and the last one may have some, too. */
static bool parse(char *text, struct line *ret)
{
	char *at = text, *bar;
	const char *field;

	*ret = (struct line){ .pid = NOT_TOLD };
	for (int i = 0; i < FIELDS && (bar = strchr(at, '|')); i++, at = bar + 1) {
		*bar = 0;
		if (!ret->has_cpu && !ret->has_time && parse_time(at, &ret->ns)) {
			ret->has_time = true;
			continue;
		}
		field = at;
		if (!ret->has_cpu) {
			field = parse_cpu(at, ret);
			if (!field) {
				*bar = '|';
				return false;
			}
		}
		/* in the duration's column, and with nothing behind it */
		if (is_interrupt(skip_blanks(field))) {
			ret->rest = field;
			return true;
		}
		if (parse_duration(field, &ret->duration_ns)) {
			ret->has_duration = true;
			ret->rest = bar + 1;
			return true;
		}
		if (!ret->has_task && parse_task(field, strlen(field), ret)) {
			ret->has_task = true;
			continue;
		}
		/* the duration's column is empty: sixteen blanks, or some of them behind the CPU; flags are shorter */
		if (!*skip_blanks(field) && strncmp(bar + 1, "  ", 2) == 0) {
			ret->rest = bar + 1;
			return true;
		}
	}
	return false;
}

static struct cpu *cpu_at(struct text *t, unsigned number)
{
	while (t->n_cpus <= number) {
		t->cpus = array_grow(t->cpus, t->n_cpus, &t->cap, sizeof *t->cpus);
		t->cpus[t->n_cpus++] = (struct cpu){ .pid = NOT_TOLD };
	}
	return &t->cpus[number];
}

static void fail(struct text *t, const char *why)
{
	if (!*t->why)
		snprintf(t->why, sizeof t->why, "line %" PRIu64 ": %s", t->n_line, why);
}

static void put(struct text *t, const struct graph_record *r, const char *text)
{
	graph_writer_put(t->to, r, text);
}

/* Functions have no addresses: they are numbered. */
static uint64_t number_of(struct text *t, const char *name, uint64_t ns)
{
	uint64_t *at = map_put(&t->numbers, hash_text(0, name), 0);

	if (!*at) {
		*at = ++t->n_functions;
		put(t, &(struct graph_record){ .kind = GRAPH_NAME, .ns = ns, .function = *at }, name);
	}
	return *at;
}

/* The column has seven letters of a name, switches have all of it: one that begins so is the same. */
static uint64_t hash_of_begin(const char *comm)
{
	enum { COLUMN = 7 };
	cleanup_free char *begin = xstrndup(comm, COLUMN);

	return hash_text(0, begin);
}

static void note_comm(struct text *t, int32_t pid, const char *comm, uint64_t ns)
{
	uint64_t *at, hash = hash_of_begin(comm);

	if (pid <= 0 || !*comm || !strcmp(comm, "<...>"))
		return;
	at = map_put(&t->comms, (uint32_t)pid, 0);
	if (*at == hash)
		return;
	*at = hash;
	put(t, &(struct graph_record){ .kind = GRAPH_COMM, .other = pid, .ns = ns }, comm);
}

static void note_whole_comm(struct text *t, int32_t pid, const char *comm)
{
	if (pid > 0)
		*map_put(&t->comms, (uint32_t)pid, 0) = hash_of_begin(comm);
}

static void end_leaf(struct text *t, struct cpu *c)
{
	if (c->ends)
		put(t, &c->end, NULL);
	c->ends = false;
}

/* "vfs_read" of "vfs_read [ext4]() {", "vfs_read(file=0x…) {"; NULL: there is none. */
static const char *function_in(const char *at, char *name, size_t size)
{
	size_t n = strcspn(at, "(;{");

	while (n && isspace((unsigned char)at[n - 1]))
		n--;
	if (!n || n >= size)
		return NULL;
	memcpy(name, at, n);
	name[n] = 0;
	return name;
}

/* "vfs_read" of "vfs_read ret=0x40" (6.5 to 6.12: "vfs_read = 0x40") and the end of a comment. False: there is none. */
static bool tail_name(const char *at, char *name, size_t size)
{
	static const char *const before_values[] = { " ret=", " = " };
	const char *end = strstr(at, "*/");
	size_t n = end ? (size_t)(end - at) : 0;

	for (size_t i = 0; i < sizeof before_values / sizeof *before_values; i++) {
		const char *more = strstr(at, before_values[i]);

		if (more && (size_t)(more - at) < n)
			n = (size_t)(more - at);
	}
	while (n && isspace((unsigned char)at[n - 1]))
		n--;
	snprintf(name, size, "%.*s", (int)(n < size ? n : size - 1), at);
	return n;
}

/* Behind "key=" in an event's text. False: it is not there. */
static bool value_of(const char *text, const char *key, char *ret, size_t size)
{
	cleanup_free char *word = xasprintf("%s=", key);
	const char *at = strstr(text, word), *end;
	size_t n;

	if (!at)
		return false;
	at += strlen(word);
	end = strchr(at, '=');
	/* a name may have blanks: it goes up to the next key */
	n = end ? (size_t)(end - at) : strlen(at);
	while (end && n && !isspace((unsigned char)at[n - 1]))
		n--;
	while (n && isspace((unsigned char)at[n - 1]))
		n--;
	snprintf(ret, size, "%.*s", (int)(n < size ? n : size - 1), at);
	return true;
}

/* An event that is about another thread, too, which it tells by these keys. */
static bool put_other(struct text *t, struct graph_record *r, enum graph_kind kind, const char *text,
		      const char *comm_key, const char *pid_key)
{
	char comm[64], pid[64];

	if (!value_of(text, comm_key, comm, sizeof comm) || !value_of(text, pid_key, pid, sizeof pid))
		return false;
	r->kind = (uint16_t)kind;
	r->other = (int32_t)strtol(pid, NULL, 10);
	if (kind != GRAPH_EXEC)
		note_whole_comm(t, r->other, comm);
	put(t, r, comm);
	return true;
}

/* Events that tell of threads, but for switches. */
static const char waking[] = "sched_waking: ", wakeup[] = "sched_wakeup: ";
static const struct {
	const char *name;
	enum graph_kind kind;
	const char *text_key, *pid_key;
} told[] = {
	{ waking, GRAPH_WAKE, "comm", "pid" },
	{ wakeup, GRAPH_WAKE, "comm", "pid" },
	{ "task_newtask: ", GRAPH_FORK, "comm", "pid" },
	{ "sched_process_fork: ", GRAPH_FORK, "child_comm", "child_pid" },
	{ "sched_process_exec: ", GRAPH_EXEC, "filename", "pid" },
	{ "sched_process_exit: ", GRAPH_GONE, "comm", "pid" },
	{ "task_rename: ", GRAPH_COMM, "newcomm", "pid" },
};

/* A new task is a thread of the process that made it, if it is made so. */
static uint16_t made_as(const char *text)
{
	char flags[32];

	return value_of(text, "clone_flags", flags, sizeof flags) ? graph_made_as(strtoull(flags, NULL, 16)) : 0;
}

/* False: it is none of these. */
static bool put_told(struct text *t, struct graph_record *r, const char *text)
{
	for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
		if (strncmp(text, told[i].name, strlen(told[i].name)))
			continue;
		if (told[i].name == wakeup && t->has_waking)
			return true;
		r->depth = told[i].kind == GRAPH_FORK ? made_as(text) : 0;
		put_other(t, r, told[i].kind, text, told[i].text_key, told[i].pid_key);
		return true;
	}
	return false;
}

/* "sched_stat_runtime: …": an event, not a mark that begins so. */
static bool is_sched_event(const char *text)
{
	return !strncmp(text, "sched_", 6) && text[strcspn(text, ": \t")] == ':';
}

/* What stands in comments: events that were enabled, and marks. */
static void put_comment(struct text *t, const struct line *l, struct graph_record *r, const char *text)
{
	cleanup_free char *own = xstrdup(text);
	char *end = strstr(own, "*/");

	if (end)
		*end = 0;
	r->ns = l->ns;
	if (!strncmp(own, "sched_switch: ", 14)) {
		if (put_other(t, r, GRAPH_SWITCH, own, "next_comm", "next_pid"))
			cpu_at(t, l->cpu)->pid = r->other;
	} else if (!put_told(t, r, own) && !is_sched_event(own) && *skip_blanks(own)) {
		r->kind = GRAPH_LOG;
		put(t, r, own);
	}
}

static void put_call(struct text *t, const struct line *l, struct graph_record *r, const char *at)
{
	struct cpu *c = cpu_at(t, l->cpu);
	char name[NAME];
	const char *open, *comment;

	if (*at == '}') {
		comment = strstr(at, "/* ");
		r->kind = GRAPH_EXIT;
		r->begin_ns = l->has_duration && l->duration_ns < l->ns ? l->ns - l->duration_ns : 0;
		if (!comment || !tail_name(comment + 3, name, sizeof name)) {
			fail(t,
			     "the end of a call has no name: 'echo 1 >options/funcgraph-tail' before it is recorded");
			return;
		}
		r->function = number_of(t, name, l->ns);
		put(t, r, NULL);
		return;
	}
	if (!function_in(at, name, sizeof name)) {
		fail(t, "no function where one is expected");
		return;
	}
	open = strchr(at, '{');
	r->kind = GRAPH_ENTER;
	r->function = number_of(t, name, l->ns);
	put(t, r, NULL);
	if (open)
		return;
	r->kind = GRAPH_EXIT;
	r->begin_ns = r->ns;
	r->ns += l->duration_ns;
	c->end = *r;
	c->ends = true;
}

static void take_line(struct text *t, const struct line *l)
{
	struct cpu *c = cpu_at(t, l->cpu);
	const char *at = skip_blanks(l->rest);
	struct graph_record r = { .cpu = l->cpu, .ns = l->ns };

	if (!l->has_time) {
		fail(t, "no times: 'echo 1 >options/funcgraph-abstime' before it is recorded");
		return;
	}
	if (c->ends && c->end.ns > l->ns)
		c->end.ns = l->ns > c->end.begin_ns ? l->ns : c->end.begin_ns;
	end_leaf(t, c);
	if (l->has_task) {
		note_comm(t, l->pid, l->comm, l->ns);
		c->pid = l->pid;
	}
	r.pid = c->pid == NOT_TOLD ? 0 : c->pid;
	r.depth = (uint16_t)(at - l->rest >= 2 ? (at - l->rest - 2) / 2 : 0);
	c->ns = l->ns;
	if (!strncmp(at, "/* ", 3))
		put_comment(t, l, &r, at + 3);
	else if (!is_interrupt(at) && *at)
		put_call(t, l, &r, at);
}

/* " 0)    cat-123     =>   <idle>-0   " */
static bool parse_change(const char *text, struct line *from, struct line *to)
{
	const char *at = parse_cpu(text, from), *arrow = at ? strstr(at, "=>") : NULL;

	return arrow && parse_task(at, (size_t)(arrow - at), from) && parse_task(arrow + 2, strlen(arrow + 2), to);
}

static void take_change(struct text *t, const struct line *from, const struct line *to)
{
	struct cpu *c = cpu_at(t, from->cpu);

	end_leaf(t, c);
	note_comm(t, from->pid, from->comm, c->ns);
	note_comm(t, to->pid, to->comm, c->ns);
	c->pid = to->pid;
}

/* "CPU:1 [LOST 2000 EVENTS]", or, where the kernel does not know how many, "CPU:1 [LOST EVENTS]" */
static bool take_loss(struct text *t, const char *text)
{
	struct graph_record r = { .kind = GRAPH_LOST };
	unsigned cpu;
	uint64_t n = 0;
	int got = sscanf(text, "CPU:%u [LOST %" SCNu64 " EVENTS]", &cpu, &n);

	if (got < 1 || (got == 1 && !strstr(text, "[LOST EVENTS]")) || cpu >= CPUS_MAX)
		return false;
	end_leaf(t, cpu_at(t, cpu));
	r.cpu = cpu;
	r.count = n;
	r.ns = cpu_at(t, cpu)->ns;
	put(t, &r, NULL);
	return true;
}

/* What the whole text shows: who runs on a CPU at first, by where that changes; and which event tells of wake-ups. */
static void look_ahead(struct text *t, FILE *file)
{
	char text[LINE];
	struct line from, to;

	while (fgets(text, sizeof text, file)) {
		t->has_waking = t->has_waking || strstr(text, waking);
		from = to = (struct line){ 0 };
		if (!parse_change(text, &from, &to) || cpu_at(t, from.cpu)->pid != NOT_TOLD)
			continue;
		note_comm(t, from.pid, from.comm, 0);
		cpu_at(t, from.cpu)->pid = from.pid;
	}
	rewind(file);
}

static void read_lines(struct text *t, FILE *file)
{
	char text[LINE];

	while (!*t->why && fgets(text, sizeof text, file)) {
		struct line l, to = { 0 };

		t->n_line++;
		text[strcspn(text, "\r\n")] = 0;
		if (*text == '#' || !*skip_blanks(text) || *skip_blanks(text) == '-' || take_loss(t, text))
			continue;
		l = (struct line){ 0 };
		if (parse_change(text, &l, &to))
			take_change(t, &l, &to);
		else if (parse(text, &l))
			take_line(t, &l);
		else
			fail(t, "no line of function_graph's");
	}
	for (size_t i = 0; i < t->n_cpus; i++)
		end_leaf(t, &t->cpus[i]);
}

void graph_text_read(struct graph_writer *w, int fd)
{
	struct text *t = xcalloc(1, sizeof *t);
	FILE *file = fdopen(dup(fd), "r");

	t->to = w;
	if (file) {
		look_ahead(t, file);
		read_lines(t, file);
		fclose(file);
	}
	put(t, &(struct graph_record){ .kind = *t->why ? GRAPH_FAILED : GRAPH_END }, *t->why ? t->why : NULL);
	map_free(&t->numbers);
	map_free(&t->comms);
	free(t->cpus);
	free(t);
}

bool graph_text_is_one(const char *text, size_t len)
{
	const char *end = text + len;

	for (int i = 0; i < LOOK_LINES && text < end; i++) {
		const char *nl = memchr(text, '\n', (size_t)(end - text));
		size_t n = nl ? (size_t)(nl - text) : (size_t)(end - text);
		struct line l, to;
		char line[LINE];

		snprintf(line, sizeof line, "%.*s", (int)(n < LINE ? n : LINE - 1), text);
		if (!strncmp(line, "# tracer: function_graph", 24) || parse_change(line, &l, &to) || parse(line, &l))
			return true;
		if (!nl)
			break;
		text = nl + 1;
	}
	return false;
}

struct graph_reader *graph_text_open(int fd, const char *path, struct error *err)
{
	return graph_reader_start_file(graph_text_read, fd, path, "function_graph's text", err);
}
