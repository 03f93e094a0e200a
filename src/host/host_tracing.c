/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host_tracing.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs/tracefs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "host_note.h"

/* The instance's name: one that is there before was left by a recording that was killed. */
#define INSTANCE "upto"
enum { SAVED_MAX = 32 };

struct host_tracing {
	struct tracefs_instance *instance; /* NULL: the one that all share */
	char *folder;
	struct saved {
		struct tracefs_instance *of;
		const char *file;
		char *text;
		enum host_note_kind kind;
	} saved[SAVED_MAX];
	size_t n_saved;
	struct host_note note; /* of files that all share */
	bool was_left;
	bool monotonic;
	char *triggers[2]; /* "vfs_read:traceon:1", to be taken away */
	size_t n_triggers;
};

static int write_text(struct host_tracing *t, struct tracefs_instance *of, const char *file, const char *text,
		      struct error *err)
{
	if (tracefs_instance_file_write(of, file, text) >= 0)
		return 0;
	return error_set(err, "%s/%s: %s: %s", of ? t->folder : "tracefs", file, text, strerror(errno));
}

/* Lists are shown with a comment where they are empty. */
static char *content(char *text)
{
	text[strcspn(text, "#")] = 0;
	for (size_t n = strlen(text); n && strchr("\n ", text[n - 1]);)
		text[--n] = 0;
	return text;
}

/* "1408" of "7 (expanded: 1408)": a buffer that nobody has used has little until somebody does. */
static char *without_comment(char *text)
{
	char *comment = strstr(text, " (expanded: "), *n;

	if (!comment)
		return text;
	n = strchr(comment, ':') + 2;
	memmove(text, n, strlen(n) + 1);
	text[strcspn(text, ")")] = 0;
	return text;
}

static void save(struct host_tracing *t, struct tracefs_instance *of, enum host_note_kind kind, const char *file,
		 char *text)
{
	t->saved[t->n_saved++] = (struct saved){ of, file, text, kind };
	if (!of)
		host_note_add(&t->note, kind, file, text);
}

/* Keep what a file has, and write another text to it. */
static int change(struct host_tracing *t, struct tracefs_instance *of, enum host_note_kind kind, const char *file,
		  const char *text, struct error *err)
{
	char *before = tracefs_instance_file_read(of, file, NULL);

	if (!before)
		return error_set(err, "%s: this kernel has no such file of function_graph's: %s", file,
				 strerror(errno));
	save(t, of, kind, file, without_comment(content(before)));
	return write_text(t, of, file, text, err);
}

static int set(struct host_tracing *t, struct tracefs_instance *of, const char *file, const char *text,
	       struct error *err)
{
	return change(t, of, HOST_NOTE_VALUE, file, text, err);
}

/* The same of a file that holds a list: a name each time. */
static int set_list(struct host_tracing *t, struct tracefs_instance *of, const char *file, const char *list,
		    struct error *err)
{
	cleanup_free char *names = list ? xstrdup(list) : NULL;
	char *rest = names, *name;

	if (!list)
		return 0;
	if (change(t, of, HOST_NOTE_LIST, file, "\n", err) < 0)
		return -1;
	while ((name = strsep(&rest, ","))) {
		/* without the line's end, the kernel would take the name when the file is closed, and tell nobody */
		cleanup_free char *line = xasprintf("%s\n", name);

		if (*name && tracefs_instance_file_append(of, file, line) < 0)
			return error_set(err, "%s: the kernel can trace no such function (%s)", name, file);
	}
	return 0;
}

static int set_number(struct host_tracing *t, struct tracefs_instance *of, const char *file, uint64_t n,
		      struct error *err)
{
	char text[24];

	snprintf(text, sizeof text, "%" PRIu64, n);
	return n ? set(t, of, file, text, err) : 0;
}

/* At the function's next call the kernel begins, or ends. */
static int set_trigger(struct host_tracing *t, const char *function, const char *what, struct error *err)
{
	char *line;

	if (!function)
		return 0;
	line = xasprintf("%s:%s:1\n", function, what);
	if (!t->instance)
		host_note_add(&t->note, HOST_NOTE_TRIGGER, "set_ftrace_filter", line);
	if (tracefs_instance_file_append(t->instance, "set_ftrace_filter", line) < 0) {
		free(line);
		return error_set(err, "%s: the kernel can trace no such function (%s)", function, what);
	}
	t->triggers[t->n_triggers++] = line;
	return 0;
}

static void remove_triggers(struct host_tracing *t)
{
	while (t->n_triggers) {
		char *line = t->triggers[--t->n_triggers];
		cleanup_free char *not = xasprintf("!%s", line);

		tracefs_instance_file_append(t->instance, "set_ftrace_filter", not);
		free(line);
	}
}

/* The kernel takes a word at a time. What else a list shows was never in it: a word for nothing, what functions do. */
static void restore_list(struct tracefs_instance *of, const char *file, char *list)
{
	char *word;

	tracefs_instance_file_write(of, file, "\n");
	while ((word = strsep(&list, "\n"))) {
		cleanup_free char *line = NULL;

		word[strcspn(word, " \t")] = 0;
		if (!*word || strchr(word, ':') || !strcmp(word, "no"))
			continue;
		line = xasprintf("%s\n", word);
		tracefs_instance_file_append(of, file, line);
	}
}

static void restore_file(struct tracefs_instance *of, enum host_note_kind kind, const char *file, char *text)
{
	if (kind == HOST_NOTE_LIST)
		restore_list(of, file, text);
	else /* a filter that is none is shown by that word, and written as 0 */
		tracefs_instance_file_write(of, file, !*text ? "\n" : !strcmp(text, "none") ? "0" : text);
}

static void restore(struct host_tracing *t)
{
	remove_triggers(t);
	while (t->n_saved) {
		struct saved *s = &t->saved[--t->n_saved];

		restore_file(s->of, s->kind, s->file, s->text);
		free(s->text);
	}
	host_note_end(&t->note);
}

/* What a recording that was killed has found, before all is looked at anew. */
static void restore_left(struct host_tracing *t, char *left)
{
	enum host_note_kind kind;
	const char *file;
	char *text;

	while (left && host_note_take(left, &kind, &file, &text)) {
		t->was_left = true;
		if (kind == HOST_NOTE_TRIGGER) {
			cleanup_free char *not = xasprintf("!%s", text);

			tracefs_instance_file_append(NULL, file, not);
		} else {
			restore_file(NULL, kind, file, text);
		}
	}
	free(left);
}

/* It is not begun to find out: that would change the code of all functions. */
static bool has_function_graph(struct tracefs_instance *instance)
{
	char *tracers = tracefs_instance_file_read(instance, "available_tracers", NULL);
	bool has = tracers && strstr(tracers, "function_graph");

	free(tracers);
	return has;
}

/* An instance, if the kernel has function_graph in such; what a killed recording left goes. */
static void make_instance(struct host_tracing *t)
{
	if (tracefs_instance_exists(INSTANCE)) {
		struct tracefs_instance *old = tracefs_instance_create(INSTANCE);

		t->was_left = true;
		tracefs_instance_destroy(old);
		tracefs_instance_free(old);
	}
	t->instance = tracefs_instance_create(INSTANCE);
	if (t->instance && has_function_graph(t->instance))
		return;
	if (t->instance) {
		tracefs_instance_destroy(t->instance);
		tracefs_instance_free(t->instance);
	}
	t->instance = NULL;
}

/* All threads that it has; what these make later is theirs. */
static int set_process(struct host_tracing *t, struct tracefs_instance *own, int32_t pid, struct error *err)
{
	cleanup_free char *folder = xasprintf("/proc/%" PRId32 "/task", pid);
	struct buf threads = { 0 };
	DIR *dir = opendir(folder);
	struct dirent *e;
	int r;

	if (!dir)
		return error_set(err, "--pid %" PRId32 ": no such process", pid);
	while ((e = readdir(dir)))
		if (*e->d_name != '.')
			buf_printf(&threads, "%s%s", threads.len ? "," : "", e->d_name);
	closedir(dir);
	buf_put_u8(&threads, 0);
	r = set(t, own, "options/function-fork", "1", err);
	if (r == 0)
		r = set_list(t, own, "set_ftrace_pid", (char *)threads.data, err);
	buf_free(&threads);
	return r;
}

static int choose(struct host_tracing *t, const struct host_options *o, struct error *err)
{
	struct tracefs_instance *own = t->instance;

	if (set_list(t, own, "set_ftrace_filter", o->functions, err) < 0 ||
	    set_list(t, own, "set_ftrace_notrace", o->not, err) < 0 ||
	    set_list(t, NULL, "set_graph_function", o->below, err) < 0 ||
	    set_number(t, NULL, "max_graph_depth", o->depth, err) < 0 ||
	    set_number(t, NULL, "tracing_thresh", o->min_us, err) < 0 ||
	    set_number(t, own, "buffer_size_kb", o->buffer_kb, err) < 0)
		return -1;
	return o->pid ? set_process(t, own, o->pid, err) : 0;
}

/* "mono" of "local global [mono]": which it is now. */
static char *clock_in(char *text)
{
	char *begin = strchr(text, '['), *end = begin ? strchr(begin, ']') : NULL;

	if (!end)
		return NULL;
	*end = 0;
	return xstrdup(begin + 1);
}

/*
 * Programs' own records have that clock, too. Without, all is there but what takes both. Where only ends are recorded
 * (tracing_thresh), begins are by the tracer's own clock, which then must be that of all.
 */
static void set_clock(struct host_tracing *t, const char *clock)
{
	char *text = tracefs_instance_file_read(t->instance, "trace_clock", NULL), *before = text ? clock_in(text) : NULL;
	struct error ignored;

	free(text);
	if (!before)
		return;
	save(t, t->instance, HOST_NOTE_VALUE, "trace_clock", before);
	t->monotonic = write_text(t, t->instance, "trace_clock", clock, &ignored) == 0 && !strcmp(clock, "mono");
}

/*
 * Who takes pages away makes system calls for that: where these were recorded, there would be something to take away
 * for ever. False: this kernel cannot tell who makes them.
 */
static bool leave_out_readers(struct host_tracing *t)
{
	static const char *const files[] = { "events/raw_syscalls/sys_enter/filter", "events/raw_syscalls/sys_exit/filter" };
	struct error ignored;

	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		if (!tracefs_file_exists(t->instance, files[i]) ||
		    set(t, t->instance, files[i], "COMM != \"" HOST_READERS "\"", &ignored) < 0)
			return false;
	return true;
}

static void set_events(struct host_tracing *t, const char *const *files, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct error ignored;

		if (tracefs_file_exists(t->instance, files[i]))
			set(t, t->instance, files[i], "1", &ignored);
	}
}

/* Where all that is short is left out, so are events that come by the thousand. */
static void choose_events(struct host_tracing *t, const struct host_options *o)
{
	static const char *const always[] = {
		"events/sched/sched_switch/enable",       "events/sched/sched_waking/enable",
		"events/sched/sched_process_fork/enable", "events/sched/sched_process_exec/enable",
		"events/sched/sched_process_exit/enable", "events/task/task_newtask/enable",
		"events/task/task_rename/enable",
		"events/printk/console/enable",
	};
	static const char *const interrupts[] = {
		"events/irq/irq_handler_entry/enable",
		"events/irq/irq_handler_exit/enable",
	};
	static const char *const syscalls[] = {
		"events/raw_syscalls/sys_enter/enable",
		"events/raw_syscalls/sys_exit/enable",
	};

	set_events(t, always, sizeof always / sizeof *always);
	if (o->min_us)
		return;
	set_events(t, interrupts, sizeof interrupts / sizeof *interrupts);
	if (leave_out_readers(t))
		set_events(t, syscalls, sizeof syscalls / sizeof *syscalls);
}

static int begin(struct host_tracing *t, const struct host_options *o, bool on, struct error *err)
{
	if (set(t, t->instance, "tracing_on", "0", err) < 0)
		return -1;
	set_clock(t, o->min_us ? "local" : "mono");
	tracefs_instance_file_clear(t->instance, "trace");
	if (choose(t, o, err) < 0 || set(t, t->instance, "current_tracer", "function_graph", err) < 0)
		return -1;
	choose_events(t, o);
	/* last of all: the functions may be called at any time */
	if (set_trigger(t, o->stop_entry, "traceoff", err) < 0 || set_trigger(t, o->start_entry, "traceon", err) < 0)
		return -1;
	return on && !o->start_entry ? write_text(t, t->instance, "tracing_on", "1", err) : 0;
}

static struct host_tracing *open_tracing(struct error *err)
{
	struct host_tracing *t;

	if (!tracefs_tracing_dir()) {
		error_set(err, "no tracefs: it needs root, and a kernel with CONFIG_FUNCTION_GRAPH_TRACER; "
			       "'mount -t tracefs none /sys/kernel/tracing' mounts it");
		return NULL;
	}
	if (access(tracefs_tracing_dir(), R_OK | X_OK) < 0) {
		error_set(err, "%s: %s: that is root's", tracefs_tracing_dir(), strerror(errno));
		return NULL;
	}
	t = xcalloc(1, sizeof *t);
	t->folder = xstrdup(tracefs_tracing_dir());
	t->note.fd = -1;
	return t;
}

struct host_tracing *host_tracing_new(const struct host_options *options, bool on, struct error *err)
{
	struct host_tracing *t = open_tracing(err);
	char *left;

	if (!t)
		return NULL;
	if (!tracefs_tracer_available(NULL, "function_graph")) {
		error_set(err, "this kernel has no function_graph: it was built without CONFIG_FUNCTION_GRAPH_TRACER");
		host_tracing_free(t);
		return NULL;
	}
	if (host_note_begin(&t->note, &left, err) < 0) {
		host_tracing_free(t);
		return NULL;
	}
	make_instance(t);
	restore_left(t, left);
	host_note_forget(&t->note);
	if (t->instance) {
		char *folder = tracefs_instance_get_dir(t->instance);

		free(t->folder);
		t->folder = xstrdup(folder);
		tracefs_put_tracing_file(folder);
	}
	if (begin(t, options, on, err) < 0) {
		host_tracing_free(t);
		return NULL;
	}
	return t;
}

struct host_tracing *host_tracing_found(struct error *err)
{
	struct host_tracing *t = open_tracing(err);

	if (t && set(t, NULL, "tracing_on", "0", err) < 0) {
		host_tracing_free(t);
		return NULL;
	}
	return t;
}

void host_tracing_go(struct host_tracing *t)
{
	tracefs_instance_file_write(t->instance, "tracing_on", "1");
}

/* A trigger's count goes down when it has done something: the other way round it does nothing. */
bool host_tracing_ended_itself(const struct host_tracing *t)
{
	char *text = tracefs_instance_file_read(t->instance, "set_ftrace_filter", NULL);
	bool ended = text && strstr(text, ":traceoff:count=0");

	free(text);
	return ended;
}

void host_tracing_stop(struct host_tracing *t)
{
	tracefs_instance_file_write(t->instance, "tracing_on", "0");
}

void host_tracing_free(struct host_tracing *t)
{
	restore(t);
	if (t->instance) {
		tracefs_instance_destroy(t->instance);
		tracefs_instance_free(t->instance);
	}
	free(t->folder);
	free(t);
}

bool host_tracing_was_left(const struct host_tracing *t)
{
	return t->was_left;
}

bool host_tracing_is_monotonic(const struct host_tracing *t)
{
	return t->monotonic;
}

const char *host_tracing_folder(const struct host_tracing *t)
{
	return t->folder;
}
