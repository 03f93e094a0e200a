/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "blocks.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"

enum {
	PART = 4096,
	PARTS = 1 << 13,
	ARENA = 1 << 20,
};

void blocks_init(struct blocks *b)
{
	/* number 0 stands for none */
	*b = (struct blocks){ .parts = xcalloc(PARTS, sizeof *b->parts), .count = 1 };
	b->parts[0] = xcalloc(PART, sizeof **b->parts);
}

void blocks_forget(struct blocks *b)
{
	map_free(&b->pages);
	map_free(&b->known);
}

struct block *blocks_get(const struct blocks *b, uint32_t number)
{
	return &b->parts[number / PART][number % PART];
}

static uint8_t *keep(struct blocks *b, const uint8_t *lengths, uint16_t n)
{
	uint8_t *p;

	if (b->arena_left < n) {
		b->arena = xmalloc(ARENA);
		b->arena_left = ARENA;
	}
	p = b->arena;
	memcpy(p, lengths, n);
	b->arena += n;
	b->arena_left -= n;
	return p;
}

static struct block *blocks_new(struct blocks *b, uint64_t addr, const uint8_t *lengths, uint16_t n)
{
	uint64_t *first = map_put(&b->pages, addr >> 12, 0);
	uint32_t number = b->count;
	struct block *block;

	if (number == (uint32_t)PART * PARTS)
		return NULL;
	if (!b->parts[number / PART])
		b->parts[number / PART] = xcalloc(PART, sizeof *block);
	b->count++;
	block = blocks_get(b, number);
	*block = (struct block){
		.addr = addr, .number = number, .vector = -1, .n = n, .lengths = keep(b, lengths, n),
		.next = (uint32_t)*first,
	};
	*first = number;
	return block;
}

struct block *blocks_add(struct blocks *b, uint64_t addr, const uint8_t *lengths, uint16_t n, int *ret_new)
{
	uint64_t *known = map_put(&b->known, addr ^ (uint64_t)n << 48, 0);
	struct block *block = NULL;

	for (uint32_t i = (uint32_t)*known; i; i = block->twin) {
		block = blocks_get(b, i);
		if (block->addr == addr && block->n == n && !memcmp(block->lengths, lengths, n)) {
			*ret_new = 0;
			block->stamp = ++b->stamp;
			return block;
		}
	}
	block = blocks_new(b, addr, lengths, n);
	if (!block)
		return NULL;
	*ret_new = 1;
	block->stamp = ++b->stamp;
	block->twin = (uint32_t)*known;
	*known = block->number;
	return block;
}

int block_index_of(const struct block *block, uint64_t addr)
{
	uint64_t at = block->addr & 0xfff;

	addr &= 0xfff;
	for (int i = 0; i < block->n; i++) {
		if ((at & 0xfff) == addr)
			return i;
		at += block->lengths[i];
	}
	return -1;
}

struct block *blocks_find(const struct blocks *b, uint64_t addr, int *ret_index)
{
	const uint64_t *first = map_get(&b->pages, addr >> 12);
	struct block *best = NULL;

	for (uint32_t i = first ? (uint32_t)*first : 0; i;) {
		struct block *block = blocks_get(b, i);
		uint64_t at = block->addr;

		i = block->next;
		if (best && (block->n == 1 || (best->n > 1 && best->stamp > block->stamp)))
			continue;
		for (int k = 0; k < block->n && at <= addr; k++) {
			if (at == addr) {
				best = block;
				*ret_index = k;
				break;
			}
			at += block->lengths[k];
		}
	}
	return best;
}
