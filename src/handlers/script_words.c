/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "script_words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

const char *words_skip(const char *at)
{
	for (;;) {
		const char *end;

		at += strspn(at, " \t\r\n\f\v");
		if (at[0] == '/' && at[1] == '/') {
			at += strcspn(at, "\n");
		} else if (at[0] == '/' && at[1] == '*') {
			end = strstr(at + 2, "*/");
			at = end ? end + 2 : at + strlen(at);
		} else {
			return at;
		}
	}
}

static bool is_name_begin(char c)
{
	return isalpha((unsigned char)c) || c == '_';
}

static size_t name_length(const char *at)
{
	size_t n = 0;

	while (isalnum((unsigned char)at[n]) || at[n] == '_')
		n++;
	return n;
}

/* "1e6", "100us": what a number is multiplied with. 0: that is no such ending */
static uint64_t factor_of(const char *at, size_t len)
{
	static const struct {
		const char *ending;
		uint64_t factor;
	} endings[] = {
		{ "", 1 },
		{ "u", 1 },
		{ "ul", 1 },
		{ "ull", 1 },
		{ "l", 1 },
		{ "ll", 1 },
		{ "U", 1 },
		{ "UL", 1 },
		{ "ULL", 1 },
		{ "L", 1 },
		{ "LL", 1 },
		{ "ns", 1 },
		{ "us", 1000 },
		{ "ms", 1000000 },
		{ "s", 1000000000 },
		{ "m", 60000000000 },
		{ "h", 3600000000000 },
		{ "d", 86400000000000 },
	};

	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
		if (strlen(endings[i].ending) == len && !memcmp(endings[i].ending, at, len))
			return endings[i].factor;
	if (len > 1 && len < 4 && (*at == 'e' || *at == 'E')) {
		uint64_t ret = 1, n = strtoull(at + 1, NULL, 10);

		for (size_t i = 1; i < len; i++)
			if (!isdigit((unsigned char)at[i]))
				return 0;
		for (uint64_t i = 0; i < n && n < 20; i++)
			ret *= 10;
		return n < 20 ? ret : 0;
	}
	return 0;
}

/* Digits may have a _ between them. */
static int number_at(const struct script *p, struct word *w, struct error *err)
{
	const char *at = w->at;
	unsigned base = 10;
	uint64_t factor;

	if (at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
		base = 16, at += 2;
	else if (at[0] == '0')
		base = 8;
	w->kind = WORD_NUMBER;
	w->len = name_length(w->at);
	for (; at < w->at + w->len; at++) {
		unsigned digit = isdigit((unsigned char)*at)                  ? (unsigned)(*at - '0')
				 : base == 16 && isxdigit((unsigned char)*at) ? (unsigned)(tolower(*at) - 'a' + 10)
									      : base;

		if (*at == '_')
			continue;
		if (digit >= base)
			break;
		if (__builtin_mul_overflow(w->number, base, &w->number) ||
		    __builtin_add_overflow(w->number, digit, &w->number))
			return script_error(p, w->at, w->len, err, "the number has more than 64 bits");
	}
	factor = factor_of(at, (size_t)(w->at + w->len - at));
	if (!factor || __builtin_mul_overflow(w->number, factor, &w->number))
		return script_error(
			p, w->at, w->len, err,
			"no number: expected digits, and perhaps ns, us, ms, s, m, h, d, or u, l behind them");
	return 0;
}

static int text_at(const struct script *p, struct word *w, struct error *err)
{
	size_t n = 1;

	while (w->at[n] && w->at[n] != '"')
		n += w->at[n] == '\\' && w->at[n + 1] ? 2 : 1;
	w->kind = WORD_TEXT;
	w->len = n + 1;
	if (!w->at[n])
		return script_error(p, w->at, 1, err, "the text has no end: expected \" behind it");
	return 0;
}

static void sign_at(struct word *w)
{
	static const struct {
		char text[3];
		int sign;
	} signs[] = {
		{ "||", OP_OR },         { "&&", OP_AND },         { "==", OP_EQUAL },      { "!=", OP_UNEQUAL },
		{ "<=", OP_LESS_EQUAL }, { ">=", OP_MORE_EQUAL },  { "<<", OP_SHIFT_LEFT }, { ">>", OP_SHIFT_RIGHT },
		{ "++", OP_PLUS_PLUS },  { "--", OP_MINUS_MINUS }, { "->", OP_ARROW },      { "..", OP_RANGE },
	};

	w->kind = WORD_SIGN;
	for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
		if (!strncmp(w->at, signs[i].text, 2)) {
			w->sign = signs[i].sign;
			w->len = 2;
			return;
		}
	w->sign = *w->at;
	w->len = 1;
}

int word_at(const struct script *p, const char *at, struct word *ret, struct error *err)
{
	*ret = (struct word){ .at = words_skip(at) };
	at = ret->at;
	if (!*at)
		return 0;
	if (is_name_begin(*at)) {
		ret->kind = WORD_NAME;
		ret->len = name_length(at);
	} else if (isdigit((unsigned char)*at)) {
		return number_at(p, ret, err);
	} else if (*at == '"') {
		return text_at(p, ret, err);
	} else if (*at == '$' && (isdigit((unsigned char)at[1]) || at[1] == '#')) {
		ret->kind = WORD_PARAMETER;
		ret->len = at[1] == '#' ? 2 : 1 + strspn(at + 1, "0123456789");
		ret->number = at[1] == '#' ? 0 : strtoull(at + 1, NULL, 10);
		if (at[1] != '#' && !ret->number)
			return script_error(p, at, ret->len, err,
					    "what a program is given is $1, $2 …, and $# is how many");
	} else if (*at == '$' && is_name_begin(at[1])) {
		ret->kind = WORD_VARIABLE;
		ret->len = 1 + name_length(at + 1);
	} else if (*at == '@') {
		ret->kind = WORD_MAP;
		ret->len = 1 + name_length(at + 1);
	} else if (strchr("+-*/%&|^!~<>=?:.,;()[]{}#", *at)) { /* # begins a line that is not of a handler */
		sign_at(ret);
	} else {
		return script_error(p, at, 1, err, "no word of the language begins so");
	}
	return 0;
}

static size_t escaped(const char *at, char *ret)
{
	static const char letters[] = "n\nt\tr\ra\ab\b\"\"\\\\";
	size_t n = 0;

	for (size_t i = 0; letters[i]; i += 2)
		if (*at == letters[i]) {
			*ret = letters[i + 1];
			return 1;
		}
	if (*at == 'x' && isxdigit((unsigned char)at[1]) && isxdigit((unsigned char)at[2])) {
		char digits[3] = { at[1], at[2], 0 };

		*ret = (char)strtoul(digits, NULL, 16);
		return 3;
	}
	*ret = 0;
	for (; n < 3 && at[n] >= '0' && at[n] <= '7'; n++)
		*ret = (char)(*ret * 8 + at[n] - '0');
	if (!n)
		*ret = *at;
	return n ? n : 1;
}

char *word_text(const struct word *w, size_t *ret_len)
{
	char *ret = xmalloc(w->len + 1);
	size_t n = 0;

	for (size_t i = 1; i + 1 < w->len;) {
		if (w->at[i] == '\\')
			i += 1 + escaped(w->at + i + 1, &ret[n]);
		else
			ret[n] = w->at[i++];
		n++;
	}
	ret[n] = 0;
	*ret_len = n;
	return ret;
}

bool word_is_name(const struct word *w, const char *name)
{
	return w->kind == WORD_NAME && strlen(name) == w->len && !memcmp(w->at, name, w->len);
}
