/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks that a trace has what options name: times, vCPUs, processes. */
#ifndef UPTO_CLI_ARGS_TRACE_HAS_H
#define UPTO_CLI_ARGS_TRACE_HAS_H

#include "cli/command.h"
#include "open_trace.h"

/* Guest time of the last event. */
uint64_t trace_end_ns(const struct trace_arg *t);

/* Has the thread, at any time, one of the names, which commas part? They may be patterns. */
bool threads_are_called(const struct threads *threads, const struct thread *t, const char *names);

/* Of a list of names where others are there, and are asked about: the first that no thread has goes to *missed. */
void threads_miss_name(const struct threads *threads, const char *names, struct error *missed);

/* Is it the thread that --pid asks for, by its number, or one of them, by their names? */
bool thread_is_asked(const struct threads *threads, const struct thread *t, const char *pid);

/* Say that there is none. Returns -1. */
int no_such_thread(const struct threads *threads, const char *pid, struct error *err);

/* Mark what --pid asks for in the trace. Returns -1 with a message if it does not have that. */
int trace_has_pid(const struct args *args, struct trace_arg *t, struct error *err);

/* The same, and check the vCPU of --cpu, and the times of --from and --at. */
int trace_has_asked(const struct args *args, struct trace_arg *t, struct error *err);

/* Behind these: marks of the threads that --pid asks for, or those of whose calls the trace is; NULL: all. */
const bool *trace_row_threads(const struct trace_arg *t);

/* Likewise: marks of the threads that --pid and --comm choose, by number; NULL: all. Call free(). */
bool *trace_chosen_threads(const struct args *args, const struct trace_arg *t);

#endif
