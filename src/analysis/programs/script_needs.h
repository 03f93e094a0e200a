/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a program in handlers asks to be recorded: calls and returns are in every trace; trace events, and what a probe
 * reads of the guest, are there if they were asked for. What is needed follows from the program's text alone, so that
 * it is known before a guest starts, and found again in its trace by the same names.
 */
#ifndef UPTO_ANALYSIS_SCRIPT_NEEDS_H
#define UPTO_ANALYSIS_SCRIPT_NEEDS_H

#include "base/buf.h"
#include "handlers/types.h"
#include "trace/event_formats.h"

struct script_need {
	size_t handler, place;
	bool keeps;    /* a probe without a record: it hands addresses to others */
	bool is_event; /* a trace event: system:name, in the words of record --event; else the definition of a probe */
	char *text;
	char *event; /* of a probe: its event's name; of a value of that, see script_field_name() */
	char **values; /* the names of these; NULL: what the event is called tells all that is asked for */
	size_t n_values;
};

struct script_needs {
	struct script_need *list;
	size_t count, cap;
};

/* An error: a place where what is asked for cannot be read. Call script_needs_deinit() also after an error. */
int script_needs_find(const struct script *p, const struct types *types, struct script_needs *ret, struct error *err);
void script_needs_deinit(struct script_needs *n);

/*
 * Where the trace lacks an event for just these values, and has one for more at the same place, that one will do: from
 * now on it is meant.
 */
void script_needs_choose(struct script_needs *n, const struct event_formats *formats);

/* The one of a handler's place; NULL: it needs nothing. */
const struct script_need *script_needs_of(const struct script_needs *n, size_t handler, size_t place);

/* Append what is not in the trace's formats (NULL: all): probes, a line each, and events, with commas. */
void script_needs_put(const struct script_needs *n, const struct script *p, const struct event_formats *formats,
		      struct buf *probes, struct buf *events);

/* Does that event of a trace stand for what is needed at the place? */
bool script_need_is(const struct script_need *need, const struct place_asked *place, const struct event_format *e);

/* Is the tracepoint that of a system call's begin or end, which every trace has? */
bool script_is_syscall(const struct place_asked *place);

/* Has it any other tracepoints, whose fields only a trace tells? */
bool script_has_tracepoints(const struct script *p);

/* What a field is called in a probe's record: the same in all programs that ask for it. */
enum { SCRIPT_FIELD_NAME = 16 };
void script_field_name(const struct field_asked *field, char ret[SCRIPT_FIELD_NAME]);
size_t script_fields_of(const struct types *types, size_t handler);

#endif
