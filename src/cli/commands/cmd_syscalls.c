/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fnmatch.h>
#include <stdlib.h>

#include "arch/syscall_args.h"
#include "base/alloc.h"
#include "cli/args/name_list.h"
#include "cli/args/select_arg.h"
#include "cli/args/trace_arg.h"
#include "cli/args/trace_has.h"
#include "cli/commands.h"
#include "cli/print/left_out_note.h"
#include "cli/print/view.h"
#include "tables/syscalls_table.h"

/* The thread that made the call, or NULL. */
static const struct thread *caller(const struct syscall_sources *of, const struct syscall_record *c)
{
	return threads_at(of->threads, threads_find(of->threads, c->task, c->ns));
}

/* Were all calls made by the CPU's own interface? `chosen`: marks; NULL: all. */
static bool has_one_abi(const struct syscalls *s, const bool *chosen)
{
	size_t i = 0;

	while (i < s->count && (s->calls[i].abi == s->arch->abis || (chosen && !chosen[i])))
		i++;
	return i == s->count;
}

enum { SYSCALLS_MAX = 1024 }; /* more than an interface has numbers */

static const char *syscall_at(const void *data, size_t i)
{
	const struct arch *arch = data;

	return arch->abis[i / SYSCALLS_MAX].call_name(i % SYSCALLS_MAX);
}

/* The system calls of --name: marks by interface and number; NULL: all. */
static int names_arg(const struct args *args, const struct arch *arch, bool **ret, struct error *err)
{
	const struct name_list all = {
		.count = (size_t)arch->n_abis * SYSCALLS_MAX, .at = syscall_at, .data = arch, .what = "system call",
		.where = "",
	};
	const char *list = arg(args, "name");

	*ret = list ? xcalloc(all.count, sizeof **ret) : NULL;
	return list ? name_list_mark(&all, &list, 1, *ret, args->missed, err) : 0;
}

static bool is_marked(const struct arch *arch, const bool *names, const struct syscall_record *c)
{
	/* x32's have a bit set that no name depends on */
	uint32_t nr = (uint32_t)c->nr & ~(UINT32_C(1) << 30);

	return c->abi->call_name(c->nr) && nr < SYSCALLS_MAX &&
	       names[(size_t)(c->abi - arch->abis) * SYSCALLS_MAX + nr];
}

/* Does the call have a file of that name: behind its first argument, or as an argument? */
static bool has_path(const struct syscall_sources *of, uint32_t number, const char *pattern)
{
	const struct syscall_record *c = &of->calls->calls[number];
	const char *kinds = c->abi->call_args(c->nr);
	bool found = of->files->paths[number] && !fnmatch(pattern, of->files->paths[number], 0);

	for (unsigned i = 0; kinds && kinds[i] && !found; i++) {
		const struct text *text = kinds[i] == ARG_PATH ? texts_find(of->texts, c->cpu, c->insns, i) : NULL;
		char *path = text ? xstrndup(text->bytes, text->len) : NULL;

		found = path && !fnmatch(pattern, path, 0);
		free(path);
	}
	return found;
}

/* What is asked for. */
struct choice {
	const bool *names;   /* marks; NULL: all */
	const char *path;    /* NULL: any */
	uint64_t shortest, longest; /* durations; 0: any */
	const bool *processes; /* of --pid: marks by number of thread; NULL: all */
	const bool *threads;   /* of --comm: likewise */
	struct span span;    /* that they begin in … */
	struct intervals intervals; /* … and in one of these */
};

static bool is_chosen(const struct syscall_sources *of, const struct choice *choice, uint32_t number)
{
	const struct syscall_record *c = &of->calls->calls[number];
	const struct thread *t = choice->processes || choice->threads ? caller(of, c) : NULL;
	const struct span *span = &choice->span;

	if (c->ns < span->from_ns || c->ns >= span->to_ns || (span->cpu >= 0 && span->cpu != c->cpu) ||
	    !intervals_have(&choice->intervals, c->ns))
		return false;
	if (choice->processes && (!t || !choice->processes[t - of->threads->list]))
		return false;
	if (choice->threads && (!t || !choice->threads[t - of->threads->list]))
		return false;
	if (choice->names && !is_marked(of->calls->arch, choice->names, c))
		return false;
	if (choice->shortest && (!c->returned || c->end_ns - c->ns < choice->shortest))
		return false;
	if (choice->longest && (!c->returned || c->end_ns - c->ns > choice->longest))
		return false;
	return !choice->path || has_path(of, number, choice->path);
}

/*
 * Mark the calls of the wanted process, names, files and time. Calls before that count for what is open; they are not
 * shown. Returns an exit status.
 */
static int choose(const struct args *args, const struct trace_arg *t, const struct syscall_sources *of,
		  const struct span *span, const bool *names, bool **ret, struct error *err)
{
	struct choice choice = {
		.names = names, .path = arg(args, "path"), .processes = trace_row_threads(t), .span = *span,
	};
	struct selected selected;
	int result = select_arg(args, &t->session, &selected, err) < 0 ? EXIT_FAILED : EXIT_OK;

	if (result == EXIT_OK && select_intervals(args, &t->session, &selected, &choice.intervals, err) < 0)
		result = EXIT_FAILED;
	if (result == EXIT_OK) {
		bool *chosen = xcalloc(of->calls->count, sizeof *chosen);

		choice.shortest = selected.options.filter.min_duration_ns;
		choice.longest = selected.options.filter.max_duration_ns;
		choice.threads = selected.options.filter.threads;
		for (uint32_t i = 0; i < of->calls->count; i++)
			chosen[i] = is_chosen(of, &choice, i);
		*ret = chosen;
	}
	free(choice.intervals.list);
	selected_deinit(&selected);
	return result;
}

static int show(const struct args *args, const struct trace_arg *t, const struct syscall_sources *of,
		const bool *chosen, struct error *err)
{
	struct table table;
	struct view view = { .table = &table, .trace = t, .left_out = "" };
	int r;

	if (arg(args, "summary")) {
		syscall_sums_table_init(&table, of->calls, chosen);
		view.default_sort = "total_ns";
		view.default_output =
			has_one_abi(of->calls, chosen) ? NULL : "name,abi,count,errors,total_ns,average_ns,longest_ns";
	} else {
		syscalls_table_init(&table, of, chosen);
		view.default_output = has_one_abi(of->calls, NULL)
					      ? NULL
					      : "start_ns,cpu,pid,comm,abi,call,result,error,duration_ns,cpu_ns";
	}
	r = view_print(&view, args, err);
	table_deinit(&table);
	return r;
}

static int print(const struct args *args, const struct trace_arg *t, const struct span *span, const bool *names,
		 struct syscall_sources *of, struct error *err)
{
	struct fd_paths files;
	bool *chosen = NULL;
	int r;

	fd_paths_init(&files, of->calls, of->texts, of->threads);
	of->files = &files;
	r = choose(args, t, of, span, names, &chosen, err);
	if (r == EXIT_OK)
		r = show(args, t, of, chosen, err);
	free(chosen);
	fd_paths_deinit(&files);
	return r;
}

static int run(const struct args *args, struct error *err)
{
	static const struct span all = { .to_ns = UINT64_MAX, .cpu = -1 };
	struct syscalls s;
	struct texts texts = { 0 };
	struct facts facts = { 0 };
	struct trace_arg t;
	struct span span;
	bool *names = NULL;
	int r = EXIT_FAILED;

	if (span_arg(args, &span, err) < 0)
		return EXIT_USAGE;
	if (trace_arg_open(args, &t, err) < 0)
		return EXIT_FAILED;
	if (names_arg(args, t.reader->arch, &names, err) < 0) {
		r = EXIT_USAGE;
	} else if (syscalls_analyse(t.reader, &t.threads, &all, &s, err) == 0) {
		struct syscall_sources of = { .calls = &s, .texts = &texts, .facts = &facts, .threads = &t.threads };

		if (texts_read(t.reader, &texts, err) == 0 && facts_read(t.reader, &facts, err) == 0)
			r = print(args, &t, &span, names, &of, err);
		texts_deinit(&texts);
		facts_deinit(&facts);
		syscalls_deinit(&s);
	}
	trace_arg_close(&t);
	free(names);
	return r;
}

static const struct option options[] = {
	{ 'p', "pid", "PID", "only calls of this thread, of this process's threads, or of all processes of that name" },
	{ 'e', "name", "NAMES", "only calls of these names, e.g. open,openat; shell patterns: *stat*", ',' },
	{ 0, "path", "GLOB", "only calls that have such a file, as an argument or behind a descriptor: '/etc/*'" },
	SELECT_ROWS_DURATION("calls"),
	SELECT_ROWS_COMM,
	{ 0, "summary", NULL, "one line per call name: count, errors, total, average, longest" },
	VIEW_OPTIONS,
	SPAN_OPTIONS,
	SELECT_INTERVALS,
	HELP_OPTION,
	{ 0 },
};

static const struct legend legends[] = {
	{ "columns", syscalls_columns, NULL },
	{ "columns with --summary", syscall_sums_columns, NULL },
	LEFT_OUT_LEGEND,
	{ 0 },
};

const struct command cmd_syscalls = {
	.name = "syscalls",
	.operands = "TRACE",
	.summary = "when does userspace make system calls?",
	.description =
		"Lists the system calls of all processes in the order of their entry: arguments as strace "
		"prints them, with the file behind a descriptor (7</etc/fstab>), result, and how long they took, running and waiting. If a string was not in the guest's memory "
		"during the call, its address is shown. A call that never returned has no result: exit, or a call in progress "
		"when its program was replaced or when the recording ended.\n",
	.examples =
		"  upto syscalls trace.upto\n      the first screenful\n"
		"  upto syscalls --summary trace.upto\n      which calls took the most time\n"
		"  upto syscalls --name execve,openat -n 0 trace.upto\n      which programs ran, and the files that were opened\n"
		"  upto syscalls --path '/etc/*' trace.upto\n      what was done to these files\n"
		"  upto syscalls -s duration_ns trace.upto\n      the longest ones\n",
	.needs = "syscalls",
	.options = options,
	.legends = legends,
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
