/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the records of the kernel's trace events are made of: for each event, the text that tracefs has as its `format`
 * file, which libtraceevent reads. In META (docs/format.md, key event.N).
 */
#ifndef UPTO_TRACE_EVENT_FORMATS_H
#define UPTO_TRACE_EVENT_FORMATS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "event_strings.h"
#include "meta.h"

/* The system of events that stand for what a program in handlers reads: people do not ask for them. */
#define EVENTS_OF_PROGRAMS "upto"

struct event_format {
	char *system, *name;
	const char *text; /* META's: valid as long as that */
	int32_t syscall;  /* the system call's number whose entry or exit it is; -1: none's */
	uint64_t faults;  /* values of its records that could not be read: numbers are 0 then, texts "(fault)" */
	uint64_t missing; /* records of it that could not be computed … */
	const char *why;  /* … and why, in words, the last of them; META's */
};

struct event_formats {
	struct event_format *list; /* by number */
	size_t count;
	struct event_strings strings;
	struct event_nowhere {
		char *definition, *why; /* why: "": it has no such place */
	} *nowhere; /* probes that were asked for, and could not be probed in that guest */
	size_t n_nowhere;
};

/* Why the probe of that definition was nowhere; NULL: it was somewhere, or nobody asked for it. */
static inline const char *event_nowhere(const struct event_formats *f, const char *definition)
{
	for (size_t i = 0; i < f->n_nowhere; i++)
		if (!strcmp(f->nowhere[i].definition, definition))
			return f->nowhere[i].why;
	return NULL;
}

static inline bool event_is_of_program(const struct event_format *f)
{
	return !strcmp(f->system, EVENTS_OF_PROGRAMS);
}

/* A value of META that is no format is an error. */
int event_formats_read(const struct meta *meta, struct event_formats *ret, struct error *err);
void event_formats_deinit(struct event_formats *f);

/*
 * Does a list of names, with commas between, mean that event? Each is "system:name", "system:", "name" or "system", all
 * of them patterns as a shell's. `fit`, if it is not NULL, says of each name of the list whether it did so far.
 */
bool event_is_meant(const char *list, const char *system, const char *name, bool *fit);

#endif
