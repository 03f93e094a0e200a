/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Definitions of probes: where, and which values. Two languages say the same: that of perf probe (its manual page;
 * "vfs_read:11 count file->f_mode"), which names places and variables of the source, and the kernel's own
 * (Documentation/trace/kprobetrace.rst, "p:group/name vfs_read+48 size=%cx:x64"), which names registers and addresses.
 * uftrace's is the first one in other words (probe_uftrace.h).
 */
#ifndef UPTO_PROBES_PROBE_DEFINITION_H
#define UPTO_PROBES_PROBE_DEFINITION_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "probe_arg.h"

struct probe_definition {
	char *text;          /* all of it */
	char *group, *event; /* NULL: none was given */
	enum probe_place {
		PROBE_FUNCTION, /* offset bytes behind the begin of function */
		PROBE_LINE,     /* line `line` of function, counted from its first one, which is 0 */
		PROBE_SOURCE,   /* line `line` of `source` */
		PROBE_PATTERN,  /* lines of function, or of source, that look like `pattern` */
		PROBE_ADDRESS,  /* `address`, at run time; of a program: in its file */
		PROBE_STATIC,   /* a static probe of a program (USDT): `group` is its provider, `function` its name */
	} place;
	char *target;   /* a module's name, or the path of a program's file; NULL: the kernel, and modules */
	char *function; /* a name, or a pattern as a shell's */
	char *source;   /* of FUNCTION, LINE, PATTERN: where the function is defined; NULL: not said */
	char *pattern;
	uint64_t offset, address;
	unsigned line;
	bool returns;      /* where the function returns to its caller */
	bool kernel_words; /* it is in the kernel's language */
	struct probe_arg *args;
	size_t n_args;
};

/* Call probe_definition_deinit() in either case. */
int probe_definition_parse(const char *text, struct probe_definition *ret, struct error *err);
void probe_definition_deinit(struct probe_definition *d);

/* Can it be armed without debug information of lines and variables? */
bool probe_definition_is_plain(const struct probe_definition *d);

/* Is its place in a program, as it says itself? */
bool probe_definition_in_program(const struct probe_definition *d);

/* Does a value ask for a variable? */
bool probe_definition_has_variables(const struct probe_definition *d);

/*
 * What an event is called that has that place: "vfs_read", "vfs_read__return"; the kernel's language has
 * "p_vfs_read_0". The caller frees it.
 */
char *probe_event_name(const struct probe_definition *d, const char *function);
const char *probe_group_name(const struct probe_definition *d);

#endif
