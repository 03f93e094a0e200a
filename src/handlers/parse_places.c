/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/near.h"
#include "parser.h"

/* What stands behind a kind's name. */
enum place_form {
	FORM_NOTHING,
	FORM_FUNCTION, /* [MODULE:]FUNCTION[+OFFSET] */
	FORM_FILE,     /* PATH:FUNCTION */
	FORM_STATIC,   /* PATH:PROVIDER:NAME */
	FORM_TRACEPOINT,
	FORM_TIME,    /* hz:99, ms:10, 10ms */
	FORM_EVENT,   /* NAME[:COUNT] */
	FORM_PATTERN, /* PATTERN, or nothing */
	FORM_REFUSED,
};

static const struct place_name {
	const char *name, *brief, *old;
	enum place_kind kind;
	enum place_form form;
	const char *why; /* REFUSED */
	bool by_types;
} place_names[] = {
	{ "BEGIN", "begin", NULL, PLACE_BEGIN, FORM_NOTHING, NULL, false },
	{ "END", "end", NULL, PLACE_END, FORM_NOTHING, NULL, false },
	{ "kprobe", "k", NULL, PLACE_ENTRY, FORM_FUNCTION, NULL, false },
	{ "kretprobe", "kr", NULL, PLACE_RETURN, FORM_FUNCTION, NULL, false },
	{ "fentry", "f", "kfunc", PLACE_ENTRY, FORM_FUNCTION, NULL, true },
	{ "fexit", "fr", "kretfunc", PLACE_RETURN, FORM_FUNCTION, NULL, true },
	{ "call", NULL, NULL, PLACE_CALL, FORM_FUNCTION, NULL, false },
	{ "return", NULL, NULL, PLACE_CALL_END, FORM_FUNCTION, NULL, false },
	{ "uprobe", "u", NULL, PLACE_UPROBE, FORM_FILE, NULL, false },
	{ "uretprobe", "ur", NULL, PLACE_URETPROBE, FORM_FILE, NULL, false },
	{ "usdt", "U", NULL, PLACE_STATIC, FORM_STATIC, NULL, false },
	{ "tracepoint", "t", NULL, PLACE_TRACEPOINT, FORM_TRACEPOINT, NULL, false },
	{ "rawtracepoint", "rt", NULL, PLACE_TRACEPOINT, FORM_PATTERN, NULL, false },
	{ "profile", "p", NULL, PLACE_PROFILE, FORM_TIME, NULL, false },
	{ "interval", "i", NULL, PLACE_INTERVAL, FORM_TIME, NULL, false },
	{ "software", "s", NULL, PLACE_SOFTWARE, FORM_EVENT, NULL, false },
	{ "span", NULL, NULL, PLACE_SPAN, FORM_PATTERN, NULL, false },
	{ "wait", NULL, NULL, PLACE_WAIT, FORM_PATTERN, NULL, false },
	{ "log", NULL, NULL, PLACE_LOG, FORM_PATTERN, NULL, false },
	{ "hardware", "h", NULL, PLACE_SOFTWARE, FORM_REFUSED,
	  "QEMU's CPU has no counters of hardware; profile:hz:99 samples by guest time", false },
	{ "watchpoint", "w", "asyncwatchpoint", PLACE_ENTRY, FORM_REFUSED,
	  "single accesses to memory are not recorded; upto probe reads values where code is", false },
	{ "iter", "it", NULL, PLACE_BEGIN, FORM_REFUSED,
	  "it asks the running kernel for a list; upto ps and upto object have such", false },
	{ "self", NULL, NULL, PLACE_BEGIN, FORM_REFUSED, "signals of the tracer itself do not reach a guest's trace",
	  false },
	{ "test", NULL, NULL, PLACE_BEGIN, FORM_REFUSED, "it is for bpftrace's own tests", false },
	{ "bench", NULL, NULL, PLACE_BEGIN, FORM_REFUSED, "it is for bpftrace's own tests", false },
};

enum { KINDS = sizeof place_names / sizeof *place_names };

static bool is_called(const char *name, const char *at, size_t len)
{
	return name && strlen(name) == len && !memcmp(name, at, len);
}

static const struct place_name *find_kind(const char *at, size_t len)
{
	for (size_t i = 0; i < KINDS; i++)
		if (is_called(place_names[i].name, at, len) || is_called(place_names[i].brief, at, len) ||
		    is_called(place_names[i].old, at, len))
			return &place_names[i];
	return NULL;
}

static int unknown_kind(const struct parser *s, const struct place_asked *place, size_t len)
{
	const char *names[KINDS + 1] = { NULL }, *near;

	for (size_t i = 0; i < KINDS; i++)
		names[i] = place_names[i].name;
	near = near_best(place->at, len, names);
	if (near)
		return script_error(s->script, place->at, len, s->err, "no kind of probe: did you mean %s?", near);
	return script_error(
		s->script, place->at, len, s->err,
		"no kind of probe: expected kprobe:FUNCTION, tracepoint:SYSTEM:NAME, call:FUNCTION, interval:s:1, "
		"BEGIN …");
}

/* In paths a / is one; elsewhere it begins a predicate. */
static size_t place_length(const char *at, bool is_file)
{
	size_t n = 0;

	while (at[n] && !isspace((unsigned char)at[n]) && at[n] != ',' && at[n] != '{' && (at[n] != '/' || is_file)) {
		if (at[n] == '"')
			for (n++; at[n] && at[n] != '"' && at[n] != '\n';)
				n++;
		n += at[n] != 0;
	}
	return n;
}

/* The next part up to a colon, or to the end. NULL: there is none. */
static char *next_part(const char **at)
{
	bool quoted = **at == '"' && strchr(*at + 1, '"');
	size_t n = quoted ? (size_t)(strchr(*at + 1, '"') + 1 - *at) : strcspn(*at, ":");
	char *ret;

	if (!**at)
		return NULL;
	ret = quoted ? xstrndup(*at + 1, n - 2) : xstrndup(*at, n);
	*at += n + ((*at)[n] == ':');
	return ret;
}

static int set_offset(const struct parser *s, struct place_asked *place)
{
	char *plus = strchr(place->name, '+'), *end;

	if (!plus)
		return 0;
	place->offset = strtoull(plus + 1, &end, 0);
	*plus = 0;
	if (*end || end == plus + 1)
		return script_error(s->script, place->at, place->len, s->err, "expected a number behind the +");
	return 0;
}

/* "hz:99", "ms:10", "10ms", "1s" */
static bool parse_time(const char *text, uint64_t *ret_ns)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = { { "s", 1000000000 }, { "ms", 1000000 }, { "us", 1000 }, { "ns", 1 } };
	const char *colon = strchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : 0;
	char *end;
	uint64_t n = strtoull(colon ? colon + 1 : text, &end, 10);

	if (!n || end == text || (colon && *end))
		return false;
	if (colon && is_called("hz", text, len)) {
		*ret_ns = 1000000000 / n;
		return *ret_ns;
	}
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (colon ? is_called(units[i].unit, text, len) : !strcmp(end, units[i].unit))
			return !__builtin_mul_overflow(n, units[i].ns, ret_ns);
	return false;
}

static int missing(const struct parser *s, const struct place_asked *place, const char *expected)
{
	return script_error(s->script, place->at, place->len, s->err, "expected %s", expected);
}

/* Can a tracepoint of that name, or pattern, be a system call's alone? raw: the one that is of all of them. */
static bool is_for_syscalls(const char *name, bool raw)
{
	return raw ? !strcmp(name, "sys_enter") || !strcmp(name, "sys_exit")
		   : !strncmp(name, "sys_enter_", 10) || !strncmp(name, "sys_exit_", 9);
}

/*
 * Of a pattern of systems that only system calls' can be meant by, as sysc* or, with sys_enter_read behind it, *: their
 * system's name. Takes the text over.
 */
static char *system_name(char *pattern, const char *name)
{
	static const char *const names[] = { "syscalls", "raw_syscalls" };

	for (size_t i = 0; pattern && name && strpbrk(pattern, "*?") && i < sizeof names / sizeof *names; i++)
		if (!fnmatch(pattern, names[i], 0) && (!strncmp(pattern, names[i], 3) || is_for_syscalls(name, i))) {
			free(pattern);
			return xstrdup(names[i]);
		}
	return pattern;
}

/* software:NAME without a number: as bpftrace's table of them has it */
static uint64_t usual_count(const char *name)
{
	return !strcmp(name, "cs") || !strcmp(name, "context-switches") ? 1000 : 100;
}

/* `rest`: what stands behind the kind. */
static int parse_form(const struct parser *s, struct place_asked *place, enum place_form form, const char *rest)
{
	const char *at = rest;

	switch (form) {
	case FORM_NOTHING:
		return *rest ? missing(s, place, "nothing behind it") : 0;
	case FORM_TIME:
		return parse_time(rest, &place->ns) ? 0
						    : missing(s, place, "how often: hz:99, s:1, ms:10, us:100, 10ms");
	case FORM_PATTERN:
		if (place->kind == PLACE_TRACEPOINT && !*rest)
			return missing(s, place, "a tracepoint's name: rawtracepoint:sched_switch");
		if (place->kind == PLACE_LOG && *rest && *rest != '"') { /* lines have colons */
			place->name = xstrdup(rest);
			return 0;
		}
		place->name = next_part(&at);
		if (*at && place->kind == PLACE_TRACEPOINT) { /* rawtracepoint:MODULE:NAME */
			free(place->name);
			place->name = next_part(&at);
		}
		return *at ? missing(s, place, "one name, or pattern") : 0;
	case FORM_EVENT:
		place->name = next_part(&at);
		if (place->name)
			place->count = *at ? strtoull(at, NULL, 10) : usual_count(place->name);
		return place->count && !at[strspn(at, "0123456789")]
			       ? 0
			       : missing(s, place, "page-faults, context-switches … and perhaps :COUNT");
	case FORM_TRACEPOINT:
		place->object = next_part(&at);
		place->name = next_part(&at);
		place->object = system_name(place->object, place->name);
		if (!place->name || *at)
			return missing(s, place, "tracepoint:SYSTEM:NAME, as sched:sched_switch");
		free(place->text);
		place->text = xasprintf("tracepoint:%s:%s", place->object, place->name);
		return 0;
	case FORM_FILE:
		place->object = next_part(&at);
		place->name = next_part(&at);
		if (!place->name || *at)
			return missing(s, place, "the program's path, and a function: uprobe:/bin/bash:readline");
		return set_offset(s, place);
	case FORM_STATIC:
		place->object = next_part(&at);
		place->provider = next_part(&at);
		place->name = next_part(&at);
		return place->name && !*at
			       ? 0
			       : missing(s, place,
					 "the program's path, a provider, and its probe: usdt:/bin/x:provider:name");
	default:
		place->name = next_part(&at);
		if (place->name && *at) {
			place->object = place->name;
			place->name = next_part(&at);
		}
		if (!place->name || *at)
			return missing(s, place, "a function's name, or a pattern: kprobe:vfs_*");
		return set_offset(s, place);
	}
}

/* interval:s:$1: with what the program is given in its place. The caller frees it. */
static char *with_parameters(const struct script *p, const char *at, size_t len)
{
	struct buf out = { 0 };

	for (size_t i = 0; i < len;) {
		size_t digits = at[i] == '$' ? strspn(at + i + 1, "0123456789") : 0;
		unsigned long n = digits ? strtoul(at + i + 1, NULL, 10) : 0;

		if (!digits)
			buf_put_u8(&out, (uint8_t)at[i]);
		else if (n && n <= p->n_parameters)
			buf_put(&out, p->parameters[n - 1], strlen(p->parameters[n - 1]));
		i += 1 + digits;
	}
	buf_put_u8(&out, 0);
	return (char *)out.data;
}

static int parse_place(struct parser *s, struct place_asked *place)
{
	size_t kind_len = strcspn(s->word.at, ":,{/ \t\r\n\f\v");
	const struct place_name *kind = find_kind(s->word.at, kind_len);
	cleanup_free char *rest = NULL;

	*place = (struct place_asked){ .at = s->word.at, .len = kind_len ? kind_len : 1 };
	if (!kind)
		return unknown_kind(s, place, place->len);
	place->kind = kind->kind;
	place->by_types = kind->by_types;
	place->len = place_length(s->word.at, kind->form == FORM_FILE || kind->form == FORM_STATIC);
	if (kind->form == FORM_REFUSED)
		return script_error(s->script, place->at, place->len, s->err, "%s is not there: %s", kind->name,
				    kind->why);
	rest = with_parameters(s->script, place->at + kind_len + (place->at[kind_len] == ':'),
			       place->len - kind_len - (place->at[kind_len] == ':'));
	place->text = *rest ? xasprintf("%s:%s", kind->name, rest) : xstrdup(kind->name);
	return parse_form(s, place, kind->form, rest);
}

int parse_places(struct parser *s, struct handler *h)
{
	size_t cap = 0;
	bool more = true;

	while (more) {
		struct place_asked *place;

		if (s->word.kind != WORD_NAME)
			return parser_unexpected(
				s, "a probe: kprobe:FUNCTION, tracepoint:SYSTEM:NAME, call:FUNCTION, BEGIN …");
		h->places = array_grow(h->places, h->n_places, &cap, sizeof *h->places);
		place = &h->places[h->n_places++];
		if (parse_place(s, place) < 0 || word_at(s->script, place->at + place->len, &s->word, s->err) < 0 ||
		    parser_accept(s, ',', &more) < 0)
			return -1;
	}
	return 0;
}
