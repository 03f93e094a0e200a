/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event_order.h"

#include <string.h>

#include "graph_events.h"

static void turn(uint8_t *number, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		uint8_t byte = number[i];

		number[i] = number[n - 1 - i];
		number[n - 1 - i] = byte;
	}
}

static void turn_all(uint8_t *record, size_t size, size_t offset, size_t n, size_t each)
{
	if ((each != 2 && each != 4 && each != 8) || offset > size || n > size - offset)
		return;
	for (size_t at = 0; at + each <= n; at += each)
		turn(record + offset + at, each);
}

/* What lies elsewhere in the record: __data_loc, __rel_loc (include/trace/stages/stage1_struct_define.h). */
static void turn_content(const struct tep_format_field *f, uint8_t *record, size_t size)
{
	size_t offset = (size_t)f->offset, behind = f->flags & TEP_FIELD_IS_RELATIVE ? offset + (size_t)f->size : 0;
	uint32_t word;

	if (offset > size || size - offset < sizeof word)
		return;
	memcpy(&word, record + offset, sizeof word);
	turn_all(record, size, behind + (word & 0xffff), word >> 16, f->elementsize);
}

static void turn_fields(const struct tep_format_field *fields, uint8_t *record, size_t size)
{
	for (const struct tep_format_field *f = fields; f; f = f->next) {
		bool dynamic = f->flags & TEP_FIELD_IS_DYNAMIC;

		if (f->offset < 0 || f->size <= 0)
			continue;
		turn_all(record, size, (size_t)f->offset, (size_t)f->size,
			 dynamic || !(f->flags & TEP_FIELD_IS_ARRAY) ? (size_t)f->size : f->elementsize);
		if (dynamic)
			turn_content(f, record, size);
	}
}

void event_order_put(const struct tep_event *event, const void *record, size_t size, struct buf *out)
{
	size_t at = out->len;

	buf_put(out, record, size);
	turn_fields(event->format.common_fields, out->data + at, size);
	turn_fields(event->format.fields, out->data + at, size);
}
