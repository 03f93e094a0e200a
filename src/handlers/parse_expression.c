/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/near.h"
#include "parser.h"
#include "types.h"

enum { PARTS_MAX = 64 };

static struct node *parse_unary(struct parser *s);

void parser_set_height(struct parser *s, struct node *node)
{
	for (size_t i = 0; i < node->n; i++)
		if (node->list[i] && node->list[i]->height >= node->height)
			node->height = node->list[i]->height + 1;
	s->too_high |= node->height > SCRIPT_HEIGHT_MAX;
}

/* It reaches up to the last word that was passed, and has all its parts. */
static void set_end(struct parser *s, struct node *node)
{
	node->len = (size_t)(s->behind - node->at);
	parser_set_height(s, node);
}

/* How strongly it binds, as in C; 0: it is no operator between two. */
static unsigned strength(int sign)
{
	static const struct {
		int sign;
		unsigned strength;
	} operators[] = {
		{ OP_OR, 1 },
		{ OP_AND, 2 },
		{ '|', 3 },
		{ '^', 4 },
		{ '&', 5 },
		{ OP_EQUAL, 6 },
		{ OP_UNEQUAL, 6 },
		{ '<', 7 },
		{ '>', 7 },
		{ OP_LESS_EQUAL, 7 },
		{ OP_MORE_EQUAL, 7 },
		{ OP_SHIFT_LEFT, 8 },
		{ OP_SHIFT_RIGHT, 8 },
		{ '+', 9 },
		{ '-', 9 },
		{ '*', 10 },
		{ '/', 10 },
		{ '%', 10 },
	};

	for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
		if (operators[i].sign == sign)
			return operators[i].strength;
	return 0;
}

/* In a predicate, the / in front of what is done. */
static bool ends_predicate(const struct parser *s)
{
	return s->in_predicate && word_is(&s->word, '/') && *words_skip(s->word.at + 1) == '{';
}

static int add_to_list(struct parser *s, struct node *node, struct node *item, size_t *cap)
{
	if (!item)
		return -1;
	(void)s;
	node->list = array_grow(node->list, node->n, cap, sizeof(struct node *));
	node->list[node->n++] = item;
	return 0;
}

/* Expressions with commas up to the closing sign, which is passed. */
static int parse_list(struct parser *s, struct node *node, int close, const char *expected)
{
	size_t cap = 0;
	bool more = !word_is(&s->word, close);

	while (more)
		if (add_to_list(s, node, parse_expression(s), &cap) < 0 || parser_accept(s, ',', &more) < 0)
			return -1;
	if (parser_expect(s, close, expected) < 0)
		return -1;
	set_end(s, node);
	return 0;
}

/* Names of types that a cast may have, and their sizes; negative: signed. */
static int size_of_type(const struct word *w)
{
	static const struct {
		const char *name;
		int size;
	} types[] = {
		{ "uint8", 1 },    { "uint16", 2 },   { "uint32", 4 },  { "uint64", 8 },   { "int8", -1 },
		{ "int16", -2 },   { "int32", -4 },   { "int64", -8 },  { "uint8_t", 1 },  { "uint16_t", 2 },
		{ "uint32_t", 4 }, { "uint64_t", 8 }, { "int8_t", -1 }, { "int16_t", -2 }, { "int32_t", -4 },
		{ "int64_t", -8 }, { "u8", 1 },       { "u16", 2 },     { "u32", 4 },      { "u64", 8 },
		{ "s8", -1 },      { "s16", -2 },     { "s32", -4 },    { "s64", -8 },     { "bool", 1 },
		{ "char", -1 },    { "short", -2 },   { "int", -4 },    { "long", -8 },    { "size_t", 8 },
		{ "void", 8 },     { "__u8", 1 },     { "__u16", 2 },   { "__u32", 4 },    { "__u64", 8 },
	};

	for (size_t i = 0; w->kind == WORD_NAME && i < sizeof types / sizeof *types; i++)
		if (word_is_name(w, types[i].name))
			return types[i].size;
	return 0;
}

/* "name =": a part of a record. */
static bool is_part(const struct word *w)
{
	const char *behind = words_skip(w->at + w->len);

	return w->kind == WORD_NAME && behind[0] == '=' && behind[1] != '=';
}

/* Is the ( that comes next in front of a type? */
static bool begins_cast(struct parser *s)
{
	struct error ignored;
	struct word w;

	return word_at(s->script, s->word.at + 1, &w, &ignored) == 0 && !is_part(&w) &&
	       (word_is_name(&w, "struct") || word_is_name(&w, "union") || word_is_name(&w, "unsigned") ||
		word_is_name(&w, "signed") || size_of_type(&w));
}

/* "unsigned long *", "struct sock *", without the parentheses */
int parse_type(struct parser *s, struct type *ret)
{
	bool is_structure = word_is_name(&s->word, "struct") || word_is_name(&s->word, "union"), pointer, more;
	bool is_unsigned = word_is_name(&s->word, "unsigned"), is_bool = word_is_name(&s->word, "bool");
	int size = 8;

	if ((is_structure || is_unsigned || word_is_name(&s->word, "signed")) && parser_next(s) < 0)
		return -1;
	if (is_structure) {
		if (s->word.kind != WORD_NAME)
			return parser_unexpected(s, "a structure's name");
		char *name = script_alloc(s->script, s->word.len + 1, 1);

		memcpy(name, s->word.at, s->word.len);
		ret->structure = name;
	} else if (s->word.kind == WORD_NAME) {
		size = size_of_type(&s->word);
		if (!size)
			return parser_unexpected(s, "a type: uint8 … int64, struct NAME *");
	}
	if (s->word.kind == WORD_NAME && parser_next(s) < 0)
		return -1;
	/* "long long", "short int" */
	while (size_of_type(&s->word))
		if (parser_next(s) < 0)
			return -1;
	do {
		if (parser_accept(s, '*', &more) < 0)
			return -1;
		ret->stars += more;
	} while (more);
	pointer = ret->stars;
	if (is_structure && !pointer)
		return parser_unexpected(s, "* behind a structure's name: a cast is to a pointer");
	ret->kind = pointer ? TYPE_POINTER : TYPE_NUMBER;
	ret->is_bool = is_bool && !pointer;
	ret->is_signed = !pointer && size < 0 && !is_unsigned;
	ret->to_signed = pointer && size < 0 && !is_unsigned;
	ret->size = (unsigned)(size < 0 ? -size : size);
	return 0;
}

static struct node *parse_cast(struct parser *s)
{
	struct node *node = script_node(s->script, NODE_CAST, s->word.at, 1, 1);

	if (parser_expect(s, '(', "(") < 0 || parse_type(s, &node->type) < 0 ||
	    parser_expect(s, ')', ") behind the type") < 0 || !(node->list[0] = parse_unary(s)))
		return NULL;
	set_end(s, node);
	return node;
}

/* The name of part n, and past its =. */
static int parse_part_name(struct parser *s, const char **names, size_t n)
{
	char *name;

	if (!is_part(&s->word))
		return parser_unexpected(s, "a name and =, as the parts before have");
	for (size_t i = 0; i < n; i++)
		if (word_is_name(&s->word, names[i]))
			return parser_unexpected(s, "a name that no part before has");
	name = script_alloc(s->script, s->word.len + 1, 1);
	memcpy(name, s->word.at, s->word.len);
	names[n] = name;
	return parser_next(s) < 0 ? -1 : parser_next(s);
}

static int parse_part(struct parser *s, struct node *record, const char **names, size_t *cap)
{
	if (record->n == PARTS_MAX)
		return parser_unexpected(s, "at most 64 parts of a record");
	if (parse_part_name(s, names, record->n) < 0)
		return -1;
	return add_to_list(s, record, parse_expression(s), cap);
}

/* (a = x, b = y), from its first name on */
static int parse_record(struct parser *s, struct node *node)
{
	const char **names = script_alloc(s->script, PARTS_MAX, sizeof *names);
	size_t cap = 0;
	bool more = true;

	node->names = names;
	while (more)
		if (parse_part(s, node, names, &cap) < 0 || parser_accept(s, ',', &more) < 0)
			return -1;
	if (parser_expect(s, ')', ") or , here") < 0)
		return -1;
	set_end(s, node);
	return 0;
}

/* (x), a tuple (x, y), or a record (a = x, b = y) */
static struct node *parse_parentheses(struct parser *s)
{
	struct node *node = script_node(s->script, NODE_TUPLE, s->word.at, 1, 0);
	bool in_predicate = s->in_predicate;

	s->in_predicate = false;
	if (parser_next(s) < 0)
		return NULL;
	if ((is_part(&s->word) ? parse_record(s, node) : parse_list(s, node, ')', ") or , here")) < 0)
		return NULL;
	s->in_predicate = in_predicate;
	if (!node->n)
		return script_error(s->script, node->at, node->len, s->err, "expected something in the parentheses"),
		       NULL;
	return node->n == 1 && !node->names ? node->list[0] : node;
}

/* A variable or a map, which in a macro may be what that was given. */
struct node *parser_place(struct parser *s)
{
	bool is_map = s->word.kind == WORD_MAP;
	struct node *node = !is_map && is_loop_variable(s, &s->word) ? NULL : macro_parameter(s, &s->word);

	if (node)
		return node;
	node = script_node(s->script, is_map ? NODE_MAP : NODE_VARIABLE, s->word.at, s->word.len, 0);
	node->text = is_map ? xstrndup(s->word.at + 1, s->word.len - 1) : variable_name(s, &s->word);
	return node;
}

struct node *parse_map(struct parser *s)
{
	struct node *node = parser_place(s), *tuple;

	if (parser_next(s) < 0)
		return NULL;
	if (!word_is(&s->word, '['))
		return node;
	tuple = script_node(s->script, NODE_TUPLE, s->word.at, 1, 0);
	if (parser_next(s) < 0 || parse_list(s, tuple, ']', "] or , here") < 0)
		return NULL;
	if (!tuple->n)
		return script_error(s->script, tuple->at, 1, s->err, "expected a key"), NULL;
	node->list = xcalloc(1, sizeof(struct node *));
	node->n = 1;
	node->list[0] = tuple->n == 1 ? tuple->list[0] : tuple;
	set_end(s, node);
	return node;
}

/* A name alone: of a builtin, of a function that is called, or a mode: kstack(perf), nsecs(boot). */
static struct node *parse_name(struct parser *s)
{
	static const char *const modes[] = { "perf", "bpftrace", "raw", "boot", "monotonic", "tai", "sw_tai" };
	static const char *const absent[] = { "username", "cgroup", "numaid", "jiffies", "cpid", "ctx" };
	struct node *node = script_node(s->script, NODE_CALL, s->word.at, s->word.len, 0);
	int builtin = builtin_find(s->word.at, s->word.len);
	struct node *given = macro_parameter(s, &s->word);
	const struct macro *macro;
	const char *near;

	if (given)
		return parser_next(s) < 0 ? NULL : given;

	node->text = xstrndup(s->word.at, s->word.len);
	if (parser_next(s) < 0)
		return NULL;
	if (word_is(&s->word, '(')) {
		size_t len = node->len;

		if (parser_next(s) < 0 || parse_list(s, node, ')', ") or , here") < 0)
			return NULL;
		node->len = len;
		macro = macro_find(s->script, node->text);
		if (macro)
			return macro_use(s, node, macro);
		if (builtin >= 0 && !node->n && !function_find(node->text)) { /* pid() */
			node->kind = NODE_BUILTIN;
			node->number = (uint64_t)builtin;
		}
		return node;
	}
	macro = macro_find(s->script, node->text);
	if (macro && !macro->n)
		return macro_use(s, node, macro);
	if (!strcmp(node->text, "kstack") || !strcmp(node->text, "ustack") || builtin >= 0) {
		node->kind = NODE_BUILTIN;
		node->number = (uint64_t)builtin;
		return node;
	}
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
		if (!strcmp(node->text, modes[i])) {
			node->kind = NODE_TEXT;
			node->text_len = strlen(node->text);
			return node;
		}
	if (script_loose(s->script, node->text))
		return script_error(s->script, node->at, node->len, s->err,
				    "its #define has several words: expected parentheses around them, as in (1 << 3)"),
		       NULL;
	if (script_constant(s->script, node->text, &node->number)) {
		node->kind = NODE_NUMBER;
		return node;
	}
	for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
		if (!strcmp(node->text, absent[i]))
			return script_error(s->script, node->at, node->len, s->err,
					    "'%s' is not there: a trace does not have it", node->text),
			       NULL;
	near = near_best(node->text, strlen(node->text), builtin_names);
	return script_error(s->script, node->at, node->len, s->err, "'%s' is not known%s%s", node->text,
			    near ? ": did you mean " : "; text has \" around it", near ? near : ""),
	       NULL;
}

/* What stands in the parentheses is "struct NAME", and no pointer. */
static bool has_structure(const struct parser *s)
{
	const char *at = words_skip(s->word.at + s->word.len);
	struct error ignored;
	struct word w;

	if (*at != '(' || word_at(s->script, at + 1, &w, &ignored) < 0 ||
	    (!word_is_name(&w, "struct") && !word_is_name(&w, "union")))
		return false;
	at = words_skip(w.at + w.len);
	at = words_skip(at + strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"));
	return *at != '*';
}

/* sizeof(uint32), sizeof(struct file *), and of an expression, whose numbers have 8 bytes */
static struct node *parse_size(struct parser *s)
{
	struct node *node = script_node(s->script, NODE_NUMBER, s->word.at, s->word.len, 0);
	struct type type = { .size = 8 };
	bool of_type;

	if (has_structure(s))
		return script_error(s->script, node->at, node->len, s->err,
				    "sizes of the kernel's structures are not there: upto layout shows what is known"),
		       NULL;
	if (parser_next(s) < 0)
		return NULL;
	of_type = word_is(&s->word, '(') && begins_cast(s);
	if (parser_expect(s, '(', "( behind sizeof") < 0)
		return NULL;
	if (of_type ? parse_type(s, &type) < 0 : !parse_expression(s))
		return NULL;
	node->number = type.kind == TYPE_POINTER ? 8 : type.size;
	return parser_expect(s, ')', ") behind it") < 0 ? NULL : node;
}

/* offsetof(struct file, f_mode) */
static struct node *refuse_offset(struct parser *s)
{
	script_error(s->script, s->word.at, s->word.len, s->err,
		     "places of members are not there: upto layout shows what is known");
	return NULL;
}

static struct node *parse_literal(struct parser *s, enum node_kind kind)
{
	struct node *node = script_node(s->script, kind, s->word.at, s->word.len, 0);

	node->number = s->word.number;
	if (kind == NODE_TEXT)
		node->text = word_text(&s->word, &node->text_len);
	return parser_next(s) < 0 ? NULL : node;
}

static struct node *parse_primary(struct parser *s)
{
	switch (s->word.kind) {
	case WORD_NUMBER:
		return parse_literal(s, NODE_NUMBER);
	case WORD_TEXT:
		return parse_literal(s, NODE_TEXT);
	case WORD_VARIABLE: {
		struct node *node = parser_place(s);

		return parser_next(s) < 0 ? NULL : node;
	}
	case WORD_PARAMETER:
		return parse_literal(s, NODE_PARAMETER);
	case WORD_MAP:
		return parse_map(s);
	case WORD_NAME:
		if (word_is_name(&s->word, "offsetof") || word_is_name(&s->word, "container_of"))
			return refuse_offset(s);
		return word_is_name(&s->word, "sizeof") ? parse_size(s) : parse_name(s);
	default:
		if (word_is(&s->word, '('))
			return parse_parentheses(s);
		if (word_is(&s->word, '{') && !s->in_predicate)
			return parse_value_block(s);
		return parser_unexpected(s, "a value"), NULL;
	}
}

static struct node *parse_member(struct parser *s, struct node *of)
{
	struct node *node = script_node(s->script, NODE_MEMBER, of->at, of->len, 1);

	node->list[0] = of;
	if (parser_next(s) < 0)
		return NULL;
	if (s->word.kind != WORD_NAME && s->word.kind != WORD_NUMBER)
		return parser_unexpected(s, "a member's name, or a number of a tuple"), NULL;
	node->number = s->word.number;
	node->text = s->word.kind == WORD_NAME ? xstrndup(s->word.at, s->word.len) : NULL;
	if (parser_next(s) < 0)
		return NULL;
	set_end(s, node);
	return node;
}

static struct node *parse_index(struct parser *s, struct node *of)
{
	struct node *node = script_node(s->script, NODE_INDEX, of->at, of->len, 2);

	node->list[0] = of;
	if (parser_next(s) < 0 || !(node->list[1] = parse_expression(s)) ||
	    parser_expect(s, ']', "] behind the number") < 0)
		return NULL;
	set_end(s, node);
	return node;
}

static struct node *new_step(struct parser *s, const char *at, int op, bool before, struct node *of)
{
	struct node *node = script_node(s->script, NODE_STEP, at, 1, 1);

	node->op = op;
	node->number = before;
	node->list[0] = of;
	if (of->kind != NODE_VARIABLE && of->kind != NODE_MAP)
		return script_error(s->script, of->at, of->len, s->err,
				    "only $variables and @maps are counted up or down"),
		       NULL;
	return node;
}

static struct node *parse_postfix(struct parser *s)
{
	struct node *node = parse_primary(s);
	unsigned links = 0;

	while (node && s->word.kind == WORD_SIGN) {
		int sign = s->word.sign;

		if (++links > SCRIPT_DEPTH_MAX)
			return script_error(s->script, s->word.at, s->word.len, s->err, "nested too deep"), NULL;
		if (sign == '.' || sign == OP_ARROW) {
			node = parse_member(s, node);
		} else if (sign == '[') {
			node = parse_index(s, node);
		} else if (sign == OP_PLUS_PLUS || sign == OP_MINUS_MINUS) {
			node = new_step(s, node->at, sign, false, node);
			if (node && parser_next(s) < 0)
				return NULL;
			if (node)
				set_end(s, node);
		} else {
			break;
		}
	}
	return node;
}

static struct node *parse_prefix(struct parser *s)
{
	const char *at = s->word.at;
	int sign = s->word.sign;
	struct node *of, *node;

	if (parser_next(s) < 0 || !(of = parse_unary(s)))
		return NULL;
	if (sign == OP_PLUS_PLUS || sign == OP_MINUS_MINUS) {
		node = new_step(s, at, sign, true, of);
	} else {
		node = script_node(s->script, NODE_UNARY, at, 1, 1);
		node->op = sign;
		node->list[0] = of;
	}
	if (node)
		set_end(s, node);
	return node;
}

static struct node *parse_unary(struct parser *s)
{
	static const int prefixes[] = { '!', '~', '-', '*', '&', OP_PLUS_PLUS, OP_MINUS_MINUS };
	struct node *ret = NULL;
	bool is_prefix = false;

	if (++s->depth > SCRIPT_DEPTH_MAX)
		return script_error(s->script, s->word.at, s->word.len, s->err, "nested too deep"), NULL;
	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		is_prefix |= word_is(&s->word, prefixes[i]);
	if (is_prefix)
		ret = parse_prefix(s);
	else if (word_is(&s->word, '(') && begins_cast(s))
		ret = parse_cast(s);
	else
		ret = parse_postfix(s);
	s->depth--;
	return ret;
}

static struct node *parse_binary(struct parser *s, unsigned least)
{
	struct node *left = parse_unary(s);
	unsigned links = 0;

	while (left && s->word.kind == WORD_SIGN && strength(s->word.sign) >= least && !ends_predicate(s)) {
		struct node *node = script_node(s->script, NODE_BINARY, left->at, left->len, 2);

		if (++links > SCRIPT_DEPTH_MAX)
			return script_error(s->script, s->word.at, s->word.len, s->err, "nested too deep"), NULL;
		node->op = s->word.sign;
		node->list[0] = left;
		if (parser_next(s) < 0 || !(node->list[1] = parse_binary(s, strength(node->op) + 1)))
			return NULL;
		set_end(s, node);
		left = node;
	}
	return left;
}

struct node *parse_expression(struct parser *s)
{
	struct node *asked, *node;
	bool more;

	if (++s->depth > SCRIPT_DEPTH_MAX)
		return script_error(s->script, s->word.at, s->word.len, s->err, "nested too deep"), NULL;
	asked = parse_binary(s, 1);
	if (!asked || parser_accept(s, '?', &more) < 0)
		return NULL;
	if (more) {
		node = script_node(s->script, NODE_TERNARY, asked->at, asked->len, 3);
		node->list[0] = asked;
		if (!(node->list[1] = parse_expression(s)) || parser_expect(s, ':', ": of the ? before") < 0 ||
		    !(node->list[2] = parse_expression(s)))
			return NULL;
		set_end(s, node);
		asked = node;
	}
	s->depth--;
	return asked;
}
