/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "past.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analysis/calls/touched.h"
#include "analysis/check/same_events.h"
#include "base/alloc.h"
#include "cli/args/trace_arg.h"
#include "cli/commands.h"
#include "cli/print/quantity.h"
#include "cli/print/terminal.h"
#include "cli/record/recording_args.h"
#include "cli/record/run_inputs.h"
#include "probes/probe_definition.h"
#include "replay/call_values.h"
#include "rerun.h"
#include "trace/added_values.h"

/* Between a trace's name and the number of the process that makes its run again. */
#define AGAIN ".again."

/* Part of the run that is recorded again: all of it has to be compared. */
struct past_window {
	bool has_start, has_stop;
	uint64_t start_ns, stop_ns;
	uint64_t must_ns; /* so far at least it has to come; UINT64_MAX: to the end */
};

struct past {
	const struct args *args;
	const char *path; /* of the trace */
	struct trace_arg trace;
	char *asked;        /* in one text */
	struct buf options; /* of upto record */
	char *temporary;    /* the trace of the run that is made again */
	struct past_window window;
	bool quiet;         /* nothing is printed */
};

static void put_word(struct buf *words, const char *word)
{
	buf_put(words, word, strlen(word) + 1);
}

/* "a:b" with each path as it is from any folder. */
static char *absolute_paths(const char *list)
{
	struct buf out = { 0 };

	for (size_t n; *list; list += n + (list[n] == ':')) {
		n = strcspn(list, ":");
		cleanup_free char *path = xstrndup(list, n), *full = realpath(path, NULL);

		buf_printf(&out, "%s%s", out.len ? ":" : "", full ? full : path);
	}
	buf_put_u8(&out, 0);
	return (char *)out.data;
}

static void put_paths(const struct args *args, const char *option, struct buf *words)
{
	if (!arg(args, option))
		return;
	cleanup_free char *name = xasprintf("--%s", option), *paths = absolute_paths(arg(args, option));

	put_word(words, name);
	put_word(words, paths);
}

/* The question as text, and as options of upto record. */
static void put_question(struct past *p)
{
	static const char *const lists[] = { "event", "args" };
	struct buf text = { 0 };

	for (unsigned i = 1; i < p->args->n_operands; i++) {
		put_word(&p->options, "--probe");
		put_word(&p->options, p->args->operands[i]);
		buf_printf(&text, "%s%s", text.len ? "\n" : "", p->args->operands[i]);
	}
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		const char *value = arg(p->args, lists[i]);

		if (!value)
			continue;
		cleanup_free char *name = xasprintf("--%s", lists[i]);

		put_word(&p->options, name);
		put_word(&p->options, value);
		buf_printf(&text, "%s%s %s", text.len ? "\n" : "", name, value);
	}
	if (p->args->n_operands > 1 || (arg(p->args, "args") && strchr(arg(p->args, "args"), '/')))
		put_paths(p->args, "debug", &p->options);
	put_paths(p->args, "sysroot", &p->options);
	buf_put_u8(&text, 0);
	p->asked = (char *)text.data;
}

/*
 * Append the function that a definition's place is in; *known becomes false if that is not to be told: behind _text is
 * one whose name others have, too.
 */
static void put_function(const char *text, bool *known, bool *returns, struct buf *names)
{
	struct probe_definition d;
	struct error ignored;

	if (probe_definition_parse(text, &d, &ignored) < 0 || !d.function || d.place != PROBE_FUNCTION ||
	    (d.target && *d.target == '/') || !strcmp(d.function, "_text"))
		*known = false;
	else
		buf_printf(names, "%s%s", names->len ? "," : "", d.function);
	*returns |= d.returns;
	probe_definition_deinit(&d);
}

/* Names of the functions that all probes are in, with commas; NULL: that is not known of each. */
static char *functions_of(const struct buf *lines, bool *returns)
{
	struct meta meta = { 0 };
	struct buf names = { 0 };
	struct error ignored;
	bool known = meta_parse(&meta, lines->data, lines->len, &ignored) == 0;
	char key[40];

	for (size_t i = 0; known; i++) {
		snprintf(key, sizeof key, "probe.%zu", i);
		const char *text = meta_get(&meta, key);

		if (!text)
			break;
		put_function(text, &known, returns, &names);
	}
	meta_deinit(&meta);
	if (!known || !names.len) {
		buf_free(&names);
		return NULL;
	}
	buf_put_u8(&names, 0);
	return (char *)names.data;
}

/* Those of the list, and parts of them that the compiler made ("vfs_read.cold"), as marks by number. */
static bool *mark_functions(const struct names *names, const char *list)
{
	bool *marks = xcalloc(names_count(names), sizeof *marks);

	for (size_t n; *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		cleanup_free char *pattern = xstrndup(list, n);

		for (uint32_t i = 0; i < names_count(names); i++) {
			size_t len;
			const char *shown = names_alone(names, i, &len); /* definitions do not say which module */
			cleanup_free char *name = xstrndup(shown, len), *stem = xstrndup(name, strcspn(name, "."));

			marks[i] |= !fnmatch(pattern, name, 0) || !fnmatch(pattern, stem, 0);
		}
	}
	return marks;
}

/*
 * Only from the first call of these functions to the last has anything to be recorded: the instructions tell the time
 * exactly, if there is one vCPU.
 */
static int narrow(struct past *p, const char *functions, bool returns, struct error *err)
{
	enum { MARGIN_NS = 100000 }; /* what is compared around the first and the last */
	cleanup_free bool *marks = mark_functions(&p->trace.names, functions), *named = NULL;
	struct touched touched;

	if (touched_analyse(&p->trace.session, marks, &touched, err) < 0)
		return -1;
	if (!touched.last_ns && functions_named(functions, &p->trace.names, &named, err) < 0)
		return -1;
	if (!touched.last_ns)
		return error_set(err, "%s: control was in none of these functions: %s", p->path, p->asked);
	p->window.has_start = touched.first_ns > MARGIN_NS;
	p->window.start_ns = touched.first_ns - MARGIN_NS;
	/* a function that ends with a jump to another one returns from there, at any time later */
	if (returns)
		return 0;
	p->window.has_stop = true;
	p->window.must_ns = touched.last_ns;
	p->window.stop_ns = touched.last_ns + MARGIN_NS;
	return 0;
}

/*
 * QEMU's log ends where the machine is to be switched off: the vCPU ran on for some microseconds, while it was
 * recorded, until it heard of that.
 */
static uint64_t end_of_run(const struct past *p)
{
	enum { SWITCHED_OFF_NS = 1000000 };
	const struct reader *r = p->trace.reader;
	uint64_t end = 0;

	if (!meta_get(&r->meta, "run.log"))
		return UINT64_MAX;
	for (size_t i = 0; i < r->n_chunks; i++)
		if (r->chunks[i].header.type == CHUNK_EVENTS && r->chunks[i].header.last_ns > end)
			end = r->chunks[i].header.last_ns;
	return end > SWITCHED_OFF_NS ? end - SWITCHED_OFF_NS : 0;
}

static int find_window(struct past *p, struct error *err)
{
	struct buf lines = { 0 };
	struct rerun run;
	bool returns = false;
	cleanup_free char *functions = NULL;
	int r = rerun_init(&run, p->trace.reader, p->args->rest, p->temporary, &p->options, err);

	p->window.must_ns = end_of_run(p);
	if (r == 0)
		r = rerun_definitions(&run, &lines, err);
	rerun_deinit(&run);
	if (r == 0 && !arg(p->args, "event") && !arg(p->args, "args") && reader_vcpus(p->trace.reader) == 1)
		functions = functions_of(&lines, &returns);
	if (functions)
		r = narrow(p, functions, returns, err);
	buf_free(&lines);
	return r;
}

static void put_condition(struct buf *words, const char *option, uint64_t ns)
{
	cleanup_free char *text = xasprintf("time:%" PRIu64 "ns", ns);

	put_word(words, option);
	put_word(words, text);
}

/* What is to be expected, on standard error. */
static void announce(const struct past *p)
{
	const struct meta *m = &p->trace.reader->meta;
	uint64_t started = meta_get_u64(m, "started", 0), finished = meta_get_u64(m, "finished", 0);
	struct buf line = { 0 };

	buf_printf(&line, "upto: ");
	terminal_escape(&line, p->path);
	buf_printf(&line, ": the guest runs again");
	if (p->window.has_stop) {
		buf_printf(&line, " up to ");
		put_moment(&line, p->window.stop_ns);
	}
	if (finished > started)
		buf_printf(&line, "; all of it took %" PRIu64 " s", finished - started);
	buf_put_u8(&line, 0);
	fprintf(stderr, "%s\n", (char *)line.data);
	buf_free(&line);
}

static int run_again(struct past *p, struct error *err)
{
	struct rerun run;
	int r;

	if (p->window.has_start)
		put_condition(&p->options, "--start", p->window.start_ns);
	if (p->window.has_stop)
		put_condition(&p->options, "--stop", p->window.stop_ns);
	announce(p);
	r = rerun_init(&run, p->trace.reader, p->args->rest, p->temporary, &p->options, err);
	if (r == 0)
		r = rerun_record(&run, err);
	rerun_deinit(&run);
	return r < 0 ? error_prefix(err, "%s: it was not run again, and nothing is added", p->path) : 0;
}

static void put_spot(struct buf *out, const struct event_spot *spot)
{
	if (spot->kind == EVENT_NONE) {
		buf_printf(out, "nothing more");
		return;
	}
	buf_printf(out, "%s", event_kind_name(spot->kind));
	if (spot->target)
		buf_printf(out, " to 0x%" PRIx64, spot->target);
	buf_printf(out, " at instruction %" PRIu64, spot->insns);
}

static int tell_difference(const struct past *p, const struct same_events *same, struct error *err)
{
	struct buf text = { 0 };

	put_moment(&text, same->in_whole.kind ? same->in_whole.ns : same->in_part.ns);
	buf_printf(&text, " on CPU %u: ", same->cpu);
	put_spot(&text, &same->in_whole);
	buf_printf(&text, " then, ");
	put_spot(&text, &same->in_part);
	buf_printf(&text, " now");
	buf_put_u8(&text, 0);
	error_set(err, "%s: the guest did not run as it had: %s; nothing is added", p->path, (char *)text.data);
	buf_free(&text);
	return -1;
}

/* Is the new run the one that was recorded? */
static int compare(const struct past *p, const struct reader *again, struct error *err)
{
	struct same_events same;

	if (same_events_compare(p->trace.reader, again, p->window.must_ns, &same, err) < 0)
		return -1;
	if (same.differs)
		return tell_difference(p, &same, err);
	if (!same.compared)
		return error_set(err, "%s: the guest did not come so far again; nothing is added", p->path);
	return 0;
}

/* Append what was found. Where the trace cannot be written, the new one has it as well: *ret_path. */
static int add(struct past *p, const struct reader *again, const char **ret_path, struct error *err)
{
	struct added_values values;
	struct error why;
	int r = added_values_read(again, p->trace.reader, p->asked, &values, err);

	*ret_path = p->path;
	if (r == 0 && access(p->path, W_OK) < 0) {
		fprintf(stderr, "upto: %s: %s: what was found is not kept\n", p->path, strerror(errno));
		*ret_path = p->temporary;
	} else if (r == 0 && added_values_append(&values, p->trace.reader, &why) < 0) {
		fprintf(stderr, "upto: %s: what was found is not kept\n", why.text);
		*ret_path = p->temporary;
	}
	added_values_deinit(&values);
	return r;
}

static int run_command(const struct past *p, const struct command *command, const char *const *words, struct error *err)
{
	struct args args;
	int r = EXIT_USAGE;

	if (args_parse(command, (char **)words, &args, err) == 0) {
		args.missed = p->args->missed;
		r = command->run(&args, err);
	}
	args_deinit(&args);
	return r;
}

/* Functions of programs that ran, by the names that they have there. */
static void put_programs(const struct past *p, const struct reader *r, struct buf *out)
{
	const struct names *names = &p->trace.names;
	struct call_values values;
	struct error ignored;

	if (call_values_read(r, names, &values, &ignored) == 0)
		for (uint32_t f = 0; f < names_count(names); f++) {
			size_t len;
			const char *name = names_alone(names, f, &len);

			if (map_get(&values.named, f))
				buf_printf(out, "%s%.*s", out->len ? "," : "", (int)len, name);
		}
	call_values_deinit(&values);
}

/* The functions of --args, as upto calls takes them. The caller frees it; NULL: none. */
static char *functions_to_show(const struct past *p, const char *path)
{
	cleanup_free char *kernel = recording_args_of_kernel(p->args);
	const char *list = arg(p->args, "args");
	struct buf out = { 0 };
	struct reader *r;
	struct error ignored;

	if (!list)
		return NULL;
	if (kernel)
		buf_printf(&out, "%s", kernel);
	if (strchr(list, '/') && reader_open(path, &r, &ignored) == 0) {
		put_programs(p, r, &out);
		reader_free(r);
	}
	buf_put_u8(&out, 0);
	return (char *)out.data;
}

/* The records, as upto events prints them; or, if only arguments were asked for, the calls that have them. */
static int show(const struct past *p, const char *path, const char *names, struct error *err)
{
	cleanup_free char *functions = functions_to_show(p, path);
	const char *words[10];
	bool calls = functions && !arg(p->args, "event") && p->args->n_operands == 1;
	size_t n = 0;

	if (calls && !*functions)
		return error_set(err, "%s: control was in none of these functions: %s", p->path, p->asked), EXIT_FAILED;
	if (calls) {
		words[n++] = "--args";
		words[n++] = "--function";
		words[n++] = functions;
	} else if (names) {
		words[n++] = "--name";
		words[n++] = names;
	}
	if (arg(p->args, "records")) {
		words[n++] = "--lines";
		words[n++] = arg(p->args, "records");
	}
	if (arg(p->args, "json"))
		words[n++] = "--json";
	words[n++] = path;
	words[n] = NULL;
	return run_command(p, calls ? &cmd_calls : &cmd_events, words, err);
}

/* What the trace has for the question by now. */
static int show_added(const struct past *p, struct error *err)
{
	struct reader *r;
	cleanup_free char *names = NULL;
	bool known;

	if (reader_open(p->path, &r, err) < 0)
		return EXIT_FAILED;
	known = added_values_known(&r->meta, p->asked, &names);
	reader_free(r);
	return known ? show(p, p->path, names, err) : (error_set(err, "%s: not there", p->path), EXIT_FAILED);
}

static int find_out(struct past *p, struct error *err)
{
	struct reader *again;
	const char *path;
	int r;

	if (rerun_possible(p->trace.reader, p->args->rest, err) < 0 ||
	    (!p->args->rest && run_inputs_check(&p->trace.reader->meta, p->path, err) < 0) || find_window(p, err) < 0 ||
	    run_again(p, err) < 0 || reader_open(p->temporary, &again, err) < 0)
		return EXIT_FAILED;
	r = compare(p, again, err) < 0 || add(p, again, &path, err) < 0 ? EXIT_FAILED : EXIT_OK;
	reader_free(again);
	if (r != EXIT_OK)
		return r;
	if (p->quiet)
		return path == p->path ? EXIT_OK : (error_set(err, "%s: what was found is not kept there", p->path), EXIT_FAILED);
	return path == p->path ? show_added(p, err) : show(p, path, NULL, err);
}

/*
 * Is it what a run that was killed has left beside the trace? `name`: of a file there. Where several hosts or
 * containers share a folder, another's process is not seen here, but what it writes is new.
 */
static bool is_left(int folder, const char *name, const char *trace)
{
	enum { OLD = 600 /* seconds */ };
	struct stat st;
	size_t n = strlen(trace);
	const char *number = name + n + strlen(AGAIN);
	char *end;
	long pid;

	if (strncmp(name, trace, n) || strncmp(name + n, AGAIN, strlen(AGAIN)))
		return false;
	pid = strtol(number, &end, 10);
	return *number && !*end && pid > 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH &&
	       fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_mtime < time(NULL) - OLD;
}

static void remove_left(const char *full)
{
	const char *base = strrchr(full, '/') + 1;
	cleanup_free char *folder = xstrndup(full, (size_t)(base - full));
	DIR *dir = opendir(folder);
	struct dirent *d;

	while (dir && (d = readdir(dir)))
		if (is_left(dirfd(dir), d->d_name, base))
			unlinkat(dirfd(dir), d->d_name, 0);
	if (dir)
		closedir(dir);
}

static int ask(const struct args *args, bool quiet, struct error *err)
{
	struct past p = { .args = args, .path = args->operands[0], .quiet = quiet };
	cleanup_free char *full = realpath(p.path, NULL), *known = NULL;
	int r;

	if (!full)
		return error_set(err, "%s: %s", p.path, strerror(errno)), EXIT_FAILED;
	if (open_trace(p.path, &p.trace, err) < 0)
		return EXIT_FAILED;
	remove_left(full);
	p.temporary = xasprintf("%s" AGAIN "%d", full, (int)getpid());
	put_question(&p);
	if (!added_values_known(&p.trace.reader->meta, p.asked, &known))
		r = find_out(&p, err);
	else
		r = quiet ? EXIT_OK : show(&p, p.path, known, err);
	unlink(p.temporary);
	trace_arg_close(&p.trace);
	buf_free(&p.options);
	free(p.temporary);
	free(p.asked);
	return r;
}

int past_ask(const struct args *args, struct error *err)
{
	return ask(args, false, err);
}

int past_add(const char *path, const char *probes, const char *events, struct error *err)
{
	cleanup_free char *list = xstrdup(probes);
	struct args args;
	char *words[] = { (char *)path, NULL }, *rest = list, *definition;
	int r = args_parse(&cmd_probe, words, &args, err);

	if (r == 0 && *events)
		r = args_give(&args, "event", events, err);
	while (r == 0 && (definition = strsep(&rest, "\n"))) {
		if (*definition && args.n_operands == OPERANDS_MAX)
			r = error_set(err, "more probes than one run takes");
		else if (*definition)
			args.operands[args.n_operands++] = definition;
	}
	if (r == 0)
		r = ask(&args, true, err) == EXIT_OK ? 0 : -1;
	args_deinit(&args);
	return r;
}
