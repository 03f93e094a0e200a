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
	const char *all = thinned_by(m) ? thinned_by(m) : "", *start = NULL, *end, *then;

	/* of a trace that was cut again, what that began with */
	for (const char *at = all; (at = strstr(at, option)); start = at)
		at += strlen(option);
	if (!start)
		return xstrdup(all);
	end = strstr(start, " --");
	then = strstr(start, ", then ");
	if (then && (!end || then < end))
		end = then;
	return xstrndup(start, end ? (size_t)(end - start) : strlen(start));
}

size_t thinned_spans(const struct meta *m, struct kept_span **ret)
{
	struct kept_span *list = NULL;
	size_t n = 0, cap = 0;

	for (;; n++) {
		char start[48], stop[48];

		snprintf(start, sizeof start, "span.%zu.start_ns", n + 1);
		snprintf(stop, sizeof stop, "span.%zu.stop_ns", n + 1);
		if (!meta_get(m, start))
			break;
		list = array_grow(list, n, &cap, sizeof *list);
		list[n] = (struct kept_span){ meta_get_u64(m, start, 0), meta_get_u64(m, stop, UINT64_MAX) };
	}
	*ret = list;
	return n;
}

bool thinned_is_filtered(const struct meta *m)
{
	const char *filtered = meta_get(m, "filtered");

	return filtered && !strcmp(filtered, "yes");
}

uint64_t thinned_left_out(const struct meta *m, const char *reason)
{
	char key[64];

	snprintf(key, sizeof key, "left_out.%s", reason);
	return meta_get_u64(m, key, 0);
}

uint64_t thinned_from(const struct meta *m, uint64_t ns, uint64_t from_ns)
{
	struct kept_span *spans;
	size_t n = thinned_spans(m, &spans);

	for (size_t i = 0; i < n && spans[i].start_ns < ns; i++)
		if (spans[i].start_ns > from_ns)
			from_ns = spans[i].start_ns;
	free(spans);
	return from_ns;
}

bool *thinned_threads(const struct meta *m, size_t n)
{
	const char *list = meta_get(m, "threads");
	bool *ret = list ? xcalloc(n + 1, sizeof *ret) : NULL;
	char *end;

	for (; list && *list; list = *end == ',' ? end + 1 : "") {
		unsigned long long first = strtoull(list, &end, 10), last = first;

		if (*end == '-')
			last = strtoull(end + 1, &end, 10);
		for (; first <= last && first < n; first++)
			ret[first] = true;
	}
	return ret;
}

void thinned_put_threads(struct buf *lines, const bool *threads, size_t n)
{
	struct buf list = { 0 };

	for (size_t i = 0, last; i < n; i = last + 1) {
		last = i;
		if (!threads[i])
			continue;
		while (last + 1 < n && threads[last + 1])
			last++;
		buf_printf(&list, last == i ? "%s%zu" : "%s%zu-%zu", list.len ? "," : "", i, last);
	}
	buf_put_u8(&list, 0);
	meta_put(lines, "threads", (char *)list.data);
	buf_free(&list);
}
