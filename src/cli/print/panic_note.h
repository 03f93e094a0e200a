/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What led to a panic: who did it, called by whom, and which calls came before. */
#ifndef UPTO_CLI_PRINT_PANIC_NOTE_H
#define UPTO_CLI_PRINT_PANIC_NOTE_H

#include "analysis/ending/last_calls.h"
#include "analysis/history/why.h"
#include "base/json.h"
#include "cli/args/open_trace.h"

struct panic_note {
	const struct trace_arg *trace;
	const struct milestone *panic;
	const struct thread *thread; /* NULL: before the first switch to one */
	uint64_t led_ns;        /* when what reports it began: what came before led to it */
	struct stack stack;     /* from the panic outwards, as far as it is the kernel's; without frames: not known */
	struct frame *frames;   /* memory of its thread's frames, of which these are some */
	struct last_calls calls;
};

/* Is the moment a panic? */
bool is_panic(const struct milestone *moment);

/* Both must live as long as the note. It may make the trace's index. Call panic_note_deinit() also after an error. */
int panic_note_find(struct trace_arg *t, const struct milestone *panic, struct panic_note *ret, struct error *err);
void panic_note_deinit(struct panic_note *p);

/* Append "\n# …" lines. */
void panic_note_put(const struct panic_note *p, struct buf *out);

/* "panic":{…}: see PANIC_TERMS. */
void panic_note_json(struct json *j, const struct panic_note *p);

#define PANIC_TERMS                                                                                                   \
	{                                                                                                             \
		"panic",                                                                                              \
		"of a panic: pid and comm (who did it), frames (of the kernel, as stack has them, from the panic outwards; none: its calls " \
		"were left out), led_ns (when it was " \
		"called for; of an oops or a warning, when its exception came), calls (the last that this thread made before led_ns, but those " \
		"of interrupts, and those that print: function, depth, start_ns, duration_ns, null if it goes on, or its end is not known)" \
	}

#endif
