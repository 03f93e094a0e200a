/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe_lines.h"

#include <stdio.h>

#include "trace/meta.h"

int probe_lines_open(struct probe_lines *l, struct error *err)
{
	if (l->opened)
		return 0;
	l->opened = true;
	return probe_files_init(&l->files, arg(l->args, "debug"), l->image, err);
}

static const char *key_of(const struct probe_lines *l, const char *what, char key[40])
{
	snprintf(key, 40, "probe.%zu%s", l->count, what);
	return key;
}

void probe_lines_put(struct probe_lines *l, const char *text)
{
	char key[40];

	meta_put(l->lines, key_of(l, "", key), text);
	l->count++;
}

void probe_lines_put_prototype(struct probe_lines *l, const char *prototype)
{
	char key[40];

	meta_put(l->lines, key_of(l, ".args", key), prototype);
}

int probe_lines_put_code(struct probe_lines *l, const struct dwarf_file *f, const char *text, struct error *err)
{
	struct probe_definition d;
	struct dwarf_code_window window = { 0 };
	struct buf code = { 0 };
	char key[40];

	if (probe_definition_parse(text, &d, err) == 0)
		dwarf_file_window(f, d.address, &window);
	for (size_t i = 0; i < window.n; i++)
		buf_printf(&code, "%02x", window.code[i]);
	buf_put_u8(&code, 0);
	meta_put(l->lines, key_of(l, ".code", key), (char *)code.data);
	meta_put_u64(l->lines, key_of(l, ".before", key), window.before);
	buf_free(&code);
	probe_definition_deinit(&d);
	return window.n ? 0
			: error_set(err,
				    "%s: %s has too little code there to know it by: give the program itself, not its "
				    "debug file alone",
				    text, f->path);
}
