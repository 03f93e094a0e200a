/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "words.h"

enum { REPLACED_MAX = 2, WORDS_MAX = 10 };

/* A line on its way out. */
struct writing {
	const struct symbol_map *map;
	const char *p, *end;   /* what was not written yet */
	struct buf *out;
	size_t too_many;       /* columns that what follows is behind its place */
};

/* Write up to there. Blanks give way to what was too long before them, but one. */
static void write_up_to(struct writing *w, const char *to)
{
	while (w->p < to) {
		if (w->too_many && w->p[0] == ' ' && w->p + 1 < w->end && w->p[1] == ' ') {
			w->too_many--;
			w->p++;
			continue;
		}
		buf_put_u8(w->out, (uint8_t)*w->p++);
	}
}

static void fill(struct writing *w, size_t blanks)
{
	size_t use = blanks < w->too_many ? blanks : w->too_many;

	/* not at the end of a line */
	w->too_many -= use;
	for (blanks -= use; blanks && w->p < w->end && *w->p == ' '; blanks--)
		buf_put_u8(w->out, ' ');
}

/* Write the word, which is an address, as a symbol if the map has it. */
static void replace(struct writing *w, struct word word)
{
	uint64_t addr = 0, offset = 0;
	const char *name = word_address(word, &addr) ? symbol_map_at(w->map, addr, &offset) : NULL;
	size_t before, length;

	write_up_to(w, word.p);
	if (!name)
		return;
	before = w->out->len;
	buf_put(w->out, name, strlen(name));
	if (offset)
		buf_printf(w->out, "+0x%" PRIx64, offset);
	length = w->out->len - before;
	w->p = word.p + word.len;
	if (length > word.len)
		w->too_many += length - word.len;
	else
		fill(w, word.len - length);
}

/* In a row: the index of Function among its words; 0: the line is no row. */
static size_t find_function(const struct word *words, size_t n)
{
	bool two = n > 2 && word_is(words[1], "no") && word_is(words[2], "exit");
	uint64_t entry;

	return n >= 5 + (size_t)two && word_number(words[0], UINT64_MAX, &entry) ? 3 + two : 0;
}

/* The next number with 0x that is not the rest of a word. */
static bool find_hex(const char *p, const char *start, const char *end, struct word *ret)
{
	for (; p + 2 < end; p++) {
		const char *stop = p + 2;
		uint64_t value;

		if (p[0] != '0' || (p[1] != 'x' && p[1] != 'X') ||
		    (p > start && (isalnum((unsigned char)p[-1]) || p[-1] == '_')))
			continue;
		while (stop < end && isxdigit((unsigned char)*stop))
			stop++;
		*ret = (struct word){ p, (size_t)(stop - p) };
		if (word_hex(*ret, &value) && (stop == end || !(isalnum((unsigned char)*stop) || *stop == '_')))
			return true;
	}
	return false;
}

static void replace_hex(struct writing *w)
{
	const char *start = w->p, *p = start;
	struct word word;

	for (int n = 0; n < REPLACED_MAX && find_hex(p, start, w->end, &word); n++) {
		replace(w, word);
		p = word.p + word.len;
	}
}

/* "Logging started at 14 usec by entry to function c000877c" */
static bool has_function(const struct word *words, size_t n)
{
	uint64_t addr;

	return n == 10 && word_is(words[0], "Logging") && word_is(words[8], "function") &&
	       word_address(words[9], &addr);
}

void resolve_line(struct resolver *r, const char *line, size_t len, struct buf *out)
{
	struct writing w = { .map = r->map, .p = line, .end = line + len, .out = out };
	struct word words[WORDS_MAX];
	size_t n = words_split(line, len, words, WORDS_MAX), function;

	function = r->in_rows ? find_function(words, n) : 0;
	if (n && words[0].len >= 8 && !memcmp(words[0].p, "--------", 8))
		r->in_rows = true;
	if (function) {
		replace(&w, words[function]);
		replace(&w, words[function + 1]);
	} else if (has_function(words, n)) {
		replace(&w, words[9]);
	} else {
		replace_hex(&w);
	}
	write_up_to(&w, w.end);
}
