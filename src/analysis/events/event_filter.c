/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event_filter.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { NODES_MAX = 256, DEPTH_MAX = 64 };

enum relation { EQUAL, UNEQUAL, LESS, LESS_EQUAL, MORE, MORE_EQUAL, HAS_BITS, LIKE, AND, OR, NOT };

/* In the order in which they were read: those that a node is made of come before it. */
struct node {
	enum relation relation;
	size_t left, right; /* AND, OR, NOT: numbers of nodes; else: */
	char *field, *text; /* text: NULL: it is a number */
	uint64_t number;
	bool negative;
};

struct event_filter {
	struct node *nodes;
	size_t count, cap;
	size_t root;
	bool *has; /* by number of event: it has all fields */
	struct buf scratch, shown;
};

struct parser {
	struct event_filter *filter;
	const char *begin, *at;
	unsigned depth;
	struct error *err;
};

static int fail(const struct parser *p, const char *expected)
{
	return error_set(p->err, "--filter %s: at column %zu, before \"%.20s\": %s is expected", p->begin,
			 (size_t)(p->at - p->begin) + 1, p->at, expected);
}

static void skip_spaces(struct parser *p)
{
	while (isspace((unsigned char)*p->at))
		p->at++;
}

static bool take(struct parser *p, const char *word)
{
	skip_spaces(p);
	if (strncmp(p->at, word, strlen(word)))
		return false;
	p->at += strlen(word);
	return true;
}

static int add_node(struct parser *p, const struct node *node, size_t *ret)
{
	struct event_filter *f = p->filter;

	if (f->count == NODES_MAX)
		return error_set(p->err, "--filter: more than %d conditions", NODES_MAX);
	f->nodes = array_grow(f->nodes, f->count, &f->cap, sizeof *f->nodes);
	*ret = f->count;
	f->nodes[f->count++] = *node;
	return 0;
}

static int parse_operator(struct parser *p, enum relation *ret)
{
	static const struct {
		const char *word;
		enum relation relation;
	} words[] = {
		{ "==", EQUAL }, { "!=", UNEQUAL }, { "<=", LESS_EQUAL }, { ">=", MORE_EQUAL },
		{ "<", LESS },   { ">", MORE },     { "&", HAS_BITS },    { "~", LIKE },
	};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (take(p, words[i].word)) {
			*ret = words[i].relation;
			return 0;
		}
	return fail(p, "==, !=, <, <=, >, >=, & or ~");
}

/* A number, or a text: in quotes, or a word. */
static int parse_value(struct parser *p, struct node *n)
{
	char *end;
	size_t len;

	skip_spaces(p);
	if (*p->at == '"' || *p->at == '\'') {
		const char *close = strchr(p->at + 1, *p->at);

		if (!close)
			return fail(p, "the other quote");
		n->text = xstrndup(p->at + 1, (size_t)(close - p->at - 1));
		p->at = close + 1;
		return 0;
	}
	n->negative = *p->at == '-';
	if (isdigit((unsigned char)p->at[n->negative])) {
		n->number = strtoull(p->at, &end, 0);
		p->at = end;
		return 0;
	}
	len = strcspn(p->at, " \t\n()&|!=<>");
	if (!len)
		return fail(p, "a number or a text");
	n->text = xstrndup(p->at, len);
	p->at += len;
	return 0;
}

static int parse_comparison(struct parser *p, size_t *ret)
{
	struct node n = { 0 };
	size_t len = 0;

	skip_spaces(p);
	while (isalnum((unsigned char)p->at[len]) || p->at[len] == '_')
		len++;
	if (!len || isdigit((unsigned char)*p->at))
		return fail(p, "a field");
	n.field = xstrndup(p->at, len);
	p->at += len;
	if (parse_operator(p, &n.relation) == 0 && parse_value(p, &n) == 0) {
		if (!n.text || n.relation == EQUAL || n.relation == UNEQUAL || n.relation == LIKE) {
			if (add_node(p, &n, ret) == 0)
				return 0;
		} else {
			fail(p, "a number before this");
		}
	}
	free(n.field);
	free(n.text);
	return -1;
}

static int parse_any(struct parser *p, size_t *ret);

static int parse_one(struct parser *p, size_t *ret)
{
	struct node negated = { .relation = NOT };

	if (take(p, "!")) {
		if (++p->depth > DEPTH_MAX)
			return fail(p, "less depth");
		if (parse_one(p, &negated.left) < 0)
			return -1;
		p->depth--;
		return add_node(p, &negated, ret);
	}
	if (!take(p, "("))
		return parse_comparison(p, ret);
	if (++p->depth > DEPTH_MAX)
		return fail(p, "less depth");
	if (parse_any(p, ret) < 0)
		return -1;
	p->depth--;
	return take(p, ")") ? 0 : fail(p, "&&, || or )");
}

static int parse_all(struct parser *p, size_t *ret)
{
	if (parse_one(p, ret) < 0)
		return -1;
	while (take(p, "&&")) {
		struct node n = { .relation = AND, .left = *ret };

		if (parse_one(p, &n.right) < 0 || add_node(p, &n, ret) < 0)
			return -1;
	}
	return 0;
}

static int parse_any(struct parser *p, size_t *ret)
{
	if (parse_all(p, ret) < 0)
		return -1;
	while (take(p, "||")) {
		struct node n = { .relation = OR, .left = *ret };

		if (parse_all(p, &n.right) < 0 || add_node(p, &n, ret) < 0)
			return -1;
	}
	return 0;
}

struct event_filter *event_filter_parse(const char *expression, struct error *err)
{
	struct event_filter *f = xcalloc(1, sizeof *f);
	struct parser p = { .filter = f, .begin = expression, .at = expression, .err = err };
	int r = parse_any(&p, &f->root);

	skip_spaces(&p);
	if (r == 0 && *p.at)
		r = fail(&p, "&& or ||");
	if (r == 0)
		return f;
	event_filter_free(f);
	return NULL;
}

void event_filter_free(struct event_filter *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free(f->nodes[i].field);
		free(f->nodes[i].text);
	}
	free(f->nodes);
	free(f->has);
	buf_free(&f->scratch);
	buf_free(&f->shown);
	free(f);
}

static bool all_have(const char *field)
{
	return !strcmp(field, "pid") || !strcmp(field, "comm") || !strcmp(field, "cpu");
}

/* The first field that the event lacks; NULL: none. */
static const char *lacks(const struct event_filter *f, const struct event_decoder *d, size_t event)
{
	for (size_t i = 0; i < f->count; i++) {
		const char *field = f->nodes[i].field;

		if (field && event_field_find(d, event, field) < 0 && !all_have(field))
			return field;
	}
	return NULL;
}

int event_filter_bind(struct event_filter *f, const struct event_decoder *d, size_t events, const bool *chosen,
		      struct error *err)
{
	const char *lacking = NULL;
	bool any = false;

	free(f->has);
	f->has = xcalloc(events + 1, sizeof *f->has);
	for (size_t i = 0; i < events; i++) {
		const char *field = chosen[i] ? lacks(f, d, i) : NULL;

		f->has[i] = chosen[i] && !field;
		any |= f->has[i];
		lacking = field ? field : lacking;
	}
	if (any || !lacking)
		return 0;
	return error_set(
		err, "--filter: no event that is chosen has a field %s beside the others; 'upto events -l' lists them",
		lacking);
}

/* A field of the event's own goes before what all have. */
static struct event_value value_of(struct event_filter *f, const char *field, struct event_decoder *d,
				   const struct event_record *r, const char *comm)
{
	long number = event_field_find(d, r->event, field);

	if (number >= 0)
		return event_value(d, r, (size_t)number, &f->scratch);
	if (!strcmp(field, "comm"))
		return (struct event_value){ .kind = EVENT_TEXT, .text = comm };
	if (!strcmp(field, "cpu"))
		return (struct event_value){ .kind = EVENT_NUMBER, .number = r->cpu };
	return (struct event_value){ .kind = EVENT_SIGNED, .number = (uint64_t)(int64_t)event_record_pid(r) };
}

/* An address of a function is also what its name is. */
static const char *text_of(struct event_filter *f, const struct event_value *v, struct event_decoder *d,
			   const struct event_record *r)
{
	if (v->kind == EVENT_TEXT)
		return v->text;
	f->shown.len = 0;
	event_value_put(d, r, v, &f->shown);
	buf_put_u8(&f->shown, 0);
	return (char *)f->shown.data;
}

static int compare(const struct event_value *v, const struct node *n)
{
	if (v->kind == EVENT_SIGNED || n->negative) {
		int64_t a = (int64_t)v->number, b = (int64_t)n->number;

		if (v->kind != EVENT_SIGNED && a < 0) /* more than any negative number */
			return 1;
		return a < b ? -1 : a > b;
	}
	return v->number < n->number ? -1 : v->number > n->number;
}

static bool holds(struct event_filter *f, const struct node *n, struct event_decoder *d, const struct event_record *r,
		  const char *comm)
{
	struct event_value v = value_of(f, n->field, d, r, comm);

	if (v.kind == EVENT_NOTHING)
		return false;
	if (n->text) {
		const char *text = text_of(f, &v, d, r);

		if (n->relation == LIKE)
			return !fnmatch(n->text, text, 0);
		return !strcmp(n->text, text) == (n->relation == EQUAL);
	}
	if (v.kind == EVENT_TEXT || n->relation == LIKE)
		return false;
	switch (n->relation) {
	case EQUAL:
		return compare(&v, n) == 0;
	case UNEQUAL:
		return compare(&v, n) != 0;
	case LESS:
		return compare(&v, n) < 0;
	case LESS_EQUAL:
		return compare(&v, n) <= 0;
	case MORE:
		return compare(&v, n) > 0;
	case MORE_EQUAL:
		return compare(&v, n) >= 0;
	default:
		return v.number & n->number;
	}
}

bool event_filter_fits(struct event_filter *f, struct event_decoder *d, const struct event_record *r, const char *comm)
{
	bool fits[NODES_MAX];

	if (!f->has[r->event])
		return false;
	for (size_t i = 0; i < f->count; i++) {
		const struct node *n = &f->nodes[i];

		fits[i] = n->relation == AND   ? fits[n->left] && fits[n->right]
			  : n->relation == OR  ? fits[n->left] || fits[n->right]
			  : n->relation == NOT ? !fits[n->left]
					       : holds(f, n, d, r, comm);
	}
	return fits[f->root];
}
