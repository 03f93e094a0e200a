/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recording_args.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "probes/dwarf_definition.h"
#include "probes/program_prototype.h"
#include "symbols/source_name.h"

enum { FUNCTIONS_MAX = 1024 }; /* two probes each, of those that the recorder has room for */

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
static int put_call_end(struct probe_lines *l, const struct dwarf_file *f, const char *path, uint64_t addr,
			bool returns, const char *prototype)
{
	struct buf line = { 0 };
	struct error ignored;
	int ret;

	dwarf_definition_put_address(f, path, addr, returns, &line);
	line.data[line.len - 1] = 0; /* in place of the line's end */
	ret = probe_lines_put_code(l, f, (char *)line.data, &ignored);
	if (ret == 0) {
		probe_lines_put_prototype(l, prototype);
		probe_lines_put(l, (char *)line.data);
	}
	buf_free(&line);
	return ret;
}

/* False: it has too little code to be known by. */
static bool put_call(struct probe_lines *l, const struct dwarf_file *f, const char *path, struct function *function)
{
	struct prototype p;
	struct buf text = { 0 };
	bool ok;

	buf_put_u8(&function->names, 0);
	program_prototype_find(f, function->addr, (char *)function->names.data, &p);
	prototype_put(&p, &text);
	buf_put_u8(&text, 0);
	ok = put_call_end(l, f, path, function->addr, false, (char *)text.data) == 0 &&
	     put_call_end(l, f, path, function->addr, true, (char *)text.data) == 0;
	prototype_deinit(&p);
	buf_free(&text);
	return ok;
}

static int put_functions(struct probe_lines *l, const struct dwarf_file *f, const struct probe_definition *d,
			 struct functions *found, struct error *err)
{
	size_t put = 0;

	if (!found->count)
		return error_set(err, "%s: %s has no such function", d->text, f->path);
	if (l->count + 2 * found->count > 2 * FUNCTIONS_MAX)
		return error_set(err, "%s: are %zu functions; of programs at most %d are recorded: give fewer", d->text,
				 found->count, FUNCTIONS_MAX);
	for (size_t i = 0; i < found->count; i++)
		put += put_call(l, f, d->target, &found->list[i]);
	if (!put)
		return error_set(err, "%s: what %s has of it is too little code to know it by", d->text, f->path);
	if (put < found->count)
		fprintf(stderr, "upto: --args %s: %zu of %zu functions have too little code to be known by\n", d->text,
			found->count - put, found->count);
	return 0;
}

static int find_and_put(struct probe_lines *l, const struct probe_definition *d, struct error *err)
{
	struct functions found = { .pattern = d->function };
	struct dwarf_file *f;
	int ret;

	if (probe_lines_open(l, err) < 0)
		return -1;
	f = probe_program_of(&l->files, d, arg(l->args, "sysroot"), err);
	if (!f)
		return -1;
	if (dwarf_file_is_narrow(f))
		return error_set(err, "%s: a program of 32 bits: what its functions are given is not recorded", d->text);
	dwarf_file_each_symbol(f, find_function, &found);
	dwarf_file_each_symbol(f, add_name, &found);
	ret = put_functions(l, f, d, &found, err);
	functions_deinit(&found);
	return ret;
}

static int put_program(struct probe_lines *l, const char *text, struct error *err)
{
	struct probe_definition d;
	int ret = probe_definition_parse(text, &d, err);

	if (ret == 0 && (d.place != PROBE_FUNCTION || !d.target || d.n_args || d.returns))
		ret = error_set(err, "%s: is no function of a program, as /lib/libc.so.6:malloc is", text);
	if (ret == 0)
		ret = find_and_put(l, &d, err);
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

int recording_args_put(struct probe_lines *l, struct error *err)
{
	const char *list = arg(l->args, "args");
	int ret = 0;

	for (size_t n; ret == 0 && list && *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		cleanup_free char *text = xstrndup(list, n);

		if (is_of_program(text))
			ret = put_program(l, text, err);
	}
	return ret;
}
