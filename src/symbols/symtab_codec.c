/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symtab_codec.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum {
	/* what a table in columns begins with; an earlier one, in rows, begins with how many sections it has */
	COLUMNS = 0,
	LEAST_SHARED = 3,               /* fewer bytes in common are more predictable as letters than as a number */
	MOST_SHARED = UINT8_MAX,
	BYTES_A_ROW = 4, BYTES_A_SYMBOL = 7, /* the fewest that one takes */
	/* bytes of names; names that share their beginnings could else grow without limit */
	MAX_NAMES = 256 << 20,
};

static void encode_sections(const struct symtab *tab, struct buf *out)
{
	buf_put_varint(out, tab->n_sections);
	for (size_t i = 0; i < tab->n_sections; i++) {
		buf_put_varint(out, tab->sections[i].addr);
		buf_put_varint(out, tab->sections[i].end);
		buf_put_str(out, tab->sections[i].name, strlen(tab->sections[i].name));
	}
}

/*
 * Most functions begin where the one before ends. Linkers align them to 16 bytes, so a size is cut into digits that are
 * alike from one to the next.
 */
static void encode_places(const struct symtab *tab, struct buf *out)
{
	uint64_t end = 0;

	for (size_t i = 0; i < tab->count; i++) {
		buf_put_svarint(out, (int64_t)(tab->symbols[i].addr - end));
		end = tab->symbols[i].end;
	}
	for (size_t i = 0; i < tab->count; i++)
		buf_put_u8(out, (tab->symbols[i].end - tab->symbols[i].addr) & 0xf);
	for (size_t i = 0; i < tab->count; i++)
		buf_put_u8(out, (tab->symbols[i].end - tab->symbols[i].addr) >> 4 & 0xff);
	for (size_t i = 0; i < tab->count; i++)
		buf_put_varint(out, (tab->symbols[i].end - tab->symbols[i].addr) >> 12);
	for (size_t i = 0; i < tab->count; i++)
		buf_put_varint(out, tab->symbols[i].section);
}

/* How many bytes of its name a function shares with the one before it, as is written. */
static uint8_t shared(const struct symtab *tab, size_t i)
{
	const char *before = i ? symtab_name(tab, (long)i - 1) : "", *name = symtab_name(tab, (long)i);
	unsigned n = 0;

	while (n < MOST_SHARED && name[n] && name[n] == before[n])
		n++;
	return n < LEAST_SHARED ? 0 : (uint8_t)n;
}

void symtab_encode(const struct symtab *tab, struct buf *out)
{
	buf_put_varint(out, COLUMNS);
	encode_sections(tab, out);
	buf_put_varint(out, tab->count);
	encode_places(tab, out);
	for (size_t i = 0; i < tab->count; i++)
		buf_put_u8(out, shared(tab, i));
	for (size_t i = 0; i < tab->count; i++) {
		const char *rest = symtab_name(tab, (long)i) + shared(tab, i);

		buf_put(out, rest, strlen(rest) + 1);
	}
}

static int decode_sections(struct cursor *in, uint64_t n, struct symtab *tab)
{
	size_t cap = 0;

	if (!n || n > UINT16_MAX || n > cursor_left(in))
		return -1;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t addr = cursor_varint(in), end = cursor_varint(in), len = cursor_varint(in);
		const char *text = cursor_take(in, len);
		char name[sizeof tab->sections->name];

		if (!text || len >= sizeof name)
			return -1;
		memcpy(name, text, len);
		name[len] = '\0';
		symtab_add_section(tab, &cap, addr, end, name);
	}
	return 0;
}

static int decode_count(struct cursor *in, unsigned least_bytes, struct symtab *tab)
{
	uint64_t n = cursor_varint(in);

	if (n > cursor_left(in) / least_bytes)
		return -1;
	tab->symbols = xcalloc(n, sizeof *tab->symbols);
	tab->count = n;
	return 0;
}

/* Do addresses rise, and has each function a section? */
static bool in_order(const struct symtab *tab)
{
	for (size_t i = 0; i < tab->count; i++) {
		const struct symbol *s = &tab->symbols[i];

		if ((i && s->addr <= s[-1].addr) || s->end < s->addr || s->section >= tab->n_sections)
			return false;
	}
	return true;
}

static uint16_t decode_section(struct cursor *in)
{
	uint64_t n = cursor_varint(in);

	in->bad |= n > UINT16_MAX;
	return (uint16_t)n;
}

static void decode_places(struct cursor *in, struct symtab *tab)
{
	uint64_t end = 0;

	/* until its address is known, the end is the distance from the symbol before */
	for (size_t i = 0; i < tab->count; i++)
		tab->symbols[i].end = (uint64_t)cursor_svarint(in);
	for (size_t i = 0; i < tab->count; i++)
		tab->symbols[i].addr = cursor_u8(in);
	for (size_t i = 0; i < tab->count; i++)
		tab->symbols[i].addr += (uint64_t)cursor_u8(in) << 4;
	for (size_t i = 0; i < tab->count; i++) {
		struct symbol *s = &tab->symbols[i];
		uint64_t size = s->addr + (cursor_varint(in) << 12);

		s->addr = end + s->end;
		end = s->end = s->addr + size;
	}
	for (size_t i = 0; i < tab->count; i++)
		tab->symbols[i].section = decode_section(in);
}

static void decode_names(struct cursor *in, const uint8_t *sharing, struct symtab *tab)
{
	struct buf names = { 0 };
	size_t before = 0; /* where the last name begins */

	for (size_t i = 0; i < tab->count && !in->bad; i++) {
		const uint8_t *end = memchr(in->p, 0, cursor_left(in));
		size_t at = names.len;

		in->bad = !end || sharing[i] > (i ? at - before - 1 : 0) || at > MAX_NAMES;
		if (in->bad)
			break;
		buf_reserve(&names, sharing[i] + 1u);
		buf_put(&names, names.data + before, sharing[i]);
		buf_put(&names, in->p, (size_t)(end + 1 - in->p));
		in->p = end + 1;
		tab->symbols[i].name = (uint32_t)at;
		before = at;
	}
	tab->names = (char *)names.data;
	tab->names_len = names.len;
}

static int decode_columns(struct cursor *in, struct symtab *tab)
{
	const uint8_t *sharing;

	if (decode_sections(in, cursor_varint(in), tab) < 0 || decode_count(in, BYTES_A_SYMBOL, tab) < 0)
		return -1;
	decode_places(in, tab);
	sharing = cursor_take(in, tab->count);
	if (in->bad || !in_order(tab))
		return -1;
	decode_names(in, sharing, tab);
	return in->bad ? -1 : 0;
}

static void decode_whole_names(struct cursor *in, struct symtab *tab)
{
	struct buf names = { 0 };

	for (size_t i = 0; i < tab->count; i++) {
		uint64_t len = cursor_varint(in);
		const char *text = cursor_take(in, len);

		tab->symbols[i].name = (uint32_t)names.len;
		if (text && memchr(text, 0, len))
			in->bad = true;
		if (in->bad)
			break;
		buf_put(&names, text, len);
		buf_put_u8(&names, 0);
	}
	tab->names = (char *)names.data;
	tab->names_len = names.len;
}

/* Format 6 and before: a row for each function, then the names. */
static int decode_rows(struct cursor *in, uint64_t n_sections, struct symtab *tab)
{
	uint64_t addr = 0;

	if (decode_sections(in, n_sections, tab) < 0 || decode_count(in, BYTES_A_ROW, tab) < 0)
		return -1;
	for (size_t i = 0; i < tab->count; i++) {
		uint64_t size;

		addr += cursor_varint(in);
		size = cursor_varint(in);
		tab->symbols[i] = (struct symbol){ .addr = addr, .end = addr + size, .section = decode_section(in) };
	}
	if (in->bad || !in_order(tab))
		return -1;
	decode_whole_names(in, tab);
	return in->bad ? -1 : 0;
}

int symtab_decode(struct cursor *in, struct symtab *ret, struct error *err)
{
	struct symtab tab = { 0 };
	uint64_t n_sections = cursor_varint(in);

	if ((in->bad || n_sections == COLUMNS ? decode_columns(in, &tab) : decode_rows(in, n_sections, &tab)) < 0) {
		symtab_deinit(&tab);
		return error_set(err, "damaged symbol table");
	}
	symtab_index(&tab);
	*ret = tab;
	return 0;
}
