/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe_definition.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { STEPS_MAX = 64, WORD_MAX = 4096 };

/* A word of a definition, and where an error is told. */
struct words {
	const char *text; /* what is left */
	struct error *err;
};

static int refuse(struct words *w, const char *what, const char *word)
{
	return error_set(w->err, "%s: '%s'", what, word);
}

/* The next word, without the escapes if `plain`; NULL: there is none. The caller frees it. */
static char *next_word(struct words *w)
{
	size_t n = 0;
	char *word;

	while (isspace((unsigned char)*w->text))
		w->text++;
	if (!*w->text)
		return NULL;
	while (w->text[n] && !isspace((unsigned char)w->text[n]))
		n++;
	word = xstrndup(w->text, n);
	w->text += n;
	return word;
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static size_t name_length(const char *text)
{
	size_t n = 0;

	if (isdigit((unsigned char)*text))
		return 0;
	while (is_name_char(text[n]))
		n++;
	return n;
}

static bool number_at(const char *text, const char **ret_end, uint64_t *ret)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	*ret = strtoull(text, &end, 0);
	*ret_end = end;
	return true;
}

/* The first of those characters that no '\' stands before; NULL: none. */
static char *find_unescaped(char *text, const char *chars)
{
	for (; *text; text++) {
		if (*text == '\\' && text[1])
			text++;
		else if (strchr(chars, *text))
			return text;
	}
	return NULL;
}

static void unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		if (*text == '\\' && text[1])
			text++;
		*to++ = *text;
	}
	*to = '\0';
}

static char *part(const char *text)
{
	char *copy = xstrdup(text);

	unescape(copy);
	return copy;
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
	unsigned bits = 0, at, in;
	int n = 0;

	for (size_t i = 0; i < sizeof named / sizeof *named; i++)
		if (strlen(named[i].word) == len && !memcmp(named[i].word, text, len)) {
			ret->format = named[i].format;
			ret->bytes = named[i].bytes;
			return true;
		}
	if (*text == 'b') {
		if (sscanf(text, "b%2u@%2u/%2u%n", &bits, &at, &in, &n) != 3 || (size_t)n != len || !bits ||
		    bits + at > in || (in != 8 && in != 16 && in != 32 && in != 64))
			return false;
		*ret = (struct probe_type){ .format = PROBE_UNSIGNED, .bytes = in / 8, .bits = bits, .shift = at };
		return true;
	}
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

	*ret = (struct probe_type){ 0 };
	if (!parse_scalar(text, len, ret))
		return false;
	if (!text[len])
		return true;
	if (!number_at(text + len + 1, &text, &count) || strcmp(text, "]") || !count || count > PROBE_ARRAY ||
	    ret->format == PROBE_STRING)
		return false;
	ret->count = (unsigned)count;
	return true;
}

void probe_type_put(const struct probe_type *t, struct buf *out)
{
	if (t->bits)
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
		buf_printf(out, "[%u]", t->count);
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
	if (!number_at(at, &at, &number) || number > INT64_MAX || *at++ != '(' || !parse_base(a, &at) || *at++ != ')')
		return false;
	*text = at;
	return add_step(a, STEP_READ, NULL, 0, negative ? -(int64_t)number : (int64_t)number);
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
	};

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

static bool parse_base(struct probe_arg *a, const char **text)
{
	size_t n;

	switch (**text) {
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

static int parse_arg(struct words *w, char *word, struct probe_arg *ret)
{
	const char *at = word;
	size_t n = name_length(word);

	*ret = (struct probe_arg){ .name = xstrdup("") };
	if (n && word[n] == '=') {
		free(ret->name);
		ret->name = xstrndup(word, n);
		at += n + 1;
	}
	if (!parse_base(ret, &at) || !(at = parse_members(ret, at)))
		return refuse(w, "no value of a probe", word);
	if (!strncmp(at, "@user", 5)) /* memory of the kernel and of programs is read alike */
		at += 5;
	if (*at == ':' && !parse_type(at + 1, &ret->type))
		return refuse(w, "no type of a probe's value (u8 … x64, s32, char, string, symbol, b4@2/8, x8[16])",
			      at + 1);
	if (*at && *at != ':')
		return refuse(w, "no value of a probe", word);
	return 0;
}

/* "vfs_read", "vfs_*", "vfs_read.isra.0"; else a file of the source */
static bool is_function(const char *text)
{
	const char *dot = strchr(text, '.');

	if (strchr(text, '/'))
		return false;
	return !dot || !strncmp(dot, ".isra", 5) || !strncmp(dot, ".constprop", 10) || !strncmp(dot, ".part", 5) ||
	       !strncmp(dot, ".cold", 5) || !strncmp(dot, ".llvm", 5);
}

/* What is behind a place's name: ":11", "+16", "%return", "@fs/open.c", ";return*". */
static int parse_behind(struct words *w, struct probe_definition *d, char *behind)
{
	char *next = behind[0] == ';' ? NULL : find_unescaped(behind + 1, ":+@%;"), kind = *behind;
	cleanup_free char *text = xstrndup(behind + 1, next ? (size_t)(next - behind) - 1 : strlen(behind + 1));
	const char *end = "";
	uint64_t number = 0;

	if (strchr(":+", kind) && (!number_at(text, &end, &number) || *end || number > INT32_MAX))
		return refuse(w, kind == ':' ? "no number of a line" : "no offset in bytes", text);
	switch (kind) {
	case ':':
		d->place = d->source && !d->function ? PROBE_SOURCE : PROBE_LINE;
		d->line = (unsigned)number;
		break;
	case '+':
		d->offset = number;
		break;
	case '@':
		free(d->source);
		d->source = part(text);
		break;
	case ';':
		d->place = PROBE_PATTERN;
		d->pattern = part(text);
		break;
	default:
		if (strcmp(text, "return"))
			return refuse(w, "a place of a probe may end with %return, not with", behind);
		d->returns = true;
	}
	return next ? parse_behind(w, d, next) : 0;
}

static int parse_point(struct words *w, struct probe_definition *d, char *text)
{
	char *behind = find_unescaped(text, ":+@%;"), *end;
	cleanup_free char *name = xstrndup(text, behind ? (size_t)(behind - text) : strlen(text));

	if (!*name)
		return refuse(w, "no place of a probe", text);
	if (!strncmp(name, "0x", 2)) {
		d->place = PROBE_ADDRESS;
		d->address = strtoull(name, &end, 16);
		return *end || behind ? refuse(w, "no address", text) : 0;
	}
	if (is_function(name))
		d->function = part(name);
	else
		d->source = part(name);
	if (behind && parse_behind(w, d, behind) < 0)
		return -1;
	if (!d->function && d->place != PROBE_SOURCE && d->place != PROBE_PATTERN)
		return refuse(w, "which line of the file? (FILE:LINE)", text);
	if (d->returns && (d->offset || d->place != PROBE_FUNCTION))
		return refuse(w, "a function returns as a whole: FUNCTION%return", text);
	return 0;
}

/* "ext4:ext4_file_open", "/usr/lib/libc.so.6:malloc": what is before the point. */
static char *target_length(char *text)
{
	char *colon = find_unescaped(text, ":");
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

	if (!colon || !colon[1] || (*text != '/' && isdigit((unsigned char)colon[1])))
		return NULL;
	return *text == '/' || colon == text + n ? colon : NULL;
}

/* "probe_libc" of /usr/lib/libc.so.6, as perf probe has it. */
static char *group_of_program(const char *path)
{
	const char *base = strrchr(path, '/') + 1;

	return xasprintf("probe_%.*s", (int)strcspn(base, "-._"), base);
}

static int parse_place(struct words *w, struct probe_definition *d, char *text)
{
	char *colon = *text == '/' ? find_unescaped(text, ":") : NULL;

	if (colon && (!strncmp(colon + 1, "%sdt_", 5) || !strncmp(colon + 1, "sdt_", 4))) {
		d->target = xstrndup(text, (size_t)(colon - text));
		text = colon + 1;
	}
	if (!strncmp(text, "%sdt_", 5) || !strncmp(text, "sdt_", 4)) {
		text += *text == '%' ? 5 : 4;
		colon = strchr(text, ':');
		if (!colon || !colon[1] || colon == text)
			return refuse(w, "no static probe (sdt_PROVIDER:NAME)", text);
		d->place = PROBE_STATIC;
		free(d->group);
		d->group = xstrndup(text, (size_t)(colon - text));
		d->function = xstrdup(colon + 1);
		return 0;
	}
	colon = target_length(text);
	if (colon) {
		*colon = '\0';
		d->target = part(text);
		text = colon + 1;
		if (*d->target == '/' && !d->group)
			d->group = group_of_program(d->target);
	}
	return parse_point(w, d, text);
}

/* "group/name" or "name", of the kernel's words; "group:name" or "name" of perf's */
static int parse_event(struct words *w, struct probe_definition *d, const char *text, char between)
{
	const char *at = strchr(text, between), *name = at ? at + 1 : text;

	for (const char *c = text; *c; c++)
		if (!is_name_char(*c) && c != at && *c != '-')
			return refuse(w, "no name of an event", text);
	if (at && at != text)
		d->group = xstrndup(text, (size_t)(at - text));
	if (*name)
		d->event = xstrdup(name);
	return 0;
}

/* perf's: "group:name=place" */
static int parse_perf(struct words *w, struct probe_definition *d, char *text)
{
	char *equal = find_unescaped(text, ";=@+%");

	if (!equal || *equal != '=')
		return parse_place(w, d, text);
	*equal = '\0';
	return parse_event(w, d, text, ':') < 0 ? -1 : parse_place(w, d, equal + 1);
}

/* The kernel's: "p:group/name", "r8", and then the place. */
static bool is_kernel_word(const char *text)
{
	size_t digits = strspn(text + 1, "0123456789");

	return (*text == 'p' && (!text[1] || text[1] == ':')) ||
	       (*text == 'r' && (!text[1 + digits] || text[1 + digits] == ':'));
}

static int parse_kernel(struct words *w, struct probe_definition *d, const char *text)
{
	const char *colon = strchr(text, ':');
	cleanup_free char *place = next_word(w);

	d->kernel_words = true;
	if (!place)
		return refuse(w, "where is the probe to be?", text);
	if (colon && parse_event(w, d, colon + 1, '/') < 0)
		return -1;
	if (parse_place(w, d, place) < 0)
		return -1;
	if (d->place != PROBE_FUNCTION && d->place != PROBE_ADDRESS)
		return refuse(w, "p and r have no lines: a place is SYMBOL+OFFSET", place);
	if (*text == 'r')
		d->returns = true;
	return 0;
}

static int parse(struct words *w, struct probe_definition *d)
{
	cleanup_free char *first = next_word(w);
	char *word;

	if (!first)
		return refuse(w, "no definition of a probe", d->text);
	if ((is_kernel_word(first) ? parse_kernel(w, d, first) : parse_perf(w, d, first)) < 0)
		return -1;
	while ((word = next_word(w))) {
		int ret = 0;

		if (d->n_args == PROBE_ARGS) {
			ret = refuse(w, "more values than a probe may have", word);
		} else {
			d->args = xreallocarray(d->args, d->n_args + 1, sizeof *d->args);
			ret = parse_arg(w, word, &d->args[d->n_args++]);
		}
		free(word);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int probe_definition_parse(const char *text, struct probe_definition *ret, struct error *err)
{
	struct words w = { .text = text, .err = err };

	*ret = (struct probe_definition){ .text = xstrndup(text, WORD_MAX) };
	return parse(&w, ret);
}

void probe_arg_deinit(struct probe_arg *a)
{
	for (size_t i = 0; i < a->n_steps; i++)
		free(a->steps[i].name);
	free(a->steps);
	probe_code_deinit(&a->code);
	free(a->name);
	free(a->text);
	*a = (struct probe_arg){ 0 };
}

void probe_definition_deinit(struct probe_definition *d)
{
	for (size_t i = 0; i < d->n_args; i++)
		probe_arg_deinit(&d->args[i]);
	free(d->args);
	free(d->text);
	free(d->group);
	free(d->event);
	free(d->target);
	free(d->function);
	free(d->source);
	free(d->pattern);
	*d = (struct probe_definition){ 0 };
}

bool probe_definition_is_plain(const struct probe_definition *d)
{
	bool begins = d->place == PROBE_FUNCTION && !d->offset && !d->source;

	if (!begins && d->place != PROBE_ADDRESS && !(d->place == PROBE_FUNCTION && !d->source))
		return false;
	for (size_t i = 0; i < d->n_args; i++) {
		enum probe_base base = d->args[i].base;

		/* of parameters where the function begins, the kernel's own types tell */
		if (base == PROBE_VARIABLES || ((base == PROBE_VARIABLE || base == PROBE_PARAMETERS) && !begins))
			return false;
	}
	return true;
}

bool probe_definition_has_variables(const struct probe_definition *d)
{
	for (size_t i = 0; i < d->n_args; i++) {
		enum probe_base base = d->args[i].base;

		if (base == PROBE_VARIABLE || base == PROBE_PARAMETERS || base == PROBE_VARIABLES)
			return true;
	}
	return false;
}

char *probe_arg_name(const struct probe_arg *a, size_t number)
{
	static const char *const words[] = {
		[PROBE_RESULT] = "retval",
		[PROBE_COMM] = "comm",
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

static void replace_odd(char *name)
{
	for (; *name; name++)
		if (!is_name_char(*name))
			*name = '_';
}

char *probe_event_name(const struct probe_definition *d, const char *function)
{
	char *name;

	if (d->event)
		return xstrdup(d->event);
	if (d->place == PROBE_ADDRESS)
		name = xasprintf("%c_0x%" PRIx64, d->returns ? 'r' : 'p', d->address);
	else if (d->kernel_words)
		name = xasprintf("%c_%s_%" PRIu64, d->returns ? 'r' : 'p', function, d->offset);
	else if (d->place == PROBE_LINE && d->line)
		name = xasprintf("%s_L%u", function, d->line);
	else
		name = xasprintf("%s%s", function, d->returns ? "__return" : "");
	replace_odd(name);
	return name;
}

const char *probe_group_name(const struct probe_definition *d)
{
	return d->group ? d->group : d->kernel_words ? "kprobes" : "probe";
}
