/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "instrument_dump.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "libupto/upto_instrument.h"

enum { MAGIC = sizeof UPTO_INSTRUMENT_MAGIC - 1, TIMES = 8 };

/* A head, and the memory behind it. */
struct dump {
	const uint8_t *head;
	bool swapped; /* numbers are in the other order of bytes */
	unsigned address_size;
	uint32_t call_size, calls_at, count, used, ticks_per_us, min_us, flags;
};

static uint64_t number(const struct dump *d, const uint8_t *at, size_t bytes)
{
	uint64_t n = 0;

	for (size_t i = 0; i < bytes; i++)
		n |= (uint64_t)at[d->swapped ? bytes - 1 - i : i] << 8 * i;
	return n;
}

#define FIELD(d, name)                                                     \
	number(d, (d)->head + offsetof(struct upto_instrument_head, name), \
	       sizeof(((struct upto_instrument_head *)NULL)->name))

/* Can it be one? Memory may have anything. */
static bool is_head(const uint8_t *at, size_t len, struct dump *ret)
{
	uint16_t order;

	*ret = (struct dump){ .head = at };
	if (len < sizeof(struct upto_instrument_head) || memcmp(at, UPTO_INSTRUMENT_MAGIC, MAGIC))
		return false;
	order = (uint16_t)FIELD(ret, order);
	ret->swapped = order == __builtin_bswap16(UPTO_INSTRUMENT_ORDER);
	ret->address_size = (unsigned)FIELD(ret, address_size);
	ret->call_size = (uint32_t)FIELD(ret, call_size);
	ret->calls_at = (uint32_t)FIELD(ret, calls_at);
	ret->count = (uint32_t)FIELD(ret, count);
	ret->used = (uint32_t)FIELD(ret, used);
	ret->ticks_per_us = (uint32_t)FIELD(ret, ticks_per_us);
	ret->min_us = (uint32_t)FIELD(ret, min_us);
	ret->flags = (uint32_t)FIELD(ret, flags);
	return (order == UPTO_INSTRUMENT_ORDER || ret->swapped) && FIELD(ret, version) == UPTO_INSTRUMENT_VERSION &&
	       (ret->address_size == 4 || ret->address_size == 8) &&
	       ret->call_size == 2 * ret->address_size + 2 * TIMES && ret->ticks_per_us && ret->count &&
	       ret->calls_at >= sizeof(struct upto_instrument_head) && ret->calls_at <= len &&
	       (len - ret->calls_at) / ret->call_size >= ret->count;
}

bool instrument_dump_find(const void *data, size_t len, size_t *ret_at)
{
	const uint8_t *begin = data, *end = begin + len, *at = len ? begin : NULL;
	struct dump d;

	while (at && (at = memmem(at, (size_t)(end - at), UPTO_INSTRUMENT_MAGIC, MAGIC))) {
		if (is_head(at, (size_t)(end - at), &d)) {
			*ret_at = (size_t)(at - begin);
			return true;
		}
		at++;
	}
	return false;
}

/* What the function at an address is called; *ret_offset: how far behind its begin that is. */
static uint32_t name_of(struct kfi_log *log, const struct symbol_map *map, uint64_t address, uint64_t *ret_offset)
{
	const char *name = map ? symbol_map_at(map, address, ret_offset) : NULL;
	char text[24];

	if (!name) {
		snprintf(text, sizeof text, "0x%" PRIx64, address);
		name = text;
		*ret_offset = 0;
	}
	return name_table_put(&log->names, name, strlen(name));
}

/* False: it is more than a trace can have. */
static bool ns_of(const struct dump *d, uint64_t ticks, uint64_t *ret)
{
	unsigned __int128 ns = (unsigned __int128)ticks * 1000 / d->ticks_per_us;

	*ret = (uint64_t)ns;
	return ns <= INT64_MAX;
}

static struct kfi_number some(uint64_t n)
{
	return (struct kfi_number){ true, n };
}

static struct kfi_moment moment(const struct dump *d, struct kfi_log *log, const struct symbol_map *map, uint64_t by,
				bool is_exit, uint64_t ticks)
{
	uint64_t offset;

	if (!by)
		return (struct kfi_moment){ .by = KFI_BY_SYSTEM_CALL, .at_us = ticks / d->ticks_per_us };
	return (struct kfi_moment){
		.by = is_exit ? KFI_BY_EXIT : KFI_BY_ENTRY,
		.at_us = ticks / d->ticks_per_us,
		.function = name_of(log, map, by, &offset),
	};
}

static void read_header(const struct dump *d, const struct symbol_map *map, struct kfi_log *log)
{
	struct kfi_header *h = &log->header;
	uint64_t began = FIELD(d, began);

	h->start = moment(d, log, map, FIELD(d, started_by), d->flags & UPTO_STARTED_BY_EXIT, began);
	if (d->flags & UPTO_STOPPED) {
		h->stop = moment(d, log, map, FIELD(d, stopped_by), d->flags & UPTO_STOPPED_BY_EXIT,
				 began + FIELD(d, ended));
		if (!FIELD(d, stopped_by) && d->used == d->count && !(d->flags & UPTO_RING))
			h->stop.by = KFI_BY_LOG_FULL;
	}
	if (d->min_us) {
		h->filters[KFI_MIN_TIME] = some(d->min_us);
		h->counters[KFI_TIME_FILTERED] = h->counters[KFI_ALL_FILTERED] = some(FIELD(d, too_short));
	}
	h->counters[KFI_NOT_FOUND] = some(FIELD(d, not_found) + FIELD(d, in_hook));
}

/* 1: a call; 0: one that was left out; -1: no such thing can be there. `all_ns`: of calls so far. */
static int read_call(const struct dump *d, const uint8_t *at, const struct symbol_map *map, struct kfi_log *log,
		     uint64_t *all_ns, struct kfi_call *ret)
{
	uint64_t function = number(d, at, d->address_size), caller = number(d, at + d->address_size, d->address_size),
		 ticks = number(d, at + 2 * d->address_size + TIMES, TIMES), took = 0, offset;

	*ret = (struct kfi_call){ .no_exit = ticks == UPTO_NO_END };
	if (!function)
		return 0;
	if (!ns_of(d, number(d, at + 2 * d->address_size, TIMES), &ret->entry_ns) ||
	    (!ret->no_exit && !ns_of(d, ticks, &took)) || took > INT64_MAX - ret->entry_ns ||
	    took > INT64_MAX - *all_ns)
		return -1;
	*all_ns += took;
	ret->duration_ns = (int64_t)took;
	ret->function = name_of(log, map, function, &offset);
	ret->caller = name_of(log, map, caller, &ret->offset);
	ret->from = map && symbol_map_at(map, caller, &offset) ? ret->caller : KFI_UNKNOWN;
	return 1;
}

int instrument_dump_read(const char *path, const void *data, size_t len, size_t begin, const struct symbol_map *map,
			 struct kfi_log *ret, struct error *err)
{
	const uint8_t *head = (const uint8_t *)data + begin;
	uint64_t all_ns = 0;
	struct dump d;
	uint32_t first;

	*ret = (struct kfi_log){ 0 };
	if (!is_head(head, len - begin, &d))
		return error_set(err, "%s: no calls of upto_instrument at %zu", path, begin);
	read_header(&d, map, ret);
	first = d.used > d.count ? d.used - d.count : 0;
	for (uint32_t n = first; n < d.used; n++) {
		const uint8_t *at = head + d.calls_at + (size_t)(n % d.count) * d.call_size;
		struct kfi_call call;
		int is = read_call(&d, at, map, ret, &all_ns, &call);

		if (is < 0 || ret->n == KFI_ROWS_MAX)
			return error_set(err, "%s: at %zu: call %" PRIu32 ": no times that a log has: it is damaged",
					 path, (size_t)(at - (const uint8_t *)data), n);
		if (is)
			kfi_log_add(ret, &call);
	}
	ret->header.counters[KFI_LEFT] = some(ret->n);
	kfi_log_sort(ret);
	return 0;
}
