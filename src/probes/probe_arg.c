/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe_arg.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "probe_words.h"

enum { STEPS_MAX = 64, CASTS_MAX = 8, KEYS_MAX = 8, INSIDE_MAX = 4 };

/* "b4@2/8": 4 bits of 8, from the third one on. */
static bool parse_bits(const char *text, size_t len, struct probe_type *ret)
{
	uint64_t bits, at, in;
	const char *end = text + len;

	if (!number_at(text + 1, &text, &bits) || *text++ != '@' || !number_at(text, &text, &at) || *text++ != '/' ||
	    !number_at(text, &text, &in) || text != end)
		return false;
	if ((in != 8 && in != 16 && in != 32 && in != 64) || !bits || at >= in || bits > in - at)
		return false;
	*ret = (struct probe_type){
		.format = PROBE_UNSIGNED,
		.bytes = (unsigned)in / 8,
		.bits = (unsigned)bits,
		.shift = (unsigned)at,
	};
	return true;
}

/* "u32", "x", "b4@2/8", "string", "x8[16]" */
static bool parse_scalar(const char *text, size_t len, struct probe_type *ret)
{
	static const struct {
		const char *word;
		enum probe_format format;
		unsigned bytes;
	} named[] = {
		{ "string", PROBE_STRING, 0 }, { "ustring", PROBE_STRING, 0 }, { "symbol", PROBE_SYMBOL, 8 },
		{ "symstr", PROBE_SYMBOL, 8 }, { "char", PROBE_CHAR, 1 },
	};
	static const char formats[] = { PROBE_UNSIGNED, PROBE_SIGNED, PROBE_HEX };
	const char *letter;
	unsigned bits = 0;

	for (size_t i = 0; i < sizeof named / sizeof *named; i++)
		if (strlen(named[i].word) == len && !memcmp(named[i].word, text, len)) {
			ret->format = named[i].format;
			ret->bytes = named[i].bytes;
			return true;
		}
	if (*text == 'b')
		return parse_bits(text, len, ret);
	letter = strchr("usx", *text);
	if (!letter || !*letter || !len)
		return false;
	ret->format = (enum probe_format)formats[strchr("usx", *text) - "usx"];
	for (size_t i = 1; i < len; i++) {
		if (!isdigit((unsigned char)text[i]) || bits > 64)
			return false;
		bits = bits * 10 + (unsigned)(text[i] - '0');
	}
	ret->bytes = bits / 8;
	return len == 1 || bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

static bool parse_type(const char *text, struct probe_type *ret)
{
	size_t len = strcspn(text, "[");
	uint64_t count;

	*ret = (struct probe_type){ .is_auto = !strcmp(text, "auto") };
	if (ret->is_auto)
		return true;
	if (!parse_scalar(text, len, ret))
		return false;
	if (!text[len])
		return true;
	ret->up_to = !strncmp(text + len, "[..", 3);
	if (!number_at(text + len + (ret->up_to ? 3 : 1), &text, &count) || strcmp(text, "]") || !count || count > PROBE_ARRAY ||
	    (ret->format == PROBE_STRING && ret->up_to))
		return false;
	ret->count = (unsigned)count;
	return true;
}

void probe_type_put(const struct probe_type *t, struct buf *out)
{
	if (t->is_auto)
		buf_printf(out, ":auto");
	else if (t->bits)
		buf_printf(out, ":b%u@%u/%u", t->bits, t->shift, 8 * t->bytes);
	else if (t->format == PROBE_STRING)
		buf_printf(out, ":string");
	else if (t->format == PROBE_SYMBOL)
		buf_printf(out, ":symbol");
	else if (t->format == PROBE_CHAR)
		buf_printf(out, ":char");
	else if (t->format)
		buf_printf(out, ":%c", t->format == PROBE_SIGNED ? 's' : (char)t->format);
	if (t->bytes && !t->bits && strchr("udx", (char)t->format) && t->format)
		buf_printf(out, "%u", 8 * t->bytes);
	if (t->count)
		buf_printf(out, "[%s%u]", t->up_to ? ".." : "", t->count);
}

static bool add_step(struct probe_arg *a, enum probe_step_kind kind, const char *name, size_t len, int64_t number)
{
	if (a->n_steps == STEPS_MAX)
		return false;
	a->steps = xreallocarray(a->steps, a->n_steps + 1, sizeof *a->steps);
	a->steps[a->n_steps++] =
		(struct probe_step){ .kind = kind, .name = name ? xstrndup(name, len) : NULL, .number = number };
	return true;
}

/* ".len", "->len", "[3]", any number of them. Returns what is behind; NULL: that is no such thing. */
static const char *parse_members(struct probe_arg *a, const char *at)
{
	while (*at == '.' || *at == '[' || (*at == '-' && at[1] == '>')) {
		uint64_t number;
		size_t n;

		if (*at == '[') {
			if (!number_at(at + 1, &at, &number) || *at++ != ']' || number > INT32_MAX ||
			    !add_step(a, STEP_INDEX, NULL, 0, (int64_t)number))
				return NULL;
			continue;
		}
		at += *at == '.' ? 1 : 2;
		n = name_length(at);
		if (!n || !add_step(a, STEP_MEMBER, at, n, 0))
			return NULL;
		at += n;
	}
	return at;
}

static bool parse_base(struct probe_arg *a, const char **text);

/* "+8(…)", "-0x10(…)", "+u8(…)" */
static bool parse_read(struct probe_arg *a, const char **text)
{
	bool negative = **text == '-';
	const char *at = *text + 1;
	uint64_t number;

	at += *at == 'u';
	if (!number_at(at, &at, &number) || number > INT64_MAX || *at++ != '(' || !parse_base(a, &at) ||
	    !(at = parse_members(a, at)) || *at++ != ')')
		return false;
	*text = at;
	return add_step(a, STEP_READ, NULL, 0, negative ? -(int64_t)number : (int64_t)number);
}

/* "$keep(name,$current,$arg1)", "$kept(name,$current)" */
static bool parse_kept(struct probe_arg *a, const char **text)
{
	const char *at = *text + strlen("$keep(");
	size_t n = name_length(at);
	bool keeps = (*text)[4] == 'p' && (*text)[3] == 'e';

	if (!n || a->of || a->inside == INSIDE_MAX)
		return false;
	a->base = keeps ? PROBE_KEEP : PROBE_KEPT;
	a->text = xstrndup(at, n);
	a->of = xcalloc(KEYS_MAX, sizeof *a->of);
	for (at += n; *at == ','; a->n_of++) {
		struct probe_arg *of = &a->of[a->n_of];

		if (a->n_of == KEYS_MAX)
			return false;
		*of = (struct probe_arg){ .name = xstrdup(""), .inside = a->inside + 1 };
		at++;
		if (!parse_base(of, &at) || !(at = parse_members(of, at))) {
			a->n_of++;
			return false;
		}
	}
	*text = at + 1;
	return *at == ')' && a->n_of > keeps;
}

/* "$retval", "$arg1", "$stack0" … */
static bool parse_dollar(struct probe_arg *a, const char **text)
{
	static const struct {
		const char *word;
		enum probe_base base;
		bool numbered;
	} words[] = {
		{ "$vars", PROBE_VARIABLES, false },  { "$params", PROBE_PARAMETERS, false },
		{ "$arg*", PROBE_PARAMETERS, false }, { "$arg", PROBE_ARGUMENT, true },
		{ "$retval", PROBE_RESULT, false },   { "$stack", PROBE_STACK, true },
		{ "$comm", PROBE_COMM, false },       { "$stack", PROBE_STACK_AT, false },
		{ "$current", PROBE_CURRENT, false },
	};

	if (!strncmp(*text, "$keep(", 6) || !strncmp(*text, "$kept(", 6))
		return parse_kept(a, text);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t n = strlen(words[i].word);
		const char *at = *text + n;
		uint64_t number = 0;

		if (strncmp(*text, words[i].word, n) || (words[i].numbered && !number_at(at, &at, &number)) ||
		    number > PROBE_ARGS || (words[i].base == PROBE_ARGUMENT && !number))
			continue;
		a->base = words[i].base;
		a->number = (int64_t)number;
		*text = at;
		return true;
	}
	return false;
}

/* "@jiffies", "@init_task+16", "@0xffffffff81000000" */
static bool parse_at(struct probe_arg *a, const char **text)
{
	const char *at = *text + 1;
	size_t n = name_length(at);
	uint64_t number = 0;
	bool negative;

	while (n && (is_name_char(at[n]) || at[n] == '.')) /* symbols of static data: "count.12" */
		n++;

	a->base = PROBE_AT;
	if (!n)
		return number_at(at, text, (uint64_t *)&a->number);
	a->text = xstrndup(at, n);
	at += n;
	negative = *at == '-';
	if ((*at == '+' || (negative && at[1] != '>')) && (!number_at(at + 1, &at, &number) || number > INT32_MAX))
		return false;
	a->number = negative ? -(int64_t)number : (int64_t)number;
	*text = at;
	return true;
}

static bool parse_register(struct probe_arg *a, const char **text)
{
	size_t n = strspn(*text + 1, "abcdefghijklmnopqrstuvwxyz0123456789");

	a->base = PROBE_REGISTER;
	a->number = probe_register(*text + 1, n);
	*text += n + 1;
	return a->number >= 0;
}

static bool parse_code(struct probe_arg *a, const char **text)
{
	size_t n = strcspn(*text, "}");
	struct error err;

	a->base = PROBE_CODE;
	if (!(*text)[n] || probe_code_parse(*text + 1, n - 1, &a->code, &err) < 0)
		return false;
	*text += n + 1;
	return true;
}

/* "((sock*)$arg1)": what it leads to is by that type. */
static bool parse_cast(struct probe_arg *a, const char **text)
{
	const char *at, *name;
	size_t n;

	if ((*text)[1] != '(' || a->n_steps)
		return false;
	name = at = *text + 2;
	n = name_length(at);
	if (!n || strncmp(at + n, "*)", 2))
		return false;
	at += n + 2;
	if (++a->casts > CASTS_MAX || !parse_base(a, &at) || !(at = parse_members(a, at)) || *at++ != ')')
		return false;
	*text = at;
	return add_step(a, STEP_CAST, name, n, 0);
}

static bool parse_base(struct probe_arg *a, const char **text)
{
	size_t n;

	switch (**text) {
	case '(':
		return parse_cast(a, text);
	case '+':
	case '-':
		return parse_read(a, text);
	case '$':
		return parse_dollar(a, text);
	case '%':
		return parse_register(a, text);
	case '@':
		return parse_at(a, text);
	case '{':
		return parse_code(a, text);
	case '\\': {
		char *end;

		a->base = PROBE_CONSTANT;
		a->number = *(*text + 1) == '-' ? strtoll(*text + 1, &end, 0) : (int64_t)strtoull(*text + 1, &end, 0);
		n = (size_t)(end - *text);
		*text = end;
		return n > 1;
	}
	default:
		n = name_length(*text);
		a->base = PROBE_VARIABLE;
		a->text = xstrndup(*text, n);
		*text += n;
		return n;
	}
}

/* "string", "string@user" */
static int parse_last_type(const char *text, struct probe_type *ret, struct error *err)
{
	static const char user[] = "@user";
	size_t n = strlen(text), behind = sizeof user - 1;
	cleanup_free char *type = xstrndup(text, n > behind && !strcmp(text + n - behind, user) ? n - behind : n);

	if (parse_type(type, ret))
		return 0;
	return error_set(err, "no type of a probe's value (u8 … x64, s32, char, string, symbol, b4@2/8, x8[16], string[3]): '%s'",
			 text);
}

int probe_arg_parse(const char *word, struct probe_arg *ret, struct error *err)
{
	const char *at = word;
	size_t n = name_length(word);

	*ret = (struct probe_arg){ .name = xstrdup("") };
	if (n && word[n] == '=') {
		free(ret->name);
		ret->name = xstrndup(word, n);
		at += n + 1;
	}
	ret->word = xstrdup(at);
	if (!parse_base(ret, &at) || !(at = parse_members(ret, at)))
		return error_set(err, "no value of a probe: '%s'", word);
	if (!strncmp(at, "@user", 5)) /* memory of the kernel and of programs is read alike */
		at += 5;
	if (*at == ':')
		return parse_last_type(at + 1, &ret->type, err);
	if (*at)
		return error_set(err, "no value of a probe: '%s'", word);
	return 0;
}

void probe_arg_deinit(struct probe_arg *a)
{
	for (size_t i = 0; i < a->n_steps; i++)
		free(a->steps[i].name);
	free(a->steps);
	for (size_t i = 0; i < a->n_of; i++)
		probe_arg_deinit(&a->of[i]);
	free(a->of);
	probe_code_deinit(&a->code);
	free(a->name);
	free(a->word);
	free(a->text);
	*a = (struct probe_arg){ 0 };
}

void probe_arg_put(const struct probe_arg *a, struct buf *out)
{
	buf_printf(out, " %s%s%s", a->name, *a->name ? "=" : "", a->word);
}

bool probe_arg_asks_argument(const struct probe_arg *a)
{
	for (size_t i = 0; i < a->n_of; i++)
		if (probe_arg_asks_argument(&a->of[i]))
			return true;
	return a->base == PROBE_ARGUMENT;
}

char *probe_arg_name(const struct probe_arg *a, size_t number)
{
	static const char *const words[] = {
		[PROBE_RESULT] = "retval",
		[PROBE_COMM] = "comm",
		[PROBE_CURRENT] = "current",
		[PROBE_STACK_AT] = "stack",
	};

	if (*a->name)
		return xstrdup(a->name);
	for (size_t i = a->n_steps; i-- > 0;)
		if (a->steps[i].kind == STEP_MEMBER)
			return xstrdup(a->steps[i].name);
	if (a->base == PROBE_VARIABLE || (a->base == PROBE_AT && a->text && !a->n_steps))
		return xstrdup(a->text);
	if (a->base < sizeof words / sizeof *words && words[a->base] && !a->n_steps)
		return xstrdup(words[a->base]);
	return xasprintf("arg%zu", number + 1);
}
