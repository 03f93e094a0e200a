/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program in handlers, and a trace that it is run on: what running it once, and following a recording, have in
 * common. */
#ifndef UPTO_CLI_COMMANDS_SCRIPTING_H
#define UPTO_CLI_COMMANDS_SCRIPTING_H

#include "analysis/programs/script_run.h"
#include "cli/args/trace_arg.h"

struct scripting {
	const struct args *args;
	struct script script;
	struct script_code code;
	struct script_needs needs;
	struct span span;
	struct script_outcome outcome;
};

/* A trace as it is now, and what of it besides its calls the program hears of. */
struct script_trace {
	struct trace_arg trace;
	struct facts facts;
	struct event_formats formats;
	struct event_decoder *decoder;
	struct syscall_events *told; /* as in script_run_options */
	struct texts texts;
	struct syscalls calls;
	struct history history;
	bool has_history;
};

/* Behind trace's being opened. Call script_trace_close() also after an error. */
int script_trace_begin(struct script_trace *t, struct error *err);
/* What that program hears of, behind scripting_compile(). */
int script_trace_read(struct script_trace *t, const struct scripting *s, struct error *err);
void script_trace_close(struct script_trace *t);

/* With what is known of the trace. */
int scripting_compile(struct scripting *s, const struct script_trace *t, struct error *err);
struct script_run_options scripting_options(struct scripting *s, const struct script_trace *t, const struct sink *to);
void scripting_deinit(struct scripting *s);

/* Is all that the program asks for in a trace with these formats? */
bool scripting_lacks_nothing(const struct scripting *s, const struct event_formats *formats);

/* Say what was left out, since a program's answer would else seem whole. */
void scripting_say_losses(const struct scripting *s, const struct script_trace *t);

/* From now on so many Ctrl-C ask for what there is. */
void scripting_hear_interrupts(int times);
bool scripting_is_enough(void);

#endif
