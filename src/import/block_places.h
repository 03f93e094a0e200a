/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the lines of a text trace say that control is: "retint_user + 8 in section .text", "7fb95ab3cd20". Few texts
 * come again and again, so each is read once and found by its hash from then on.
 */
#ifndef UPTO_IMPORT_BLOCK_PLACES_H
#define UPTO_IMPORT_BLOCK_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

enum {
	BLOCK_USER,             /* function numbers: code at a bare address of a program, … */
	BLOCK_KERNEL,           /* … of the kernel, … */
	BLOCK_FIRST_FUNCTION,   /* … and from here on, what has a name */
	BLOCK_FUNCTIONS_MAX = 1 << 22,
	BLOCK_PLACES_MAX = 1 << 23,
	BLOCK_BARE_MAX = 1 << 21, /* bare addresses that are kept */
	BLOCK_SECTION_MAX = 31, /* bytes of a section's name */
	BLOCK_SECTIONS_MAX = 60000,
	BLOCK_OFFSET_MAX = 1 << 20, /* of a place in its function: below this */
};

struct block_place {
	uint64_t hash;
	const char *text;
	uint32_t len;
	uint32_t function;
	uint64_t address;       /* of functions: offset in it */
	uint32_t site;          /* the user's; 0 at first */
};

struct block_function {
	char *name;
	uint32_t section;
};

struct block_places {
	struct block_place *slots;      /* open addressing; a slot without text is free */
	size_t mask, count, bare;
	struct block_place unkept;      /* the last one that was not kept */
	struct block_function *functions; /* numbers from BLOCK_FIRST_FUNCTION on */
	size_t n_functions, functions_cap;
	char **sections;
	size_t n_sections, sections_cap;
	/* hash of the name, and for functions of the section → number + 1 */
	struct map function_numbers, section_numbers;
	size_t names_len;               /* bytes of all names */
	struct block_text *texts;       /* memory of the places' texts */
};

void block_places_deinit(struct block_places *p);

/* The place of a text that is not kept yet. NULL: *ret_expected tells what was expected. */
struct block_place *block_places_add(struct block_places *p, const char *text, size_t len, uint64_t hash,
				     const char **ret_expected);

/* A hash that is quick rather than good: texts are compared, too. */
static inline uint64_t block_text_hash(const char *text, size_t len)
{
	uint64_t h = len * 0x9e3779b97f4a7c15u, word = 0;

	for (; len >= 8; text += 8, len -= 8) {
		__builtin_memcpy(&word, text, 8);
		h = (h ^ word) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
	}
	word = 0;
	for (size_t i = 0; i < len; i++)
		word = word << 8 | (unsigned char)text[i];
	h = (h ^ word) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 32;
}

/* Valid until the next call of one of these two. */
static inline struct block_place *block_places_find(struct block_places *p, const char *text, size_t len,
						    const char **ret_expected)
{
	uint64_t hash = block_text_hash(text, len);

	for (size_t i = hash & p->mask; p->slots && p->slots[i].text; i = (i + 1) & p->mask)
		if (p->slots[i].hash == hash && p->slots[i].len == len &&
		    !__builtin_memcmp(p->slots[i].text, text, len))
			return &p->slots[i];
	return block_places_add(p, text, len, hash, ret_expected);
}

#endif
