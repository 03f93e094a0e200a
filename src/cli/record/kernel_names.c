/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/args/name_list.h"
#include "cli/print/terminal.h"
#include "recording_choice.h"
#include "select/condition.h"
#include "symbols/symtab.h"

struct asked_name {
	char *where;       /* "--start", "FILE:7" */
	char *names;       /* a list */
	bool starts;       /* recording is to begin there */
	bool certain;      /* it is said to be the kernel's */
};

struct asked_names {
	struct asked_name *list;
	size_t count, cap;
};

static void add(struct asked_names *all, char *where, const char *names, bool starts, bool certain)
{
	all->list = array_grow(all->list, all->count, &all->cap, sizeof *all->list);
	all->list[all->count++] = (struct asked_name){
		.where = where, .names = xstrdup(names), .starts = starts, .certain = certain,
	};
}

static void add_condition(struct asked_names *all, const struct args *args, const char *option)
{
	const char *text = arg(args, option);
	struct condition c = { 0 };
	struct error ignored;
	bool kernel;

	if (text && condition_parse(option, text, &c, &ignored) == 0 &&
	    (c.kind == CONDITION_ENTRY || c.kind == CONDITION_EXIT)) {
		kernel = c.object && !strcmp(c.object, CONDITION_KERNEL);
		if (kernel || !c.object)
			add(all, xasprintf("--%s", option), c.text, !strcmp(option, "start"), kernel);
	}
	condition_deinit(&c);
}

static void add_function(struct asked_names *all, const char *path, const struct kfi_function *f, bool starts)
{
	if (f->name && strncmp(f->name, "0x", 2) != 0)
		add(all, xasprintf("%s:%u", path, f->line), f->name, starts, false);
}

static void add_config(struct asked_names *all, const char *path)
{
	struct kfi_config config;
	struct error ignored;

	if (recording_config_read(path, &config, &ignored) == 0)
		for (size_t i = 0; i < config.count; i++) {
			const struct kfi_run *run = &config.runs[i];

			add_function(all, path, &run->start.function, true);
			add_function(all, path, &run->stop.function, false);
			for (size_t k = 0; k < run->n_functions; k++)
				add_function(all, path, &run->functions[k], false);
		}
	kfi_config_deinit(&config);
}

static void gather(const struct args *args, struct asked_names *ret)
{
	static const char *const filters[] = { "functions", "not", "below" };

	*ret = (struct asked_names){ 0 };
	add_condition(ret, args, "start");
	add_condition(ret, args, "stop");
	/* with these, the kernel's functions are not meant */
	for (size_t i = 0; i < sizeof filters / sizeof *filters && !arg(args, "user") && !arg(args, "module"); i++)
		if (arg(args, filters[i]))
			add(ret, xasprintf("--%s", filters[i]), arg(args, filters[i]), false, false);
	if (arg(args, "kfi"))
		add_config(ret, arg(args, "kfi"));
}

static void asked_names_deinit(struct asked_names *all)
{
	for (size_t i = 0; i < all->count; i++) {
		free(all->list[i].where);
		free(all->list[i].names);
	}
	free(all->list);
}

static const char *function_at(const void *tab, size_t i)
{
	return symtab_name(tab, (long)i);
}

static int find(const struct symtab *tab, const char *file, const struct asked_name *asked, struct error *err)
{
	const char *slash = strrchr(file, '/');
	cleanup_free char *where = xasprintf(" in %s", slash ? slash + 1 : file);
	const struct name_list all = {
		.count = tab->count, .at = function_at, .data = tab, .what = "function", .where = where,
		.hint = FUNCTION_HINT,
	};
	const char *names = asked->names;
	bool *marks = xcalloc(tab->count + 1, sizeof *marks);
	int result = name_list_mark(&all, &names, 1, marks, NULL, err);

	free(marks);
	return result < 0 ? error_prefix(err, "%s", asked->where) : 0;
}

static bool read_functions(const struct kernel_sources *sources, struct symtab *ret)
{
	struct known_kernel kernel;
	struct error ignored;

	*ret = (struct symtab){ 0 };
	if ((!sources->image && !sources->n_symbols) || kernel_sources_read(sources, &kernel, &ignored) < 0)
		return false;
	symtab_from_image(ret, &kernel.image);
	known_kernel_deinit(&kernel);
	return ret->count;
}

/* What the functions are said to be in. */
static const char *file_of(const struct kernel_sources *sources)
{
	return sources->image ? sources->image : sources->symbols[0].path;
}

static bool has(const struct asked_names *all, bool certain)
{
	for (size_t i = 0; i < all->count; i++)
		if (all->list[i].certain == certain)
			return true;
	return false;
}

int kernel_names_check(const struct args *args, const struct kernel_sources *sources, struct error *err)
{
	struct asked_names all;
	struct symtab tab;
	int result = 0;

	gather(args, &all);
	if (has(&all, true) && read_functions(sources, &tab)) {
		for (size_t i = 0; i < all.count && result == 0; i++)
			if (all.list[i].certain)
				result = find(&tab, file_of(sources), &all.list[i], err);
		symtab_deinit(&tab);
	}
	asked_names_deinit(&all);
	return result;
}

static void put_line(const struct asked_name *asked, const char *text, struct buf *out)
{
	buf_printf(out, "upto: ");
	terminal_escape(out, text);
	buf_printf(
		out,
		asked->starts
			? "; it starts with a module or program that has it: up to the first that comes, all is recorded\n"
			: "; whether a module or program has it is known at the end\n");
}

void kernel_names_lacking(const struct args *args, const struct kernel_sources *sources, struct buf *out)
{
	struct asked_names all;
	struct symtab tab;
	struct error err;

	gather(args, &all);
	if (has(&all, false) && read_functions(sources, &tab)) {
		for (size_t i = 0; i < all.count; i++)
			if (find(&tab, file_of(sources), &all.list[i], &err) < 0)
				put_line(&all.list[i], err.text, out);
		symtab_deinit(&tab);
	}
	asked_names_deinit(&all);
}
