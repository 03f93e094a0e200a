/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reads.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arch/syscall_fields.h"
#include "base/alloc.h"
#include "probes/probe_code.h"
#include "syscall_places.h"

enum { LINKS_MAX = 32 };

static bool put(struct reads *r, const struct node *node, unsigned links, struct buf *out);

static bool is_symbol(const char *name)
{
	return *name && !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.")];
}

static bool put_builtin(const struct node *node, struct buf *out)
{
	if (node->number == BUILTIN_CURTASK)
		buf_printf(out, "$current");
	else if (node->number == BUILTIN_UID || node->number == BUILTIN_GID)
		buf_printf(out, "$current->cred->%s.val", node->number == BUILTIN_UID ? "uid" : "gid");
	else if (node->number >= BUILTIN_ARG0 && node->number <= BUILTIN_ARG5)
		buf_printf(out, "$arg%" PRIu64, node->number - BUILTIN_ARG0 + 1);
	else if (node->number >= BUILTIN_SARG0 && node->number <= BUILTIN_SARG5) /* behind the return address */
		buf_printf(out, "$stack%" PRIu64, node->number - BUILTIN_SARG0 + 1);
	else if (node->number == BUILTIN_RETVAL)
		buf_printf(out, "$retval");
	else
		return false;
	return true;
}

/* The node that a variable stands for, if it is set once. */
static const struct node *stands_for(struct reads *r, const struct node *node)
{
	for (unsigned i = 0; i < LINKS_MAX && node && node->kind == NODE_VARIABLE; i++) {
		size_t v = types_variable(r->types, r->handler, node->text);

		node = v < r->types->n_variables && r->types->variables[v].sets == 1 ? r->types->variables[v].value
										    : NULL;
	}
	return node;
}

static const char *structure_of_map(struct reads *r, const struct node *map)
{
	size_t i = types_map(r->types, map->text);
	const struct type *type = i < r->types->n_maps ? &r->types->maps[i].value : NULL;

	return type && type->kind == TYPE_POINTER ? type->structure : NULL;
}

/* An address from a map, and nobody says of what. */
static bool is_bare(struct reads *r, const struct node *node)
{
	node = node->kind == NODE_VARIABLE ? stands_for(r, node) : node;
	return node && node->kind == NODE_MAP && !structure_of_map(r, node);
}

static const struct place_asked *place_of(struct reads *r)
{
	return &r->p->handlers[r->handler].places[0];
}

static bool is_argument(const struct node *node)
{
	return node->kind == NODE_MEMBER && node->text && node->list[0]->kind == NODE_BUILTIN &&
	       node->list[0]->number == BUILTIN_ARGS;
}

/* Is what was read of 64 bits, so that it may be an address? */
static bool is_word(const struct reads *r)
{
	return !strcmp(r->type + 2, "64");
}

/* What the node points to by a cast to a pointer to numbers, "(uint32 *)arg1", or to pointers; NULL: it is no such. */
static const struct type *cast_to_numbers(struct reads *r, const struct node *node)
{
	node = node->kind == NODE_VARIABLE ? stands_for(r, node) : node;
	return node && node->kind == NODE_CAST && node->type.kind == TYPE_POINTER && node->type.size &&
			       (!node->type.structure || node->type.stars > 1)
		       ? &node->type
		       : NULL;
}

/* What an address leads to: a system call's argument, as its tracepoint's format has it, or what a map keeps. */
static const char *structure_of(struct reads *r, const struct node *node)
{
	if (place_of(r)->call && is_argument(node))
		return syscall_structure(node->text);
	node = node->kind == NODE_VARIABLE ? stands_for(r, node) : node;
	if (node && (node->kind == NODE_INDEX || (node->kind == NODE_UNARY && node->op == '*'))) {
		const struct type *type = cast_to_numbers(r, node->list[0]); /* ((struct page **)arg1)[0] */

		return type && type->stars == 2 ? type->structure : NULL;
	}
	return node && node->kind == NODE_MAP ? structure_of_map(r, node) : NULL;
}

/* Something that leads on. */
static bool put_base(struct reads *r, const struct node *of, unsigned links, struct buf *out)
{
	const char *structure = structure_of(r, of);

	if (is_bare(r, of))
		return false;
	if (structure)
		buf_printf(out, "((%s*)", structure);
	if (!put(r, of, links, out))
		return false;
	if (structure) {
		buf_printf(out, ")");
		r->type[0] = '\0';
	}
	return !r->type[0]; /* numbers lead nowhere */
}

static bool put_member(struct reads *r, const struct node *node, unsigned links, struct buf *out)
{
	const struct node *of = node->list[0];

	if (!node->text)
		return false;
	if (is_argument(node)) {
		if (place_of(r)->call)
			syscall_place_put_argument(place_of(r), node->text, out);
		else
			buf_printf(out, "%s", node->text);
		return true;
	}
	if (!put_base(r, of, links, out))
		return false;
	buf_printf(out, "->%s", node->text);
	return true;
}

/* (struct sock *)arg0: what leads on from it is by that type */
static bool put_cast(struct reads *r, const struct node *node, unsigned links, struct buf *out)
{
	if (node->type.kind != TYPE_POINTER)
		return false;
	if (!node->type.structure)
		return put(r, node->list[0], links, out);
	buf_printf(out, "((%s*)", node->type.structure);
	if (!put(r, node->list[0], links, out) || (r->type[0] && !is_word(r)))
		return false;
	buf_printf(out, ")");
	r->type[0] = '\0';
	return true;
}

static bool put_variable(struct reads *r, const struct node *node, unsigned links, struct buf *out)
{
	size_t i = types_variable(r->types, r->handler, node->text);
	const struct variable_asked *v = i < r->types->n_variables ? &r->types->variables[i] : NULL;

	return v && v->sets == 1 && v->value && put(r, v->value, links, out);
}

/* kaddr("jiffies"): an address of the kernel's data, by its name; reg("di") */
static bool put_call(struct reads *r, const struct node *node, unsigned links, struct buf *out)
{
	if (!strcmp(node->text, "kaddr") && node->n == 1 && node->list[0]->kind == NODE_TEXT &&
	    is_symbol(node->list[0]->text)) {
		buf_printf(out, "{&%s}", node->list[0]->text);
		return true;
	}
	if (!strcmp(node->text, "reg") && node->n == 1 && node->list[0]->kind == NODE_TEXT &&
	    probe_register(node->list[0]->text, strlen(node->list[0]->text)) >= 0) {
		buf_printf(out, "%%%s", node->list[0]->text);
		return true;
	}
	return (!strcmp(node->text, "kptr") || !strcmp(node->text, "uptr")) && node->n == 1 &&
	       put(r, node->list[0], links, out);
}

/* What casts to pointers, and numbers that are added, begin with: arg1 of (uint64 *)(arg1 + 16); how far behind it. */
static const struct node *find_origin(struct reads *r, const struct node *node, uint64_t *offset)
{
	for (unsigned i = 0; i < LINKS_MAX && node; i++) {
		const struct node *of = node->kind == NODE_VARIABLE ? stands_for(r, node) : node;

		if (of && of->kind == NODE_CAST && of->type.kind == TYPE_POINTER) {
			node = of->list[0];
		} else if (of && of->kind == NODE_BINARY && of->op == '+' && of->list[1]->kind == NODE_NUMBER) {
			*offset += of->list[1]->number;
			node = of->list[0];
		} else {
			return of ? of : node;
		}
	}
	return NULL;
}

/* Element `number` of what a cast makes of an address. False: it is no address that a probe could read. */
static bool put_element(struct reads *r, const struct node *of, uint64_t number, unsigned links, struct buf *out)
{
	const struct type *type = cast_to_numbers(r, of);
	unsigned size = type->stars > 1 ? 8 : type->size;
	uint64_t offset = number * size;
	const struct node *from = find_origin(r, of, &offset);

	if (!from || offset > INT32_MAX)
		return false;
	buf_printf(out, "+%" PRIu64 "(", offset);
	if (!put(r, from, links, out) || (r->type[0] && !is_word(r)))
		return false;
	buf_printf(out, ")");
	snprintf(r->type, sizeof r->type, ":%c%u", type->to_signed && type->stars == 1 ? 's' : 'u', 8 * size);
	return true;
}

/* What is at an address: *(kaddr("avenrun") + 8). Of pointers, their first element. */
static bool put_pointed(struct reads *r, const struct node *node, unsigned links, struct buf *out)
{
	const struct node *of = stands_for(r, node->list[0]), *more = NULL;

	if (of && of->kind == NODE_BINARY && of->op == '+' && of->list[1]->kind == NODE_NUMBER) {
		more = of->list[1];
		of = stands_for(r, of->list[0]);
	}
	if (of && of->kind == NODE_CALL && !strcmp(of->text, "kaddr")) {
		buf_printf(out, "+%" PRIu64 "(", more ? more->number : 0);
		if (!put(r, of, links, out))
			return false;
		buf_printf(out, ")");
		return true;
	}
	if (cast_to_numbers(r, node->list[0]))
		return put_element(r, node->list[0], 0, links, out);
	if (!put_base(r, node->list[0], links, out))
		return false;
	buf_printf(out, "[0]");
	return true;
}

/* The address alone: what it is cast to matters to who goes on from there. */
static const struct node *without_casts(struct reads *r, const struct node *node)
{
	for (unsigned i = 0; i < LINKS_MAX && node; i++)
		if (node->kind == NODE_CAST && node->type.kind == TYPE_POINTER)
			node = node->list[0];
		else if (node->kind == NODE_VARIABLE)
			node = stands_for(r, node);
		else
			return node;
	return NULL;
}

static bool put_key(struct reads *r, const struct node *node, unsigned links, struct buf *out)
{
	node = node->kind == NODE_CAST || node->kind == NODE_VARIABLE ? without_casts(r, node) : node;
	if (!node)
		return false;
	if (node->kind == NODE_TUPLE) {
		if (node->n > READS_KEYS)
			return false;
		for (size_t i = 0; i < node->n; i++)
			if (!put_key(r, node->list[i], links, out))
				return false;
		return node->n;
	}
	r->type[0] = '\0';
	buf_printf(out, ",");
	if (node->kind == NODE_NUMBER)
		buf_printf(out, "\\%" PRIu64, node->number);
	else if (node->kind == NODE_BUILTIN && (node->number == BUILTIN_TID || node->number == BUILTIN_PID))
		buf_printf(out, "$current->%s", node->number == BUILTIN_TID ? "pid" : "tgid");
	else
		return put(r, node, links, out) && (!r->type[0] || is_word(r));
	return true;
}

static bool put_kept(struct reads *r, const struct node *map, unsigned links, struct buf *out)
{
	if (r->n_touched == READS_MAPS)
		return false;
	r->touched[r->n_touched++] = map;
	buf_printf(out, "$kept(%s", *map->text ? map->text : "_");
	if (map->n && !put_key(r, map->list[0], links, out))
		return false;
	buf_printf(out, ")");
	return true;
}

/* What another probe has put there. */
static bool put_map(struct reads *r, const struct node *map, unsigned links, struct buf *out)
{
	return r->maps && put_kept(r, map, links, out);
}

static bool put(struct reads *r, const struct node *node, unsigned links, struct buf *out)
{
	if (++links > LINKS_MAX)
		return false;
	switch (node->kind) {
	case NODE_BUILTIN:
		return put_builtin(node, out);
	case NODE_MEMBER:
		return put_member(r, node, links, out);
	case NODE_CAST:
		return put_cast(r, node, links, out);
	case NODE_VARIABLE:
		return put_variable(r, node, links, out);
	case NODE_INDEX:
		if (node->list[1]->kind == NODE_NUMBER && cast_to_numbers(r, node->list[0]))
			return put_element(r, node->list[0], node->list[1]->number, links, out);
		if (node->list[1]->kind != NODE_NUMBER || !put_base(r, node->list[0], links, out))
			return false;
		buf_printf(out, "[%" PRIu64 "]", node->list[1]->number);
		return true;
	case NODE_UNARY:
		return node->op == '*' && put_pointed(r, node, links, out);
	case NODE_CALL:
		return put_call(r, node, links, out);
	case NODE_MAP:
		return put_map(r, node, links, out);
	default:
		return false;
	}
}

static bool leads_on(const struct node *node)
{
	return node->kind == NODE_MEMBER || node->kind == NODE_INDEX || (node->kind == NODE_UNARY && node->op == '*');
}

bool reads_call_takes_bytes(const struct node *call)
{
	const struct node *of = call->n ? call->list[!strcmp(call->text, "ntop") ? call->n - 1 : 0] : NULL;

	return of && (!strcmp(call->text, "buf") || !strcmp(call->text, "macaddr") || !strcmp(call->text, "ntop")) &&
	       reads_begin(of)->kind == NODE_BUILTIN && reads_begin(of)->number == BUILTIN_ARGS;
}

/* What it is read from, or is: arg0 of arg0->f_mode. Variables stay themselves. */
const struct node *reads_begin(const struct node *node)
{
	while (leads_on(node) || node->kind == NODE_CAST ||
	       (node->kind == NODE_CALL && node->n && (!strcmp(node->text, "kptr") || !strcmp(node->text, "uptr"))))
		node = node->list[0];
	return node;
}

const struct node *reads_map(struct reads *r, const struct node *node)
{
	for (unsigned i = 0; i < LINKS_MAX && node; i++) {
		node = reads_begin(node);
		if (node->kind != NODE_VARIABLE)
			return node->kind == NODE_MAP ? node : NULL;
		node = stands_for(r, node);
	}
	return NULL;
}

bool reads_leads_on(struct reads *r, const struct node *node)
{
	for (unsigned i = 0; i < LINKS_MAX && node; i++) {
		if (leads_on(node))
			return true;
		if (node->kind == NODE_VARIABLE)
			node = stands_for(r, node);
		else
			node = node->kind == NODE_CAST || (node->kind == NODE_CALL && node->n) ? node->list[0] : NULL;
	}
	return false;
}

bool reads_put_address(struct reads *r, const struct node *node, struct buf *out)
{
	node = without_casts(r, reads_begin(node));
	if (!node)
		return false;
	return node->kind == NODE_MAP ? put_kept(r, node, 0, out) : put(r, node, 0, out);
}

bool reads_put_keep(struct reads *r, const struct node *map, const struct node *value, struct buf *out)
{
	value = without_casts(r, value);
	if (!value)
		return false;
	buf_printf(out, "$keep(%s", *map->text ? map->text : "_");
	if (map->n && !put_key(r, map->list[0], 0, out))
		return false;
	buf_printf(out, ",");
	if (!put(r, value, 0, out))
		return false;
	buf_printf(out, ")");
	return true;
}

bool reads_put(struct reads *r, const struct node *node, struct buf *out)
{
	r->type[0] = '\0';
	return put(r, node, 0, out);
}

bool reads_put_place(struct reads *r, const struct node *node, struct buf *out)
{
	uint64_t offset = 0;
	const struct node *from = find_origin(r, node, &offset);

	r->type[0] = '\0';
	if (from && offset && offset <= INT32_MAX) { /* str(arg1 + 4) */
		buf_printf(out, "+%" PRIu64 "(", offset);
		if (!put(r, from, 0, out) || (r->type[0] && !is_word(r)))
			return false;
		buf_printf(out, ")");
	} else if (!reads_put(r, node, out) || (r->type[0] && !is_word(r))) {
		return false;
	} else if (r->type[0]) { /* the number is where it is: str(*(uint64 *)arg1) */
		cleanup_free char *address = xstrndup((const char *)out->data, out->len);

		out->len = 0;
		buf_printf(out, "+0(%s)", address);
	}
	r->type[0] = '\0';
	return true;
}
