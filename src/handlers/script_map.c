/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "script_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"

enum { FIRST_SLOTS = 16 };

struct value tuple_part(const struct type *type, const struct value *tuple, size_t i)
{
	const uint8_t *at = tuple->p, *end;
	struct value ret = { 0 };

	if (!at) /* of a variable that was never set */
		return ret;
	end = at + tuple->n;
	for (size_t k = 0; k <= i; k++) {
		uint32_t len = 0;

		if (!type_has_bytes(&type->fields[k])) {
			if (end - at < 8)
				return (struct value){ 0 };
			memcpy(&ret.n, at, 8);
			at += 8;
			continue;
		}
		if (end - at < 4)
			return (struct value){ 0 };
		memcpy(&len, at, 4);
		at += 4;
		if ((size_t)(end - at) < len)
			return (struct value){ 0 };
		ret = (struct value){ .n = len, .p = at };
		at += len;
	}
	return ret;
}

static uint64_t hash_of(const struct script_map *m, const struct value *key)
{
	uint64_t hash = hash64(key->n), word;
	size_t i = 0;

	if (!type_has_bytes(&m->key))
		return hash;
	for (; i + 8 <= key->n; i += 8) {
		memcpy(&word, key->p + i, 8);
		hash = hash64(hash ^ word);
	}
	word = 0;
	if (key->n > i)
		memcpy(&word, key->p + i, key->n - i);
	return hash64(hash ^ word);
}

static bool is_key(const struct script_map *m, const struct map_entry *e, const struct value *key, uint64_t hash)
{
	if (e->hash != hash || e->key.n != key->n)
		return false;
	return !type_has_bytes(&m->key) || !key->n || !memcmp(e->key.p, key->p, key->n);
}

static struct map_entry *find(const struct script_map *m, const struct value *key, uint64_t hash)
{
	if (!m->slots)
		return NULL;
	for (size_t at = hash & m->mask; m->slots[at]; at = (at + 1) & m->mask) {
		struct map_entry *e = &m->entries[m->slots[at] - 1];

		if (e->live && is_key(m, e, key, hash))
			return e;
	}
	return NULL;
}

/* Take an entry out of the order of use. */
static void unlink_use(struct script_map *m, uint32_t number)
{
	const struct map_use *u = &m->uses[number];

	*(u->older ? &m->uses[u->older - 1].newer : &m->oldest) = u->newer;
	*(u->newer ? &m->uses[u->newer - 1].older : &m->newest) = u->older;
}

static void link_newest(struct script_map *m, uint32_t number)
{
	m->uses[number] = (struct map_use){ .older = m->newest };
	*(m->newest ? &m->uses[m->newest - 1].newer : &m->oldest) = number + 1;
	m->newest = number + 1;
}

static void use(struct script_map *m, const struct map_entry *e)
{
	uint32_t number = (uint32_t)(e - m->entries);

	if (!m->forgets || m->newest == number + 1)
		return;
	unlink_use(m, number);
	link_newest(m, number);
}

struct map_entry *script_map_find(struct script_map *m, const struct value *key)
{
	struct map_entry *e = find(m, key, hash_of(m, key));

	if (e)
		use(m, e);
	return e;
}

/* Does an entry have a block for its values? How many bytes; 0: none. */
static size_t block_bytes(const struct script_map *m)
{
	if (m->value.kind != TYPE_AGGREGATE || m->value.aggregate < HIST)
		return 0;
	return m->value.aggregate == TSERIES ? (size_t)m->value.max * sizeof(struct series_slot)
					     : map_buckets(&m->value) * sizeof(uint64_t);
}

static size_t entry_bytes(const struct script_map *m, const struct value *key)
{
	size_t ret = sizeof(struct map_entry) + 2 * sizeof(uint32_t) + block_bytes(m);

	if (type_has_bytes(&m->key))
		ret += key->n + 16;
	return m->forgets ? ret + sizeof(struct map_use) : ret;
}

static void place(struct script_map *m, size_t number)
{
	size_t at = m->entries[number].hash & m->mask;

	while (m->slots[at])
		at = (at + 1) & m->mask;
	m->slots[at] = (uint32_t)number + 1;
}

static void clear_values(struct script_map *m, struct map_entry *e)
{
	if (block_bytes(m))
		free(e->buckets);
	else if (type_has_bytes(&m->value))
		free((void *)e->value.p);
	e->buckets = NULL;
	e->sums = (struct map_sums){ 0 };
}

static void init_values(struct script_map *m, struct map_entry *e)
{
	if (block_bytes(m))
		e->buckets = xcalloc(1, block_bytes(m));
}

/* Entries have got other numbers: the order of use by those. `numbers`: by the old one, the new one + 1. */
static void renumber_uses(struct script_map *m, const uint32_t *numbers, size_t count)
{
	struct map_use *before = m->uses;
	uint32_t at = m->oldest;

	m->uses = xcalloc(m->cap + 1, sizeof *m->uses);
	m->oldest = m->newest = 0;
	for (; at && at <= count; at = before[at - 1].newer)
		link_newest(m, numbers[at - 1] - 1);
	free(before);
}

/* Those that were deleted go; the rest keep their order. */
static void rebuild(struct script_map *m, size_t slots)
{
	size_t n = 0, before = m->count;
	uint32_t *numbers = m->forgets ? xcalloc(before + 1, sizeof *numbers) : NULL;

	for (size_t i = 0; i < before; i++) {
		if (!m->entries[i].live)
			continue;
		m->entries[n++] = m->entries[i];
		if (numbers)
			numbers[i] = (uint32_t)n;
	}
	m->count = n;
	if (numbers)
		renumber_uses(m, numbers, before);
	free(numbers);
	free(m->slots);
	m->slots = xcalloc(slots, sizeof *m->slots);
	m->mask = slots - 1;
	for (size_t i = 0; i < n; i++)
		place(m, i);
}

static void make_room(struct script_map *m)
{
	size_t slots = m->slots ? m->mask + 1 : 0;

	if (m->slots && (m->count + 1) * 2 <= slots)
		return;
	/* many of them were deleted: the same room will do */
	rebuild(m, !slots ? FIRST_SLOTS : m->live * 4 < slots ? slots : slots * 2);
}

static void remove_entry(struct script_map *m, struct map_entry *e, size_t *all);

static bool is_full(const struct script_map *m, size_t bytes, size_t all)
{
	return all + bytes > SCRIPT_MAPS_BYTES || (m->keys_max && m->live >= m->keys_max);
}

/* Room for so many bytes more. False: there is none, and nothing to forget. */
static bool forget_oldest(struct script_map *m, size_t bytes, size_t *all)
{
	while (m->forgets && m->oldest && is_full(m, bytes, *all))
		remove_entry(m, &m->entries[m->oldest - 1], all);
	return !is_full(m, bytes, *all);
}

static void grow_entries(struct script_map *m)
{
	size_t before = m->cap;

	m->entries = array_grow(m->entries, m->count, &m->cap, sizeof *m->entries);
	if (m->forgets && m->cap != before)
		m->uses = xreallocarray(m->uses, m->cap + 1, sizeof *m->uses);
}

struct map_entry *script_map_reach(struct script_map *m, const struct value *key, size_t *all)
{
	uint64_t hash = hash_of(m, key);
	struct map_entry *e = find(m, key, hash);
	size_t bytes;

	if (e) {
		use(m, e);
		return e;
	}
	bytes = entry_bytes(m, key);
	if (!forget_oldest(m, bytes, all)) {
		m->left_out++;
		return NULL;
	}
	make_room(m);
	grow_entries(m);
	e = &m->entries[m->count++];
	*e = (struct map_entry){ .hash = hash, .key = *key };
	if (type_has_bytes(&m->key)) {
		uint8_t *copy = xmalloc(key->n + 1);

		if (key->n)
			memcpy(copy, key->p, key->n);
		e->key.p = copy;
	}
	place(m, m->count - 1);
	if (m->forgets)
		link_newest(m, (uint32_t)m->count - 1);
	e->live = true;
	init_values(m, e);
	m->live++;
	m->bytes += bytes;
	*all += bytes;
	return e;
}

static void remove_entry(struct script_map *m, struct map_entry *e, size_t *all)
{
	size_t bytes;

	if (m->forgets)
		unlink_use(m, (uint32_t)(e - m->entries));
	bytes = entry_bytes(m, &e->key) + (type_has_bytes(&m->value) ? e->value.n : 0);
	clear_values(m, e);
	if (type_has_bytes(&m->key)) {
		free((void *)e->key.p);
		e->key.p = NULL;
	}
	e->live = false;
	m->live--;
	m->bytes -= bytes;
	*all -= bytes;
}

void script_map_remove(struct script_map *m, const struct value *key, size_t *all)
{
	struct map_entry *e = script_map_find(m, key);

	if (e)
		remove_entry(m, e, all);
}

void script_map_clear(struct script_map *m, size_t *all)
{
	for (size_t i = 0; i < m->count; i++) {
		if (!m->entries[i].live)
			continue;
		clear_values(m, &m->entries[i]);
		if (type_has_bytes(&m->key))
			free((void *)m->entries[i].key.p);
	}
	free(m->slots);
	m->slots = NULL;
	m->mask = m->count = m->live = 0;
	m->oldest = m->newest = 0;
	*all -= m->bytes;
	m->bytes = 0;
}

static void zero_value(struct script_map *m, struct map_entry *e, size_t *all)
{
	if (type_has_bytes(&m->value)) {
		m->bytes -= e->value.n;
		*all -= e->value.n;
	}
	e->value.n = 0;
}

void script_map_zero(struct script_map *m, size_t *all)
{
	for (size_t i = 0; i < m->count; i++) {
		struct map_entry *e = &m->entries[i];

		if (!e->live)
			continue;
		if (block_bytes(m))
			memset(e->buckets, 0, block_bytes(m));
		else if (m->value.kind == TYPE_AGGREGATE)
			e->sums = (struct map_sums){ 0 };
		else
			zero_value(m, e, all);
	}
}

/* Room for so many bytes more in an entry that stays. */
static bool forget_others(struct script_map *m, const struct map_entry *e, size_t bytes, size_t *all)
{
	while (m->forgets && m->oldest && &m->entries[m->oldest - 1] != e && *all + bytes > SCRIPT_MAPS_BYTES)
		remove_entry(m, &m->entries[m->oldest - 1], all);
	return *all + bytes <= SCRIPT_MAPS_BYTES;
}

bool script_map_set(struct script_map *m, struct map_entry *e, const struct value *value, size_t *all)
{
	uint8_t *copy;
	size_t before;

	if (!type_has_bytes(&m->value)) {
		e->value = *value;
		return true;
	}
	before = e->value.p ? e->value.n : 0;
	if (value->n > before && !forget_others(m, e, value->n - before, all)) {
		m->left_out++;
		return false;
	}
	copy = xmalloc(value->n + 1);
	if (value->n)
		memcpy(copy, value->p, value->n);
	free((void *)e->value.p);
	e->value = (struct value){ .n = value->n, .p = copy };
	m->bytes += value->n - before;
	*all += value->n - before;
	return true;
}

void script_map_add(struct script_map *m, struct map_entry *e, int64_t n, uint64_t ns)
{
	struct map_sums *s = &e->sums;

	if (m->value.aggregate == TSERIES) {
		series_add(&m->value, e->series, ns, n);
		return;
	}
	if (m->value.aggregate >= HIST) {
		e->buckets[map_bucket(&m->value, n)]++;
		return;
	}
	if (!s->count || n < s->min)
		s->min = n;
	if (!s->count || n > s->max)
		s->max = n;
	s->count++;
	s->sum = (int64_t)((uint64_t)s->sum + (uint64_t)n);
}

void script_map_deinit(struct script_map *m)
{
	size_t bytes = m->bytes;

	script_map_clear(m, &bytes);
	free(m->entries);
	free(m->uses);
}

int64_t script_map_number(const struct script_map *m, const struct map_entry *e)
{
	const struct map_sums *s = &e->sums;

	if (m->value.kind != TYPE_AGGREGATE)
		return (int64_t)e->value.n;
	switch (m->value.aggregate) {
	case COUNT:
		return (int64_t)s->count;
	case SUM:
		return s->sum;
	case MIN:
		return s->min;
	case MAX:
		return s->max;
	default:
		return s->count ? s->sum / (int64_t)s->count : 0;
	}
}

/* By key: numbers by their sign, texts by their bytes, tuples part by part. */
static int compare_values(const struct type *type, const struct value *a, const struct value *b)
{
	int r;

	if (type->kind == TYPE_TUPLE) {
		for (size_t i = 0; i < type->n_fields; i++) {
			struct value x = tuple_part(type, a, i), y = tuple_part(type, b, i);

			r = compare_values(&type->fields[i], &x, &y);
			if (r)
				return r;
		}
		return 0;
	}
	if (type->kind == TYPE_TEXT) {
		size_t n = a->n < b->n ? a->n : b->n;

		r = n ? memcmp(a->p, b->p, n) : 0;
		return r ? r : (a->n > b->n) - (a->n < b->n);
	}
	return ((int64_t)a->n > (int64_t)b->n) - ((int64_t)a->n < (int64_t)b->n);
}

static int by_key(const void *a, const void *b, void *map)
{
	const struct map_entry *const *x = a, *const *y = b;

	return compare_values(&((const struct script_map *)map)->key, &(*x)->key, &(*y)->key);
}

static uint64_t histogram_count(const struct script_map *m, const struct map_entry *e)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < map_buckets(&m->value); i++)
		sum += e->buckets[i];
	return sum;
}

static int by_value(const void *a, const void *b, void *map)
{
	const struct map_entry *const *x = a, *const *y = b;
	const struct script_map *m = map;
	int64_t p, q;

	if (m->value.kind == TYPE_AGGREGATE && m->value.aggregate >= HIST) {
		p = (int64_t)histogram_count(m, *x);
		q = (int64_t)histogram_count(m, *y);
	} else {
		p = script_map_number(m, *x);
		q = script_map_number(m, *y);
	}
	return p != q ? (p > q) - (p < q) : by_key(a, b, map);
}

struct map_entry **script_map_sorted(const struct script_map *m)
{
	struct map_entry **list = xcalloc(m->live + 1, sizeof *list);
	bool is_series = m->value.kind == TYPE_AGGREGATE && m->value.aggregate == TSERIES;
	bool numbers = (m->value.kind == TYPE_AGGREGATE && !is_series) || m->value.kind == TYPE_NUMBER ||
		       m->value.kind == TYPE_POINTER;
	size_t n = 0;

	for (size_t i = 0; i < m->count; i++)
		if (m->entries[i].live)
			list[n++] = &m->entries[i];
	qsort_r(list, n, sizeof *list, numbers ? by_value : by_key, (void *)m);
	return list;
}

/* As bpftrace's log2(): below 0, 0, then powers of two, each in 2^bits parts. */
size_t map_buckets(const struct type *value)
{
	if (value->aggregate == LHIST)
		return (size_t)((value->max - value->min) / value->step) + 2;
	return ((size_t)(64 - value->bits) << value->bits) + (1u << value->bits) + 1;
}

size_t map_bucket(const struct type *value, int64_t n)
{
	unsigned bits = value->bits, top;

	if (value->aggregate == LHIST) {
		if (n < value->min)
			return 0;
		return n >= value->max ? map_buckets(value) - 1 : (size_t)((n - value->min) / value->step) + 1;
	}
	if (n < 0)
		return 0;
	if (n < INT64_C(1) << bits)
		return (size_t)n + 1;
	top = 63 - (unsigned)__builtin_clzll((uint64_t)n);
	return (((size_t)(top - bits) + 1) << bits) + (((uint64_t)n >> (top - bits)) & ((1u << bits) - 1)) + 1;
}

int64_t map_bucket_from(const struct type *value, size_t bucket)
{
	unsigned bits = value->bits;
	uint64_t i = bucket - 1, part;

	if (value->aggregate == LHIST)
		return value->min + (int64_t)(bucket - 1) * value->step;
	if (i < (1u << bits))
		return (int64_t)i;
	part = i & ((1u << bits) - 1);
	i = (i >> bits) - 1;
	return i + bits >= 63 ? INT64_MAX : (int64_t)(((UINT64_C(1) << bits) + part) << i);
}
