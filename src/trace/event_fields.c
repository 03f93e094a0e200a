/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event_fields.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { FIELDS_MAX = 256, WORD = 4 };

static bool has_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at++) {
		bool begins = at == text || at[-1] == ' ' || at[-1] == '[';
		char end = at[n];

		if (begins && (!end || end == ' ' || end == '[' || end == '*'))
			return true;
	}
	return false;
}

/* Of a type that C has, or the kernel names by its bits; of another one it is not known: 1. */
static uint32_t element_size(const char *type)
{
	static const struct {
		const char *word;
		uint32_t size;
	} sizes[] = {
		{ "long", 8 },  { "u64", 8 },      { "s64", 8 },    { "__u64", 8 },  { "__s64", 8 }, { "u32", 4 },
		{ "s32", 4 },   { "__u32", 4 },    { "__s32", 4 },  { "u16", 2 },    { "s16", 2 },   { "__u16", 2 },
		{ "__s16", 2 }, { "short", 2 },    { "char", 1 },   { "u8", 1 },     { "__u8", 1 },  { "bool", 1 },
		{ "int", 4 },   { "unsigned", 4 }, { "__be32", 4 }, { "__be16", 2 },
	};

	if (strchr(type, '*'))
		return 8;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		if (has_word(type, sizes[i].word))
			return sizes[i].size;
	return 1;
}

/* "char prev_comm[16]", "__data_loc char[] name", "const char * p" */
static bool split(const char *text, size_t n, struct event_field *f)
{
	size_t end = n, begin;
	const char *bracket = memchr(text, '[', n);
	bool behind = bracket && text[n - 1] == ']';

	if (behind)
		end = (size_t)(bracket - text);
	begin = end;
	while (begin && text[begin - 1] != ' ' && text[begin - 1] != '*')
		begin--;
	if (begin == end || !begin)
		return false;
	f->name = xstrndup(text + begin, end - begin);
	while (begin && text[begin - 1] == ' ')
		begin--;
	f->type = xmalloc(begin + n - end + 1);
	memcpy(f->type, text, begin);
	memcpy(f->type + begin, text + end, n - end);
	f->type[begin + n - end] = '\0';
	return true;
}

static void judge(struct event_field *f)
{
	bool array = strchr(f->type, '[');

	f->relative = !strncmp(f->type, "__rel_loc", 9);
	f->dynamic = f->relative || !strncmp(f->type, "__data_loc", 10);
	f->element = array || f->dynamic ? element_size(f->type) : 0;
	f->is_text = f->element && has_word(f->type, "char") && !has_word(f->type, "unsigned") && !strchr(f->type, '*');
	f->is_pointer = !f->element && (strchr(f->type, '*') || !strncmp(f->name, "__probe_", 8));
}

static bool number_behind(const char *line, const char *end, const char *word, uint32_t *ret)
{
	const char *at = memmem(line, (size_t)(end - line), word, strlen(word));

	if (!at || at[strlen(word)] < '0' || at[strlen(word)] > '9')
		return false;
	*ret = (uint32_t)strtoul(at + strlen(word), NULL, 10);
	return true;
}

static void add(struct event_layout *l, const char *line, const char *end, bool common)
{
	static const char word[] = "field:";
	const char *text = memmem(line, (size_t)(end - line), word, sizeof word - 1), *behind;
	struct event_field f = { 0 };
	size_t count = l->count + l->n_common;
	uint32_t is_signed = 0;

	if (!text || count == FIELDS_MAX)
		return;
	text += sizeof word - 1;
	behind = memchr(text, ';', (size_t)(end - text));
	if (!behind || behind == text || !number_behind(behind, end, "offset:", &f.offset) ||
	    !number_behind(behind, end, "size:", &f.size))
		return;
	number_behind(behind, end, "signed:", &is_signed);
	if (!split(text, (size_t)(behind - text), &f))
		return;
	if (!strncmp(f.name, "common_", 7) != common) {
		free(f.name);
		free(f.type);
		return;
	}
	f.is_signed = is_signed;
	judge(&f);
	l->fields = array_grow(l->fields, count, &l->cap, sizeof *l->fields);
	l->fields[count] = f;
	*(common ? &l->n_common : &l->count) += 1;
}

static void add_all(struct event_layout *l, const char *format, bool common)
{
	const char *end = strstr(format, "\nprint fmt:");

	end = end ? end : format + strlen(format);
	for (const char *line = format; line < end;) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));

		stop = stop ? stop : end;
		add(l, line, stop, common);
		line = stop + 1;
	}
}

void event_layout_init(struct event_layout *ret, const char *format)
{
	*ret = (struct event_layout){ 0 };
	add_all(ret, format, false);
	add_all(ret, format, true);
}

void event_layout_deinit(struct event_layout *l)
{
	for (size_t i = 0; i < l->count + l->n_common; i++) {
		free(l->fields[i].name);
		free(l->fields[i].type);
	}
	free(l->fields);
	*l = (struct event_layout){ 0 };
}

bool event_field_place(const struct event_field *f, const void *record, size_t size, size_t *ret_offset,
		       size_t *ret_size)
{
	uint32_t word;

	if ((uint64_t)f->offset + f->size > size || (f->dynamic && f->size != WORD))
		return false;
	*ret_offset = f->offset;
	*ret_size = f->size;
	if (!f->dynamic)
		return true;
	memcpy(&word, (const char *)record + f->offset, sizeof word);
	*ret_size = word >> 16;
	*ret_offset = (word & 0xffff) + (f->relative ? f->offset + f->size : 0);
	return *ret_offset <= size && *ret_size <= size - *ret_offset;
}
