/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parse_c.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "script_words.h"

enum { DEFINES_MAX = 4096, DEPTH_MAX = 64, NAME_MAX_LENGTH = 63 };

static void forget_define(struct script *p, const char *name)
{
	for (size_t i = 0; i < p->n_defines; i++)
		if (!strcmp(p->defines[i].name, name)) {
			free(p->defines[i].name);
			p->defines[i] = p->defines[--p->n_defines];
			return;
		}
}

static void add_define(struct script *p, const char *name, uint64_t value, bool loose)
{
	forget_define(p, name);
	if (p->n_defines == DEFINES_MAX)
		return;
	p->defines = xreallocarray(p->defines, p->n_defines + 1, sizeof *p->defines);
	p->defines[p->n_defines++] = (struct define){ xstrdup(name), value, loose };
}

/*
 * Calculations of the preprocessor's.
 */

struct calculation {
	const struct script *p;
	const char *at;
	bool conditional; /* of an #if: what has no value is 0 */
	bool fails;       /* it is no such calculation */
	unsigned depth;
};

static uint64_t calculate(struct calculation *c, int above);

static void skip_blanks(struct calculation *c)
{
	c->at += strspn(c->at, " \t");
}

static size_t name_at(const char *at, char name[NAME_MAX_LENGTH + 1])
{
	size_t n = 0;

	if (!isdigit((unsigned char)*at))
		while (isalnum((unsigned char)at[n]) || at[n] == '_')
			n++;
	if (n > NAME_MAX_LENGTH)
		n = 0;
	memcpy(name, at, n);
	name[n] = '\0';
	return n;
}

static bool is_defined(const struct script *p, const char *name)
{
	uint64_t value;

	return !strcmp(name, "BPFTRACE_HAVE_BTF") || script_constant(p, name, &value);
}

/* Behind "defined": NAME or (NAME). */
static uint64_t calculate_defined(struct calculation *c)
{
	char name[NAME_MAX_LENGTH + 1];
	bool open;

	skip_blanks(c);
	open = *c->at == '(';
	c->at += open;
	skip_blanks(c);
	c->at += name_at(c->at, name);
	skip_blanks(c);
	if (!*name || (open && *c->at != ')'))
		c->fails = true;
	else
		c->at += open;
	return is_defined(c->p, name);
}

static uint64_t calculate_name(struct calculation *c)
{
	char name[NAME_MAX_LENGTH + 1];
	uint64_t value = 0;

	c->at += name_at(c->at, name);
	if (c->conditional && !strcmp(name, "defined"))
		return calculate_defined(c);
	if (!*name || script_loose(c->p, name) || (!script_constant(c->p, name, &value) && !c->conditional))
		c->fails = true;
	return value;
}

static uint64_t calculate_number(struct calculation *c)
{
	char *end;
	uint64_t value = strtoull(c->at, &end, 0);

	c->at = end + strspn(end, "uUlL");
	if (isalnum((unsigned char)*c->at) || *c->at == '.' || *c->at == '_')
		c->fails = true;
	return value;
}

static uint64_t calculate_operand(struct calculation *c)
{
	uint64_t value;
	char sign;

	skip_blanks(c);
	if (c->fails || ++c->depth > DEPTH_MAX) {
		c->fails = true;
		return 0;
	}
	sign = *c->at;
	if (strchr("-~!+", sign) && sign) {
		c->at++;
		value = calculate_operand(c);
		value = sign == '-' ? -value : sign == '~' ? ~value : sign == '!' ? !value : value;
	} else if (sign == '(') {
		c->at++;
		value = calculate(c, 0);
		skip_blanks(c);
		if (*c->at != ')')
			c->fails = true;
		else
			c->at++;
	} else {
		value = isdigit((unsigned char)sign) ? calculate_number(c) : calculate_name(c);
	}
	c->depth--;
	return value;
}

/* Two signs before one: "<<" is not "<". C's order of what binds how much. */
static const struct operator { const char *sign; int binds; } operators[] = {
	{ "<<", 8 }, { ">>", 8 }, { "<=", 7 }, { ">=", 7 }, { "==", 6 }, { "!=", 6 }, { "&&", 2 }, { "||", 1 }, { "*", 10 },
	{ "/", 10 }, { "%", 10 }, { "+", 9 }, { "-", 9 }, { "<", 7 }, { ">", 7 }, { "&", 5 }, { "^", 4 }, { "|", 3 },
};

static const struct operator *operator_at(struct calculation *c)
{
	skip_blanks(c);
	for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
		if (!strncmp(c->at, operators[i].sign, strlen(operators[i].sign)))
			return &operators[i];
	return NULL;
}

static uint64_t operate(struct calculation *c, const char *sign, uint64_t a, uint64_t b)
{
	int64_t x = (int64_t)a, y = (int64_t)b;

	switch (*sign) {
	case '*':
		return a * b;
	case '+':
		return a + b;
	case '-':
		return a - b;
	case '^':
		return a ^ b;
	case '=':
		return a == b;
	case '!':
		return a != b;
	case '&':
		return sign[1] ? a && b : a & b;
	case '|':
		return sign[1] ? a || b : a | b;
	case '<':
		return sign[1] == '<' ? (b < 64 ? a << b : 0) : sign[1] ? x <= y : x < y;
	case '>':
		return sign[1] == '>' ? (b < 64 ? (uint64_t)(x >> b) : 0) : sign[1] ? x >= y : x > y;
	default: /* '/' and '%' */
		if (!y || (x == INT64_MIN && y == -1)) {
			c->fails = true;
			return 0;
		}
		return (uint64_t)(*sign == '/' ? x / y : x % y);
	}
}

/* With those operators that bind more than that. */
static uint64_t calculate(struct calculation *c, int above)
{
	uint64_t value = calculate_operand(c);
	const struct operator *o;

	while (!c->fails && (o = operator_at(c)) && o->binds > above) {
		c->at += strlen(o->sign);
		value = operate(c, o->sign, value, calculate(c, o->binds));
	}
	return value;
}

static bool calculate_all(const struct script *p, const char *text, bool conditional, uint64_t *ret)
{
	struct calculation c = { .p = p, .at = text, .conditional = conditional };

	*ret = calculate(&c, 0);
	skip_blanks(&c);
	return !c.fails && !*c.at;
}

/*
 * Lines that begin with #.
 */

/* The line without comments, as one, to be freed; *ret_behind: where the next begins. */
static char *whole_line(const char *at, const char **ret_behind)
{
	struct buf line = { 0 };

	while (*at && *at != '\n') {
		if (at[0] == '\\' && at[1] == '\n') {
			at += 2;
		} else if (at[0] == '/' && at[1] == '/') {
			at += strcspn(at, "\n");
		} else if (at[0] == '/' && at[1] == '*') {
			const char *end = strstr(at + 2, "*/");

			at = end ? end + 2 : at + strlen(at);
			buf_put_u8(&line, ' ');
		} else {
			buf_put_u8(&line, (uint8_t)*at++);
		}
	}
	while (line.len && isspace(line.data[line.len - 1]))
		line.len--;
	buf_put_u8(&line, 0);
	*ret_behind = at + (*at == '\n');
	return (char *)line.data;
}

/* What stands behind # and the word, if it is that word; else NULL. */
static const char *behind_word(const char *line, const char *word)
{
	size_t n = strlen(word);

	line += strspn(line, " \t");
	if (*line++ != '#')
		return NULL;
	line += strspn(line, " \t");
	if (strncmp(line, word, n) || isalnum((unsigned char)line[n]) || line[n] == '_')
		return NULL;
	return line + n + strspn(line + n, " \t");
}

/* More than one word, without parentheses around it: what stands beside its name could bind a part of it. */
static bool is_loose(const char *value)
{
	unsigned open = 0;

	value += *value == '-' || *value == '~';
	while (isalnum((unsigned char)*value) || *value == '_')
		value++;
	if (*value != '(')
		return *value;
	for (; *value; value++) {
		open = open + (*value == '(') - (*value == ')');
		if (!open)
			return value[1];
	}
	return true;
}

static void note_define(struct script *p, const char *at)
{
	char name[NAME_MAX_LENGTH + 1];
	uint64_t value;
	size_t n = name_at(at, name);

	if (!n)
		return;
	forget_define(p, name);
	if (at[n] == '(') /* it takes parameters */
		return;
	at += n + strspn(at + n, " \t");
	if (calculate_all(p, at, false, &value))
		add_define(p, name, value, is_loose(at));
}

/* `at`: where it stands in the program, for one that is not understood. */
static bool holds(struct script *p, const char *condition, const char *at)
{
	uint64_t value;

	if (calculate_all(p, condition, true, &value))
		return value;
	if (!p->odd_condition)
		p->odd_condition = at;
	return false;
}

/* Is it #if, #ifdef or #ifndef? Then whether what follows is meant; NULL: nobody asks. */
static bool is_condition(struct script *p, const char *line, const char *at, bool *ret_holds)
{
	char name[NAME_MAX_LENGTH + 1];
	const char *behind;

	if ((behind = behind_word(line, "if"))) {
		if (ret_holds)
			*ret_holds = holds(p, behind, at);
	} else if ((behind = behind_word(line, "ifdef")) || (behind = behind_word(line, "ifndef"))) {
		name_at(behind, name);
		if (ret_holds)
			*ret_holds = is_defined(p, name) == !behind_word(line, "ifndef");
	}
	return behind;
}

/* Behind the #endif, or, if another branch may be meant, behind the #else or #elif of one that is. */
static const char *skip_branch(struct script *p, const char *at, bool others)
{
	unsigned depth = 0;
	bool found = false;

	while (*at && !found) {
		const char *behind, *condition;
		char *line = whole_line(at, &behind);

		if (is_condition(p, line, at, NULL))
			depth++;
		else if (behind_word(line, "endif") && !depth--)
			found = true;
		else if (!depth && others)
			found = behind_word(line, "else") ||
				((condition = behind_word(line, "elif")) && holds(p, condition, at));
		free(line);
		at = behind;
	}
	return at;
}

static const char *skip_line(struct script *p, const char *at)
{
	const char *behind, *value;
	char *line = whole_line(at, &behind), name[NAME_MAX_LENGTH + 1];
	bool meant;

	if (is_condition(p, line, at, &meant)) {
		behind = meant ? behind : skip_branch(p, behind, true);
	} else if (behind_word(line, "else") || behind_word(line, "elif")) {
		behind = skip_branch(p, behind, false); /* the branch before it was meant */
	} else if ((value = behind_word(line, "define"))) {
		note_define(p, value);
	} else if ((value = behind_word(line, "undef"))) {
		name_at(value, name);
		forget_define(p, name);
	}
	free(line);
	return behind;
}

/*
 * C.
 */

/* "5", "-1", "1 << 3", "(1 << 3)". NULL: it is something else, which is not known here. */
static const char *enum_value(const char *at, uint64_t *ret)
{
	bool open = *at == '(', minus;
	char *end;

	at = words_skip(at + open);
	minus = *at == '-';
	at = words_skip(at + minus);
	if (!isdigit((unsigned char)*at))
		return NULL;
	*ret = strtoull(at, &end, 0);
	*ret = minus ? -*ret : *ret;
	at = words_skip(end);
	if (at[0] == '<' && at[1] == '<') {
		unsigned long by = strtoul(words_skip(at + 2), &end, 0);

		*ret = by < 64 ? *ret << by : 0;
		at = words_skip(end);
	}
	if (open && *at++ != ')')
		return NULL;
	return words_skip(at);
}

/* enum { A, B = 5 }: numbers by name, up to the }, or to what is not known. */
static void note_enum(struct script *p, const char *at)
{
	uint64_t value = 0;
	char name[64];
	int n;

	at += strcspn(at, "{;");
	while (*at && *at != '}' && *at != ';') {
		at = words_skip(at + 1);
		if (sscanf(at, "%63[A-Za-z0-9_]%n", name, &n) != 1)
			return;
		at = words_skip(at + n);
		if (*at == '=')
			at = enum_value(words_skip(at + 1), &value);
		if (!at || (*at != ',' && *at != '}'))
			return;
		add_define(p, name, value++, false);
	}
}

/* struct NAME { … }; is that of the guest's own kernel here, whatever the program says of it. Returns what is behind.
 */
static const char *skip_structure(struct script *p, const char *at)
{
	static const char *const words[] = { "struct", "union", "enum" };
	unsigned open = 0;

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t n = strlen(words[i]);

		if (strncmp(at, words[i], n) || !strchr(" \t\n", at[n]))
			continue;
		if (*words[i] == 'e')
			note_enum(p, at);
		at += n + strcspn(at + n, "{;");
		do {
			open = open + (*at == '{') - (*at == '}');
			at += *at != 0;
		} while (*at && open);
		at = words_skip(at); /* a ; may be missing */
		return at + (*at == ';');
	}
	return at;
}

const char *parse_c_skip(struct script *p, const char *at)
{
	const char *before;

	do {
		at = words_skip(at);
		before = at;
		at = *at == '#' ? skip_line(p, at) : skip_structure(p, at);
	} while (at != before);
	return at;
}
