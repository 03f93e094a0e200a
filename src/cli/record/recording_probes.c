/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recording_probes.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "probes/dwarf_places.h"
#include "probes/probe_compile.h"
#include "probes/probe_resolve.h"
#include "recording_args.h"
#include "trace/event_formats.h"

static int put_lines(struct probe_lines *r, const struct dwarf_file *f, char *text, struct error *err)
{
	char *line;

	while ((line = strsep(&text, "\n"))) {
		if (!*line)
			continue;
		if (f->kind == DWARF_PROGRAM && probe_lines_put_code(r, f, line, err) < 0)
			return -1;
		probe_lines_put(r, line);
	}
	return 0;
}

/* One line for each place. */
static int put_resolved(struct probe_lines *r, const struct probe_definition *d, struct error *err)
{
	struct buf text = { 0 };
	struct dwarf_file *f;
	size_t left_out = 0;
	int ret = -1;

	if (probe_lines_open(r, err) < 0)
		return -1;
	f = probe_file_meant(&r->files, d, arg(r->args, "sysroot"), err);
	if (f)
		ret = probe_resolve(f, d, &text, &left_out, err);
	buf_put_u8(&text, 0);
	if (ret == 0)
		ret = put_lines(r, f, (char *)text.data, err);
	if (ret == 0 && left_out)
		fprintf(stderr, "upto: --probe %s: it has %zu places more, where its values cannot be had\n", d->text,
			left_out);
	buf_free(&text);
	return ret;
}

/*
 * Of a function's own parameters debug information tells, too, where the kernel may have no types; and where else it is
 * inlined, which no symbol tells. A program's function is meant without its path only if its variables are.
 */
static bool is_in_files(const struct probe_lines *r, const struct probe_definition *d)
{
	struct error ignored;
	struct dwarf_file *f;

	if (!r->opened || d->kernel_words || !d->function || strpbrk(d->function, "*?["))
		return false;
	f = probe_file_of(&r->files, d, &ignored);
	return f && (d->n_args || f->kind != DWARF_PROGRAM) && dwarf_has_function(f, d->function, d->source);
}

/* What is wrong in any guest is said before one starts. Of a program in handlers, whoever has it says that. */
static int check_plain(const struct probe_definition *d, struct error *err)
{
	struct probe_values values = { 0 };
	int ret = 0;

	if (!probe_compile_needs_types(d) && strcmp(probe_group_name(d), EVENTS_OF_PROGRAMS))
		ret = probe_compile(&values, d, "", NULL, err);
	probe_values_deinit(&values);
	return ret;
}

static int put_definition(struct probe_lines *r, const char *text, struct error *err)
{
	struct probe_definition d;
	int ret = probe_definition_parse(text, &d, err);

	if (ret == 0 && (probe_definition_in_program(&d) || !probe_definition_is_plain(&d) || is_in_files(r, &d)))
		ret = put_resolved(r, &d, err);
	else if (ret == 0 && (ret = check_plain(&d, err)) == 0)
		probe_lines_put(r, text);
	probe_definition_deinit(&d);
	return ret < 0 ? error_prefix(err, "--probe") : 0;
}

int recording_probes_put(const struct args *args, const char *image, struct buf *lines, struct error *err)
{
	struct probe_lines r = { .args = args, .image = image, .lines = lines };
	const char *list = arg(args, "probe");
	int ret = 0;

	if (!list && !arg(args, "args") && arg(args, "debug"))
		return error_set(err, "--debug: is for --probe and --args");
	if (arg(args, "debug"))
		ret = probe_lines_open(&r, err);
	if (ret == 0)
		ret = recording_args_put(&r, err);
	for (size_t n; ret == 0 && list && *list; list += n + (list[n] == '\n')) {
		n = strcspn(list, "\n");
		cleanup_free char *text = xstrndup(list, n);

		ret = put_definition(&r, text, err);
	}
	probe_files_deinit(&r.files);
	return ret;
}
