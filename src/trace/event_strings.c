/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event_strings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "boots.h"

struct strings {
	struct event_strings *all;
	size_t cap;
	struct map at; /* address → number + 1 */
};

void event_string_put(struct buf *out, uint64_t addr, const char *text)
{
	if (!strchr(text, '\n'))
		buf_printf(out, "0x%" PRIx64 " %s\n", addr, text);
}

static void add(struct strings *s, uint64_t addr, char *text)
{
	uint64_t *at = map_put(&s->at, addr, 0);
	char **known = *at ? &s->all->list[*at - 1].text : NULL;

	if (!known) {
		s->all->list = array_grow(s->all->list, s->all->count, &s->cap, sizeof *s->all->list);
		s->all->list[s->all->count++] = (struct event_string){ addr, text };
		*at = s->all->count;
		return;
	}
	if (*known && strcmp(*known, text)) {
		free(*known);
		*known = NULL;
	}
	free(text);
}

static int read_boot(struct strings *s, const char *key, const char *value, struct error *err)
{
	for (size_t n; *value; value += n + 1) {
		char *end;
		uint64_t addr = strtoull(value, &end, 16);

		n = strcspn(value, "\n");
		if (end == value || end >= value + n || *end != ' ' || value[n] != '\n')
			return error_set(err, "%s: no text of a trace event", key);
		add(s, addr, xstrndup(end + 1, (size_t)(value + n - end - 1)));
	}
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct event_string *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

int event_strings_read(const struct meta *meta, struct event_strings *ret, struct error *err)
{
	struct strings s = { .all = ret };
	int r = 0;

	*ret = (struct event_strings){ 0 };
	for (size_t boot = 0; r == 0; boot++) {
		char start[BOOT_KEY], buffer[BOOT_KEY];
		const char *key, *value;

		if (boot && !meta_get(meta, boot_key(boot, "start_ns", start)))
			break;
		key = boot_key(boot, "event_strings", buffer);
		value = meta_get(meta, key);
		r = value ? read_boot(&s, key, value, err) : 0;
	}
	map_free(&s.at);
	if (ret->count)
		qsort(ret->list, ret->count, sizeof *ret->list, by_address);
	return r;
}

const char *event_strings_find(const struct event_strings *s, uint64_t addr)
{
	struct event_string key = { .addr = addr }, *found;

	found = s->count ? bsearch(&key, s->list, s->count, sizeof *s->list, by_address) : NULL;
	return found ? found->text : NULL;
}

void event_strings_deinit(struct event_strings *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->list[i].text);
	free(s->list);
	*s = (struct event_strings){ 0 };
}
