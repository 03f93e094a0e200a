/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "text_format.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* Behind that text, which is taken. */
static struct format_part *add_part(struct text_format *f, struct buf *text)
{
	struct format_part *part;

	f->parts = xreallocarray(f->parts, f->count + 1, sizeof *f->parts);
	part = &f->parts[f->count++];
	*part = (struct format_part){ .len = text->len, .text = xmalloc(text->len + 1) };
	if (text->len)
		memcpy(part->text, text->data, text->len);
	text->len = 0;
	return part;
}

/* "-16", "08", "5.3": flags, width and precision. Returns how long; 0 may be right, too. */
static size_t options_length(const char *at)
{
	size_t n = strspn(at, "-+ #0");

	n += strspn(at + n, "0123456789");
	if (at[n] == '.')
		n += 1 + strspn(at + n + 1, "0123456789");
	return n;
}

/* What stands behind the %: *at goes behind it. */
static int parse_spec(const struct script *p, const struct node *node, const char **at, struct node *value,
		      struct format_part *part, struct error *err)
{
	enum { OPTIONS_MAX = 9, WIDTH_MAX = 1000 };
	size_t options = options_length(*at), length = strspn(*at + options, "hlzjt");
	char letter = (*at)[options + length];
	unsigned number = 0;

	if (options > OPTIONS_MAX)
		return script_error(p, node->at, node->len, err, "the format has a width that is too long");
	for (size_t i = 0; i < options; i++) {
		number = isdigit((unsigned char)(*at)[i]) ? number * 10 + (unsigned)((*at)[i] - '0') : 0;
		if (number > WIDTH_MAX)
			return script_error(p, node->at, node->len, err, "the format has a width above 1000");
	}
	if (!letter || !strchr("diuxXocsprB", letter))
		return script_error(p, node->at, node->len, err,
				    "the format has %%%c: expected d, u, x, X, o, c, s or p behind a %%",
				    letter ? letter : ' ');
	part->is_text = strchr("srB", letter);
	part->is_char = letter == 'c';
	if (!part->is_text && !type_has_number(&value->type))
		return script_error(p, value->at, value->len, err, "%%%c prints a number; this is %s: %%s", letter,
				    value->type.names ? "a record" : value->type.kind == TYPE_TUPLE ? "a tuple" : "a text");
	if (letter == 'r' && (at[0][options + length + 1] == 'x' || at[0][options + length + 1] == 'h'))
		return script_error(p, node->at, node->len, err,
				    "%%r%c is not there: expected %%r, which prints bytes as they are, and others as \\x00",
				    at[0][options + length + 1]);
	part->type = value->type;
	part->bytes = !strncmp(*at + options, "hh", 2) ? 1 : *(*at + options) == 'h' ? 2 : 0;
	part->is_signed = letter == 'd' || letter == 'i';
	part->is_pointer = letter == 'p';
	if (letter == 'p')
		snprintf(part->spec, sizeof part->spec, "%%%.*sp", (int)options, *at);
	else
		snprintf(part->spec, sizeof part->spec, "%%%.*s%s%c", (int)options, *at,
			 part->is_text || part->is_char ? "" : "ll",
			 part->is_text || part->is_char ? 's'
			 : letter == 'i'                ? 'd'
							: letter);
	*at += options + length + 1;
	return 0;
}

int format_parse(const struct script *p, const struct node *node, struct node *const *values, size_t n,
		 struct text_format *ret, struct error *err)
{
	const char *at = node->text, *end = at + node->text_len;
	struct buf text = { 0 };
	int r = 0;

	*ret = (struct text_format){ 0 };
	while (at < end && r == 0) {
		if (*at != '%' || at[1] == '%') {
			buf_put_u8(&text, (uint8_t)*at);
			at += *at == '%' ? 2 : 1;
			continue;
		}
		at++;
		if (ret->values == n) {
			r = script_error(p, node->at, node->len, err,
					 "the format prints more than the %zu values behind it", n);
			break;
		}
		r = parse_spec(p, node, &at, values[ret->values], add_part(ret, &text), err);
		ret->values++;
	}
	if (r == 0 && ret->values < n)
		r = script_error(p, values[ret->values]->at, values[ret->values]->len, err,
				 "the format does not print this value");
	if (r == 0 && text.len)
		add_part(ret, &text);
	buf_free(&text);
	return r;
}

void format_deinit(struct text_format *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->parts[i].text);
	free(f->parts);
}
