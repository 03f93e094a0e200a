/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "boots.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/search.h"

const char *boot_key(size_t boot, const char *key, char buffer[BOOT_KEY])
{
	if (!boot)
		return key;
	snprintf(buffer, BOOT_KEY, "boot.%zu.%s", boot, key);
	return buffer;
}

static uint64_t number(const struct meta *meta, size_t boot, const char *key, uint64_t otherwise)
{
	char buffer[BOOT_KEY];

	return meta_get_u64(meta, boot_key(boot, key, buffer), otherwise);
}

static struct boot read_boot(const struct meta *meta, size_t n)
{
	char buffer[BOOT_KEY];

	return (struct boot){
		.number = n,
		.start_ns = n ? number(meta, n, "start_ns", 0) : 0,
		.kernel_ns = number(meta, n, "kernel_ns", UINT64_MAX),
		.kernel_insns = number(meta, n, "kernel_insns", UINT64_MAX),
		.decompressor_ns = number(meta, n, "decompressor_ns", UINT64_MAX),
		.slide = number(meta, n, "slide", 0),
		/* a trace of one boot does not say so: it has one such chunk */
		.symbols = (long)number(meta, n, "symbols", n ? (uint64_t)BOOT_NO_SYMBOLS : 0),
		.kernel = meta_get(meta, boot_key(n, "kernel_banner", buffer)),
	};
}

const char *wake_key(size_t wake, const char *key, char buffer[BOOT_KEY])
{
	snprintf(buffer, BOOT_KEY, "wake.%zu.%s", wake, key);
	return buffer;
}

static int read_wakes(const struct meta *meta, struct boots *b, struct error *err)
{
	uint64_t last_ns = 0;
	char buffer[BOOT_KEY];
	size_t cap = 0;

	for (size_t n = 0; meta_get(meta, wake_key(n, "start_ns", buffer)); n++) {
		struct wake wake = {
			.sleep_ns = meta_get_u64(meta, wake_key(n, "sleep_ns", buffer), UINT64_MAX),
			.start_ns = meta_get_u64(meta, wake_key(n, "start_ns", buffer), 0),
			.kernel_ns = meta_get_u64(meta, wake_key(n, "kernel_ns", buffer), UINT64_MAX),
		};

		if (wake.sleep_ns > wake.start_ns)
			wake.sleep_ns = wake.start_ns;
		if (wake.start_ns < last_ns || wake.kernel_ns < wake.start_ns)
			return error_set(err, "wake %zu begins at %" PRIu64 " ns, before the one before it, or ends "
					 "before it begins", n, wake.start_ns);
		last_ns = wake.start_ns;
		b->wakes = array_grow(b->wakes, b->n_wakes, &cap, sizeof *b->wakes);
		b->wakes[b->n_wakes++] = wake;
	}
	return 0;
}

/* How many of the wakes begin up to then. */
static size_t wakes_until(const struct boots *b, uint64_t ns)
{
	return first_not(i, 0, b->n_wakes, b->wakes[i].start_ns <= ns);
}

const struct wake *boots_wake_at(const struct boots *b, uint64_t ns)
{
	size_t n = wakes_until(b, ns);
	const struct wake *last = n ? &b->wakes[n - 1] : NULL;

	/* one that never led to the kernel ends with the boot */
	return last && ns < last->kernel_ns && b->list[boots_at(b, ns)].start_ns <= last->start_ns ? last : NULL;
}

bool boots_slept(const struct boots *b, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t asleep = 0;

	for (size_t i = wakes_until(b, from_ns); i < b->n_wakes && b->wakes[i].sleep_ns < to_ns; i++) {
		uint64_t from = b->wakes[i].sleep_ns > from_ns ? b->wakes[i].sleep_ns : from_ns;

		asleep += (b->wakes[i].start_ns < to_ns ? b->wakes[i].start_ns : to_ns) - from;
	}
	return asleep > (to_ns - from_ns) / 2;
}

static bool is_there(const struct meta *meta, size_t n)
{
	char buffer[BOOT_KEY];

	return !n || meta_get(meta, boot_key(n, "start_ns", buffer));
}

static bool is_only_firmware(const struct boot *b)
{
	return b->kernel_ns == UINT64_MAX && b->decompressor_ns == UINT64_MAX;
}

int boots_init(struct boots *ret, const struct meta *meta, struct error *err)
{
	struct boots b = { 0 };
	uint64_t last_ns = 0;
	size_t cap = 0;

	for (size_t n = 0; is_there(meta, n); n++) {
		struct boot boot = read_boot(meta, n);

		if (n && boot.start_ns <= last_ns) {
			error_set(err, "boot %zu begins at %" PRIu64 " ns, before the one before it", n, boot.start_ns);
			boots_deinit(&b);
			return -1;
		}
		last_ns = boot.start_ns;
		if (n && is_only_firmware(&b.list[b.count - 1]))
			boot.start_ns = b.list[--b.count].start_ns;
		b.list = array_grow(b.list, b.count, &cap, sizeof *b.list);
		b.list[b.count++] = boot;
	}
	if (read_wakes(meta, &b, err) < 0) {
		boots_deinit(&b);
		return -1;
	}
	*ret = b;
	return 0;
}

void boots_deinit(struct boots *b)
{
	free(b->list);
	free(b->wakes);
	*b = (struct boots){ 0 };
}

size_t boots_at(const struct boots *b, uint64_t ns)
{
	size_t low = first_not(i, 1, b->count, b->list[i].start_ns <= ns);

	return low - 1;
}
