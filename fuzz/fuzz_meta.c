/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The payload of a META chunk. What is accepted must survive being written again. */
#include "fuzz.h"

#include "trace/meta.h"

static void write_again(const struct meta *m)
{
	struct meta again = { 0 };
	struct buf out = { 0 };
	struct error err;

	for (size_t i = 0; i < m->count; i++)
		meta_put(&out, m->entries[i].key, m->entries[i].value);
	must(!out.len || meta_parse(&again, out.data, out.len, &err) == 0);
	must(again.count == m->count);
	for (size_t i = 0; i < m->count; i++)
		must(!strcmp(meta_get(&again, m->entries[i].key), m->entries[i].value));
	meta_deinit(&again);
	buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct guarded g = guarded_copy(data, size, 1);
	struct meta m = { 0 };
	struct error err;

	if (meta_parse(&m, g.data, size, &err) == 0)
		write_again(&m);
	meta_get_u64(&m, "vcpus", 1);
	meta_deinit(&m);
	guarded_free(&g);
	return 0;
}
