/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cli/args/trace_arg.h"
#include "cli/commands.h"
#include "kfi/config.h"
#include "symbol_map_arg.h"

enum { CONFIG_SIZE_MAX = 1 << 26 };

/* The text of a configuration, on its way out. */
struct replacing {
	const char *path;
	const struct symbol_map *map;
	const char *text;
	size_t done;          /* bytes of it that are in `out` */
	struct buf out;
};

static int replace(struct replacing *r, const struct kfi_function *f, struct error *err)
{
	/* the map's names have lost their leading dots */
	const char *name = f->name[0] == '.' && f->name[1] ? f->name + 1 : f->name;
	uint64_t addr;

	if (f->name[0] == '0')
		return 0;
	if (!symbol_map_find(r->map, name, &addr))
		return error_set(err, "%s:%u: %s: expected a function that the map has", r->path, f->line, f->name);
	buf_put(&r->out, r->text + r->done, f->at - r->done);
	buf_printf(&r->out, "0x%" PRIx64, addr);
	r->done = f->at + strlen(f->name);
	return 0;
}

struct functions {
	const struct kfi_function **list;
	size_t count, cap;
};

static void add(struct functions *all, const struct kfi_function *f)
{
	if (!f->name)
		return;
	all->list = array_grow(all->list, all->count, &all->cap, sizeof *all->list);
	all->list[all->count++] = f;
}

static int by_place(const void *va, const void *vb)
{
	const struct kfi_function *a = *(const struct kfi_function *const *)va,
				  *b = *(const struct kfi_function *const *)vb;

	return a->at < b->at ? -1 : a->at > b->at;
}

/* All functions, in the order in which they stand in the text. */
static void list_functions(const struct kfi_config *config, struct functions *ret)
{
	*ret = (struct functions){ 0 };
	for (size_t i = 0; i < config->count; i++) {
		const struct kfi_run *run = &config->runs[i];

		add(ret, &run->start.function);
		add(ret, &run->stop.function);
		for (size_t k = 0; k < run->n_functions; k++)
			add(ret, &run->functions[k]);
	}
	if (ret->count)
		qsort(ret->list, ret->count, sizeof *ret->list, by_place);
}

static int replace_all(struct replacing *r, size_t len, struct error *err)
{
	struct kfi_config config;
	struct functions all = { 0 };
	int result = kfi_config_parse(r->path, r->text, len, &config, err);

	if (result == 0)
		list_functions(&config, &all);
	for (size_t i = 0; result == 0 && i < all.count; i++)
		result = replace(r, all.list[i], err);
	if (result == 0) {
		buf_put(&r->out, r->text + r->done, len - r->done);
		fwrite(r->out.data, 1, r->out.len, stdout);
	}
	free(all.list);
	kfi_config_deinit(&config);
	return result;
}

static int run(const struct args *args, struct error *err)
{
	struct replacing r = { .path = args->operands[0] };
	struct buf text = { 0 };
	struct symbol_map map;
	int result = EXIT_FAILED;

	if (symbol_map_open(args->operands[1], &map, err) == 0 && file_read(r.path, CONFIG_SIZE_MAX, &text, err) == 0) {
		r.map = &map;
		r.text = (char *)text.data;
		if (replace_all(&r, text.len, err) == 0)
			result = EXIT_OK;
	}
	buf_free(&r.out);
	buf_free(&text);
	symbol_map_deinit(&map);
	return result;
}

static const struct option options[] = {
	HELP_OPTION,
	{ 0 },
};

const struct command cmd_sym2addr = {
	.name = "sym2addr",
	.operands = "CONF MAP",
	.summary = "replace the functions in a configuration of KFI or KFT by addresses",
	.description =
		"Copies the configuration to standard output, with addresses in place of the names of functions in triggers and "
		"lists, as /proc/kfi and /proc/kft take them. MAP is the kernel's System.map. A line that is no part of a "
		"configuration, or a function that the map does not have, is an error, and nothing is printed.\n"
		"A program named sym2addr that is a link to upto is this command.\n",
	.examples =
		"  upto sym2addr kficonf System.map >kficonf.addr\n      then, on the target: cat kficonf.addr >/proc/kfi\n",
	.options = options,
	.for_programs = true,
	.min_operands = 2,
	.max_operands = 2,
	.run = run,
};
