/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of the values that a program in handlers reads: by the trace's formats of events, or by the place. */
#ifndef UPTO_ANALYSIS_SCRIPT_FIELDS_H
#define UPTO_ANALYSIS_SCRIPT_FIELDS_H

#include "analysis/events/event_decoder.h"
#include "arch/arch.h"
#include "handlers/types.h"
#include "script_needs.h"

struct script_formats {
	const struct event_formats *formats; /* NULL: nothing is known yet */
	const struct event_decoder *decoder;
	const struct arch *arch;
	/* what was found of the program before: so a probe's record tells the sizes of its values; NULL: nothing */
	const struct script *script;
	const struct types *types;
	const struct script_needs *needs;
};

/* For struct field_types; context: struct script_formats. */
bool script_field_find(void *formats, const struct place_asked *place, const char *text, struct type *ret,
		       struct error *err);

/* The number of a field in an event of the trace, without ":string" behind its name; -1: it has none of that name. */
long script_event_field(const struct event_decoder *d, size_t event, const char *text);

/* "saddr[2]": 2; -1: no element is asked for. */
int64_t script_field_element(const char *text);

/* The argument of a system call, 0 to 5, that has that name in the call's tracepoint; -1: none has. */
int script_syscall_field(const struct syscall_abi *abi, uint64_t nr, const char *text);

/* What LOG, SPAN and WAIT have. */
enum script_own { OWN_TEXT, OWN_LEVEL, OWN_NAME, OWN_KIND, OWN_START, OWN_WHAT, OWN_WAKER, OWNS };
int script_own_field(enum place_kind kind, const char *text);

#endif
