/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The translated blocks, remembered so that an exception in the middle of one
 * can be told from its end: a block's instructions are counted when it starts,
 * and what was left of it has to be taken back.
 */
#ifndef UPTO_RECORDER_BLOCKS_H
#define UPTO_RECORDER_BLOCKS_H

#include <stdint.h>

#include "base/map.h"

struct block {
	uint64_t addr;     /* of the first instruction, at translation */
	uint32_t number;
	uint32_t next;     /* number of the next block that begins in this page; 0: none */
	uint32_t twin;     /* number of the next block with the same address and n; 0: none */
	uint32_t stamp;    /* rises with each translation */
	int16_t vector;    /* this is the entry of the handler of an interrupt; -1: it is none */
	uint16_t n;        /* instructions */
	uint8_t *lengths;  /* of each */
};

struct blocks {
	struct block **parts;
	uint32_t count;
	uint32_t stamp;
	struct map pages;  /* page number → a block that begins in it */
	struct map known;  /* address and n → a block that has them */
	uint8_t *arena;
	uint64_t arena_left;
};

void blocks_init(struct blocks *b);

/*
 * The block with that address and shape, made if it is new (*ret_new), and
 * from now on the latest of its page.
 */
struct block *blocks_add(struct blocks *b, uint64_t addr, const uint8_t *lengths, uint16_t n, int *ret_new);

/* From now on no block is found by its address, or is the same as a new one. Numbers go on. */
void blocks_forget(struct blocks *b);

struct block *blocks_get(const struct blocks *b, uint32_t number);

/* Index of the instruction that begins at that offset into its page, or -1. */
int block_index_of(const struct block *block, uint64_t addr);

/*
 * The block translated last that has an instruction at exactly that address,
 * one of several instructions if there is any; NULL: none. *ret_index: which
 * instruction. Blocks of one are what QEMU makes to get over a single
 * instruction, and are not left in the middle.
 */
struct block *blocks_find(const struct blocks *b, uint64_t addr, int *ret_index);

#endif
