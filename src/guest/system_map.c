/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "system_map.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_line(const char *line, size_t len, struct symbol_list *ret)
{
	char text[1024], type, *end;
	const char *name;
	uint64_t addr;

	if (len >= sizeof text)
		return -1;
	memcpy(text, line, len);
	text[len] = '\0';
	addr = strtoull(text, &end, 16);
	if (end == text || *end != ' ')
		return -1;
	type = end[1];
	/* nm has '?' for what it has no letter for, as __nosave_begin */
	if (!isgraph((unsigned char)type) || end[2] != ' ')
		return -1;
	name = end + 3;
	if (!*name)
		return -1;
	symbol_list_add(ret, addr, 0, type, name, strcspn(name, "\t\r "));
	return 0;
}

/* nm has blanks for the address of what is in another file: "                 U puts" */
static bool is_elsewhere(const char *line, size_t len)
{
	size_t blanks = 0;

	while (blanks < len && line[blanks] == ' ')
		blanks++;
	return blanks > 8 && blanks + 2 < len && strchr("Uwv", line[blanks]) && line[blanks + 1] == ' ';
}

int system_map_read(const void *data, size_t len, struct symbol_list *ret, struct error *err)
{
	const char *p = data, *end = p + len;

	for (unsigned line = 1; p < end; line++) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t n = nl ? (size_t)(nl - p) : (size_t)(end - p);

		if (n && !is_elsewhere(p, n) && read_line(p, n, ret) < 0) {
			if (line == 1)
				return error_set(err, "neither a bzImage, an ELF file nor a System.map");
			return error_set(err, "line %u: not \"address type name\" as in a System.map", line);
		}
		p += n + 1;
	}
	if (ret->count < 2)
		return error_set(err,
				 "has no symbols (Debian's System.map is a stub: give the vmlinuz or an ELF file)");
	return 0;
}
