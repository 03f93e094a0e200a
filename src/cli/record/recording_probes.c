/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recording_probes.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "probe_files.h"
#include "probes/dwarf_definition.h"
#include "probes/dwarf_places.h"
#include "probes/program_prototype.h"
#include "probes/static_probes.h"
#include "symbols/source_name.h"
#include "trace/meta.h"

static void put_line(const char *text, size_t *count, struct buf *lines)
{
	char key[32];

	snprintf(key, sizeof key, "probe.%zu", (*count)++);
	meta_put(lines, key, text);
}

/* Where definitions are looked for; the files are opened when they are asked for first. */
struct resolving {
	const struct args *args;
	const char *image;
	struct probe_files files;
	bool opened;
	size_t count;
	struct buf *lines;
};

static int open_files(struct resolving *r, struct error *err)
{
	if (r->opened)
		return 0;
	r->opened = true;
	return probe_files_init(&r->files, arg(r->args, "debug"), r->image, err);
}

/* The code around a program's place tells the recorder that it is that program which runs. */
static int put_code(struct resolving *r, const struct dwarf_file *f, const char *line, struct error *err)
{
	struct probe_definition d;
	struct dwarf_code_window window = { 0 };
	struct buf text = { 0 };
	char key[40];

	if (probe_definition_parse(line, &d, err) == 0)
		dwarf_file_window(f, d.address, &window);
	for (size_t i = 0; i < window.n; i++)
		buf_printf(&text, "%02x", window.code[i]);
	buf_put_u8(&text, 0);
	snprintf(key, sizeof key, "probe.%zu.code", r->count);
	meta_put(r->lines, key, (char *)text.data);
	snprintf(key, sizeof key, "probe.%zu.before", r->count);
	meta_put_u64(r->lines, key, window.before);
	buf_free(&text);
	probe_definition_deinit(&d);
	return window.n ? 0
			: error_set(err,
				    "%s: %s has too little code there to know it by: give the program itself, not its "
				    "debug file alone",
				    line, f->path);
}

static int put_lines(struct resolving *r, const struct dwarf_file *f, char *text, struct error *err)
{
	char *line;

	while ((line = strsep(&text, "\n"))) {
		if (!*line)
			continue;
		if (f->kind == DWARF_PROGRAM && put_code(r, f, line, err) < 0)
			return -1;
		put_line(line, &r->count, r->lines);
	}
	return 0;
}

/* Only places and registers: no debug information is needed. */
static bool is_by_symbol(const struct probe_definition *d)
{
	return !probe_definition_has_variables(d) && (d->place == PROBE_FUNCTION || d->place == PROBE_ADDRESS);
}

static bool is_in_program(const struct probe_definition *d)
{
	return d->place == PROBE_STATIC || (d->target && *d->target == '/');
}

/* One line for each place. */
static int put_resolved(struct resolving *r, const struct probe_definition *d, struct error *err)
{
	struct buf text = { 0 };
	struct dwarf_file *f;
	size_t left_out = 0;
	int ret = -1;

	if (open_files(r, err) < 0)
		return -1;
	f = is_in_program(d) ? probe_program_of(&r->files, d, arg(r->args, "sysroot"), err)
			     : probe_file_of(&r->files, d, err);
	if (f && d->place == PROBE_STATIC)
		ret = static_probes_put(f, d, &text, err);
	else if (f && f->kind == DWARF_PROGRAM && is_by_symbol(d))
		ret = dwarf_definition_put_plain(f, d, &text, err);
	else if (f)
		ret = dwarf_definition_put(f, d, &text, &left_out, err);
	buf_put_u8(&text, 0);
	if (ret == 0)
		ret = put_lines(r, f, (char *)text.data, err);
	if (ret == 0 && left_out)
		fprintf(stderr, "upto: --probe %s: it has %zu places more, where its values cannot be had\n", d->text,
			left_out);
	buf_free(&text);
	return ret;
}

/* Of a function's own parameters debug information tells, too, where the kernel may have no types. */
static bool is_in_files(const struct resolving *r, const struct probe_definition *d)
{
	struct error ignored;
	struct dwarf_file *f;

	if (!r->opened || !d->n_args || d->kernel_words || !d->function || strpbrk(d->function, "*?["))
		return false;
	f = probe_file_of(&r->files, d, &ignored);
	return f && dwarf_has_function(f, d->function, d->source);
}

static int put_definition(struct resolving *r, const char *text, struct error *err)
{
	struct probe_definition d;
	int ret = probe_definition_parse(text, &d, err);

	if (ret == 0 && (is_in_program(&d) || !probe_definition_is_plain(&d) || is_in_files(r, &d)))
		ret = put_resolved(r, &d, err);
	else if (ret == 0)
		put_line(text, &r->count, r->lines);
	probe_definition_deinit(&d);
	return ret < 0 ? error_prefix(err, "--probe") : 0;
}

/* Functions of a program of which a name fits a pattern. */
struct functions {
	const char *pattern;
	struct function {
		uint64_t addr;
		struct buf names; /* all that it has, with '|' between */
	} * list;
	size_t count, cap;
	struct map at; /* address → index */
};

static bool find_function(void *context, const char *name, uint64_t addr)
{
	struct functions *f = context;
	uint64_t *at;

	if (fnmatch(f->pattern, name, 0))
		return true;
	at = map_put(&f->at, addr, UINT64_MAX);
	if (*at != UINT64_MAX)
		return true;
	*at = f->count;
	f->list = array_grow(f->list, f->count, &f->cap, sizeof *f->list);
	f->list[f->count++] = (struct function){ .addr = addr };
	return true;
}

static void put_name(struct buf *names, const char *name)
{
	if (!strpbrk(name, "|\t"))
		buf_printf(names, "%s%s", names->len ? "|" : "", name);
}

static bool add_name(void *context, const char *name, uint64_t addr)
{
	struct functions *f = context;
	const uint64_t *at = map_get(&f->at, addr);
	cleanup_free char *shown = at ? source_name(name) : NULL;

	if (at)
		put_name(&f->list[*at].names, name);
	if (shown)
		put_name(&f->list[*at].names, shown);
	return true;
}

static void functions_deinit(struct functions *f)
{
	for (size_t i = 0; i < f->count; i++)
		buf_free(&f->list[i].names);
	free(f->list);
	map_free(&f->at);
}

/* Where the function begins, or returns; `prototype`: what its values are. */
static int put_call_end(struct resolving *r, const struct dwarf_file *f, const char *path, uint64_t addr, bool returns,
			const char *prototype)
{
	struct buf line = { 0 };
	struct error ignored;
	char key[40];
	int ret;

	dwarf_definition_put_address(f, path, addr, returns, &line);
	line.data[line.len - 1] = 0; /* in place of the line's end */
	ret = put_code(r, f, (char *)line.data, &ignored);
	if (ret == 0) {
		snprintf(key, sizeof key, "probe.%zu.args", r->count);
		meta_put(r->lines, key, prototype);
		put_line((char *)line.data, &r->count, r->lines);
	}
	buf_free(&line);
	return ret;
}

/* False: it has too little code to be known by. */
static bool put_call(struct resolving *r, const struct dwarf_file *f, const char *path, struct function *function)
{
	struct prototype p;
	struct buf text = { 0 };
	bool ok;

	buf_put_u8(&function->names, 0);
	program_prototype_find(f, function->addr, (char *)function->names.data, &p);
	prototype_put(&p, &text);
	buf_put_u8(&text, 0);
	ok = put_call_end(r, f, path, function->addr, false, (char *)text.data) == 0 &&
	     put_call_end(r, f, path, function->addr, true, (char *)text.data) == 0;
	prototype_deinit(&p);
	buf_free(&text);
	return ok;
}

/* "/lib/libc.so.6:open*": what these functions of a program are given and give back. */
static int put_program_args(struct resolving *r, const char *text, struct error *err)
{
	struct probe_definition d;
	struct functions found = { 0 };
	size_t put = 0;
	int ret = probe_definition_parse(text, &d, err);

	if (ret == 0 && (!is_in_program(&d) || d.place != PROBE_FUNCTION || d.n_args || d.returns))
		ret = error_set(err, "%s: is no function of a program: /lib/libc.so.6:malloc", text);
	if (ret == 0)
		ret = open_files(r, err);
	if (ret == 0) {
		struct dwarf_file *f = probe_program_of(&r->files, &d, arg(r->args, "sysroot"), err);

		found.pattern = d.function;
		ret = f ? 0 : -1;
		if (f) {
			dwarf_file_each_symbol(f, find_function, &found);
			dwarf_file_each_symbol(f, add_name, &found);
		}
		for (size_t i = 0; f && i < found.count; i++)
			put += put_call(r, f, d.target, &found.list[i]);
		if (f && !put)
			ret = error_set(err, "%s: %s has no such function", text, f->path);
		else if (f && put < found.count)
			fprintf(stderr, "upto: --args %s: %zu of %zu functions have too little code to be known by\n",
				text, found.count - put, found.count);
	}
	functions_deinit(&found);
	probe_definition_deinit(&d);
	return ret < 0 ? error_prefix(err, "--args") : 0;
}

static bool is_of_program(const char *name)
{
	return *name == '/';
}

char *recording_args_of_kernel(const struct args *args)
{
	const char *list = arg(args, "args");
	struct buf ret = { 0 };

	for (size_t n; list && *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		if (!is_of_program(list))
			buf_printf(&ret, "%s%.*s", ret.len ? "," : "", (int)n, list);
	}
	if (!ret.len)
		return NULL;
	buf_put_u8(&ret, 0);
	return (char *)ret.data;
}

static int put_args(struct resolving *r, struct error *err)
{
	const char *list = arg(r->args, "args");
	int ret = 0;

	for (size_t n; ret == 0 && list && *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		cleanup_free char *text = xstrndup(list, n);

		if (is_of_program(text))
			ret = put_program_args(r, text, err);
	}
	return ret;
}

int recording_probes_put(const struct args *args, const char *image, struct buf *lines, struct error *err)
{
	struct resolving r = { .args = args, .image = image, .lines = lines };
	const char *list = arg(args, "probe");
	int ret = 0;

	if (!list && !arg(args, "args") && arg(args, "debug"))
		return error_set(err, "--debug: is for --probe and --args");
	if (arg(args, "debug"))
		ret = open_files(&r, err);
	if (ret == 0)
		ret = put_args(&r, err);
	for (size_t n; ret == 0 && list && *list; list += n + (list[n] == '\n')) {
		n = strcspn(list, "\n");
		cleanup_free char *text = xstrndup(list, n);

		ret = put_definition(&r, text, err);
	}
	probe_files_deinit(&r.files);
	return ret;
}
