/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * macro name(value, $variable, @map) { statements; value }: its body is parsed anew wherever it is used, with what it
 * is given in its parameters' places. Variables of its own are no one else's: each use has others.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "parser.h"

enum { PARAMETERS_MAX = 16, NODES_MAX = 1 << 17, USES_MAX = 4096, BODIES_MAX = 1 << 22 };

/* A use of a macro, whose body is being parsed. */
struct macro_use {
	const struct macro *macro;
	struct node **given;
	unsigned number; /* of all uses */
};

static bool is_same(const char *name, const struct word *w)
{
	return strlen(name) == w->len && !memcmp(name, w->at, w->len);
}

const struct macro *macro_find(const struct script *p, const char *name)
{
	for (size_t i = 0; i < p->n_macros; i++)
		if (!strcmp(p->macros[i].name, name))
			return &p->macros[i];
	return NULL;
}

static int parse_parameters(struct parser *s, struct macro *m)
{
	bool more = !word_is(&s->word, ')');

	m->parameters = script_alloc(s->script, PARAMETERS_MAX, sizeof *m->parameters);
	while (more) {
		char *name;

		if (s->word.kind != WORD_NAME && s->word.kind != WORD_VARIABLE && s->word.kind != WORD_MAP)
			return parser_unexpected(s, "a parameter: a name, a $variable or an @map");
		if (m->n == PARAMETERS_MAX)
			return parser_unexpected(s, "at most 16 parameters");
		name = script_alloc(s->script, s->word.len + 1, 1);
		memcpy(name, s->word.at, s->word.len);
		m->parameters[m->n++] = name;
		if (parser_next(s) < 0 || parser_accept(s, ',', &more) < 0)
			return -1;
	}
	return parser_expect(s, ')', ") or , behind a parameter");
}

/* Up to behind the } of the { that comes next. */
static int skip_body(struct parser *s)
{
	unsigned open = 0;

	if (!word_is(&s->word, '{'))
		return parser_unexpected(s, "{ in front of what the macro does");
	do {
		open += word_is(&s->word, '{');
		open -= word_is(&s->word, '}');
		if (s->word.kind == WORD_END)
			return parser_unexpected(s, "} at the end of the macro");
		if (parser_next(s) < 0)
			return -1;
	} while (open);
	return 0;
}

int parse_macro(struct parser *s)
{
	struct script *p = s->script;
	struct macro m = { 0 };

	if (parser_next(s) < 0)
		return -1;
	if (s->word.kind != WORD_NAME)
		return parser_unexpected(s, "the macro's name");
	m.name = script_alloc(p, s->word.len + 1, 1);
	memcpy(m.name, s->word.at, s->word.len);
	if (macro_find(p, m.name))
		return script_error(p, s->word.at, s->word.len, s->err, "there is a macro of that name");
	if (parser_next(s) < 0 || parser_expect(s, '(', "( behind the macro's name") < 0 || parse_parameters(s, &m) < 0)
		return -1;
	m.body = s->word.at;
	p->macros = array_grow(p->macros, p->n_macros, &p->macros_cap, sizeof *p->macros);
	p->macros[p->n_macros++] = m;
	if (skip_body(s) < 0)
		return -1;
	p->macros[p->n_macros - 1].len = (size_t)(s->word.at - m.body);
	return 0;
}

/* A copy for each place, since each finds out for itself what it is. */
static struct node *copy(struct parser *s, const struct node *of)
{
	struct node *ret = script_node(s->script, of->kind, of->at, of->len, of->n);

	if (s->script->n_nodes > NODES_MAX)
		s->too_high = true;
	ret->op = of->op;
	ret->number = of->number;
	ret->type = of->type;
	ret->names = of->names;
	ret->height = of->height;
	ret->text_len = of->text_len;
	if (of->text) {
		ret->text = xmalloc(of->text_len + strlen(of->text) + 1);
		memcpy(ret->text, of->text, of->kind == NODE_TEXT ? of->text_len + 1 : strlen(of->text) + 1);
	}
	for (size_t i = 0; i < of->n && !s->too_high; i++)
		ret->list[i] = copy(s, of->list[i]);
	if (s->too_high)
		ret->n = 0;
	return ret;
}

struct node *macro_parameter(struct parser *s, const struct word *w)
{
	for (size_t i = 0; s->use && i < s->use->macro->n; i++)
		if (is_same(s->use->macro->parameters[i], w))
			return copy(s, s->use->given[i]);
	return NULL;
}

static const struct loop_variable *find_loop(const struct parser *s, const struct word *w)
{
	const struct loop_variable *l = s->loop;

	while (l && (strlen(l->name) != w->len - 1 || memcmp(l->name, w->at + 1, w->len - 1)))
		l = l->outer;
	return l;
}

bool is_loop_variable(const struct parser *s, const struct word *w)
{
	return find_loop(s, w);
}

char *variable_name(const struct parser *s, const struct word *w)
{
	const struct loop_variable *l = find_loop(s, w);
	cleanup_free char *name = xstrndup(w->at + 1, w->len - 1);

	if (l)
		return xasprintf("%s of loop %u", name, l->number);
	return s->use ? xasprintf("%s of %s %u", name, s->use->macro->name, s->use->number) : xstrdup(name);
}

/* What a parameter is given is of its kind. */
static int check_given(struct parser *s, const struct node *call, const struct macro *m)
{
	if (call->n != m->n)
		return script_error(s->script, call->at, call->len, s->err, "%s() has %zu parameters, here %zu", m->name,
				    m->n, call->n);
	for (size_t i = 0; i < m->n; i++) {
		const struct node *given = call->list[i];
		bool fits = *m->parameters[i] == '$'   ? given->kind == NODE_VARIABLE
			    : *m->parameters[i] == '@' ? given->kind == NODE_MAP && !given->n
						       : true;

		if (!fits)
			return script_error(s->script, given->at, given->len, s->err, "expected %s for %s",
					    *m->parameters[i] == '$' ? "a $variable" : "an @map without a key",
					    m->parameters[i]);
	}
	return 0;
}

struct node *macro_use(struct parser *s, const struct node *call, const struct macro *m)
{
	struct macro_use use = { m, call->list, ++s->uses };
	struct parser before;
	struct node *ret;

	if (check_given(s, call, m) < 0)
		return NULL;
	s->bodies += m->len;
	before = *s;
	if (++s->depth > SCRIPT_DEPTH_MAX || s->script->n_nodes > NODES_MAX || s->uses > USES_MAX ||
	    s->bodies > BODIES_MAX)
		return script_error(s->script, call->at, call->len, s->err, "nested too deep, or used too often"), NULL;
	s->use = &use;
	s->loop = NULL;
	s->in_predicate = false;
	ret = word_at(s->script, m->body, &s->word, s->err) < 0 ? NULL : parse_value_block(s);
	before.too_high = s->too_high;
	before.uses = s->uses;
	before.bodies = s->bodies;
	before.n_loops = s->n_loops;
	*s = before;
	return ret;
}
