/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "script_needs.h"

#include <ctype.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/map.h"
#include "handlers/syscall_places.h"
#include "probes/probe_code.h"

bool script_is_syscall(const struct place_asked *place)
{
	return place->kind == PLACE_TRACEPOINT && place->object &&
	       (!strcmp(place->object, "syscalls") || !strcmp(place->object, "raw_syscalls"));
}

size_t script_fields_of(const struct types *types, size_t handler)
{
	size_t n = 0;

	for (size_t i = 0; i < types->n_fields; i++)
		n += types->fields[i].handler == handler;
	return n;
}

void script_field_name(const struct field_asked *field, char ret[SCRIPT_FIELD_NAME])
{
	snprintf(ret, SCRIPT_FIELD_NAME, "v%010" PRIx64, hash_text(0, field->text) & 0xffffffffff);
}

static bool is_function(enum place_kind kind)
{
	return kind == PLACE_ENTRY || kind == PLACE_RETURN || kind == PLACE_CALL || kind == PLACE_CALL_END ||
	       kind == PLACE_UPROBE || kind == PLACE_URETPROBE;
}

static bool is_of_file(enum place_kind kind)
{
	return kind == PLACE_UPROBE || kind == PLACE_URETPROBE;
}

static bool returns(enum place_kind kind)
{
	return kind == PLACE_RETURN || kind == PLACE_CALL_END || kind == PLACE_URETPROBE;
}

/* An argument of a program's function is in a register where that begins: System V ABI. */
static const char *put_register(const char *text, struct buf *out)
{
	size_t n = strlen("$arg");
	unsigned number = strncmp(text, "$arg", n) ? 0 : (unsigned)(text[n] - '0');

	if (!number || number > 6)
		return text;
	buf_printf(out, "%%%s", probe_register_name((unsigned)probe_register_of_parameter(number - 1)));
	return text + n + 1;
}

/* What is to be recorded of a value of which the program does not say it. */
static const char *type_of(const struct place_asked *place, const char *text)
{
	if (strchr(text, ':'))
		return "";
	if (*text != '$' || strpbrk(text, "-.[")) /* what has a name is by the kernel's types */
		return strstr(text, "->") && !is_of_file(place->kind) ? ":auto" : "";
	/* a register is a number of 64 bits, unless these say more */
	if (strcmp(text, "$retval"))
		return ":u64";
	return place->call ? ":s64" : place->by_types ? ":auto" : ":u64";
}

static int by_text(const void *a, const void *b)
{
	const struct field_asked *const *x = a, *const *y = b;

	return strcmp((*x)->text, (*y)->text);
}

/* In the order of their texts, so that programs that ask for the same say it alike. */
static void put_values(const struct types *types, size_t handler, const struct place_asked *place, struct buf *out)
{
	const struct field_asked **list = xcalloc(types->n_fields + 1, sizeof *list);
	char name[SCRIPT_FIELD_NAME];
	size_t n = 0;

	for (size_t i = 0; i < types->n_fields; i++)
		if (types->fields[i].handler == handler)
			list[n++] = &types->fields[i];
	qsort(list, n, sizeof *list, by_text);
	for (size_t i = 0; i < n; i++) {
		const char *text = list[i]->text;

		script_field_name(list[i], name);
		buf_printf(out, " %s=", name);
		if (is_of_file(place->kind))
			text = put_register(text, out);
		syscall_place_put(place, text, out);
		buf_printf(out, "%s", type_of(place, list[i]->text));
	}
	free(list);
}

static void put_keeps(const struct types *types, size_t handler, const struct place_asked *place, struct buf *out)
{
	for (size_t i = 0; i < types->n_keeps; i++)
		if (types->keeps[i].handler == handler) {
			buf_printf(out, " ");
			syscall_place_put(place, types->keeps[i].text, out);
		}
}

/* Where: what a probe's definition begins with, but for its name. */
static void put_where(const struct place_asked *place, struct buf *out)
{
	if (place->object)
		buf_printf(out, "%s:", place->object);
	buf_printf(out, "%s", place->name);
	if (place->offset)
		buf_printf(out, "+%" PRIu64, place->offset);
	/* said by the definition's first letter, too: it is a part of what the event is called by */
	if (is_of_file(place->kind) && returns(place->kind))
		buf_printf(out, "%%return");
}

static struct script_need *add(struct script_needs *n, size_t handler, size_t place)
{
	n->list = array_grow(n->list, n->count, &n->cap, sizeof *n->list);
	n->list[n->count] = (struct script_need){ .handler = handler, .place = place };
	return &n->list[n->count++];
}

static void name_values(struct script_need *need, const struct types *types)
{
	need->values = xcalloc(types->n_fields + 1, sizeof *need->values);
	for (size_t i = 0; i < types->n_fields; i++) {
		if (types->fields[i].handler != need->handler)
			continue;
		need->values[need->n_values] = xcalloc(1, SCRIPT_FIELD_NAME);
		script_field_name(&types->fields[i], need->values[need->n_values++]);
	}
}

static void add_probe(struct script_needs *n, const struct types *types, size_t handler, size_t number,
		      const struct place_asked *place, bool keeps)
{
	struct script_need *need = add(n, handler, number);
	struct buf where = { 0 }, values = { 0 };
	char kind = returns(place->kind) ? 'r' : 'p';

	need->keeps = keeps;
	put_where(place, &where);
	buf_put_u8(&where, 0);
	if (keeps)
		put_keeps(types, handler, place, &values);
	else
		put_values(types, handler, place, &values);
	buf_put_u8(&values, 0);
	need->event = xasprintf("%c%010" PRIx64 "%08" PRIx64, keeps ? 'k' : 'h',
				hash_text(kind, (char *)where.data) & 0xffffffffff,
				hash_text(0, (char *)values.data) & 0xffffffff);
	/* the kernel's language: functions are symbols, as bpftrace's are, and not what was inlined of them */
	need->text = xasprintf("%c:" EVENTS_OF_PROGRAMS "/%s %s%s", kind, need->event, (char *)where.data,
			       (char *)values.data);
	/* which address was kept is a matter of the whole program */
	if (!keeps && !strstr((char *)values.data, "$kept("))
		name_values(need, types);
	buf_free(&where);
	buf_free(&values);
}

/* The first address that the handler puts into a map, in the order of its text; NULL: none. */
static const struct node *find_keep(const struct types *types, size_t handler)
{
	const struct node *ret = NULL;

	for (size_t i = 0; i < types->n_keeps; i++)
		if (types->keeps[i].handler == handler && (!ret || types->keeps[i].at->at < ret->at))
			ret = types->keeps[i].at;
	return ret;
}

/* Does the handler put an address into a map before it reads by any? */
static bool keeps_first(const struct types *types, size_t handler)
{
	const struct node *keep = find_keep(types, handler);

	for (size_t i = 0; i < types->n_fields; i++)
		if (types->fields[i].handler == handler && types->fields[i].at->kept >= 0 &&
		    types->fields[i].at->at < keep->at)
			return false;
	return true;
}

/* What is known only where the calls themselves are replayed; NULL: there is none of it. */
static const struct node *find_of_call(const struct node *n)
{
	bool is = n->kind == NODE_BUILTIN && (n->number == BUILTIN_DURATION || n->number == BUILTIN_INSNS ||
					      n->number == BUILTIN_SELF_NS || n->number == BUILTIN_SELF_INSNS);
	const struct node *ret = is ? n : NULL;

	for (size_t i = 0; i < n->n && !ret; i++)
		if (n->list[i])
			ret = find_of_call(n->list[i]);
	return ret;
}

/* A record of what was read where a function returns does not tell how long its call took. */
static int check_return(const struct script *p, const struct handler *h, struct error *err)
{
	const struct node *of = h->predicate ? find_of_call(h->predicate) : NULL;

	if (!of && h->body)
		of = find_of_call(h->body);
	return !of ? 0
		   : script_error(p, of->at, of->len, err,
				  "it is not known where something is read at the same return (retval, uid, curtask->…): "
				  "expected another handler for it, or nsecs that was kept where the call begins");
}

/* Fields of a system call's tracepoint are in the trace; its record is not. */
static int find_place(const struct script *p, const struct types *types, size_t handler, size_t number,
		      struct script_needs *ret, struct error *err)
{
	const struct place_asked *place = &p->handlers[handler].places[number];
	size_t fields = script_fields_of(types, handler);
	bool keeps = find_keep(types, handler), first;

	if (place->kind == PLACE_TRACEPOINT && !script_is_syscall(place)) {
		struct script_need *need = add(ret, handler, number);

		need->is_event = true;
		need->text = xasprintf("%s:%s", place->object ? place->object : "*", place->name);
		return 0;
	}
	if (place->kind == PLACE_STATIC) {
		add(ret, handler, number)->text =
			xasprintf("%s:%%sdt_%s:%s", place->object, place->provider, place->name);
		return 0;
	}
	if (!is_function(place->kind) || (!fields && !keeps && !place->offset))
		return 0;
	if (is_of_file(place->kind) && strchr(place->name, '*'))
		return script_error(p, place->at, place->len, err,
				    "values of programs are read at one function: expected its name");
	if (fields && returns(place->kind) && check_return(p, &p->handlers[handler], err) < 0)
		return -1;
	first = keeps && keeps_first(types, handler);
	if (first)
		add_probe(ret, types, handler, number, place, true);
	if (fields || place->offset)
		add_probe(ret, types, handler, number, place, false);
	if (keeps && !first)
		add_probe(ret, types, handler, number, place, true);
	return 0;
}

int script_needs_find(const struct script *p, const struct types *types, struct script_needs *ret, struct error *err)
{
	*ret = (struct script_needs){ 0 };
	for (size_t h = 0; h < p->n_handlers; h++)
		for (size_t i = 0; i < p->handlers[h].n_places; i++)
			if (find_place(p, types, h, i, ret, err) < 0)
				return -1;
	return 0;
}

void script_needs_deinit(struct script_needs *n)
{
	for (size_t i = 0; i < n->count; i++) {
		free(n->list[i].text);
		free(n->list[i].event);
		for (size_t k = 0; k < n->list[i].n_values; k++)
			free(n->list[i].values[k]);
		free(n->list[i].values);
	}
	free(n->list);
	*n = (struct script_needs){ 0 };
}

const struct script_need *script_needs_of(const struct script_needs *n, size_t handler, size_t place)
{
	for (size_t i = 0; i < n->count; i++)
		if (n->list[i].handler == handler && n->list[i].place == place && !n->list[i].keeps)
			return &n->list[i];
	return NULL;
}

/* The second place of a probe is called NAME_1. */
static bool is_called(const char *name, const char *probe)
{
	size_t n = strlen(probe);

	return !strncmp(name, probe, n) && (!name[n] || (name[n] == '_' && isdigit((unsigned char)name[n + 1])));
}

bool script_need_is(const struct script_need *need, const struct place_asked *place, const struct event_format *e)
{
	size_t sdt = strlen("sdt_");

	if (place->kind == PLACE_STATIC)
		return !strncmp(e->system, "sdt_", sdt) && !strcmp(e->system + sdt, place->provider) &&
		       is_called(e->name, place->name);
	if (need->keeps)
		return false;
	if (!need->is_event)
		return event_is_of_program(e) && is_called(e->name, need->event);
	return !event_is_of_program(e) && (!place->object || !fnmatch(place->object, e->system, 0)) &&
	       !fnmatch(place->name, e->name, 0);
}

static bool has_value(const char *format, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = format; (at = strstr(at, name)); at += n)
		if (at > format && at[-1] == ' ' && (at[n] == ';' || at[n] == '['))
			return true;
	return false;
}

/* Has the event's record a field for each value? Its format has lines as "field:u64 v0123456789;". */
static bool has_values(const struct script_need *need, const char *format)
{
	for (size_t i = 0; i < need->n_values; i++) {
		if (!has_value(format, need->values[i]))
			return false;
	}
	return true;
}

/* The event at the same place that has at least the values; NULL: there is none, or it is that one itself. */
static const struct event_format *find_more(const struct script_need *need, const struct event_formats *formats)
{
	enum { WHERE = 1 + 10 }; /* so many letters of its name tell where it is */
	const struct event_format *ret = NULL;

	for (size_t i = 0; i < formats->count; i++) {
		const struct event_format *e = &formats->list[i];

		if (!event_is_of_program(e))
			continue;
		if (is_called(e->name, need->event))
			return NULL;
		if (!ret && !strncmp(e->name, need->event, WHERE) && has_values(need, e->text))
			ret = e;
	}
	return ret;
}

void script_needs_choose(struct script_needs *n, const struct event_formats *formats)
{
	for (size_t i = 0; i < n->count; i++) {
		struct script_need *need = &n->list[i];
		const struct event_format *more = need->values ? find_more(need, formats) : NULL;

		if (!more)
			continue;
		free(need->event);
		need->event = xstrndup(more->name, strcspn(more->name, "_"));
	}
}

/* Does an earlier one ask for the same? */
static bool is_asked_before(const struct script_needs *n, size_t number)
{
	for (size_t i = 0; i < number; i++)
		if (n->list[i].is_event == n->list[number].is_event && !strcmp(n->list[i].text, n->list[number].text))
			return true;
	return false;
}

static bool is_there(const struct script *p, const struct script_need *need, const struct event_formats *formats)
{
	for (size_t i = 0; formats && i < formats->count; i++)
		if (script_need_is(need, &p->handlers[need->handler].places[need->place], &formats->list[i]))
			return true;
	return false;
}

/* What hands addresses to others leaves nothing in the trace: it is asked for if any of those is. */
static bool takes_kept(const struct script_needs *n, const struct script *p, const struct event_formats *formats)
{
	for (size_t i = 0; i < n->count; i++)
		if (!n->list[i].keeps && strstr(n->list[i].text, "$kept(") && !is_there(p, &n->list[i], formats))
			return true;
	return false;
}

void script_needs_put(const struct script_needs *n, const struct script *p, const struct event_formats *formats,
		      struct buf *probes, struct buf *events)
{
	bool takes = takes_kept(n, p, formats);

	for (size_t i = 0; i < n->count; i++) {
		const struct script_need *need = &n->list[i];
		struct buf *to = need->is_event ? events : probes;

		if (formats && event_nowhere(formats, need->text))
			continue;
		if ((need->keeps ? takes : !is_there(p, need, formats)) && !is_asked_before(n, i))
			buf_printf(to, "%s%s", to->len ? need->is_event ? "," : "\n" : "", need->text);
	}
	buf_put_u8(probes, 0);
	buf_put_u8(events, 0);
}

bool script_has_tracepoints(const struct script *p)
{
	for (size_t h = 0; h < p->n_handlers; h++)
		for (size_t i = 0; i < p->handlers[h].n_places; i++)
			if (p->handlers[h].places[i].kind == PLACE_TRACEPOINT &&
			    !script_is_syscall(&p->handlers[h].places[i]))
				return true;
	return false;
}
