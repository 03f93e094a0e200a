/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe_events.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "event_read.h"
#include "probes/probe_record.h"

/* A place that was armed once. */
struct named {
	char *name;
	bool is_told;
	uint32_t number;
	uint64_t format; /* its hash: with another kernel the same definition may read other types */
};

static struct {
	struct map taken; /* hash of a name → how many wanted it */
	struct map seen;  /* hash of a place → how many are alike, since places were looked for anew */
	struct map at;    /* hash of a place and how many were alike before it → number in `list` + 1 */
	struct named *list;
	size_t count, cap;
} events;

void probe_events_begin(void)
{
	map_free(&events.seen);
}

/* "vfs_read", and of the next ones "vfs_read_1" … The caller frees it. */
static char *own_name(const struct probed_place *p)
{
	cleanup_free char *name = probe_event_name(p->definition, p->function);
	uint64_t *count = map_put(&events.taken, hash_text(hash_text(0, probe_group_name(p->definition)), name), 0);
	char *ret = *count ? xasprintf("%s_%u", name, (unsigned)*count) : xstrdup(name);

	++*count;
	return ret;
}

/* Functions of one name are told apart by their order. */
static struct named *named_as(const struct probed_place *p)
{
	uint64_t place = hash_text(hash_text(hash64((uintptr_t)p->definition), p->module), p->function);
	uint64_t alike = (*map_put(&events.seen, place, 0))++, *at = map_put(&events.at, hash64(place + alike), 0);

	if (!*at) {
		events.list = array_grow(events.list, events.count, &events.cap, sizeof *events.list);
		events.list[events.count] = (struct named){ .name = own_name(p) };
		*at = ++events.count;
	}
	return &events.list[*at - 1];
}

uint32_t probe_event(const struct probed_place *p, const struct probe_values *values, struct buf *lines)
{
	struct named *n = named_as(p);
	struct buf text = { 0 };
	uint64_t format;

	probe_format_put(values, probe_group_name(p->definition), n->name, p->returns, &text);
	format = hash_bytes(0, text.data, text.len);
	if (n->is_told && n->format == format) {
		buf_free(&text);
		return n->number;
	}
	*n = (struct named){ .name = n->name, .is_told = true, .number = event_number_new(), .format = format };
	event_format_tell(n->number, &text, lines);
	return n->number;
}
