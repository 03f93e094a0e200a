/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event_decoder.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "event_texts.h"
#include "trace/event_fields.h"

enum { HEADER = 8 }; /* struct trace_entry, include/linux/trace_events.h */

struct event_decoder {
	const struct event_formats *formats;
	const struct names *names;
	struct event_layout *layouts; /* by number of event */
	struct event_texts *texts;    /* NULL: nobody has asked for any yet */
};

struct event_decoder *event_decoder_new(const struct event_formats *formats, const struct names *names)
{
	struct event_decoder *d = xcalloc(1, sizeof *d);

	d->formats = formats;
	d->names = names;
	d->layouts = xcalloc(formats->count + 1, sizeof *d->layouts);
	for (size_t i = 0; i < formats->count; i++)
		event_layout_init(&d->layouts[i], formats->list[i].text);
	return d;
}

void event_decoder_free(struct event_decoder *d)
{
	for (size_t i = 0; i < d->formats->count; i++)
		event_layout_deinit(&d->layouts[i]);
	free(d->layouts);
	if (d->texts)
		event_texts_free(d->texts);
	free(d);
}

bool event_record_of(const struct event_formats *formats, const struct fact *fact, struct event_record *ret)
{
	if (fact->kind != FACT_EVENT || !fact->n_numbers || !fact->n_texts || fact->numbers[0] >= formats->count)
		return false;
	*ret = (struct event_record){
		.event = fact->numbers[0],
		.data = fact->texts[0],
		.size = fact->lens[0],
		.ns = fact->ns,
		.cpu = fact->cpu,
	};
	return true;
}

int32_t event_record_pid(const struct event_record *r)
{
	int32_t pid = 0;

	if (r->size >= HEADER)
		memcpy(&pid, (const char *)r->data + 4, sizeof pid);
	return pid;
}

/* Has it all that its format says? */
static bool is_whole(const struct event_layout *l, const struct event_record *r)
{
	size_t offset, size;

	for (size_t i = 0; i < l->count; i++)
		if (!event_field_place(&l->fields[i], r->data, r->size, &offset, &size))
			return false;
	return r->size >= HEADER;
}

/* "name=value name=value": where the event's own format is not understood. */
static void put_fields(struct event_decoder *d, const struct event_record *r, struct buf *out)
{
	const struct event_layout *l = &d->layouts[r->event];
	struct buf scratch = { 0 };

	for (size_t i = 0; i < l->count; i++) {
		struct event_value value = event_value(d, r, i, &scratch);

		buf_printf(out, "%s%s=", i ? " " : "", l->fields[i].name);
		event_value_put(d, r, &value, out);
	}
	buf_free(&scratch);
}

void event_put_text(struct event_decoder *d, const struct event_record *r, struct buf *out)
{
	if (!is_whole(&d->layouts[r->event], r)) {
		buf_printf(out, "[a record of %zu bytes that its format does not describe]", r->size);
		return;
	}
	if (!d->texts)
		d->texts = event_texts_new(d->formats, d->names, d->layouts);
	if (!event_texts_put(d->texts, r, out))
		put_fields(d, r, out);
}

size_t event_fields(const struct event_decoder *d, size_t event)
{
	return d->layouts[event].count;
}

const char *event_field_name(const struct event_decoder *d, size_t event, size_t field)
{
	return d->layouts[event].fields[field].name;
}

const char *event_field_type(const struct event_decoder *d, size_t event, size_t field)
{
	return d->layouts[event].fields[field].type;
}

size_t event_field_size(const struct event_decoder *d, size_t event, size_t field)
{
	const struct event_field *f = &d->layouts[event].fields[field];

	return f->element ? f->element : f->size;
}

long event_field_find(const struct event_decoder *d, size_t event, const char *name)
{
	const struct event_layout *l = &d->layouts[event];

	for (size_t i = 0; i < l->count + l->n_common; i++)
		if (!strcmp(l->fields[i].name, name))
			return (long)i;
	return -1;
}

static struct event_value text_value(const char *bytes, size_t n, struct buf *scratch)
{
	buf_put(scratch, bytes, strnlen(bytes, n));
	buf_put_u8(scratch, 0);
	return (struct event_value){ .kind = EVENT_TEXT, .text = (char *)scratch->data };
}

static uint64_t number_at(const struct event_field *f, const uint8_t *bytes, size_t n)
{
	uint64_t value = 0;

	memcpy(&value, bytes, n);
	if (f->is_signed && n && n < sizeof value)
		value = (uint64_t)((int64_t)(value << (64 - n * 8)) >> (64 - n * 8));
	return value;
}

/* "[1, 2]": numbers of an array, or bytes that are no text */
static struct event_value array_value(const struct event_field *f, const uint8_t *bytes, size_t n, struct buf *scratch)
{
	size_t each = f->element ? f->element : 1;

	buf_printf(scratch, "[");
	for (size_t at = 0; at + each <= n; at += each)
		buf_printf(scratch, f->is_signed ? "%s%lld" : "%s%llu", at ? ", " : "",
			   (long long)number_at(f, bytes + at, each));
	buf_printf(scratch, "]");
	buf_put_u8(scratch, 0);
	return (struct event_value){ .kind = EVENT_TEXT, .text = (char *)scratch->data };
}

struct event_value event_value(struct event_decoder *d, const struct event_record *r, size_t field, struct buf *scratch)
{
	const struct event_field *f = &d->layouts[r->event].fields[field];
	size_t offset, size;

	scratch->len = 0;
	if (!event_field_place(f, r->data, r->size, &offset, &size))
		return (struct event_value){ .kind = EVENT_NOTHING };
	if (f->is_text)
		return text_value((const char *)r->data + offset, size, scratch);
	if (f->element || size > sizeof(uint64_t))
		return array_value(f, (const uint8_t *)r->data + offset, size, scratch);
	return (struct event_value){
		.kind = f->is_pointer  ? EVENT_ADDRESS
			: f->is_signed ? EVENT_SIGNED
				       : EVENT_NUMBER,
		.number = number_at(f, (const uint8_t *)r->data + offset, size),
	};
}

struct event_value event_element(const struct event_decoder *d, const struct event_record *r, size_t field,
				 uint64_t number)
{
	const struct event_field *f = &d->layouts[r->event].fields[field];
	size_t offset, size, each = f->element ? f->element : 1;

	if ((!f->element && !f->is_text) || !event_field_place(f, r->data, r->size, &offset, &size) ||
	    number >= size / each)
		return (struct event_value){ .kind = EVENT_NOTHING };
	return (struct event_value){
		.kind = f->is_signed ? EVENT_SIGNED : EVENT_NUMBER,
		.number = number_at(f, (const uint8_t *)r->data + offset + number * each, each),
	};
}

const uint8_t *event_field_bytes(const struct event_decoder *d, const struct event_record *r, size_t field,
				 size_t *ret_size)
{
	size_t offset = 0;

	if (!event_field_place(&d->layouts[r->event].fields[field], r->data, r->size, &offset, ret_size))
		*ret_size = 0;
	return (const uint8_t *)r->data + offset;
}

void event_value_put(struct event_decoder *d, const struct event_record *r, const struct event_value *value,
		     struct buf *out)
{
	struct names_symbol symbol;

	switch (value->kind) {
	case EVENT_NOTHING:
		buf_printf(out, "-");
		break;
	case EVENT_NUMBER:
		if (addr_is_kernel(value->number) && d->names &&
		    names_symbol(d->names, value->number, r->ns, 0, &symbol))
			names_address(d->names, value->number, r->ns, 0, out);
		else
			buf_printf(out, addr_is_kernel(value->number) ? "0x%llx" : "%llu",
				   (unsigned long long)value->number);
		break;
	case EVENT_SIGNED:
		buf_printf(out, "%lld", (long long)value->number);
		break;
	case EVENT_ADDRESS:
		buf_printf(out, "0x%llx", (unsigned long long)value->number);
		break;
	case EVENT_TEXT:
		buf_printf(out, "%s", value->text);
		break;
	}
}

void event_put_line(struct event_decoder *d, const struct event_formats *formats, const struct fact *fact,
		    struct buf *out)
{
	struct event_record r;

	if (!event_record_of(formats, fact, &r))
		return;
	buf_printf(out, "%s: ", formats->list[r.event].name);
	event_put_text(d, &r, out);
}
