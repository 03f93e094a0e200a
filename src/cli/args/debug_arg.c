/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "debug_arg.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "cli/print/terminal.h"

int debug_arg(const struct args *args, const struct names *names, struct source_lines *ret, struct error *err)
{
	const char *list = arg(args, "debug");

	*ret = (struct source_lines){ 0 };
	while (list && *list) {
		size_t len = strcspn(list, ":");
		cleanup_free char *path = xstrndup(list, len);

		if (len && source_lines_add(ret, names, path, err) < 0)
			return -1;
		list += len + (list[len] == ':');
	}
	return 0;
}

void debug_put(struct buf *out, const struct source_line *line)
{
	if (!line->file)
		return;
	buf_put_u8(out, ' ');
	terminal_escape(out, line->file);
	buf_printf(out, ":%d", line->line);
}

void debug_put_json(struct json *j, const struct source_line *line)
{
	if (!line->file)
		return;
	json_text(j, "file", line->file);
	json_signed(j, "line", line->line);
}
