/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What led to a panic: who did it, called by whom, and which calls came before. */
#ifndef UPTO_CLI_PRINT_PANIC_NOTE_H
#define UPTO_CLI_PRINT_PANIC_NOTE_H

#include "analysis/history/why.h"
#include "base/json.h"
#include "cli/args/open_trace.h"

/* Is the moment a panic? */
bool is_panic(const struct milestone *moment);

/* Append "\n# …" lines. It may make the trace's index. */
int panic_note_put(struct trace_arg *t, const struct milestone *panic, struct buf *out, struct error *err);

/* "panic":{…}: see PANIC_TERMS. */
int panic_note_json(struct json *j, struct trace_arg *t, const struct milestone *panic, struct error *err);

#define PANIC_TERMS                                                                                                   \
	{                                                                                                             \
		"panic",                                                                                              \
		"of a panic: pid and comm (who did it), frames (of the kernel, as stack has them, from the panic outwards), led_ns (when it was " \
		"called for; of an oops or a warning, when its exception came), calls (the last that this thread made before led_ns, but those " \
		"of interrupts, and those that print: function, depth, start_ns, duration_ns, null if it goes on)" \
	}

#endif
