/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of learn.h share. */
#ifndef UPTO_GUEST_LEARN_INNER_H
#define UPTO_GUEST_LEARN_INNER_H

#include "learn.h"

enum { WORD = 8, NOT_FOUND = -1, SEVERAL = -2 };

/* Bytes of a structure: as many as can be read, up to a limit. */
struct piece {
	uint64_t addr;
	size_t len;
	uint8_t data[16384];
};

void piece_read(struct piece *p, const struct learn_memory *m, uint64_t addr, size_t max);
/* 0 where it does not reach. */
uint64_t piece_u64(const struct piece *p, size_t at);
uint32_t piece_u32(const struct piece *p, size_t at);

uint64_t read_u64(const struct learn_memory *m, uint64_t addr); /* 0: it cannot be read */
uint32_t read_u32(const struct learn_memory *m, uint64_t addr);

/* May it be the address of something of the kernel's? */
bool is_pointer(uint64_t value);

/* A text of printable characters, of 1 to size - 1 bytes, that ends. */
bool read_name(const struct learn_memory *m, uint64_t addr, char *name, size_t size);

/* Note a candidate: NOT_FOUND becomes its place, anything else SEVERAL. */
void add_candidate(int *found, int at);

static inline bool knows(const struct learner *l, enum member member)
{
	return l->layout->offset[member] != MEMBER_UNKNOWN;
}

/*
 * Set it if it is a place and not known yet. 1: it is new; a number, so that several can be joined by |, and all of
 * them are set.
 */
int learnt(struct learner *l, enum member member, int at);

static inline uint64_t at_member(const struct learner *l, uint64_t structure, enum member member)
{
	return structure + (uint64_t)l->layout->offset[member];
}

#endif
