/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads how the kernel describes its trace events, in guest memory: system, name, fields and print format, as tracefs
 * would show them (kernel/trace/trace_events.c, f_show()). In a vCPU's thread, where memory can be read.
 */
#ifndef UPTO_RECORDER_EVENT_READ_H
#define UPTO_RECORDER_EVENT_READ_H

#include "recorder/recorder.h"

enum { EVENT_NAME = 128 };

struct event_names {
	char system[EVENT_NAME], name[EVENT_NAME];
};

/* Names that the kernel's headers give to numbers; print formats have them until the kernel has replaced them itself.
 */
struct event_enums {
	struct event_enum {
		char *system, *name;
		int64_t value;
	} * list;
	size_t count, cap;
};

/* Add those of a table in guest memory: pointers to struct trace_eval_map (include/linux/tracepoint.h). */
void event_enums_add(struct vcpu *v, uint64_t table, uint64_t end, struct event_enums *ret);
void event_enums_deinit(struct event_enums *e);

/* Append the line of META with the kernel's texts that records have as addresses: a table of pointers to them. */
void event_strings_tell(struct vcpu *v, uint64_t table, uint64_t end, struct buf *lines);

/* The names of a struct trace_event_call. `is_tracepoint`: it has its name from its tracepoint. */
bool event_names_read(struct vcpu *v, uint64_t call, bool is_tracepoint, struct event_names *ret);

/* Is it that of a system call's entry, or of its exit? Its struct trace_event_call has its number, once it is known. */
enum event_of { EVENT_OF_TRACEPOINT, EVENT_OF_ENTRY, EVENT_OF_EXIT };
enum event_of event_of(const struct event_names *names);
/* -1: not known yet. */
int32_t event_syscall_number(struct vcpu *v, uint64_t call);

/* The number that its records begin with; 0: it has none yet. */
uint32_t event_type(struct vcpu *v, uint64_t call);

/* Give a new kind of records its number. Under `lock`. */
uint32_t event_number_new(void);

/* Append the line of META that has such a text as event's number `number`. Frees the text. */
void event_format_tell(uint32_t number, struct buf *text, struct buf *lines);

/* Append "system:name", a line's end, and the text of its `format` file. */
void event_text_put(struct vcpu *v, uint64_t call, const struct event_names *names, const struct event_enums *enums,
		    struct buf *out);

#endif
