/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which expressions are values that a handler's probe reads, and what goes from one probe to another for that. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "reads.h"
#include "syscall_places.h"
#include "typing.h"

static size_t add_field(struct typing *t, const char *text, const struct node *node, struct type type)
{
	struct types *all = t->t;
	size_t i = 0;

	while (i < all->n_fields &&
	       (all->fields[i].handler != t->handler || all->fields[i].type.is_bytes != type.is_bytes ||
		strcmp(all->fields[i].text, text)))
		i++;
	if (i < all->n_fields)
		return i;
	all->fields = array_grow(all->fields, all->n_fields, &all->fields_cap, sizeof *all->fields);
	all->fields[all->n_fields++] =
		(struct field_asked){ .handler = t->handler, .text = xstrdup(text), .at = node, .type = type };
	return i;
}

/* At each of the handler's places there must be such a field, of one kind. */
static int find_in_places(struct typing *t, const struct node *node, const char *text, struct type *ret)
{
	const struct handler *h = &t->p->handlers[t->handler];
	const struct type asked = *ret;

	for (size_t i = 0; t->known && i < h->n_places; i++) {
		struct type type = asked;

		if (!t->known->find(t->known->context, &h->places[i], text, &type, t->err)) {
			cleanup_free char *why = xstrdup(t->err->text);

			return script_error(t->p, node->at, node->len, t->err, "%s", why);
		}
		if (i && !typing_is_same(&type, ret))
			return typing_wrong(t, node, "it is a text at one of these probes, and a number at another");
		if (!i || ret->unsure)
			*ret = type;
	}
	return 0;
}

/* The node is what the probe has read there. */
static int set_field(struct typing *t, struct node *node, const char *text, bool is_bytes)
{
	struct type type = { .kind = TYPE_NUMBER, .is_signed = node->kind != NODE_BUILTIN };
	size_t n = strlen(text);

	if (is_bytes || (n > 7 && !strcmp(text + n - 7, ":string")))
		type = (struct type){ .kind = TYPE_TEXT, .is_bytes = is_bytes };
	if (find_in_places(t, node, text, &type) < 0)
		return -1;
	node->field = (long)add_field(t, text, node, type);
	node->type = t->t->fields[node->field].type;
	return 0;
}

const struct place_asked *typing_place(const struct typing *t)
{
	return &t->p->handlers[t->handler].places[0];
}

/* A probe of the kernel's functions, which can ask what another one has kept. */
static bool asks_kept(const struct typing *t)
{
	enum place_kind kind = typing_place(t)->kind;

	return kind == PLACE_ENTRY || kind == PLACE_RETURN || kind == PLACE_CALL || kind == PLACE_CALL_END;
}

static struct reads reads_here(const struct typing *t)
{
	return (struct reads){ .p = t->p, .types = t->t, .handler = t->handler, .maps = t->settled && asks_kept(t) };
}

/* Those of whose addresses more is read. */
static void note_leads(struct typing *t, const struct reads *r, const struct node *at)
{
	for (size_t i = 0; i < r->n_touched; i++) {
		struct map_asked *m = typing_map(t, r->touched[i]);

		t->changed |= !m->leads;
		if (!m->leads)
			m->leads = at;
	}
}

/*
 * An address that another probe has kept is told beside what it leads to: it may be another one than the program's, in
 * the variable or map that this begins with.
 */
static int find_kept_address(struct typing *t, struct node *node, const struct node *what)
{
	struct reads r = reads_here(t);
	struct buf text = { 0 };

	node->kept = -1;
	if (reads_put_address(&r, what, &text)) {
		buf_put_u8(&text, 0);
		node->kept = (long)add_field(t, (char *)text.data, node, (struct type){ .kind = TYPE_NUMBER });
	}
	buf_free(&text);
	return node->kept < 0 ? -1 : 0;
}

/* 1: it is read by the probe; 0: it is not of that kind. `more`: behind it */
static int find_field(struct typing *t, struct node *node, const struct node *what, const char *more, bool is_bytes)
{
	struct reads r = reads_here(t);
	const struct node *map = reads_map(&r, what);
	struct buf text = { 0 };
	int ret = 0;

	/* the number that a map keeps is its own; what that leads to is read */
	if (map && !*more && !reads_leads_on(&r, what))
		return 0;
	if ((*more ? reads_put_place(&r, what, &text) : reads_put(&r, what, &text)) &&
	    (!map || find_kept_address(t, node, what) == 0)) {
		buf_printf(&text, "%s", *more ? more : r.type);
		buf_put_u8(&text, 0);
		note_leads(t, &r, node);
		ret = set_field(t, node, (char *)text.data, is_bytes) < 0 ? -1 : 1;
	}
	buf_free(&text);
	return ret;
}

int typing_field(struct typing *t, struct node *node, const struct node *what, const char *more)
{
	return find_field(t, node, what, more, false);
}

int typing_bytes(struct typing *t, struct node *node, const struct node *what, const char *more)
{
	return find_field(t, node, what, more, true);
}

bool typing_leads(const struct typing *t, const struct node *node)
{
	struct reads r = reads_here(t);
	size_t i;

	node = reads_map(&r, node);
	i = node ? types_map(t->t, node->text) : t->t->n_maps;
	if (i == t->t->n_maps) /* it is not known yet */
		return node;
	return type_is_number(&t->t->maps[i].value) || t->t->maps[i].value.kind == TYPE_NONE;
}

int typing_wrong_lead(const struct typing *t, const struct node *node)
{
	return typing_wrong(t, node,
			    asks_kept(t)
				    ? "what leads there is kept in a map: expected a cast, ((struct file *)@map[tid])->…, "
				      "and a key of tid, pid, arguments and numbers"
				    : "what a map's addresses lead to is read at functions of the kernel: kprobe, "
				      "kretprobe, fentry, fexit");
}

static void add_keep(struct typing *t, const char *text, const struct node *at)
{
	struct types *all = t->t;

	for (size_t i = 0; i < all->n_keeps; i++)
		if (all->keeps[i].handler == t->handler && !strcmp(all->keeps[i].text, text))
			return;
	all->keeps = array_grow(all->keeps, all->n_keeps, &all->keeps_cap, sizeof *all->keeps);
	all->keeps[all->n_keeps++] =
		(struct keep_asked){ .handler = t->handler, .text = xstrdup(text), .at = at };
}

/* An address that leads to memory elsewhere is handed to the probe there. */
int typing_keep(struct typing *t, const struct node *map, const struct node *value, const struct type *type)
{
	struct reads r = reads_here(t);
	const struct map_asked *m = typing_map(t, map);
	struct buf text = { 0 };

	if (!r.maps || !m->leads)
		return 0;
	if (type->structure && m->value.structure && strcmp(type->structure, m->value.structure))
		return script_error(t->p, value->at, value->len, t->err,
				    "it is struct %s * here, and was struct %s * before: of one map's addresses the same is read",
				    type->structure, m->value.structure);
	if (reads_put_keep(&r, map, value, &text)) {
		buf_put_u8(&text, 0);
		add_keep(t, (char *)text.data, value);
		note_leads(t, &r, value);
		typing_map(t, map)->kept = true;
	}
	buf_free(&text);
	return 0;
}

/* Is what leads on kept by any probe? */
int typing_check_maps(const struct typing *t)
{
	for (size_t i = 0; i < t->t->n_maps; i++) {
		const struct map_asked *m = &t->t->maps[i];

		if (m->leads && !m->kept)
			return script_error(t->p, m->leads->at, m->leads->len, t->err,
					    "@%s leads nowhere: expected @%s = an argument, or what that leads to, at a "
					    "function of the kernel", m->name, m->name);
	}
	return 0;
}

/* Does any of it read memory, as a probe has it? */
static bool reads_memory(struct typing *t, const struct node *node)
{
	struct reads r = reads_here(t);
	struct buf text = { 0 };
	bool ret = node->kind == NODE_CALL && reads_call_takes_bytes(node), is = !ret && reads_put(&r, node, &text);

	if (node->kind == NODE_CALL && !strcmp(node->text, "str") && node->n) {
		is = reads_put_place(&r, node->list[0], &text);
		buf_put_u8(&text, 0);
		ret = is && !syscall_place_keeps(typing_place(t), (char *)text.data);
	}
	buf_put_u8(&text, 0);
	ret |= is && syscall_place_reads((char *)text.data);
	buf_free(&text);
	for (size_t i = 0; i < node->n && !ret; i++)
		ret = reads_memory(t, node->list[i]);
	return ret;
}

/* Memory is read at a system call's tracepoint: the call's function takes its place. */
int typing_move_places(struct typing *t)
{
	for (t->handler = 0; t->handler < t->p->n_handlers; t->handler++) {
		struct handler *h = &t->p->handlers[t->handler];

		if (syscall_place_is(typing_place(t)) &&
		    ((h->predicate && reads_memory(t, h->predicate)) || reads_memory(t, h->body)) &&
		    syscall_places_move(t->p, h, t->err) < 0)
			return -1;
	}
	return 0;
}
