/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "boots.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"

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
	*ret = b;
	return 0;
}

void boots_deinit(struct boots *b)
{
	free(b->list);
	*b = (struct boots){ 0 };
}

size_t boots_at(const struct boots *b, uint64_t ns)
{
	size_t low = 1, high = b->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (b->list[mid].start_ns <= ns)
			low = mid + 1;
		else
			high = mid;
	}
	return low - 1;
}
