/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parser.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/near.h"
#include "parse_c.h"

int parser_next(struct parser *s)
{
	if (s->too_high)
		return script_error(s->script, s->word.at, s->word.len, s->err, "nested too deep");
	s->behind = s->word.at + s->word.len;
	return word_at(s->script, s->behind, &s->word, s->err);
}

int parser_unexpected(struct parser *s, const char *expected)
{
	if (s->word.kind == WORD_END)
		return script_error(s->script, s->word.at, 1, s->err, "the program ends here: expected %s", expected);
	return script_error(s->script, s->word.at, s->word.len, s->err, "expected %s", expected);
}

int parser_expect(struct parser *s, int sign, const char *text)
{
	if (!word_is(&s->word, sign))
		return parser_unexpected(s, text);
	return parser_next(s);
}

int parser_accept(struct parser *s, int sign, bool *ret)
{
	*ret = word_is(&s->word, sign);
	return *ret ? parser_next(s) : 0;
}

/* A statement with a word of its own: if, while … */
typedef struct node *parse_word(struct parser *s, struct node *node);

static struct node *parse_statement(struct parser *s);

/* Go to the next word behind a handler, past what is C. */
static int pass_c(struct parser *s)
{
	s->behind = s->word.at + s->word.len;
	return word_at(s->script, parse_c_skip(s->script, s->behind), &s->word, s->err);
}

/* A block, or one statement. */
static struct node *parse_body(struct parser *s)
{
	return word_is(&s->word, '{') ? parse_block(s) : parse_statement(s);
}

static struct node *parse_if(struct parser *s, struct node *node)
{
	bool more;

	node->n = 3;
	node->list = xcalloc(3, sizeof(struct node *));
	if (parser_expect(s, '(', "( behind if") < 0 || !(node->list[0] = parse_expression(s)) ||
	    parser_expect(s, ')', ") behind what is asked") < 0 || !(node->list[1] = parse_body(s)))
		return NULL;
	while (word_is(&s->word, ';'))
		if (parser_next(s) < 0)
			return NULL;
	more = word_is_name(&s->word, "else");
	if (!more)
		node->n = 2;
	else if (parser_next(s) < 0 || !(node->list[2] = parse_body(s)))
		return NULL;
	return node;
}

static struct node *parse_while(struct parser *s, struct node *node)
{
	node->n = 2;
	node->list = xcalloc(2, sizeof(struct node *));
	s->loops++;
	if (parser_expect(s, '(', "( behind while") < 0 || !(node->list[0] = parse_expression(s)) ||
	    parser_expect(s, ')', ") behind what is asked") < 0 || !(node->list[1] = parse_body(s)))
		return NULL;
	s->loops--;
	return node;
}

/* The variable that has a range's end. */
static const char *const *end_name(struct parser *s, unsigned loop)
{
	enum { NAME = 32 };
	const char **names = script_alloc(s->script, 1, sizeof *names);
	char *name = script_alloc(s->script, NAME, 1);

	snprintf(name, NAME, "end of loop %u", loop);
	names[0] = name;
	return names;
}

/* for ($x : @map) { }, for ($i : 0..10) { } */
static struct node *parse_for(struct parser *s, struct node *node)
{
	struct loop_variable own = { .outer = s->loop };
	cleanup_free char *name = NULL;
	bool range;

	node->n = 3;
	node->list = xcalloc(3, sizeof(struct node *));
	if (parser_expect(s, '(', "( behind for") < 0)
		return NULL;
	if (s->word.kind != WORD_VARIABLE)
		return parser_unexpected(s, "a variable: for ($x : @map) { … }, or for ($i : 0..10) { … }"), NULL;
	name = xstrndup(s->word.at + 1, s->word.len - 1);
	own.name = name;
	own.number = ++s->n_loops;
	if (parser_next(s) < 0 || parser_expect(s, ':', ": behind the variable") < 0 ||
	    !(node->list[0] = parse_expression(s)) || parser_accept(s, OP_RANGE, &range) < 0)
		return NULL;
	if (range && !(node->list[1] = parse_expression(s)))
		return NULL;
	if (!range && (node->list[0]->kind != NODE_MAP || node->list[0]->n))
		return script_error(s->script, node->list[0]->at, node->list[0]->len, s->err,
				    "expected a map without a key, or a range as 0..10"),
		       NULL;
	node->kind = range ? NODE_FOR_RANGE : NODE_FOR_MAP;
	node->text = xasprintf("%s of loop %u", name, own.number);
	node->names = range ? end_name(s, own.number) : NULL;
	if (parser_expect(s, ')', ") behind what is gone through") < 0)
		return NULL;
	s->loops++;
	s->loop = &own;
	node->list[range ? 2 : 1] = parse_body(s);
	s->loop = own.outer;
	s->loops--;
	if (!node->list[range ? 2 : 1])
		return NULL;
	node->n = range ? 3 : 2;
	return node;
}

static struct node *parse_unroll(struct parser *s, struct node *node)
{
	enum { TIMES_MAX = 100 };

	node->n = 1;
	node->list = xcalloc(1, sizeof(struct node *));
	if (parser_expect(s, '(', "( behind unroll") < 0)
		return NULL;
	node->number = s->word.number;
	if (s->word.kind == WORD_PARAMETER && s->word.number && s->word.number <= s->script->n_parameters)
		node->number = strtoull(s->script->parameters[s->word.number - 1], NULL, 0);
	if ((s->word.kind != WORD_NUMBER && s->word.kind != WORD_PARAMETER) || !node->number ||
	    node->number > TIMES_MAX)
		return parser_unexpected(s, "a number from 1 to 100"), NULL;
	if (parser_next(s) < 0 || parser_expect(s, ')', ") behind the number") < 0 || !(node->list[0] = parse_body(s)))
		return NULL;
	return node;
}

static struct node *parse_break(struct parser *s, struct node *node)
{
	if (!s->loops && node->kind != NODE_RETURN)
		return script_error(s->script, node->at, node->len, s->err, "there is no loop around it"), NULL;
	return node;
}

/* A place alone: a variable, or a map with its key. */
static struct node *parse_place(struct parser *s)
{
	struct node *node;

	if (s->word.kind == WORD_MAP)
		return parse_map(s);
	node = parser_place(s);
	return parser_next(s) < 0 ? NULL : node;
}

/* let $x; let $x = 1; let $x: uint8 = 1; */
static struct node *parse_let(struct parser *s, struct node *node)
{
	struct node *set = script_node(s->script, NODE_ASSIGN, s->word.at, s->word.len, 2);
	struct node *cast = script_node(s->script, NODE_CAST, s->word.at, s->word.len, 1);
	bool typed, value;

	if (s->word.kind != WORD_VARIABLE)
		return parser_unexpected(s, "a variable behind let"), NULL;
	set->list[0] = parse_place(s);
	if (!set->list[0] || parser_accept(s, ':', &typed) < 0 || (typed && parse_type(s, &cast->type) < 0) ||
	    parser_accept(s, '=', &value) < 0)
		return NULL;
	node->kind = NODE_BLOCK; /* a variable is there once it is set */
	if (!value)
		return node;
	set->list[1] = cast->list[0] = parse_expression(s);
	if (!cast->list[0])
		return NULL;
	parser_set_height(s, cast);
	if (typed)
		set->list[1] = cast;
	return set;
}

static const struct statement {
	const char *word;
	enum node_kind kind;
	parse_word *parse;
} statements[] = {
	{ "if", NODE_IF, parse_if },
	{ "while", NODE_WHILE, parse_while },
	{ "for", NODE_FOR_MAP, parse_for },
	{ "unroll", NODE_UNROLL, parse_unroll },
	{ "break", NODE_BREAK, parse_break },
	{ "continue", NODE_CONTINUE, parse_break },
	{ "return", NODE_RETURN, parse_break },
	{ "let", NODE_BLOCK, parse_let },
};

/* What is left of an = */
static bool is_place(const struct node *node)
{
	return node->kind == NODE_VARIABLE || node->kind == NODE_MAP;
}

/* "_ = VALUE": what it gives is not used. False: it is none. */
static bool begins_nothing(struct parser *s)
{
	const char *behind = words_skip(s->word.at + s->word.len);

	return word_is_name(&s->word, "_") && behind[0] == '=' && behind[1] != '=';
}

static struct node *parse_assignment(struct parser *s)
{
	const char *at = s->word.at;
	struct node *left, *node;

	if (begins_nothing(s) && (parser_next(s) < 0 || parser_next(s) < 0))
		return NULL;
	left = parse_expression(s);
	if (!left)
		return NULL;
	if (!word_is(&s->word, '=')) {
		node = script_node(s->script, NODE_DO, at, left->len, 1);
		node->list[0] = left;
		return node;
	}
	if (!is_place(left))
		return script_error(s->script, left->at, left->len, s->err,
				    "expected a $variable or an @map left of ="),
		       NULL;
	node = script_node(s->script, NODE_ASSIGN, at, left->len, 2);
	node->list[0] = left;
	return parser_next(s) < 0 || !(node->list[1] = parse_expression(s)) ? NULL : node;
}

/* "$x += 1", "@a[1] <<= 2": found before what is left of it is parsed, since $x + would be a sum. */
static const char *find_compound(const char *at, int *ret_op, size_t *ret_len)
{
	static const char *const signs[] = { "<<=", ">>=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=" };
	unsigned open = 0;

	for (; *at && (open || !strchr(";{}", *at)); at++) {
		if (*at == '/' && (at[1] == '/' || at[1] == '*')) {
			at = words_skip(at);
			if (!*at)
				return NULL;
			at--;
			continue;
		}
		if (*at == '"') {
			for (at++; *at && *at != '"'; at++)
				at += *at == '\\' && at[1];
			if (!*at)
				return NULL;
		}
		open += *at == '[' || *at == '(';
		if ((*at == ']' || *at == ')') && open)
			open--;
		if (open)
			continue;
		if (*at == '=' || !strncmp(at, "<=", 2) || !strncmp(at, ">=", 2) || !strncmp(at, "!=", 2))
			return NULL;
		for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
			if (!strncmp(at, signs[i], strlen(signs[i]))) {
				*ret_op = *signs[i] == '<'   ? OP_SHIFT_LEFT
					  : *signs[i] == '>' ? OP_SHIFT_RIGHT
							     : *signs[i];
				*ret_len = strlen(signs[i]);
				return at;
			}
	}
	return NULL;
}

static struct node *parse_compound(struct parser *s, const char *sign, int op, size_t len)
{
	struct node *node = script_node(s->script, NODE_ASSIGN, s->word.at, s->word.len, 2);

	node->op = op;
	node->list[0] = parse_place(s);
	if (!node->list[0])
		return NULL;
	if (s->word.at != sign)
		return parser_unexpected(s, "a $variable or an @map left of it"), NULL;
	s->word.len = len;
	return parser_next(s) < 0 || !(node->list[1] = parse_expression(s)) ? NULL : node;
}

static struct node *parse_any_statement(struct parser *s)
{
	const char *at = s->word.at, *sign;
	size_t len = s->word.len;
	int op;

	for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
		if (word_is_name(&s->word, statements[i].word)) {
			struct node *node = script_node(s->script, statements[i].kind, at, len, 0), *ret;

			if (++s->depth > SCRIPT_DEPTH_MAX)
				return script_error(s->script, at, len, s->err, "nested too deep"), NULL;
			ret = parser_next(s) < 0 ? NULL : statements[i].parse(s, node);
			s->depth--;
			return ret;
		}
	if (s->word.kind == WORD_VARIABLE || s->word.kind == WORD_MAP) {
		sign = find_compound(at + len, &op, &len);
		if (sign)
			return parse_compound(s, sign, op, len);
	}
	return parse_assignment(s);
}

static struct node *parse_statement(struct parser *s)
{
	struct node *node = parse_any_statement(s);

	if (node)
		parser_set_height(s, node);
	return node;
}

static bool has_block(const struct node *node)
{
	return node->kind == NODE_IF || node->kind == NODE_WHILE || node->kind == NODE_FOR_MAP ||
	       node->kind == NODE_FOR_RANGE || node->kind == NODE_UNROLL || node->kind == NODE_BLOCK;
}

/* Statements up to the }, which is passed. What has no ; behind it there may be a value. */
static int fill_block(struct parser *s, struct node *block)
{
	size_t cap = 0;
	bool ended = true;

	while (!word_is(&s->word, '}')) {
		struct node *node;

		if (word_is(&s->word, ';')) {
			ended = true;
			if (parser_next(s) < 0)
				return -1;
			continue;
		}
		ended = false;
		if (s->word.kind == WORD_END)
			return parser_unexpected(s, "} at the end of what is done");
		node = word_is(&s->word, '{') ? parse_block(s) : parse_statement(s);
		if (!node)
			return -1;
		block->list = array_grow(block->list, block->n, &cap, sizeof(struct node *));
		block->list[block->n++] = node;
		if (!word_is(&s->word, '}') && !word_is(&s->word, ';') && !has_block(node))
			return parser_unexpected(s, "; or } behind a statement");
	}
	block->number = !ended && block->n && block->list[block->n - 1]->kind == NODE_DO;
	return s->depth == 1 && !s->use ? pass_c(s) : parser_next(s);
}

struct node *parse_block(struct parser *s)
{
	struct node *block = script_node(s->script, NODE_BLOCK, s->word.at, 1, 0);
	int r;

	if (++s->depth > SCRIPT_DEPTH_MAX)
		return script_error(s->script, s->word.at, 1, s->err, "nested too deep"), NULL;
	r = parser_expect(s, '{', "{ in front of what is done") < 0 ? -1 : fill_block(s, block);
	s->depth--;
	if (r < 0)
		return NULL;
	parser_set_height(s, block);
	return block;
}

struct node *parse_value_block(struct parser *s)
{
	unsigned loops = s->loops;
	struct node *block, *value;

	s->loops = 0; /* nothing leaves a loop from within a calculation */
	block = parse_block(s);
	s->loops = loops;
	if (!block || !block->number)
		return block;
	value = block->list[block->n - 1]->list[0];
	if (block->n == 1)
		return value;
	block->kind = NODE_VALUE;
	block->list[block->n - 1] = value;
	return block;
}

/* "/pid == 1/" */
static int parse_predicate(struct parser *s, struct handler *h)
{
	bool there;

	if (parser_accept(s, '/', &there) < 0)
		return -1;
	if (!there)
		return 0;
	s->in_predicate = true;
	h->predicate = parse_expression(s);
	s->in_predicate = false;
	return h->predicate ? parser_expect(s, '/', "/ behind the predicate") : -1;
}

static int parse_handler(struct parser *s)
{
	struct script *p = s->script;
	struct handler *h;

	p->handlers = array_grow(p->handlers, p->n_handlers, &p->cap, sizeof *p->handlers);
	h = &p->handlers[p->n_handlers++];
	*h = (struct handler){ 0 };
	if (parse_places(s, h) < 0 || parse_predicate(s, h) < 0)
		return -1;
	h->body = parse_block(s);
	if (h->body && s->too_high) /* it ended with the program's last word */
		return script_error(p, h->body->at, 1, s->err, "nested too deep");
	return h->body ? 0 : -1;
}

/* What bpftrace is told of its own limits and ways, which are others here; all but the first are passed over. */
static const char *const config_names[] = {
	"print_maps_on_exit", "cache_user_symbols", "cpp_demangle", "lazy_symbolication", "license", "log_size",
	"max_ast_nodes", "max_bpf_progs", "max_cat_bytes", "max_map_keys", "max_probes", "max_strlen",
	"max_type_res_iterations", "missing_probes", "on_stack_limit", "perf_rb_pages", "probe_inline", "show_debug_info",
	"stack_mode", "str_trunc_trailer", "unstable_import", "unstable_macro", "unstable_map_decl", "unstable_tseries",
	"use_blazesym", "debuginfod", "symbol_source", NULL,
};

/* name = value */
static int parse_setting(struct parser *s)
{
	size_t i = 0;
	const char *near;

	while (config_names[i] && !word_is_name(&s->word, config_names[i]))
		i++;
	if (s->word.kind != WORD_NAME)
		return parser_unexpected(s, "name = value, or }");
	if (!config_names[i]) {
		near = near_best(s->word.at, s->word.len, config_names);
		return script_error(s->script, s->word.at, s->word.len, s->err, "no such setting%s%s",
				    near ? ": did you mean " : "", near ? near : "");
	}
	if (parser_next(s) < 0 || parser_expect(s, '=', "= behind the setting's name") < 0)
		return -1;
	if (!i)
		s->script->keeps_maps = word_is_name(&s->word, "false") || word_is_name(&s->word, "off") ||
					(s->word.kind == WORD_NUMBER && !s->word.number);
	while (!word_is(&s->word, ';') && !word_is(&s->word, '}')) {
		if (s->word.kind == WORD_END)
			return parser_unexpected(s, "} behind config");
		if (parser_next(s) < 0)
			return -1;
	}
	while (word_is(&s->word, ';') || word_is(&s->word, ','))
		if (parser_next(s) < 0)
			return -1;
	return 0;
}

/* config = { name = value; … } */
static int parse_config(struct parser *s)
{
	if (parser_next(s) < 0 || parser_expect(s, '=', "= behind config") < 0 ||
	    parser_expect(s, '{', "{ behind config =") < 0)
		return -1;
	while (!word_is(&s->word, '}'))
		if (parse_setting(s) < 0)
			return -1;
	s->word.at = parse_c_skip(s->script, s->word.at + 1);
	return word_at(s->script, s->word.at, &s->word, s->err);
}

/* let @m = hash(1000): how many keys it has at most */
static int parse_bound(struct parser *s)
{
	struct script *p = s->script;
	bool forgets;
	char *name;

	if (parser_next(s) < 0)
		return -1;
	if (s->word.kind != WORD_MAP)
		return parser_unexpected(s, "an @map behind let");
	name = script_alloc(p, s->word.len, 1);
	memcpy(name, s->word.at + 1, s->word.len - 1);
	if (parser_next(s) < 0 || parser_expect(s, '=', "= behind the map") < 0)
		return -1;
	forgets = word_is_name(&s->word, "lruhash") || word_is_name(&s->word, "percpulruhash");
	if (!forgets && !word_is_name(&s->word, "hash") && !word_is_name(&s->word, "percpuhash"))
		return parser_unexpected(s, "hash(N), percpuhash(N), lruhash(N) or percpulruhash(N)");
	if (parser_next(s) < 0 || parser_expect(s, '(', "( behind it") < 0)
		return -1;
	if (s->word.kind != WORD_NUMBER || !s->word.number)
		return parser_unexpected(s, "how many keys");
	p->bounds = array_grow(p->bounds, p->n_bounds, &p->bounds_cap, sizeof *p->bounds);
	p->bounds[p->n_bounds++] = (struct map_bound){ name, s->word.number, forgets };
	return parser_next(s) < 0 || parser_expect(s, ')', ") behind the number") < 0
		       ? -1
		       : parser_expect(s, ';', "; behind it");
}

static int parse_top(struct parser *s)
{
	if (word_is_name(&s->word, "macro"))
		return parse_macro(s);
	if (word_is_name(&s->word, "let"))
		return parse_bound(s);
	if (word_is_name(&s->word, "import"))
		return parser_unexpected(s, "a probe: nothing is imported; macros stand in the program itself");
	return parse_handler(s);
}

static int parse_all(struct parser *s)
{
	s->word.at = parse_c_skip(s->script, s->script->source);
	if (word_at(s->script, s->word.at, &s->word, s->err) < 0)
		return -1;
	if (word_is_name(&s->word, "config") && parse_config(s) < 0)
		return -1;
	while (s->word.kind != WORD_END)
		if (parse_top(s) < 0 ||
		    word_at(s->script, parse_c_skip(s->script, s->word.at), &s->word, s->err) < 0)
			return -1;
	if (s->script->odd_condition)
		return script_error(s->script, s->script->odd_condition, 1, s->err,
				    "this condition is not understood: expected numbers, names that were defined, and operators");
	if (!s->script->n_handlers)
		return parser_unexpected(s, "a probe and what is done there: kprobe:vfs_read { @[comm] = count(); }");
	return 0;
}

int script_parse(const char *name, const char *source, size_t len, char *const *parameters, size_t n_parameters,
		 struct script *ret, struct error *err)
{
	struct parser s = { .script = ret, .err = err };

	*ret = (struct script){
		.name = name,
		.source = xstrndup(source, len),
		.parameters = parameters,
		.n_parameters = n_parameters,
	};
	if (strlen(ret->source) != len)
		return error_set(err, "%s: a program has no NUL bytes; this one has one at byte %zu", name,
				 strlen(ret->source));
	if (len > SCRIPT_BYTES_MAX)
		return error_set(err, "%s: a program of more than 1 MB", name);
	return parse_all(&s);
}
