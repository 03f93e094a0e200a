/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "shell_words.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void shell_words_add(struct shell_words *w, const char *word)
{
	w->list = array_grow(w->list, w->count + 1, &w->cap, sizeof *w->list);
	w->list[w->count++] = xstrdup(word);
	w->list[w->count] = NULL;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* One word, which begins there. Returns what is behind it; NULL: a quote has no end. */
static const char *take(const char *text, struct buf *word)
{
	char quote = 0;

	for (; *text && (quote || !is_blank(*text)); text++) {
		if (*text == quote)
			quote = 0;
		else if (!quote && (*text == '\'' || *text == '"'))
			quote = *text;
		else if (*text == '\\' && quote != '\'' && text[1])
			buf_put_u8(word, (uint8_t)*++text);
		else
			buf_put_u8(word, (uint8_t)*text);
	}
	buf_put_u8(word, 0);
	return quote ? NULL : text;
}

int shell_words_split(struct shell_words *w, const char *text, struct error *err)
{
	for (;;) {
		struct buf word = { 0 };

		while (is_blank(*text))
			text++;
		if (!*text)
			return 0;
		text = take(text, &word);
		if (text)
			shell_words_add(w, (char *)word.data);
		buf_free(&word);
		if (!text)
			return error_set(err, "a quote has no end");
	}
}

void shell_words_quote(const char *word, struct buf *out)
{
	buf_put_u8(out, '\'');
	for (; *word; word++)
		buf_printf(out, *word == '\'' ? "'\\''" : "%c", *word);
	buf_put_u8(out, '\'');
}

void shell_words_deinit(struct shell_words *w)
{
	for (size_t i = 0; i < w->count; i++)
		free(w->list[i]);
	free(w->list);
	*w = (struct shell_words){ 0 };
}
