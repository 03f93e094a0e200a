/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event_put.h"

static void put_args_json(struct json *j, const struct event_sources *of, const struct event_record *r,
			  struct buf *scratch)
{
	json_object(j, "args");
	for (size_t i = 0; i < event_fields(of->decoder, r->event); i++) {
		const char *name = event_field_name(of->decoder, r->event, i);
		struct event_value v = event_value(of->decoder, r, i, scratch);

		switch (v.kind) {
		case EVENT_NOTHING:
			json_null(j, name);
			break;
		case EVENT_NUMBER:
			json_number(j, name, v.number);
			break;
		case EVENT_SIGNED:
			json_signed(j, name, (int64_t)v.number);
			break;
		case EVENT_ADDRESS:
			json_address(j, name, v.number);
			break;
		case EVENT_TEXT:
			json_text(j, name, v.text);
			break;
		}
	}
	json_close(j);
}

void event_put_json(struct json *j, const struct event_sources *of, const struct fact *fact, struct buf *scratch)
{
	const struct event_format *format;
	struct event_record r;

	event_record_of(of->formats, fact, &r);
	format = &of->formats->list[r.event];
	scratch->len = 0;
	buf_printf(scratch, "%s:%s", format->system, format->name);
	buf_put_u8(scratch, 0);
	json_number(j, "cpu", fact->cpu);
	json_signed(j, "pid", event_record_pid(&r));
	json_text(j, "comm", event_comm(of->threads, fact));
	json_text(j, "event", (char *)scratch->data);
	json_flag(j, "computed", fact->n_numbers > 1 && fact->numbers[1]);
	put_args_json(j, of, &r, scratch);
	scratch->len = 0;
	event_put_text(of->decoder, &r, scratch);
	buf_put_u8(scratch, 0);
	json_text(j, "text", (char *)scratch->data);
}
