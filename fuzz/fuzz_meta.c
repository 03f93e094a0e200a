/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The payload of a META chunk. What is accepted must survive being written again. Texts of trace events are lines. */
#include "fuzz.h"

#include "trace/event_strings.h"
#include "trace/meta.h"

static void write_again(const struct meta *m)
{
	struct meta again = { 0 };
	struct buf out = { 0 };
	struct error err;

	for (size_t i = 0; i < meta_count(m); i++)
		meta_put(&out, meta_key(m, i), meta_value(m, i));
	must(!out.len || meta_parse(&again, out.data, out.len, &err) == 0);
	must(meta_count(&again) == meta_count(m));
	for (size_t i = 0; i < meta_count(m); i++)
		must(!strcmp(meta_get(&again, meta_key(m, i)), meta_value(m, i)));
	meta_deinit(&again);
	buf_free(&out);
}

static void read_strings(const struct meta *m)
{
	struct event_strings s;
	struct error err;

	event_strings_read(m, &s, &err);
	for (size_t i = 0; i < s.count; i++)
		must(!s.list[i].text || !strchr(s.list[i].text, '\n'));
	event_strings_deinit(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct guarded g = guarded_copy(data, size, 1);
	struct meta m = { 0 };
	struct error err;

	if (meta_parse(&m, g.data, size, &err) == 0)
		write_again(&m);
	read_strings(&m);
	meta_get_u64(&m, "vcpus", 1);
	meta_deinit(&m);
	guarded_free(&g);
	return 0;
}
