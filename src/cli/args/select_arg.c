/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "select_arg.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/near.h"
#include "cli/print/terminal.h"
#include "function_arg.h"
#include "name_list.h"
#include "trace/writer.h"
#include "trace_has.h"

/*
 * The value of an option that chooses; NULL: it was not given, or the command's option of that name means something
 * else.
 */
static const char *value_of(const struct args *args, const char *name)
{
	const struct option *options = args->command->options;

	for (int i = 0; options[i].name; i++)
		if ((options[i].selects || options[i].rows || options[i].intervals) && !strcmp(options[i].name, name))
			return args->values[i];
	return NULL;
}

bool select_has(const struct command *command, const char *name)
{
	for (const struct option *o = command->options; o->name; o++)
		if ((o->selects || o->rows) && !strcmp(o->name, name))
			return true;
	return false;
}

bool select_is_asked(const struct args *args)
{
	const struct option *options = args->command->options;

	for (int i = 0; options[i].name; i++)
		if (options[i].selects && args->values[i])
			return true;
	return false;
}

bool select_is_only(const struct args *args, const char *const *names)
{
	const struct option *options = args->command->options;

	for (int i = 0; options[i].name; i++) {
		bool is_one = !options[i].selects || !args->values[i];

		for (int k = 0; !is_one && names[k]; k++)
			is_one = !strcmp(options[i].name, names[k]);
		if (!is_one)
			return false;
	}
	return true;
}

bool select_has_rows(const struct args *args)
{
	const struct option *options = args->command->options;

	for (int i = 0; options[i].name; i++)
		if (options[i].rows && args->values[i])
			return true;
	return false;
}

static char *say(const struct args *args)
{
	const struct option *options = args->command->options;
	struct buf what = { 0 };

	for (int i = 0; options[i].name; i++)
		if (options[i].selects && args->values[i])
			buf_printf(&what, "%s--%s%s%s", what.len ? " " : "", options[i].name, options[i].arg ? " " : "",
				   args->values[i]);
	buf_put_u8(&what, 0);
	return (char *)what.data;
}

static bool *new_marks(struct selected *s, size_t n)
{
	return s->marks[s->n_marks++] = xcalloc(n, sizeof(bool));
}

static bool is_own(const struct names *names, uint32_t function)
{
	return names_is_kernel(names, function) && !*names_object(names, function);
}

void functions_prefer_kernel(const struct names *names, bool *marks)
{
	bool any = false;

	for (uint32_t i = 0; i < names_count(names); i++)
		any |= marks[i] && is_own(names, i);
	for (uint32_t i = 0; any && i < names_count(names); i++)
		marks[i] &= is_own(names, i);
}

/* "kernel", a module or a file. */
static bool is_of_object(const struct names *names, uint32_t function, const char *object)
{
	return strcmp(object, CONDITION_KERNEL) ? !fnmatch(object, names_object(names, function), 0)
						: is_own(names, function);
}

/*
 * Has the trace names of functions of such programs or modules? Not of those whose only function is they themselves:
 * [busybox].
 */
static bool has_names(const struct names *names, const char *object, bool *ret_known)
{
	*ret_known = false;
	for (uint32_t i = 0; i < names_count(names); i++) {
		if (fnmatch(object, names_object(names, i), 0))
			continue;
		*ret_known = true;
		if (*names_function(names, i) != '[')
			return true;
	}
	return false;
}

/*
 * Names that programs began with, or gave themselves: those that are like the wanted one, else all, but not more than a
 * few.
 */
static void put_programs(const struct reader *r, const uint8_t *named, const char *wanted, struct buf *out)
{
	enum { SHOWN = 8 };
	struct buf all = { 0 };
	struct map seen = { 0 };
	struct near near;
	size_t n = 0;

	near_init(&near, wanted, strlen(wanted));
	for (size_t i = 0; i < 2 * r->tasks.count; i++) {
		const struct task_record *t = &r->tasks.records[i / 2];
		const char *slash = strrchr(t->exe, '/'), *name = i % 2 && slash ? slash + 1 : t->comm;
		uint64_t *known = named[i / 2] ? map_put(&seen, hash_text(1, name), 0) : NULL;

		if (!known || (*known)++)
			continue;
		near_offer(&near, name);
		if (n++ < SHOWN)
			buf_printf(&all, "%s%s", all.len ? ", " : "; programs that began: ", name);
	}
	if (near.count)
		near_put(&near, out);
	else
		buf_printf(out, "%.*s%s", (int)all.len, all.len ? (char *)all.data : "", n > SHOWN ? ", …" : "");
	near_deinit(&near);
	map_free(&seen);
	buf_free(&all);
}

static bool has_program(const struct task_records *tasks, const uint8_t *named, const struct condition *c)
{
	for (size_t i = 0; i < tasks->count; i++)
		if (named[i] &&
		    condition_is_program(c, tasks->records[i].comm, tasks->records[i].exe, named[i] == TASK_NAMED_ANEW))
			return true;
	return false;
}

/* A program that never began. */
static int check_program(const char *option, const char *text, const struct session *s, const struct condition *c,
			 struct error *err)
{
	const struct task_records *tasks = &s->reader->tasks;
	uint8_t *named;
	bool found;

	if (c->kind != CONDITION_EXEC || strcmp(option, "start"))
		return 0;
	named = task_records_named(tasks);
	found = has_program(tasks, named, c);
	if (!found) {
		struct buf programs = { 0 };

		put_programs(s->reader, named, c->text, &programs);
		buf_put_u8(&programs, 0);
		error_set(err,
			  "%s: what is to start it (--%s %s) did not happen; exec: takes a program's name or path%s",
			  s->reader->path, option, text, (char *)programs.data);
		buf_free(&programs);
	}
	free(named);
	return found ? 0 : -1;
}

/* The functions of a condition. */
static int resolve(const char *option, const struct session *session, struct selected *s, struct thin_condition *c,
		   struct error *err)
{
	const struct names *names = session->names;
	bool *marks, any = false, known;

	if (c->condition.kind != CONDITION_ENTRY && c->condition.kind != CONDITION_EXIT)
		return 0;
	if (c->condition.object && !has_names(names, c->condition.object, &known) && known)
		return error_set(
			err, "--%s: the trace has no names of functions of %s: its file is stripped, or was not found",
			option, c->condition.object);
	if (functions_named(c->condition.text, names, &marks, err) < 0)
		return error_prefix(err, "--%s", option);
	s->marks[s->n_marks++] = marks;
	if (!c->condition.object)
		functions_prefer_kernel(names, marks);
	for (uint32_t i = 0; i < names_count(names); i++) {
		marks[i] = marks[i] && (!c->condition.object || is_of_object(names, i, c->condition.object));
		any |= marks[i];
	}
	c->functions = marks;
	return any ? 0 : error_set(err, "--%s: %s has no function %s", option, c->condition.object, c->condition.text);
}

/* NULL: it was not given. */
static int condition_arg(const char *text, const char *option, const struct session *session, struct selected *s,
			 struct thin_condition *ret, struct error *err)
{
	if (!text)
		return 0;
	if (condition_parse(option, text, &ret->condition, err) < 0 ||
	    check_program(option, text, session, &ret->condition, err) < 0)
		return -1;
	return resolve(option, session, s, ret, err);
}

static int list_arg(const struct args *args, const char *option, const struct names *names, struct selected *s,
		    const bool **ret, struct error *err)
{
	bool *marks;

	if (!value_of(args, option))
		return 0;
	if (functions_option(args, option, names, &marks, err) < 0)
		return -1;
	*ret = s->marks[s->n_marks++] = marks;
	return 0;
}

int select_functions(const struct args *args, const struct names *names, bool folded, bool **ret, struct error *err)
{
	static const char *const options[] = { "functions", "not" };
	bool *marks = *ret = xcalloc(names_count(names), sizeof *marks);

	memset(marks, true, names_count(names) * sizeof *marks);
	for (int is_not = 0; is_not < (folded ? 1 : 2); is_not++) {
		bool *named;

		if (!value_of(args, options[is_not]))
			continue;
		if (functions_option(args, options[is_not], names, &named, err) < 0)
			return -1;
		for (uint32_t i = 0; i < names_count(names); i++)
			marks[i] = marks[i] && named[i] != is_not;
		free(named);
	}
	return 0;
}

static const char *object_at(const void *names, size_t i)
{
	return names_object(names, (uint32_t)i);
}

/* --kernel, --user and --module narrow the functions down. */
static int code_arg(const struct args *args, const struct names *names, struct selected *s, struct error *err)
{
	const char *module = value_of(args, "module");
	bool kernel = value_of(args, "kernel"), user = value_of(args, "user"), *marks;
	const struct name_list objects = {
		.count = names_count(names), .at = object_at, .data = names, .what = "module, program or library",
		.where = " in the trace",
	};

	if (!kernel && !user && !module)
		return 0;
	marks = new_marks(s, objects.count);
	if (module && name_list_mark(&objects, &module, 1, marks, args->missed, err) < 0)
		return -1;
	for (uint32_t i = 0; i < objects.count; i++)
		marks[i] = (!module || marks[i]) && (!kernel || names_is_kernel(names, i)) &&
			   (!user || names_is_user(names, i)) &&
			   (!s->options.filter.functions || s->options.filter.functions[i]);
	s->options.filter.functions = marks;
	return 0;
}

static int threads_arg(const struct args *args, const struct threads *threads, struct selected *s, struct error *err)
{
	const char *pid = value_of(args, "pid"), *comm = value_of(args, "comm");
	bool *marks, any = false;

	if (!pid && !comm)
		return 0;
	marks = new_marks(s, threads->count);
	for (size_t i = 0; i < threads->count; i++) {
		const struct thread *t = &threads->list[i];

		marks[i] =
			(!pid || thread_is_asked(threads, t, pid)) && (!comm || threads_are_called(threads, t, comm));
		any |= marks[i];
	}
	s->options.filter.threads = marks;
	if (any) {
		if (comm && strchr(comm, ','))
			threads_miss_name(threads, comm, args->missed);
		return 0;
	}
	if (pid && !comm)
		return no_such_thread(threads, pid, err);
	return error_set(err, "--comm %s: no such thread in the trace; see 'upto ps'", comm);
}

static int numbers_arg(const struct args *args, struct thin_options *o, struct error *err)
{
	if ((value_of(args, "min-duration") && arg_time(args, "min-duration", &o->filter.min_duration_ns, err) < 0) ||
	    (value_of(args, "max-duration") && arg_time(args, "max-duration", &o->filter.max_duration_ns, err) < 0) ||
	    (value_of(args, "depth") && arg_u64(args, "depth", &o->filter.depth, err) < 0) ||
	    (value_of(args, "before") && arg_time(args, "before", &o->before_ns, err) < 0) ||
	    (value_of(args, "limit") && arg_u64(args, "limit", &o->limit, err) < 0))
		return -1;
	if (value_of(args, "keep")) {
		o->keep_last = !strcmp(value_of(args, "keep"), "last");
		if (!o->keep_last && strcmp(value_of(args, "keep"), "first"))
			return error_set(err, "--keep %s: first or last", value_of(args, "keep"));
		if (!o->limit)
			return error_set(err, "--keep: is for --limit");
	}
	o->every = value_of(args, "every");
	if (o->every && (!value_of(args, "start") || !value_of(args, "stop")))
		return error_set(err, "--every: is for --start and --stop together");
	if (o->before_ns && !value_of(args, "start"))
		return error_set(err, "--before: is for --start");
	o->filter.no_interrupts = value_of(args, "no-interrupts");
	o->filter.only_interrupts = value_of(args, "only-interrupts");
	if (o->filter.no_interrupts && o->filter.only_interrupts)
		return error_set(err, "--no-interrupts and --only-interrupts: one of them");
	if (o->filter.max_duration_ns && o->filter.min_duration_ns > o->filter.max_duration_ns)
		return error_set(err, "--min-duration %s: is longer than --max-duration %s",
				 value_of(args, "min-duration"), value_of(args, "max-duration"));
	if (value_of(args, "kernel") && value_of(args, "user"))
		return error_set(err, "--kernel and --user: one of them");
	return 0;
}

int select_check(const struct args *args, struct error *err)
{
	static const char *const conditions[] = { "start", "stop" };
	struct thin_options numbers = { 0 };
	int result = numbers_arg(args, &numbers, err);

	for (size_t i = 0; result == 0 && i < sizeof conditions / sizeof *conditions; i++) {
		const char *text = command_has(args->command, conditions[i]) ? arg(args, conditions[i]) : NULL;
		struct condition c = { 0 };

		if (text)
			result = condition_parse(conditions[i], text, &c, err);
		condition_deinit(&c);
	}
	return result;
}

int select_arg(const struct args *args, const struct session *session, struct selected *ret, struct error *err)
{
	struct thin_options *o = &ret->options;

	*ret = (struct selected){ .what = say(args) };
	o->what = ret->what;
	if (numbers_arg(args, o, err) < 0 ||
	    condition_arg(value_of(args, "start"), "start", session, ret, &o->start, err) < 0 ||
	    condition_arg(value_of(args, "stop"), "stop", session, ret, &o->stop, err) < 0 ||
	    list_arg(args, "functions", session->names, ret, &o->filter.functions, err) < 0 ||
	    list_arg(args, "not", session->names, ret, &o->filter.not, err) < 0 ||
	    list_arg(args, "below", session->names, ret, &o->filter.below, err) < 0 ||
	    code_arg(args, session->names, ret, err) < 0)
		return -1;
	/* as where the calls of a trace are folded, of which thunks are none */
	if (o->filter.depth && !arg_if_any(args, "thunks"))
		o->no_levels = ret->marks[ret->n_marks++] = names_thunks(session->names);
	return threads_arg(args, session->threads, ret, err);
}

void selected_deinit(struct selected *s)
{
	condition_deinit(&s->options.start.condition);
	condition_deinit(&s->options.stop.condition);
	for (unsigned i = 0; i < s->n_marks; i++)
		free(s->marks[i]);
	free(s->what);
	free(s->start_what);
	*s = (struct selected){ 0 };
}

int select_intervals(const struct args *args, const struct session *session, const struct selected *selected,
		     struct intervals *ret, struct error *err)
{
	const char *start = value_of(args, "start"), *stop = value_of(args, "stop");
	cleanup_free char *what = xasprintf("%s%s", start ? "--start " : "--stop ", start ? start : stop ? stop : "");
	struct thin_options o = {
		.start = selected->options.start, .stop = selected->options.stop, .every = selected->options.every,
		.before_ns = selected->options.before_ns, .what = what,
	};

	*ret = (struct intervals){ 0 };
	if (!start && !stop)
		return 0;
	if (thin_find_spans(session, &o, ret, err) < 0)
		return -1;
	if (ret->unstopped)
		select_tell_unstopped(args, ret->stop_jumps);
	return 0;
}

int select_moment(const struct session *session, const char *option, const char *text, uint64_t after_ns,
		  uint64_t *ret_ns, struct error *err)
{
	cleanup_free char *what = xasprintf("--%s %s", option, text);
	struct selected s = {
		.options = { .after_ns = after_ns, .what = what, .start_what = what, .is_moment = true },
	};
	struct intervals found = { 0 };
	int result = condition_arg(text, option, session, &s, &s.options.start, err);

	if (result == 0)
		result = thin_find_spans(session, &s.options, &found, err);
	if (result == 0)
		*ret_ns = found.list[0].start_ns;
	free(found.list);
	selected_deinit(&s);
	return result;
}

void select_tell_unstopped(const struct args *args, bool jumps)
{
	fprintf(stderr, "upto: --stop %s: did not happen: up to the trace's end%s\n", arg(args, "stop"),
		thin_why_not(jumps));
}

struct trace_file {
	struct writer writer;
	enum packing packing;
};

/* Where writing fails, the writer keeps in mind why. */
static void put(void *context, const struct chunk_header *header, struct buf *payload, int level)
{
	/*
	 * zstd's levels for events and for tables; 19 takes a third of a second for a kernel's symbols, which are a
	 * tenth smaller then
	 */
	static const int levels[][2] = {
		[PACK_QUICKLY] = { 3, 3 }, [PACK_WELL] = { 12, 9 }, [PACK_THOROUGHLY] = { 12, 19 }
	};
	struct trace_file *sink = context;

	(void)level;
	writer_put(&sink->writer, header, payload, levels[sink->packing][header->type != CHUNK_EVENTS]);
}

static void put_packed(void *context, const struct chunk_header *header, const struct buf *packed)
{
	struct trace_file *sink = context;

	writer_copy(&sink->writer, header, packed);
}

int select_write(const struct session *session, const struct thin_options *options, int fd, const char *name,
		 enum packing packing, struct thin_counts *ret, struct error *err)
{
	struct trace_file sink = { .packing = packing };
	struct builder_sink to = {
		.put = put, .put_packed = packing == PACK_THOROUGHLY ? NULL : put_packed, .context = &sink,
	};
	int result = writer_init(&sink.writer, fd);

	if (result < 0)
		return error_set(err, "%s: %s", name, strerror(-result));
	result = thin(session, options, &to, ret, err);
	if (result == 0 && sink.writer.failed)
		result = error_set(err, "%s: %s", name, strerror(sink.writer.failed));
	writer_deinit(&sink.writer);
	return result;
}
