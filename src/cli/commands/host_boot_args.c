/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host_boot_args.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/alloc.h"

/* One way to write what is asked for: of the command line, or of a bootconfig. */
struct form {
	const char *text, *number; /* of a word with a text, and with a number, before its unit */
};

static const struct form words = { " %s=%s", " %s=%" PRIu64 "%s" };
static const struct form keys = { "\t%s = \"%s\"\n", "\t%s = %" PRIu64 "%s\n" };

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static void put_text(const struct form *form, const char *name, const char *value)
{
	if (value)
		printf(form->text, name, value);
}

static void put_number(const struct form *form, const char *name, uint64_t value, const char *unit)
{
	if (value)
		printf(form->number, name, value, unit);
}

#pragma GCC diagnostic pop

/* Names with commas between, as an array. */
static void put_list(const char *name, const char *list)
{
	printf("\t%s = ", name);
	for (size_t n; (n = strcspn(list, ",")), list[n]; list += n + 1)
		printf("\"%.*s\", ", (int)n, list);
	printf("\"%s\"\n", list);
}

/* What the kernel takes on its command line alone, and as "kernel." of a bootconfig. */
static void put_filters(const struct form *form, const struct host_options *o)
{
	put_text(form, "ftrace_graph_filter", o->below);
	put_number(form, "ftrace_graph_max_depth", o->depth, "");
	put_number(form, "tracing_thresh", o->min_us, "");
}

/* Records of the ring buffer, with their heads: struct ftrace_graph_ent_entry and ftrace_graph_ret_entry. */
enum { BEGIN_BYTES = 24, END_BYTES = 44 };

static void say_room(const struct host_options *o)
{
	uint64_t calls = o->buffer_kb * 1024 / (o->min_us ? END_BYTES : BEGIN_BYTES + END_BYTES);

	fprintf(stderr, "upto: %" PRIu64 " KiB have room for the last %" PRIu64 " calls of each CPU", o->buffer_kb, calls);
	if (o->min_us)
		fprintf(stderr, " that took so long\n");
	else
		fprintf(stderr,
			": %" PRIu64 " ms of one that makes a million in a second; --min-duration 500us keeps only calls that took "
			"that long, so that more of the boot fits\n",
			calls / 1000);
}

/* A line of a small file of the kernel's, or of its configuration's. */
static bool file_says(const char *path, const char *what, bool *ret_is_there)
{
	FILE *f = fopen(path, "re");
	char line[4096];
	bool says = false;

	*ret_is_there = f != NULL;
	while (f && !says && fgets(line, sizeof line, f))
		says = strstr(line, what);
	if (f)
		fclose(f);
	return says;
}

/* Was the kernel that runs here built for it? The one that is to boot may be another. */
static void say_kernel(const struct host_options *o)
{
	struct utsname u = { 0 };
	cleanup_free char *config = NULL;
	bool is_there, has, filters;

	uname(&u);
	config = xasprintf("/boot/config-%s", u.release);
	has = file_says("/sys/kernel/tracing/available_tracers", "function_graph", &is_there);
	filters = access("/sys/kernel/tracing/set_ftrace_filter", F_OK) == 0;
	if (!is_there) {
		has = file_says(config, "CONFIG_FUNCTION_GRAPH_TRACER=y", &is_there);
		filters = file_says(config, "CONFIG_DYNAMIC_FTRACE=y", &is_there);
	}
	if (!is_there)
		fprintf(stderr, "upto: whether %s has function_graph is not known: root can tell, or %s\n", u.release, config);
	else if (!has)
		fprintf(stderr, "upto: %s has no function_graph: it was built without CONFIG_FUNCTION_GRAPH_TRACER\n", u.release);
	else if (!filters && (o->functions || o->not || o->below))
		fprintf(stderr, "upto: %s has function_graph, but chooses no functions: it was built without CONFIG_DYNAMIC_FTRACE\n",
			u.release);
	else
		fprintf(stderr, "upto: %s has function_graph\n", u.release);
}

static void say_rest(const struct host_options *o, const char *how)
{
	fprintf(stderr, "upto: %s; after that boot, 'upto host read -o TRACE' makes the trace of what the buffers hold\n", how);
	say_room(o);
	say_kernel(o);
}

void host_boot_args_print(const struct host_choice *choice)
{
	const struct host_options *o = &choice->options;

	printf("ftrace=function_graph");
	put_text(&words, "ftrace_filter", o->functions);
	put_text(&words, "ftrace_notrace", o->not);
	put_filters(&words, o);
	put_number(&words, "trace_buf_size", o->buffer_kb, "K");
	putchar('\n');
	say_rest(o, "put these on the kernel's command line");
	if (choice->start.kind || choice->stop.kind)
		fprintf(stderr,
			"upto: where the run begins and ends is for 'upto host read': give it the same --start, --stop or --kfi\n");
}

/* A value stands between double quotes, and nothing stands for one in it. */
static int check_text(const char *option, const char *text, struct error *err)
{
	for (; text && *text; text++)
		if (*text == '"' || !isprint((unsigned char)*text))
			return error_set(err, "%s: has what a bootconfig cannot have", option);
	return 0;
}

/* A probe, and what it does: the tracer goes on or off where the function is entered, or has returned. */
static void put_probe(const char *name, const char *entry, const char *exit, const char *action)
{
	if (entry || exit)
		printf("\tevent.kprobes.%s {\n\t\tprobes = \"%s%s\"\n\t\tactions = \"%s\"\n\t}\n", name,
		       entry ? entry : exit, entry ? "" : "%return", action);
}

/* Without a moment to begin at, it begins before the "ftrace" of a bootconfig is looked at. */
static void put_run(const struct host_choice *choice)
{
	const struct host_options *o = &choice->options;

	printf("ftrace {\n\ttracing_on = 0\n\ttracer = function_graph\n");
	put_number(&keys, "buffer_size", o->buffer_kb, "KB");
	if (o->functions)
		put_list("ftrace.filters", o->functions);
	if (o->not)
		put_list("ftrace.notraces", o->not);
	put_probe("upto_start", o->start_entry, choice->part.start_exit, "traceon");
	put_probe("upto_stop", o->stop_entry, choice->part.stop_exit, "traceoff");
	printf("}\n");
}

static void put_stop(const struct host_choice *choice)
{
	if (!choice->options.stop_entry && !choice->part.stop_exit)
		return;
	printf("ftrace {\n");
	put_probe("upto_stop", choice->options.stop_entry, choice->part.stop_exit, "traceoff");
	printf("}\n");
}

static void put_config(const struct host_choice *choice)
{
	const struct host_options *o = &choice->options;
	const bool has_start = o->start_entry || choice->part.start_exit;

	if (!has_start || o->below || o->depth || o->min_us) {
		printf("kernel {\n");
		if (!has_start) {
			put_text(&keys, "ftrace", "function_graph");
			put_text(&keys, "ftrace_filter", o->functions);
			put_text(&keys, "ftrace_notrace", o->not);
			put_number(&keys, "trace_buf_size", o->buffer_kb, "K");
		}
		put_filters(&keys, o);
		printf("}\n");
	}
	if (has_start)
		put_run(choice);
	else
		put_stop(choice);
}

static int check(const struct host_choice *choice, struct error *err)
{
	const struct host_options *o = &choice->options;
	const struct {
		const char *option, *text;
	} texts[] = {
		{ "--functions", o->functions },
		{ "--not", o->not },
		{ "--below", o->below },
		{ "--start", o->start_entry },
		{ "--stop", o->stop_entry },
		{ "--start", choice->part.start_exit },
		{ "--stop", choice->part.stop_exit },
	};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (check_text(texts[i].option, texts[i].text, err) < 0)
			return -1;
	if (choice->start_ns || choice->stop_ns != UINT64_MAX)
		return error_set(
			err, "--start, --stop: a boot has no time:TIME; entry:FUNCTION and exit:FUNCTION are there");
	return 0;
}

int host_boot_args_print_config(const struct host_choice *choice, struct error *err)
{
	if (check(choice, err) < 0)
		return -1;
	put_config(choice);
	say_rest(
		&choice->options,
		"add this to the initramfs ('bootconfig -a FILE INITRD', of the kernel's tools/bootconfig), and the word "
		"bootconfig to the kernel's command line");
	fprintf(stderr, "upto: this kernel %s\n",
		access("/proc/bootconfig", F_OK) == 0
			? "takes a bootconfig"
			: "takes none: it has no CONFIG_BOOT_CONFIG; without --bootconfig there are words for the command line");
	return 0;
}
