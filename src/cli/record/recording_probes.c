/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recording_probes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "probe_files.h"
#include "probes/dwarf_definition.h"
#include "probes/dwarf_places.h"
#include "probes/static_probes.h"
#include "trace/meta.h"

static void put_line(const char *text, size_t *count, struct buf *lines)
{
	char key[32];

	snprintf(key, sizeof key, "probe.%zu", (*count)++);
	meta_put(lines, key, text);
}

/* Where definitions are looked for; the files are opened when the first one asks for them. */
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

/* One line for each place. */
static int put_resolved(struct resolving *r, const struct probe_definition *d, struct error *err)
{
	struct buf text = { 0 };
	struct dwarf_file *f;
	size_t left_out;
	char *rest, *line;
	int ret = -1;

	if (open_files(r, err) < 0)
		return -1;
	f = probe_file_of(&r->files, d, err);
	if (f)
		ret = dwarf_definition_put(f, d, &text, &left_out, err);
	buf_put_u8(&text, 0);
	rest = (char *)text.data;
	while (ret == 0 && (line = strsep(&rest, "\n")))
		if (*line)
			put_line(line, &r->count, r->lines);
	buf_free(&text);
	return ret;
}

/* Of a function's own parameters debug information tells, too, where the kernel may have no types. */
static bool is_in_files(struct resolving *r, const struct probe_definition *d, struct error *err)
{
	struct error ignored;
	struct dwarf_file *f;

	if (!arg(r->args, "debug") || !d->n_args || d->kernel_words || !d->function || strpbrk(d->function, "*?["))
		return false;
	if (open_files(r, err) < 0)
		return false;
	f = probe_file_of(&r->files, d, &ignored);
	return f && dwarf_has_function(f, d->function, d->source);
}

/* The code that is there tells the recorder that it is that program which runs. */
static int put_code(struct resolving *r, const struct dwarf_file *f, const char *line, struct error *err)
{
	enum { CODE = 64 };
	struct probe_definition d;
	uint8_t code[CODE];
	uint64_t address, offset;
	struct buf text = { 0 };
	char key[40];
	size_t n = 0;

	if (probe_definition_parse(line, &d, err) == 0 && dwarf_file_loaded(f, d.address, &address))
		n = dwarf_file_code(f, address, &offset, code, sizeof code);
	for (size_t i = 0; i < n; i++)
		buf_printf(&text, "%02x", code[i]);
	buf_put_u8(&text, 0);
	snprintf(key, sizeof key, "probe.%zu.code", r->count);
	meta_put(r->lines, key, (char *)text.data);
	buf_free(&text);
	probe_definition_deinit(&d);
	return n ? 0
		 : error_set(err, "%s: %s has no code there: give the program itself, not its debug file alone", line,
			     f->path);
}

/* A place in a program. */
static int put_in_program(struct resolving *r, const struct probe_definition *d, struct error *err)
{
	struct buf text = { 0 };
	struct dwarf_file *f;
	char *rest, *line;
	size_t left_out;
	int ret = -1;

	if (open_files(r, err) < 0)
		return -1;
	f = probe_program_of(&r->files, d, arg(r->args, "sysroot"), err);
	if (f && d->place == PROBE_STATIC)
		ret = static_probes_put(f, d, &text, err);
	else if (f && (probe_definition_has_variables(d) || (d->place != PROBE_FUNCTION && d->place != PROBE_ADDRESS)))
		ret = dwarf_definition_put(f, d, &text, &left_out, err);
	else if (f)
		ret = dwarf_definition_put_plain(f, d, &text, err);
	buf_put_u8(&text, 0);
	rest = (char *)text.data;
	while (ret == 0 && (line = strsep(&rest, "\n")))
		if (*line && (ret = put_code(r, f, line, err)) == 0)
			put_line(line, &r->count, r->lines);
	buf_free(&text);
	return ret;
}

static int put_definition(struct resolving *r, const char *text, struct error *err)
{
	struct probe_definition d;
	int ret = probe_definition_parse(text, &d, err);

	if (ret == 0 && (d.place == PROBE_STATIC || (d.target && *d.target == '/')))
		ret = put_in_program(r, &d, err);
	else if (ret == 0 && (!probe_definition_is_plain(&d) || is_in_files(r, &d, err)))
		ret = put_resolved(r, &d, err);
	else if (ret == 0)
		put_line(text, &r->count, r->lines);
	probe_definition_deinit(&d);
	return ret < 0 ? error_prefix(err, "--probe") : 0;
}

int recording_probes_put(const struct args *args, const char *image, struct buf *lines, struct error *err)
{
	struct resolving r = { .args = args, .image = image, .lines = lines };
	const char *list = arg(args, "probe");
	int ret = 0;

	for (size_t n; ret == 0 && list && *list; list += n + (list[n] == '\n')) {
		n = strcspn(list, "\n");
		cleanup_free char *text = xstrndup(list, n);

		ret = put_definition(&r, text, err);
	}
	probe_files_deinit(&r.files);
	return ret;
}
