/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "block_places.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "kfi/words.h"
#include "made_trace.h"

enum { TEXT_BLOCK = 1 << 20, WORDS = 6 };

/* Texts never move. */
struct block_text {
	struct block_text *before;
	size_t len;
	char data[TEXT_BLOCK];
};

void block_places_deinit(struct block_places *p)
{
	for (size_t i = 0; i < p->n_functions; i++)
		free(p->functions[i].name);
	for (size_t i = 0; i < p->n_sections; i++)
		free(p->sections[i]);
	while (p->texts) {
		struct block_text *before = p->texts->before;

		free(p->texts);
		p->texts = before;
	}
	free(p->functions);
	free(p->sections);
	free(p->slots);
	map_free(&p->function_numbers);
	map_free(&p->section_numbers);
	*p = (struct block_places){ 0 };
}

static const char *keep_text(struct block_places *p, const char *text, size_t len)
{
	char *kept;

	if (!p->texts || TEXT_BLOCK - p->texts->len < len) {
		struct block_text *new = xmalloc(sizeof *new);

		new->before = p->texts;
		new->len = 0;
		p->texts = new;
	}
	kept = p->texts->data + p->texts->len;
	memcpy(kept, text, len);
	p->texts->len += len;
	return kept;
}

static void grow(struct block_places *p)
{
	size_t old = p->slots ? p->mask + 1 : 0, n = old ? old * 2 : 1024;
	struct block_place *slots = xcalloc(n, sizeof *slots);

	for (size_t k = 0; k < old; k++) {
		size_t i = p->slots[k].hash & (n - 1);

		if (!p->slots[k].text)
			continue;
		while (slots[i].text)
			i = (i + 1) & (n - 1);
		slots[i] = p->slots[k];
	}
	free(p->slots);
	p->slots = slots;
	p->mask = n - 1;
}

static struct block_place *keep(struct block_places *p, const struct block_place *place)
{
	size_t i;

	if (p->count * 2 >= p->mask)
		grow(p);
	for (i = place->hash & p->mask; p->slots[i].text; i = (i + 1) & p->mask)
		;
	p->slots[i] = *place;
	p->slots[i].text = keep_text(p, place->text, place->len);
	p->count++;
	return &p->slots[i];
}

static uint32_t number_of_section(struct block_places *p, struct word w)
{
	char *name = xstrndup(w.p, w.len);
	uint64_t *number = map_put(&p->section_numbers, hash_text(0, name), 0);

	if (!*number && p->n_sections < BLOCK_SECTIONS_MAX) {
		p->sections = array_grow(p->sections, p->n_sections, &p->sections_cap, sizeof *p->sections);
		p->sections[p->n_sections++] = name;
		*number = p->n_sections;
		name = NULL;
	}
	free(name);
	return (uint32_t)*number;
}

static uint32_t number_of_function(struct block_places *p, struct word w, uint32_t section)
{
	char *name = xstrndup(w.p, w.len);
	uint64_t *number = map_put(&p->function_numbers, hash_text(section, name), 0);

	if (!*number && p->n_functions < BLOCK_FUNCTIONS_MAX && p->names_len + w.len < NAMES_MAX) {
		p->functions = array_grow(p->functions, p->n_functions, &p->functions_cap, sizeof *p->functions);
		p->functions[p->n_functions++] = (struct block_function){ .name = name, .section = section - 1 };
		p->names_len += w.len;
		*number = p->n_functions;
		name = NULL;
	}
	free(name);
	return (uint32_t)*number;
}

/* "NAME in section SECTION", "NAME + OFFSET in section SECTION" */
static const char *read_symbol(struct block_places *p, const struct word *words, size_t n, struct block_place *ret)
{
	bool has_offset = n == 6 && word_is(words[1], "+");
	const struct word *in = words + 1 + 2 * has_offset;
	uint32_t section, function;

	if (n != 4 + 2 * (size_t)has_offset || !word_is(in[0], "in") || !word_is(in[1], "section"))
		return "FUNCTION in section SECTION, FUNCTION + OFFSET in section SECTION, or an address";
	if (has_offset && !word_number(words[2], BLOCK_OFFSET_MAX - 1, &ret->address))
		return "an offset in the function, a decimal number below 1048576";
	if (in[2].len > BLOCK_SECTION_MAX)
		return "a section's name of at most 31 bytes";
	section = number_of_section(p, in[2]);
	if (!section)
		return "not more than 60000 sections";
	function = number_of_function(p, words[0], section);
	if (!function)
		return "not more functions, or longer names, than a trace can have";
	ret->function = BLOCK_FIRST_FUNCTION + function - 1;
	return NULL;
}

/* "7fb95ab3cd20", perhaps with 0x */
static bool read_address(struct word w, uint64_t *ret)
{
	char digits[24] = "0x";

	if (word_hex(w, ret))
		return true;
	if (w.len > 16)
		return false;
	memcpy(digits + 2, w.p, w.len);
	return word_hex((struct word){ digits, w.len + 2 }, ret);
}

struct block_place *block_places_add(struct block_places *p, const char *text, size_t len, uint64_t hash,
				     const char **ret_expected)
{
	struct block_place place = { .hash = hash, .text = text, .len = (uint32_t)len };
	struct word words[WORDS + 1];
	size_t n = words_split(text, len, words, WORDS + 1);

	if (memchr(text, '\0', len)) {
		*ret_expected = "text, not a NUL byte";
		return NULL;
	}
	if (n == 1 && read_address(words[0], &place.address)) {
		place.function = place.address >> 63 ? BLOCK_KERNEL : BLOCK_USER;
		if (p->bare++ < BLOCK_BARE_MAX)
			return keep(p, &place);
		p->unkept = place;
		return &p->unkept;
	}
	*ret_expected = read_symbol(p, words, n, &place);
	if (!*ret_expected && p->count >= BLOCK_PLACES_MAX)
		*ret_expected = "not more different places than a trace can have";
	return *ret_expected ? NULL : keep(p, &place);
}
