/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A layout as META has it: "task_struct.pid=1256:image,…,sizeof prb_desc=24". */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "layout.h"

static const char size_word[] = "sizeof ";

void layout_put_text(const struct layout *l, struct buf *out)
{
	size_t begin = out->len;

	for (int i = 0; i < MEMBERS; i++)
		if (l->offset[i] != MEMBER_UNKNOWN)
			buf_printf(out, "%s%s=%" PRId32 ":%s", out->len > begin ? "," : "",
				   layout_member((enum member)i), l->offset[i],
				   layout_source_name((enum layout_source)l->from[i]));
	for (int i = 0; i < LAYOUT_SIZES; i++)
		if (l->size[i])
			buf_printf(out, "%s%s%s=%" PRIu32, out->len > begin ? "," : "", size_word,
				   layout_structure((enum layout_size)i), l->size[i]);
	if (l->whole)
		buf_printf(out, "%swhole=1", out->len > begin ? "," : "");
}

static enum layout_source source_called(const char *name)
{
	for (int i = 0; i < LAYOUT_SOURCES; i++)
		if (!strcmp(layout_source_name((enum layout_source)i), name))
			return (enum layout_source)i;
	return LAYOUT_NOWHERE;
}

static void take_member(struct layout *l, const char *name, uint32_t offset, const char *from)
{
	for (int i = 0; i < MEMBERS; i++)
		if (!strcmp(layout_member((enum member)i), name)) {
			l->offset[i] = (int32_t)offset;
			l->from[i] = (uint8_t)source_called(from);
		}
}

static void take_size(struct layout *l, const char *structure, uint32_t size)
{
	for (int i = 0; i < LAYOUT_SIZES; i++)
		if (!strcmp(layout_structure((enum layout_size)i), structure))
			l->size[i] = size;
}

/* "task_struct.pid=1256:image". What is not understood tells nothing. */
static void take_word(struct layout *l, char *word)
{
	char *value = strchr(word, '='), *from;
	unsigned long long number;

	if (!value)
		return;
	*value++ = '\0';
	number = strtoull(value, &from, 10);
	if (from == value || number > UINT16_MAX)
		return;
	if (!strncmp(word, size_word, sizeof size_word - 1))
		take_size(l, word + sizeof size_word - 1, (uint32_t)number);
	else if (!strcmp(word, "whole"))
		l->whole = number;
	else
		take_member(l, word, (uint32_t)number, *from == ':' ? from + 1 : "");
}

void layout_from_text(const char *text, struct layout *ret)
{
	cleanup_free char *words = xstrdup(text);
	char *rest = words, *word;

	layout_init(ret);
	while ((word = strsep(&rest, ",")))
		take_word(ret, word);
}
