/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kallsyms.h"

#include <stdbool.h>
#include <string.h>

#include "arch/address.h"
#include "arch/narrow.h"

enum {
	TOKENS = 256,
	SYMS_PER_MARKER = 256,
	NAME_MAX_LEN = 4096,
	MARKERS_MAX = 1 << 15,
};

struct tables {
	const uint8_t *data;
	size_t len;
	uint64_t addr; /* where data[0] is in the kernel's memory */
	bool narrow;   /* a kernel of 32 bits */
	size_t token_table, token_index;
	uint16_t index[TOKENS];
	size_t markers, n_markers;
	size_t num_syms_at, names, names_end;
	uint32_t num_syms;
};

static uint32_t u32_at(const struct tables *t, size_t at)
{
	uint32_t v;

	memcpy(&v, t->data + at, sizeof v);
	return v;
}

static uint64_t u64_at(const struct tables *t, size_t at)
{
	uint64_t v;

	memcpy(&v, t->data + at, sizeof v);
	return v;
}

/* Bytes of an address; parts of the table are aligned so. */
static size_t word(const struct tables *t)
{
	return t->narrow ? 4 : 8;
}

static uint64_t word_at(const struct tables *t, size_t at)
{
	return t->narrow ? u32_at(t, at) | NARROW_HIGH : u64_at(t, at);
}

static size_t align(const struct tables *t, size_t n)
{
	return (n + word(t) - 1) & ~(word(t) - 1);
}

/* Offset of the n-th string behind the one at offset `at`; 0 if the data ends first. */
static size_t skip_strings(const struct tables *t, size_t at, unsigned n)
{
	while (n--) {
		const void *nul = memchr(t->data + at, 0, t->len - at);

		if (!nul)
			return 0;
		at = (size_t)((const uint8_t *)nul - t->data) + 1;
		if (at >= t->len)
			return 0;
	}
	return at;
}

/*
 * Check that the token for '0' is part of a token table with its index behind it. Every character that symbols use is
 * a token of its own, so the tokens of the ten digits follow each other.
 */
static bool token_table_at(struct tables *t, size_t zero)
{
	size_t end = skip_strings(t, zero, TOKENS - '0');

	if (!end)
		return false;
	for (size_t at = (end + 3) & ~(size_t)3; at + sizeof t->index <= t->len && at < end + 64; at += 4) {
		size_t token = zero;
		unsigned i;

		memcpy(t->index, t->data + at, sizeof t->index);
		if (t->index[0] != 0 || t->index['0'] > zero)
			continue;
		token = zero - t->index['0'];
		for (i = 0; i + 1 < TOKENS; i++) {
			token = skip_strings(t, token, 1);
			if (!token || t->index[i + 1] != token - zero + t->index['0'])
				break;
		}
		if (i + 1 < TOKENS)
			continue;
		t->token_index = at;
		t->token_table = zero - t->index['0'];
		return true;
	}
	return false;
}

static bool find_token_table(struct tables *t, size_t *from)
{
	static const char digits[] = "0\0001\0002\0003\0004\0005\0006\0007\0008\0009";

	while (*from < t->len) {
		const uint8_t *hit = memmem(t->data + *from, t->len - *from, digits, sizeof digits);

		if (!hit)
			return false;
		*from = (size_t)(hit - t->data) + 1;
		if (token_table_at(t, *from - 1))
			return true;
	}
	return false;
}

/* How many u32 from `at` on are a rising row that begins with 0. */
static size_t rising(const struct tables *t, size_t at)
{
	uint32_t before = 0;
	size_t n = 1;

	while (n < MARKERS_MAX && at + n * 4 + 4 <= t->token_table) {
		uint32_t v = u32_at(t, at + n * 4);

		if (v <= before || v - before > SYMS_PER_MARKER * NAME_MAX_LEN)
			break;
		before = v;
		n++;
	}
	return n;
}

/* Between the markers and the token table is nothing, or kallsyms_seqs_of_names with three bytes for each symbol. */
static bool gap_fits(const struct tables *t, size_t end, size_t n)
{
	size_t gap = t->token_table - end, least = (n - 1) * SYMS_PER_MARKER * 3;

	return gap < 8 || (gap > least && gap <= least + SYMS_PER_MARKER * 3 + 16);
}

static size_t name_length(const uint8_t **p, const uint8_t *end)
{
	size_t n = *(*p)++;

	/* names with more than 127 tokens exist since 6.1 */
	if (n & 0x80 && *p < end)
		n = (n & 0x7f) | (size_t)*(*p)++ << 7;
	return n;
}

/* Walk the names. Returns true if they agree with every marker and end where the markers begin. */
static bool names_agree(struct tables *t, size_t names, uint32_t num_syms)
{
	const uint8_t *p = t->data + names, *end = t->data + t->markers;

	for (uint32_t i = 0; i < num_syms; i++) {
		size_t n;

		if (p >= end)
			return false;
		if (i % SYMS_PER_MARKER == 0 &&
		    u32_at(t, t->markers + i / SYMS_PER_MARKER * 4) != (size_t)(p - t->data) - names)
			return false;
		n = name_length(&p, end);
		if (n > (size_t)(end - p))
			return false;
		p += n;
	}
	t->names_end = (size_t)(p - t->data);
	return t->markers - t->names_end < 16;
}

/* The markers are found. Look for the names before them, and for the count before the names. */
static bool find_names(struct tables *t)
{
	uint32_t last = u32_at(t, t->markers + (t->n_markers - 1) * 4);
	size_t high, low;

	if (t->markers < 16 || last > t->markers - 16)
		return false;
	/* after the last marker come fewer than 256 names, which are short on average */
	high = (t->markers - last) & ~(size_t)3;
	low = high > (size_t)SYMS_PER_MARKER * 256 ? high - (size_t)SYMS_PER_MARKER * 256 : 8;
	for (size_t names = high; names >= low; names -= 4)
		for (size_t gap = 4; gap <= 8 && gap <= names; gap += 4) {
			uint32_t n = u32_at(t, names - gap);

			if (n > (t->n_markers - 1) * SYMS_PER_MARKER && n <= t->n_markers * SYMS_PER_MARKER &&
			    names_agree(t, names, n)) {
				t->num_syms_at = names - gap;
				t->names = names;
				t->num_syms = n;
				return true;
			}
		}
	return false;
}

static bool find_markers_and_names(struct tables *t)
{
	for (size_t at = t->token_table & ~(size_t)3; at >= 8;) {
		size_t n;

		at -= 4;
		if (u32_at(t, at) != 0)
			continue;
		/* the row may be longer than the markers: what follows them may rise by chance */
		n = rising(t, at);
		for (size_t extra = 0; extra < 4 && extra + 2 <= n; extra++) {
			t->markers = at;
			t->n_markers = n - extra;
			if (gap_fits(t, t->markers + t->n_markers * 4, t->n_markers) && find_names(t))
				return true;
		}
	}
	return false;
}

/* What the offsets count from. */
enum origin {
	FROM_BASE,
	/* CONFIG_KALLSYMS_ABSOLUTE_PERCPU: the offsets of all symbols except per-CPU ones are negative */
	FROM_BASE_BUT_PERCPU,
	FROM_THEMSELVES,
};

struct addresses {
	size_t offsets;
	uint64_t base;
	enum origin origin;
};

static int32_t offset_at(const struct tables *t, size_t offsets, uint32_t i)
{
	return (int32_t)u32_at(t, offsets + (size_t)i * 4);
}

static uint64_t address_of(const struct tables *t, const struct addresses *a, uint32_t i)
{
	int32_t offset = offset_at(t, a->offsets, i);

	switch (a->origin) {
	case FROM_BASE_BUT_PERCPU:
		return offset >= 0 ? (uint64_t)offset : a->base - 1 - (uint64_t)(int64_t)offset;
	case FROM_THEMSELVES:
		return t->addr + a->offsets + (uint64_t)i * 4 + (uint64_t)(int64_t)offset;
	case FROM_BASE:
		break;
	}
	return a->base + (uint32_t)offset;
}

static bool addresses_rise(const struct tables *t, const struct addresses *a)
{
	uint64_t before = 0;

	for (uint32_t i = 0; i < t->num_syms; i++) {
		uint64_t addr = address_of(t, a, i);

		if (addr < before)
			return false;
		before = addr;
	}
	return true;
}

static bool offsets_fit(const struct tables *t, size_t offsets)
{
	return offsets % 4 == 0 && offsets <= t->len && (size_t)t->num_syms * 4 <= t->len - offsets;
}

static bool with_base_at(const struct tables *t, size_t offsets, size_t base_at, struct addresses *ret)
{
	struct addresses a = { .offsets = offsets };
	uint32_t negative = 0;

	if (!offsets_fit(t, offsets) || base_at + word(t) > t->len)
		return false;
	a.base = word_at(t, base_at);
	if (!addr_is_kernel(a.base) || a.base & 0xfff)
		return false;
	for (uint32_t i = 0; i < t->num_syms; i++)
		negative += offset_at(t, offsets, i) < 0;
	a.origin = negative > t->num_syms / 2 ? FROM_BASE_BUT_PERCPU : FROM_BASE;
	*ret = a;
	return addresses_rise(t, &a);
}

/* The table lies between the kernel's code and its data: the first symbol is before it, the last one behind it. */
static bool without_base_at(const struct tables *t, size_t offsets, struct addresses *ret)
{
	struct addresses a = { .offsets = offsets, .origin = FROM_THEMSELVES };

	if (!offsets_fit(t, offsets) || offset_at(t, offsets, 0) >= 0 || offset_at(t, offsets, t->num_syms - 1) <= 0 ||
	    !addr_is_kernel(address_of(t, &a, 0)))
		return false;
	*ret = a;
	return addresses_rise(t, &a);
}

static bool find_addresses(const struct tables *t, struct addresses *ret)
{
	size_t size = (size_t)t->num_syms * 4;

	for (size_t pad = 0; pad <= 16; pad += 4) {
		size_t after = t->token_index + TOKENS * 2 + pad;
		size_t base = t->num_syms_at - word(t) - pad;

		if (with_base_at(t, after, align(t, after + size), ret) || without_base_at(t, after, ret))
			return true;
		if (t->num_syms_at < size + 64)
			continue;
		for (size_t gap = 0; gap <= 8; gap += 4)
			if (with_base_at(t, base - size - gap, base, ret))
				return true;
	}
	return false;
}

static void add_names(const struct tables *t, const struct addresses *a, struct symbol_list *ret)
{
	const uint8_t *p = t->data + t->names, *end = t->data + t->names_end;

	for (uint32_t i = 0; i < t->num_syms; i++) {
		size_t n = name_length(&p, end), len = 0;
		char name[NAME_MAX_LEN];

		for (; n; n--, p++) {
			const char *token = (const char *)t->data + t->token_table + t->index[*p];
			size_t token_len = strlen(token);

			if (token_len < sizeof name - len) {
				memcpy(name + len, token, token_len);
				len += token_len;
			}
		}
		/* the first character is the type */
		if (len > 1)
			symbol_list_add(ret, address_of(t, a, i), 0, name[0], name + 1, len - 1);
	}
}

int kallsyms_read(const void *data, size_t len, uint64_t addr, bool narrow, struct symbol_list *ret, struct error *err)
{
	struct tables t = { .data = data, .len = len, .addr = addr, .narrow = narrow };
	struct addresses a;
	enum { TABLES_MAX = 16 }; /* a kernel has one; hardly anything else looks like it */
	size_t from = 0;

	for (unsigned i = 0; i < TABLES_MAX && find_token_table(&t, &from); i++) {
		if (!find_markers_and_names(&t) || !find_addresses(&t, &a))
			continue;
		add_names(&t, &a, ret);
		return 0;
	}
	return error_set(err, "no kallsyms found: the kernel was built without CONFIG_KALLSYMS, "
			      "or its layout is not one that upto knows");
}
