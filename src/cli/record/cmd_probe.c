/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fnmatch.h>

#include "base/alloc.h"
#include "cli/args/trace_arg.h"
#include "cli/commands.h"
#include "cli/past/past.h"
#include "cli/print/json_output.h"
#include "cli/print/terminal.h"
#include "guest/function_name.h"
#include "probe_files.h"
#include "probes/dwarf_values.h"
#include "probes/probe_resolve.h"
#include "probes/static_probes.h"
#include "symbols/dwarf_unit.h"

/* A part of a file's source, and which of its lines have code. */
struct listing {
	const char *name; /* the function's; NULL: the file as such */
	const char *file;
	Dwarf_Die unit;
	int first, last; /* of the file */
	int origin;      /* which is numbered 0 */
	bool *marks;
};

/* "FUNC", "FUNC@SRC", "FUNC:3-10", "FUNC:3+5" (five lines), "SRC:100-120": which lines. `*ret_from` < 0: none was said. */
static char *split_range(const char *text, int *ret_from, int *ret_to)
{
	enum { FAR = 1 << 24 }; /* no source has so many lines */
	const char *colon = strrchr(text, ':');
	int from = -1, to = -1, n = 0;
	char kind = 0;

	*ret_from = *ret_to = -1;
	if (!colon || (sscanf(colon, ":%d%n%c%d%n", &from, &n, &kind, &to, &n) < 1) || from < 0 || colon[n] ||
	    (kind && ((kind != '-' && kind != '+') || to < 0)))
		return xstrdup(text);
	from = from < FAR ? from : FAR;
	*ret_from = from;
	*ret_to = !kind ? INT32_MAX : kind == '-' ? to : (to < FAR ? to : FAR) + from - 1;
	return xstrndup(text, (size_t)(colon - text));
}

static int list_function(const struct dwarf_file *f, const struct probe_definition *d, int from, int to,
			 struct listing *ret, struct error *err)
{
	Dwarf_Die function;
	int last;

	if (!dwarf_find_function(f, d->function, d->source, &function, &ret->unit))
		return error_set(err, "%s: %s has no function %s", d->text, f->path, d->function);
	ret->name = dwarf_diename(&function);
	ret->file = dwarf_declared_in(&function);
	dwarf_function_lines(f, &function, &ret->unit, &ret->origin, &last);
	if (!ret->file || !ret->origin)
		return error_set(err, "%s: %s does not say in which file it is", d->text, f->path);
	ret->first = ret->origin + (from > 0 ? from : 0);
	ret->last = from < 0 || to > last - ret->origin ? last : ret->origin + to;
	if (ret->last < ret->first)
		return error_set(err, "%s: its last line with code is %d", d->text, last - ret->origin);
	ret->marks = xcalloc((size_t)(ret->last - ret->first) + 1, sizeof *ret->marks);
	dwarf_mark_lines(f, &function, &ret->unit, ret->file, ret->first, ret->last, ret->marks);
	return 0;
}

static int list_source(const struct dwarf_file *f, const struct probe_definition *d, int from, int to,
		       struct listing *ret, struct error *err)
{
	enum { LINES_MAX = 1 << 17 };

	ret->file = dwarf_find_source(f, d->source, &ret->unit);
	if (!ret->file)
		return error_set(err, "%s: nothing in %s was compiled from %s", d->text, f->path, d->source);
	ret->first = from > 0 ? from : 1;
	ret->last = to < 0 || to - ret->first > LINES_MAX ? ret->first + LINES_MAX : to;
	if (ret->last < ret->first)
		return error_set(err, "%s: no such lines", d->text);
	ret->marks = xcalloc((size_t)(ret->last - ret->first) + 1, sizeof *ret->marks);
	dwarf_mark_lines(f, NULL, &ret->unit, ret->file, ret->first, ret->last, ret->marks);
	while (ret->last > ret->first && to < 0 && !ret->marks[ret->last - ret->first])
		ret->last--;
	return 0;
}

static void print_line(const struct listing *l, int number, const char *text, struct json *j)
{
	bool has_code = l->marks[number - l->first];

	if (j && (has_code || text)) {
		json_object(j, NULL);
		json_signed(j, "line", number - l->origin);
		json_signed(j, "source_line", number);
		json_flag(j, "code", has_code);
		if (text)
			json_text(j, "text", text);
		json_close(j);
	} else if (!j && has_code) {
		printf("%7d  %s\n", number - l->origin, text ? text : "");
	} else if (!j && text) {
		printf("         %s\n", text);
	}
}

/* With the source, if it is here. */
static bool print_lines(const struct listing *l, const char *folder, struct json *j)
{
	Dwarf_Die unit = l->unit;
	cleanup_free char *path = dwarf_source_path(&unit, l->file, folder), *line = NULL;
	FILE *source = path ? fopen(path, "r") : NULL;
	size_t room = 0;

	for (int i = 1; i <= l->last; i++) {
		ssize_t n = source ? getline(&line, &room, source) : -1;

		if (n > 0 && line[n - 1] == '\n')
			line[n - 1] = '\0';
		if (i >= l->first)
			print_line(l, i, n >= 0 ? line : NULL, j);
	}
	if (source)
		fclose(source);
	return source;
}

static void print_listing(const struct args *args, const struct listing *l)
{
	struct json j;
	bool has_source;

	if (arg(args, "json")) {
		json_output_begin(&j);
		json_object(&j, NULL);
		if (l->name)
			json_text(&j, "function", l->name);
		json_text(&j, "file", l->file);
		json_rows(&j, "lines");
		print_lines(l, arg(args, "source"), &j);
		json_close(&j);
		json_close(&j);
		json_output_end(&j);
		return;
	}
	printf("<%s%s%s:%d>\n", l->name ? l->name : "", l->name ? "@" : "", l->file, l->first - l->origin);
	has_source = print_lines(l, arg(args, "source"), NULL);
	if (!has_source)
		fprintf(stderr, "upto: %s is not here: these lines have code; --source DIR says where the source is\n",
			l->file);
}

static int show_lines(const struct args *args, struct probe_files *files, struct error *err)
{
	struct probe_definition d;
	struct listing l = { 0 };
	int from, to, ret;
	cleanup_free char *place = split_range(arg(args, "lines"), &from, &to);
	cleanup_free char *asked =
		strchr(place, '.') && !strchr(place, '@') ? xasprintf("%s:1", place) : xstrdup(place);
	struct dwarf_file *f = NULL;

	ret = probe_definition_parse(asked, &d, err);
	if (ret == 0)
		f = probe_file_of(files, &d, err);
	if (f)
		ret = d.function ? list_function(f, &d, from, to, &l, err) : list_source(f, &d, from, to, &l, err);
	if (f && ret == 0)
		print_listing(args, &l);
	free(l.marks);
	probe_definition_deinit(&d);
	return f && ret == 0 ? EXIT_OK : EXIT_FAILED;
}

static void print_variable(void *context, const char *type, const char *name, const char *why)
{
	struct json *j = context;

	if (j) {
		json_object(j, NULL);
		json_text(j, "type", type);
		json_text(j, "name", name);
		if (why)
			json_text(j, "why_not", why);
		json_close(j);
	} else if (why) {
		printf("\t%s\t%s\t(%s)\n", type, name, why);
	} else {
		printf("\t%s\t%s\n", type, name);
	}
}

static void print_variables(const struct dwarf_file *f, const struct dwarf_place *place, struct json *j)
{
	uint64_t offset;
	const char *symbol = dwarf_file_symbol_at(f, place->address, &offset);

	if (!j) {
		printf("Available variables at %s+%llu\n", symbol ? symbol : "?", (unsigned long long)offset);
		dwarf_each_variable(f, place, print_variable, NULL);
		return;
	}
	json_object(j, NULL);
	json_text(j, "function", symbol ? symbol : "");
	json_number(j, "offset", offset);
	json_rows(j, "variables");
	dwarf_each_variable(f, place, print_variable, j);
	json_close(j);
	json_close(j);
}

static int show_variables(const struct args *args, struct probe_files *files, struct error *err)
{
	struct probe_definition d;
	struct dwarf_places places = { 0 };
	struct dwarf_file *f = NULL;
	int ret = probe_definition_parse(arg(args, "vars"), &d, err);
	struct json j;

	if (ret == 0)
		f = probe_file_meant(files, &d, arg(args, "sysroot"), err);
	if (f)
		ret = dwarf_places_init(&places, f, &d, err);
	if (f && ret == 0 && arg(args, "json")) {
		json_output_begin(&j);
		json_rows(&j, NULL);
		for (size_t i = 0; i < places.count; i++)
			print_variables(f, &places.list[i], &j);
		json_close(&j);
		json_output_end(&j);
	} else if (f && ret == 0) {
		for (size_t i = 0; i < places.count; i++)
			print_variables(f, &places.list[i], NULL);
	}
	dwarf_places_deinit(&places);
	probe_definition_deinit(&d);
	return f && ret == 0 ? EXIT_OK : EXIT_FAILED;
}

struct name_search {
	const char *pattern;
	char **list;
	size_t count, room;
};

static bool take_name(void *context, const char *name, uint64_t addr)
{
	struct name_search *n = context;

	(void)addr;
	if (fnmatch(n->pattern, name, 0) || function_name_is_none(name))
		return true;
	n->list = array_grow(n->list, n->count, &n->room, sizeof *n->list);
	n->list[n->count++] = xstrdup(name);
	return true;
}

static void take_static(void *context, const struct static_probe *probe)
{
	cleanup_free char *name = xasprintf("sdt_%s:%s", probe->provider, probe->name);

	take_name(context, name, probe->address);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int show_functions(const struct args *args, struct probe_files *files, struct error *err)
{
	struct name_search n = { .pattern = arg(args, "funcs") };
	struct json j;

	for (size_t i = 0; i < files->count; i++)
		dwarf_file_each_symbol(files->list[i], take_name, &n);
	for (size_t i = 0; i < files->count; i++)
		static_probes_each(files->list[i], take_static, &n);
	if (n.count)
		qsort(n.list, n.count, sizeof *n.list, by_name);
	if (arg(args, "json")) {
		json_output_begin(&j);
		json_rows(&j, NULL);
	}
	for (size_t i = 0; i < n.count; i++) {
		if (i && !strcmp(n.list[i], n.list[i - 1]))
			continue;
		if (arg(args, "json"))
			json_text(&j, NULL, n.list[i]);
		else
			printf("%s\n", n.list[i]);
	}
	if (arg(args, "json")) {
		json_close(&j);
		json_output_end(&j);
	}
	for (size_t i = 0; i < n.count; i++)
		free(n.list[i]);
	free(n.list);
	return n.count ? EXIT_OK : (error_set(err, "no function is called %s", n.pattern), EXIT_FAILED);
}

static int show_definition(const struct args *args, struct probe_files *files, struct error *err)
{
	struct probe_definition d;
	struct dwarf_file *f = NULL;
	struct buf out = { 0 };
	size_t left_out = 0;
	int ret = probe_definition_parse(arg(args, "definition"), &d, err);

	if (ret == 0)
		f = probe_file_meant(files, &d, arg(args, "sysroot"), err);
	if (f)
		ret = probe_resolve(f, &d, &out, &left_out, err);
	if (f && ret == 0)
		fwrite(out.data, 1, out.len, stdout);
	if (f && ret == 0 && left_out)
		fprintf(stderr, "upto: at %zu places more the values cannot be had\n", left_out);
	buf_free(&out);
	probe_definition_deinit(&d);
	return f && ret == 0 ? EXIT_OK : EXIT_FAILED;
}

/* A trace is asked. */
static int ask_past(const struct args *args, struct error *err)
{
	uint64_t records;
	static const char *const others[] = { "lines", "vars", "funcs", "definition", "kernel", "source" };

	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (arg(args, others[i]))
			return error_set(err, "--%s: is not for a trace", others[i]), EXIT_USAGE;
	if (arg_u64(args, "records", &records, err) < 0)
		return EXIT_USAGE;
	if (args->n_operands == 1 && !arg(args, "event") && !arg(args, "args"))
		return error_set(err, "%s: what is to be probed? DEF, --event NAMES or --args NAMES", args->operands[0]),
		       EXIT_USAGE;
	return past_ask(args, err);
}

static int run(const struct args *args, struct error *err)
{
	static const struct {
		const char *option;
		int (*show)(const struct args *args, struct probe_files *files, struct error *err);
	} kinds[] = {
		{ "lines", show_lines },
		{ "vars", show_variables },
		{ "funcs", show_functions },
		{ "definition", show_definition },
	};
	static const char *const of_traces[] = { "event", "args", "records" };
	struct probe_files files;
	int ret = EXIT_USAGE, asked = -1;

	if (args->n_operands)
		return ask_past(args, err);
	for (size_t i = 0; i < sizeof of_traces / sizeof *of_traces; i++)
		if (arg(args, of_traces[i]))
			return error_set(err, "--%s: is for a trace", of_traces[i]), EXIT_USAGE;
	for (int i = 0; i < (int)(sizeof kinds / sizeof *kinds); i++) {
		if (!arg(args, kinds[i].option))
			continue;
		if (asked >= 0)
			return error_set(err, "--%s: one of --lines, --vars, --funcs and --definition at a time",
					 kinds[i].option),
			       EXIT_USAGE;
		asked = i;
	}
	if (asked < 0)
		return error_set(err, "what is to be shown? --lines, --vars, --funcs or --definition"), EXIT_USAGE;
	ret = probe_files_init(&files, arg(args, "debug"), arg(args, "kernel"), err) < 0 ? EXIT_FAILED : EXIT_OK;
	if (ret == EXIT_OK && !files.count) {
		error_set(
			err,
			"lines and variables are in debug information: give vmlinux, a module or a program with --debug FILE");
		ret = EXIT_USAGE;
	}
	if (ret == EXIT_OK)
		ret = kinds[asked].show(args, &files, err);
	probe_files_deinit(&files);
	return ret;
}

static const struct option options[] = {
	{ 'L', "lines", "FUNC", "its source, and which lines a probe can be at; FUNC:3-10, FUNC:3+5 (five lines), SRC:100-120, too" },
	{ 'V', "vars", "PLACE", "the variables there, with their types, and which of them cannot be had" },
	{ 'F', "funcs", "GLOB", "the functions with such a name, and the static probes of programs: sdt_PROVIDER:NAME" },
	{ 'D', "definition", "DEF",
	  "the probe in the kernel's own words (kprobe_events): which instructions, which registers" },
	{ 0, "debug", "FILES", "with debug information: vmlinux, modules (ext4.ko), programs; or their debug files",
	  ':' },
	{ 0, "kernel", "IMAGE", "of this kernel's build the vmlinux that lies beside it" },
	{ 's', "source", "DIR", "where the source is, if not where it was compiled" },
	{ 0, "event", "NAMES", "of a trace: trace events of the kernel, as upto record --event", ',' },
	{ 0, "args", "NAMES", "of a trace: arguments and results of these functions, as upto record --args", ',' },
	{ 'n', "records", "N", "of a trace: print N records; 0: all (default)" },
	{ 0, "sysroot", "ROOTS", "where the guest's programs are, which a definition names: folders", ':' },
	{ 0, "json", NULL, "print JSON" },
	HELP_OPTION,
	{ 0 },
};

static const struct term keys[] = {
	{ "function, file", "whose lines these are" },
	{ "lines", "of --lines: line counts from the function's first one, source_line from the file's" },
	{ "code", "true: a probe can be there" },
	{ "variables", "of --vars, at the function's offset: type and name" },
	{ "why_not", "why the variable cannot be had there" },
	{ 0 },
};
static const struct legend legends[] = { { "JSON", NULL, keys }, { 0 } };

const struct command cmd_probe = {
	.name = "probe",
	.operands = "TRACE DEF… | --lines FUNC | --vars PLACE | --funcs GLOB | --definition DEF",
	.summary = "ask a recording for values that it does not have; where can a probe be?",
	.max_operands = OPERANDS_MAX,
	.rest = true,
	.description =
		"With a TRACE: the guest is run again as it ran then, with these probes, and trace events (--event) and arguments (--args). "
		"Every event is compared; what is found is added to the trace, and printed, as 'upto events' does, and 'upto calls --args'. "
		"If something happens otherwise, the first other event is told, and nothing is added. That takes a trace of 'upto record "
		"--deterministic' or --replayable, with the files as they were. The command line is the recording's; a trace that was not recorded "
		"here by the same user starts nothing: give its command line behind --.\n"
		"Without: shows lines, variables and functions of files with debug information, as perf probe does, for the definitions of upto "
		"record --probe.\n"
		"A definition is perf probe's: [[GROUP:]EVENT=]FUNC[@SRC][:LINE|+OFFSET|%return|;PATTERN] [VALUE…], or SRC:LINE, or "
		"SRC;PATTERN; MODULE:FUNC is in that module. LINE counts from the function's first line, which is 0; an inlined function is "
		"probed at each place. A VALUE is a variable with its members (file->f_path.dentry, name[2]), $vars, $params, $retval, $argN, "
		"%REGISTER, @SYMBOL, $comm, $stackN, $current (the running thread's task_struct: $current->cred->uid.val); NAME=VALUE names it, "
		"VALUE:TYPE says what it is (u8 to u64, s32, x64, char, string, symbol, b4@2/8, x8[16], x8[..16] up to where memory ends, string[3] for three pointers to strings, which are NAME, NAME_1 and NAME_2, or auto: what the kernel's types say).\n"
		"Values as uftrace's -A and -R: FUNCTION@arg1/s,arg2/x32,arg3%di or FUNCTION@retval; formats d, i, u, x, s, c and p.\n"
		"Or the kernel's (kprobe_events): p[:[GROUP/]EVENT] [MODULE:]SYMBOL[+OFFSET]|ADDRESS [VALUE…], r for where it returns, with "
		"+OFFSET(VALUE) for what is in memory.\n"
		"/PATH:FUNC is in a program or library that the guest has there, in every process that runs it: all that is said of the kernel's "
		"functions is so of its own; where it returns, what it was given is not known any more. Its file is one of --debug, or is below --sysroot, or on this host. sdt_PROVIDER:NAME is a static "
		"probe (USDT) of such a file, with its arguments.\n"
		"Where functions begin, the parameters' names and types are also in the kernel's own BTF: no file is needed.\n",
	.examples =
		"  upto probe boot.upto 'do_filp_open pathname->name:string'\n      which files were opened, in a run that is over\n"
		"  upto probe --debug vmlinux -L vfs_read\n      which lines\n"
		"  upto probe --debug vmlinux -V vfs_read:11\n      which variables there\n"
		"  upto record --debug vmlinux --probe 'vfs_read:11 count file->f_mode' -- qemu-system-x86_64 …\n      their values, each time\n"
		"  upto record --probe 'vfs_read%return $retval' -- qemu-system-x86_64 …\n      without debug information\n",
	.options = options,
	.legends = legends,
	.run = run,
};
