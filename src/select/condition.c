/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "condition.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/decimal.h"

enum { TEXT_MAX = 4096 };

static const struct word {
	const char *name;
	enum condition_kind kind;
} words[] = {
	{ "entry", CONDITION_ENTRY }, { "exit", CONDITION_EXIT }, { "time", CONDITION_TIME },
	{ "exec", CONDITION_EXEC },   { "log", CONDITION_LOG },   { "test", CONDITION_TEST },
};

/* The kind that the text begins with; *text is then behind its colon. NONE: it begins with none. */
static enum condition_kind kind_of(const char **text)
{
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t n = strlen(words[i].name);

		if (!strncmp(*text, words[i].name, n) && (*text)[n] == ':') {
			*text += n + 1;
			return words[i].kind;
		}
	}
	return CONDITION_NONE;
}

/* Take "#N" off the end. False: what follows the # is no number from 1 on. A log line may have a # of its own. */
static bool take_nth(char *text, enum condition_kind kind, uint64_t *ret)
{
	char *at = strrchr(text, '#');
	const char *digits = at ? at + 1 : NULL;
	uint64_t nth;

	*ret = 1;
	if (!at || (kind == CONDITION_LOG && (!*digits || digits[strspn(digits, "0123456789")])))
		return true;
	if (!decimal_parse(&digits, 0, &nth) || *digits || !nth || strchr(at, '.'))
		return false;
	*at = 0;
	*ret = nth;
	return true;
}

/* "ext4:ext4_fill_super": whose function, and which. */
static void split_object(struct condition *c)
{
	char *colon = strrchr(c->text, ':');

	/* names of C++ and Rust have pairs of them */
	if (!colon || colon == c->text || colon[-1] == ':')
		return;
	c->object = xstrndup(c->text, (size_t)(colon - c->text));
	memmove(c->text, colon + 1, strlen(colon + 1) + 1);
}

int condition_parse(const char *option, const char *text, struct condition *ret, struct error *err)
{
	const char *rest = text;

	*ret = (struct condition){ .kind = kind_of(&rest) };
	if (strlen(text) > TEXT_MAX)
		return error_set(err, "--%s: longer than %d bytes", option, TEXT_MAX);
	ret->text = xstrdup(rest);
	if (!take_nth(ret->text, ret->kind, &ret->nth))
		return error_set(err, "--%s %s: behind # comes which time it is to be: 1, 2, …", option, text);
	if ((ret->kind == CONDITION_NONE || ret->kind == CONDITION_TIME) && *ret->text == '+')
		ret->relative = time_parse(ret->text + 1, &ret->ns);
	if (ret->relative)
		ret->kind = CONDITION_TIME;
	if (ret->kind == CONDITION_NONE)
		ret->kind = time_parse(ret->text, &ret->ns) ? CONDITION_TIME : CONDITION_ENTRY;
	if (ret->kind == CONDITION_ENTRY || ret->kind == CONDITION_EXIT)
		split_object(ret);
	if (!*ret->text)
		return error_set(
			err,
			"--%s %s: nothing follows: give entry:FUNCTION, exit:FUNCTION, time:TIME, exec:NAME, log:TEXT or test:SUITE.CASE",
			option, text);
	if (ret->kind == CONDITION_TIME && !ret->relative && !time_parse(ret->text, &ret->ns))
		return error_set(err, "--%s %s: not a time: a number and s, ms, us or ns", option, text);
	if (ret->relative && strcmp(option, "stop"))
		return error_set(err, "--%s %s: only what stops can be told by the time since the start", option, text);
	return 0;
}

bool condition_is_program(const struct condition *c, const char *comm, const char *exe, bool renamed)
{
	const char *slash = strrchr(exe, '/');
	bool is_path;

	if (c->kind != CONDITION_EXEC)
		return false;
	is_path = !strcmp(exe, c->text) || (slash && !strcmp(slash + 1, c->text));
	return renamed ? !strcmp(comm, c->text) && !is_path : is_path || !strcmp(comm, c->text);
}

bool condition_is_told(const struct condition *c)
{
	return c->kind == CONDITION_EXEC || c->kind == CONDITION_LOG || c->kind == CONDITION_TEST;
}

bool condition_is_test(const struct condition *c, const char *name)
{
	size_t suite = strcspn(name, ".");

	return c->kind == CONDITION_TEST &&
	       (fnmatch(c->text, name, 0) == 0 || (strlen(c->text) == suite && !strncmp(c->text, name, suite)));
}

const char *condition_key(const char *key, size_t span, char buffer[CONDITION_KEY])
{
	if (!span)
		return key;
	snprintf(buffer, CONDITION_KEY, "%s.%zu", key, span);
	return buffer;
}

void condition_deinit(struct condition *c)
{
	free(c->object);
	free(c->text);
	*c = (struct condition){ 0 };
}
