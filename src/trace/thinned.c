/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "thinned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

const char *thinned_by(const struct meta *m)
{
	return meta_get(m, "thinned");
}

char *thinned_start(const struct meta *m)
{
	static const char option[] = "--start ";
	const char *all = thinned_by(m) ? thinned_by(m) : "", *start = strstr(all, option), *end;

	if (!start)
		return xstrdup(all);
	start += strlen(option);
	end = strstr(start, " --");
	return xstrndup(start, end ? (size_t)(end - start) : strlen(start));
}

/* The key of a span's begin or end: its number, from 1 on; 0: it is another key. */
static size_t number_of(const char *key, const char *which)
{
	size_t number, len = 0;

	return sscanf(key, "span.%zu.%zn", &number, &len) == 1 && len && !strcmp(key + len, which) ? number : 0;
}

/* There may be many: they are looked for once, in the order in which they stand there. */
size_t thinned_spans(const struct meta *m, struct kept_span **ret)
{
	struct kept_span *list = NULL;
	size_t n = 0, cap = 0;

	for (size_t i = 0; i < m->count; i++) {
		const struct meta_entry *e = &m->entries[i];

		if (number_of(e->key, "start_ns") == n + 1) {
			list = array_grow(list, n, &cap, sizeof *list);
			list[n++] = (struct kept_span){ strtoull(e->value, NULL, 10), UINT64_MAX };
		} else if (n && number_of(e->key, "stop_ns") == n) {
			list[n - 1].stop_ns = strtoull(e->value, NULL, 10);
		}
	}
	*ret = list;
	return n;
}

uint64_t thinned_left_out(const struct meta *m, const char *reason)
{
	char key[64];

	snprintf(key, sizeof key, "left_out.%s", reason);
	return meta_get_u64(m, key, 0);
}
