/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What records of trace events say: their fields, and the text that the kernel would print, by the events' formats
 * (trace/event_formats.h). Formats and records may be of any origin.
 */
#ifndef UPTO_ANALYSIS_EVENT_DECODER_H
#define UPTO_ANALYSIS_EVENT_DECODER_H

#include "base/buf.h"
#include "replay/names.h"
#include "trace/event_formats.h"
#include "trace/facts.h"

struct event_decoder;

/* Both must outlive it. `names`: for addresses of functions. */
struct event_decoder *event_decoder_new(const struct event_formats *formats, const struct names *names);
void event_decoder_free(struct event_decoder *d);

/* A record: a fact EVENT's. */
struct event_record {
	size_t event; /* number of its format */
	const void *data;
	size_t size;
	uint64_t ns; /* for names, which may be others at other times */
	uint32_t cpu;
};

/* False: the fact is no record of an event whose format is known. */
bool event_record_of(const struct event_formats *formats, const struct fact *fact, struct event_record *ret);

/* pid of the thread that ran; 0 also where the record is too short. */
int32_t event_record_pid(const struct event_record *r);

/* Append the text that the event's own print format makes of it, or its fields where that is not understood. */
void event_put_text(struct event_decoder *d, const struct event_record *r, struct buf *out);

/* Append a line: its name, ": ", and that text. The fact is a record of one of the formats. */
void event_put_line(struct event_decoder *d, const struct event_formats *formats, const struct fact *fact,
		    struct buf *out);

/* Fields of an event, without those that all events have. */
size_t event_fields(const struct event_decoder *d, size_t event);
const char *event_field_name(const struct event_decoder *d, size_t event, size_t field);
/* "unsigned long", "char[16]" */
const char *event_field_type(const struct event_decoder *d, size_t event, size_t field);
/* Bytes of it, or of each of its elements. */
size_t event_field_size(const struct event_decoder *d, size_t event, size_t field);
/* Its number, of what all events have (common_pid …), too; -1: it has none of that name. */
long event_field_find(const struct event_decoder *d, size_t event, const char *name);

struct event_value {
	enum { EVENT_NOTHING, EVENT_NUMBER, EVENT_SIGNED, EVENT_ADDRESS, EVENT_TEXT } kind;
	uint64_t number;  /* NUMBER, SIGNED (two's complement), ADDRESS */
	const char *text; /* TEXT: the record's bytes, or made of them; as long as *scratch is not changed */
};

/* NOTHING: the record does not have it. */
struct event_value event_value(struct event_decoder *d, const struct event_record *r, size_t field,
			       struct buf *scratch);
/* Of an array, one of its elements; NOTHING: it has fewer, or is none. */
struct event_value event_element(const struct event_decoder *d, const struct event_record *r, size_t field,
				 uint64_t number);
/* The field as it is in the record; 0 bytes where that does not have it. Valid as long as the record. */
const uint8_t *event_field_bytes(const struct event_decoder *d, const struct event_record *r, size_t field,
				 size_t *ret_size);
/* Append it as people read it; an address in code of the kernel by its name, as it was at the record's time. */
void event_value_put(struct event_decoder *d, const struct event_record *r, const struct event_value *value,
		     struct buf *out);

#endif
