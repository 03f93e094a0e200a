/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe_definition.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "probe_uftrace.h"
#include "probe_words.h"

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

/* "/usr/src/linux/fs/open.c:460" is a line of the source; the kernel's language has offsets there. */
static bool is_line(const struct probe_definition *d, const char *text, const char *number)
{
	bool hexadecimal = !strncmp(number, "0x", 2);

	return isdigit((unsigned char)*number) && (*text != '/' || (!hexadecimal && !d->kernel_words));
}

/* "ext4:ext4_file_open", "/usr/lib/libc.so.6:malloc": what is before the point. */
static char *target_length(const struct probe_definition *d, char *text)
{
	char *colon = find_unescaped(text, ":;");
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

	if (!colon || *colon == ';' || !colon[1] || is_line(d, text, colon + 1))
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
	colon = target_length(d, text);
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
	if (d->returns && d->place == PROBE_ADDRESS && !d->target)
		return refuse(w, "where does the function return that has no name?", place);
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
			ret = probe_arg_parse(word, &d->args[d->n_args++], w->err);
		}
		free(word);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int probe_definition_parse(const char *text, struct probe_definition *ret, struct error *err)
{
	struct buf words = { 0 };
	struct words w = { .text = text, .err = err };
	int r = 0;

	*ret = (struct probe_definition){ .text = xstrdup(text) };
	if (probe_is_uftrace(text)) {
		r = probe_uftrace_words(text, &words, err);
		w.text = (char *)words.data;
	}
	if (r == 0)
		r = parse(&w, ret);
	buf_free(&words);
	return r;
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

bool probe_definition_in_program(const struct probe_definition *d)
{
	return d->place == PROBE_STATIC || (d->target && *d->target == '/');
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
