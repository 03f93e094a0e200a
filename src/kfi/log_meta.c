/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "log_meta.h"

#include <stdio.h>
#include <string.h>

enum { KEY_MAX = 32 };

static void set_key(char key[KEY_MAX], size_t n)
{
	snprintf(key, KEY_MAX, "kfi.%zu", n + 1);
}

const char *kfi_meta_line(const struct meta *m, size_t n)
{
	char key[KEY_MAX];

	set_key(key, n);
	return meta_get(m, key);
}

void kfi_meta_put(struct buf *meta_lines, size_t n, const char *text)
{
	char key[KEY_MAX];

	set_key(key, n);
	meta_put(meta_lines, key, text);
}

void kfi_meta_read(const struct meta *m, struct kfi_log *log)
{
	const char *line;

	for (size_t n = 0; (line = kfi_meta_line(m, n)); n++) {
		struct kfi_parser parser = { .path = "META" };
		struct kfi_call ignored;
		struct error err;

		(void)kfi_parse_line(&parser, line, strlen(line), log, &ignored, &err);
	}
}
