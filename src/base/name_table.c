/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "name_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "map.h"

void name_table_deinit(struct name_table *t)
{
	free(t->text);
	free(t->starts);
	free(t->slots);
	*t = (struct name_table){ 0 };
}

static uint64_t hash(const char *text, size_t len)
{
	uint64_t h = len;

	for (size_t i = 0; i < len; i++)
		h = hash64(h ^ (uint8_t)text[i]);
	return h;
}

static bool is_it(const struct name_table *t, uint32_t number, const char *text, size_t len)
{
	const char *there = name_table_text(t, number);

	return !strncmp(there, text, len) && !there[len];
}

/* The text's slot, or the free one for it. */
static uint32_t *find(const struct name_table *t, const char *text, size_t len)
{
	size_t i = hash(text, len) & t->mask;

	while (t->slots[i] && !is_it(t, t->slots[i] - 1, text, len))
		i = (i + 1) & t->mask;
	return &t->slots[i];
}

static void rehash(struct name_table *t)
{
	size_t n = t->slots ? (t->mask + 1) * 2 : 256;

	free(t->slots);
	t->slots = xcalloc(n, sizeof *t->slots);
	t->mask = n - 1;
	for (uint32_t i = 0; i < t->count; i++)
		*find(t, name_table_text(t, i), strlen(name_table_text(t, i))) = i + 1;
}

static void append(struct name_table *t, const char *text, size_t len)
{
	while (t->cap - t->len < len + 1) {
		t->cap = t->cap ? t->cap * 2 : 4096;
		t->text = xrealloc(t->text, t->cap);
	}
	t->starts = array_grow(t->starts, t->count, &t->starts_cap, sizeof *t->starts);
	t->starts[t->count++] = t->len;
	memcpy(t->text + t->len, text, len);
	t->text[t->len + len] = '\0';
	t->len += len + 1;
}

uint32_t name_table_put(struct name_table *t, const char *text, size_t len)
{
	uint32_t *slot;

	assert(!memchr(text, '\0', len));
	if (!t->slots || t->count * 4 >= (t->mask + 1) * 3)
		rehash(t);
	slot = find(t, text, len);
	if (!*slot) {
		append(t, text, len);
		*slot = (uint32_t)t->count;
	}
	return *slot - 1;
}

bool name_table_find(const struct name_table *t, const char *text, size_t len, uint32_t *ret)
{
	uint32_t slot = t->slots ? *find(t, text, len) : 0;

	if (!slot)
		return false;
	*ret = slot - 1;
	return true;
}
