/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "map.h"

#include <stdlib.h>

#include "alloc.h"

void map_free(struct map *m)
{
	free(m->slots);
	*m = (struct map){ 0 };
}

static struct map_slot *find(const struct map *m, uint64_t key)
{
	size_t i = hash64(key) & m->mask;

	while (m->slots[i].key && m->slots[i].key != key)
		i = (i + 1) & m->mask;
	return &m->slots[i];
}

static void rehash(struct map *m)
{
	struct map old = *m;
	size_t n = old.slots ? (old.mask + 1) * 2 : 64;

	m->slots = xcalloc_aligned(HUGE_PAGE, n, sizeof *m->slots); /* places in it are anywhere */
	m->mask = n - 1;
	for (size_t i = 0; old.slots && i <= old.mask; i++)
		if (old.slots[i].key)
			*find(m, old.slots[i].key) = old.slots[i];
	free(old.slots);
}

uint64_t *map_get(const struct map *m, uint64_t key)
{
	struct map_slot *s;

	if (!key)
		return m->has_zero ? (uint64_t *)&m->zero : NULL;
	if (!m->slots)
		return NULL;
	s = find(m, key);
	return s->key ? &s->value : NULL;
}

uint64_t *map_put(struct map *m, uint64_t key, uint64_t init)
{
	struct map_slot *s;

	if (!key) {
		if (!m->has_zero)
			m->zero = init;
		m->has_zero = true;
		return &m->zero;
	}
	if (!m->slots || m->count * 4 >= (m->mask + 1) * 3)
		rehash(m);
	s = find(m, key);
	if (!s->key) {
		*s = (struct map_slot){ .key = key, .value = init };
		m->count++;
	}
	return &s->value;
}

bool map_next(const struct map *m, size_t *at, uint64_t *key, uint64_t *value)
{
	for (; m->slots && *at <= m->mask; ++*at)
		if (m->slots[*at].key) {
			*key = m->slots[*at].key;
			*value = m->slots[(*at)++].value;
			return true;
		}
	if (!m->has_zero || *at == SIZE_MAX)
		return false;
	*at = SIZE_MAX;
	*key = 0;
	*value = m->zero;
	return true;
}
