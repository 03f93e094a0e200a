/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a record of a trace event is made of, by its format's lines "field:char comm[16]; offset:8; size:16; signed:0;".
 */
#ifndef UPTO_TRACE_EVENT_FIELDS_H
#define UPTO_TRACE_EVENT_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_field {
	char *name, *type;     /* "comm", "char[16]" */
	uint32_t offset, size; /* in bytes, in the record; of DYNAMIC: of the word that says where it is */
	uint32_t element;      /* bytes of an array's element; 0: it is no array */
	bool is_signed, is_text, is_pointer;
	bool dynamic;  /* __data_loc, __rel_loc: include/trace/stages/stage1_struct_define.h */
	bool relative; /* that word counts from its own end */
};

struct event_layout {
	/* the event's own; behind them those that all events have (common_pid …), so many: n_common */
	struct event_field *fields;
	size_t count, n_common, cap;
};

/* Lines that are no fields are passed over. */
void event_layout_init(struct event_layout *ret, const char *format);
void event_layout_deinit(struct event_layout *l);

/* Where the field's bytes are in a record of that size. False: it does not have all of them. */
bool event_field_place(const struct event_field *f, const void *record, size_t size, size_t *ret_offset,
		       size_t *ret_size);

#endif
