/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/args/trace_arg.h"
#include "cli/commands.h"
#include "kfi/resolve.h"
#include "symbol_map_arg.h"

static int filter(FILE *f, const char *path, const struct symbol_map *map, struct error *err)
{
	struct resolver resolver = { .map = map };
	struct buf out = { 0 };
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;

	while ((n = getline(&line, &cap, f)) > 0 && !ferror(stdout)) {
		out.len = 0;
		resolve_line(&resolver, line, (size_t)n, &out);
		fwrite(out.data, 1, out.len, stdout);
	}
	free(line);
	buf_free(&out);
	return ferror(f) ? error_set(err, "%s: %s", path, strerror(errno)) : 0;
}

static int filter_log(const char *path, const struct symbol_map *map, struct error *err)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "re") : stdin;
	int r;

	if (!f)
		return error_set(err, "%s: %s", path, strerror(errno));
	r = filter(f, path, map, err);
	if (f != stdin)
		fclose(f);
	return r;
}

static int run(const struct args *args, struct error *err)
{
	struct symbol_map map;
	int r;

	if (!arg(args, "map")) {
		error_set(err, "--map is missing: where is the kernel's System.map?");
		return EXIT_USAGE;
	}
	r = symbol_map_open(arg(args, "map"), &map, err);
	if (r == 0)
		r = filter_log(args->n_operands ? args->operands[0] : "-", &map, err);
	symbol_map_deinit(&map);
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static const struct option options[] = {
	{ 'm', "map", "FILE", "the System.map of the kernel that the log is of, or what nm prints of its vmlinux" },
	HELP_OPTION,
	{ 0 },
};

const struct command cmd_addr2sym = {
	.name = "addr2sym",
	.operands = "[LOG]",
	.summary = "replace the addresses in a log of KFI or KFT by symbols",
	.description =
		"Copies the log, or standard input, to standard output. In rows of a log the addresses in the columns Function "
		"and Caller become a symbol, or SYMBOL+0xOFFSET with the nearest symbol below; elsewhere the "
		"first two numbers with 0x of a line do. "
		"Columns stay where they are if names are short enough. An address outside of the map stays as it is. "
		"A leading dot of a symbol is dropped.\nA program named addr2sym that is a link to upto is this command.\n",
	.examples = "  upto addr2sym -m System.map <boot.log >boot.lst\n      then: upto kd boot.lst\n",
	.options = options,
	.for_programs = true,
	.max_operands = 1,
	.run = run,
};
