/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "script_fields.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/syscall_args.h"
#include "arch/syscall_fields.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "handlers/syscall_places.h"
#include "script_needs.h"

#define LEADS "what a tracepoint's number leads to is not recorded: a kprobe at the function that has it reads it"

/* "filename" of "filename:string" */
static size_t name_length(const char *text)
{
	return strcspn(text, ":[");
}

static bool is_named(const char *name, const char *text)
{
	return strlen(name) == name_length(text) && !memcmp(name, text, name_length(text));
}

long script_event_field(const struct event_decoder *d, size_t event, const char *text)
{
	for (size_t i = 0; i < event_fields(d, event); i++)
		if (is_named(event_field_name(d, event, i), text))
			return (long)i;
	return -1;
}

int64_t script_field_element(const char *text)
{
	return text[name_length(text)] == '[' ? strtol(text + name_length(text) + 1, NULL, 10) : -1;
}

int script_syscall_field(const struct syscall_abi *abi, uint64_t nr, const char *text)
{
	const char *call = abi->call_name(nr);

	return call ? syscall_field(call, text, name_length(text)) : -1;
}

static bool is_text_type(const char *type)
{
	return strstr(type, "char") && strchr(type, '[') != NULL;
}

/* Of the kernel's own texts the trace has what is at their addresses (trace/event_strings.h). */
static bool is_text_pointer(const char *type)
{
	return strstr(type, "char") && strchr(type, '*') != NULL;
}

/* Append "a, b, c". */
static void put_fields(const struct event_decoder *d, size_t event, struct buf *out)
{
	for (size_t i = 0; i < event_fields(d, event); i++)
		buf_printf(out, "%s%s", i ? ", " : "", event_field_name(d, event, i));
}

static bool is_meant(const struct place_asked *place, const struct event_format *f)
{
	return (!place->object || !fnmatch(place->object, f->system, 0)) && !fnmatch(place->name, f->name, 0);
}

/* What a field of that type is to a program. False, with an error: it is nothing. */
static bool set_field_type(const char *type, const char *text, struct type *ret, struct error *err)
{
	bool is_array = strchr(type, '['), is_element = script_field_element(text) >= 0;

	if (is_element && (!is_array || strchr(strchr(text, '[') + 1, '['))) {
		error_set(err, "%.*s has no elements: it is a %.60s", (int)name_length(text), text, type);
		return false;
	}
	if (ret->is_bytes)
		return true;
	if (is_array && !is_element) { /* a text, or "[10,0,2,15]" */
		*ret = (struct type){ .kind = TYPE_TEXT };
	} else if (ret->kind == TYPE_TEXT && !is_text_pointer(type)) {
		error_set(err, LEADS);
		return false;
	} else if (ret->kind != TYPE_TEXT && strchr(type, '*')) {
		*ret = (struct type){ .kind = TYPE_POINTER };
	} else if (ret->kind != TYPE_TEXT) {
		ret->is_signed = !strstr(type, "unsigned") && strncmp(type, "u", 1) && strncmp(type, "__u", 3);
	}
	return true;
}

static bool find_in_event(const struct script_formats *f, const struct place_asked *place, const char *text,
			  struct type *ret, struct error *err)
{
	struct buf names = { 0 };
	bool any = false;

	if (strstr(text, "->") || strstr(text, "((")) {
		error_set(err, LEADS);
		return false;
	}
	for (size_t e = 0; f->formats && e < f->formats->count; e++) {
		long field;

		if (!is_meant(place, &f->formats->list[e]))
			continue;
		field = script_event_field(f->decoder, e, text);
		if (!any && field < 0)
			put_fields(f->decoder, e, &names);
		any = true;
		if (field < 0)
			continue;
		buf_free(&names);
		if (!set_field_type(event_field_type(f->decoder, e, (size_t)field), text, ret, err))
			return false;
		if (ret->kind == TYPE_NUMBER)
			ret->size = (unsigned)event_field_size(f->decoder, e, (size_t)field);
		return true;
	}
	if (any)
		error_set(err, "%s has no %.*s: it has %.300s", place->text, (int)name_length(text), text,
			  names.len ? (buf_put_u8(&names, 0), (char *)names.data) : "nothing");
	buf_free(&names);
	return !any;
}

/* Names of arguments are those of the call; of all calls, id and args[N], or ret. */
static bool find_in_syscall(const struct script_formats *f, const struct place_asked *place, const char *text,
			    struct type *ret, struct error *err)
{
	/* of an ARG_ADDRESS it is not known whether it is one */
	static const char addresses[] = { ARG_PATH,   ARG_BYTES,   ARG_DATAGRAM,
					  ARG_VECTOR, ARG_MESSAGE, ARG_ARGUMENTS, 0 };
	bool exits = !strncmp(place->name, "sys_exit", 8);
	const struct syscall_abi *abi = f->arch ? &f->arch->abis[0] : &arch_x86_64.abis[0];
	bool named = !strncmp(place->name, "sys_enter_", strlen("sys_enter_"));
	const char *fields = named ? syscall_fields(place->name + strlen("sys_enter_")) : NULL;
	char kind;

	if (is_named("ret", text)
		    ? exits
		    : is_named("id", text) || is_named("__syscall_nr", text) || (!exits && is_named("args", text)))
		return true;
	kind = exits ? '\0' : syscall_place_kind(place, abi, text, name_length(text));
	if (kind && ret->kind == TYPE_NUMBER && strchr(addresses, kind))
		*ret = (struct type){ .kind = TYPE_POINTER };
	if (kind)
		return true;
	if (exits)
		error_set(err, "%s has no %.*s: it has ret", place->text, (int)name_length(text), text);
	else
		error_set(err, "%s has no %.*s: it has %s", place->text, (int)name_length(text), text,
			  fields ? fields : "other names, or id and args[0] … with raw_syscalls");
	return false;
}

int script_own_field(enum place_kind kind, const char *text)
{
	static const struct {
		enum place_kind kind;
		const char *name;
		enum script_own own;
	} all[] = {
		{ PLACE_LOG, "text", OWN_TEXT },    { PLACE_LOG, "level", OWN_LEVEL },
		{ PLACE_SPAN, "name", OWN_NAME },   { PLACE_SPAN, "kind", OWN_KIND },
		{ PLACE_SPAN, "start", OWN_START }, { PLACE_WAIT, "kind", OWN_KIND },
		{ PLACE_WAIT, "start", OWN_START }, { PLACE_WAIT, "what", OWN_WHAT },
		{ PLACE_WAIT, "waker", OWN_WAKER },
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (all[i].kind == kind && is_named(all[i].name, text))
			return (int)all[i].own;
	return -1;
}

static bool find_own(const struct place_asked *place, const char *text, struct type *ret, struct error *err)
{
	int own = script_own_field(place->kind, text);

	if (own < 0) {
		error_set(err, "%s has no %.*s: it has %s", place->text, (int)name_length(text), text,
			  place->kind == PLACE_LOG    ? "text and level"
			  : place->kind == PLACE_SPAN ? "name, kind and start"
						      : "kind, what, waker and start");
		return false;
	}
	ret->kind = own == OWN_LEVEL || own == OWN_START ? TYPE_NUMBER : TYPE_TEXT;
	ret->is_signed = false;
	return true;
}

/* "u16" of a value in a probe's own record; NULL: it is not known. */
static const char *type_in_record(const struct script_formats *f, const struct script_need *need, const char *text)
{
	const struct place_asked *place = &f->script->handlers[need->handler].places[need->place];
	char name[SCRIPT_FIELD_NAME];

	for (size_t i = 0; i < f->types->n_fields; i++) {
		if (f->types->fields[i].handler != need->handler || strcmp(f->types->fields[i].text, text))
			continue;
		script_field_name(&f->types->fields[i], name);
		for (size_t e = 0; e < f->formats->count; e++) {
			long field = script_need_is(need, place, &f->formats->list[e])
					     ? script_event_field(f->decoder, e, name)
					     : -1;

			if (field >= 0)
				return event_field_type(f->decoder, e, (size_t)field);
		}
	}
	return NULL;
}

/* What the trace's records say of it. Without them, a member may be a text. */
static void find_recorded(const struct script_formats *f, const struct place_asked *place, const char *text,
			  struct type *ret)
{
	ret->unsure = strstr(text, "->") != NULL;
	for (size_t i = 0; f->needs && i < f->needs->count; i++) {
		const struct script_need *need = &f->needs->list[i];
		const char *type = &f->script->handlers[need->handler].places[need->place] == place
					   ? type_in_record(f, need, text)
					   : NULL;
		unsigned bits;

		if (!type)
			continue;
		ret->unsure = false;
		if (is_text_type(type))
			*ret = (struct type){ .kind = TYPE_TEXT };
		if (!strchr("usx", *type) || sscanf(type + 1, "%2u", &bits) != 1)
			continue;
		ret->size = bits / 8;
		ret->is_signed = *type == 's';
	}
}

/* A static probe tells numbers. What they lead to is not read. */
static bool find_in_static(const struct place_asked *place, const char *text, struct type *ret, struct error *err)
{
	if (ret->kind == TYPE_NUMBER && !strncmp(text, "$arg", 4) && !text[5])
		return true;
	error_set(err, "%s has numbers alone: arg0, arg1 …", place->text);
	return false;
}

static bool reads_kernel(enum place_kind kind)
{
	return kind == PLACE_ENTRY || kind == PLACE_RETURN || kind == PLACE_CALL || kind == PLACE_CALL_END;
}

bool script_field_find(void *formats, const struct place_asked *place, const char *text, struct type *ret,
		       struct error *err)
{
	const struct script_formats *f = formats;

	if (place->call && !syscall_place_has(place, text, err))
		return false;
	if (place->kind == PLACE_LOG || place->kind == PLACE_SPAN || place->kind == PLACE_WAIT)
		return find_own(place, text, ret, err);
	if ((strstr(text, "$current") || strstr(text, "{&")) && !reads_kernel(place->kind)) {
		error_set(err, "%s is read at functions of the kernel: kprobe, kretprobe, fentry, fexit",
			  strstr(text, "$current") ? "the running task" : "what kaddr() leads to");
		return false;
	}
	if (place->kind == PLACE_STATIC)
		return find_in_static(place, text, ret, err);
	if (script_is_syscall(place))
		return find_in_syscall(f, place, text, ret, err);
	if (place->kind == PLACE_TRACEPOINT)
		return find_in_event(f, place, text, ret, err);
	if (place->kind == PLACE_PROFILE || place->kind == PLACE_INTERVAL || place->kind == PLACE_BEGIN ||
	    place->kind == PLACE_END || place->kind == PLACE_SOFTWARE) {
		error_set(err, "%s reads nothing: kprobe, kretprobe, fentry, fexit and tracepoints do", place->text);
		return false;
	}
	if (ret->kind == TYPE_NUMBER)
		find_recorded(f, place, text, ret);
	return true;
}
