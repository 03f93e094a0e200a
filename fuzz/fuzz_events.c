/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A trace event as a trace describes it, up to a NUL, and behind it a record of it, which is also a filter's text. */
#include "fuzz.h"

#include <string.h>

#include "analysis/events/event_filter.h"
#include "base/alloc.h"

/* Records that begin so are printed, which takes a child and time (event_texts.c): few do. */
static const char with_text[] = "TEXT";

/* libtraceevent loses some memory over formats that it does not understand. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

static void put_text(struct event_decoder *d, const struct event_record *r, struct buf *out)
{
	if (__lsan_disable)
		__lsan_disable();
	event_put_text(d, r, out);
	if (__lsan_enable)
		__lsan_enable();
}

static void look_at_values(struct event_decoder *d, const struct event_record *r)
{
	struct buf scratch = { 0 }, text = { 0 };

	for (size_t i = 0; i < event_fields(d, 0); i++) {
		struct event_value value = event_value(d, r, i, &scratch);

		must(value.kind != EVENT_TEXT || strlen(value.text) < scratch.len);
		event_value_put(d, r, &value, &text);
		must(event_field_type(d, 0, i) && event_field_find(d, 0, event_field_name(d, 0, i)) >= 0);
	}
	buf_free(&scratch);
	buf_free(&text);
}

static void look_at(struct event_formats *formats, const void *record, size_t size)
{
	struct event_decoder *d = event_decoder_new(formats, NULL);
	struct event_record r = { .data = record, .size = size };
	struct event_filter *filter;
	struct buf text = { 0 };
	struct error err;
	bool all = true;
	cleanup_free char *expression = xstrndup(record, strnlen(record, size));

	if (size >= 4 && !memcmp(record, with_text, 4))
		put_text(d, &r, &text);
	look_at_values(d, &r);
	filter = event_filter_parse(expression, &err);
	if (filter && event_filter_bind(filter, d, 1, &all, &err) == 0)
		event_filter_fits(filter, d, &r, "comm");
	if (filter)
		event_filter_free(filter);
	buf_free(&text);
	event_decoder_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n = strnlen((const char *)data, size);
	cleanup_free char *text = xstrndup((const char *)data, n);
	struct guarded record = guarded_copy(data + n + (n < size), size - n - (n < size), 1);
	struct event_formats formats = { 0 };
	struct meta meta = { 0 };
	struct error err;

	meta_set(&meta, "event.0", text);
	if (event_formats_read(&meta, &formats, &err) == 0 && formats.count)
		look_at(&formats, record.data, size - n - (n < size));
	event_formats_deinit(&formats);
	meta_deinit(&meta);
	guarded_free(&record);
	return 0;
}
