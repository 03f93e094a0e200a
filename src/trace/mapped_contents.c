/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mapped_contents.h"

#include "base/alloc.h"
#include "base/map.h"

/* What the mappings of one file have: no number so far, one number, or several. */
enum { SEVERAL = 0 };

static uint64_t mapping_key(const struct code_record *r)
{
	return hash64(r->mm) + r->start;
}

static uint64_t file_key(const struct code_record *r, const struct boots *boots)
{
	uint64_t boot = boots_at(boots, r->ns);

	return hash64(hash64(hash64(hash_text(boot, r->name) + r->device) + r->inode) + r->file_size);
}

static void take_own(const struct code_records *records, uint64_t *numbers)
{
	struct map last = { 0 }; /* mapping → its record, the last one so far */

	for (size_t i = 0; i < records->count; i++) {
		const struct code_record *r = &records->records[i];

		if (r->change == CODE_MAPPED) {
			*map_put(&last, mapping_key(r), 0) = i;
		} else if (r->change == CODE_CONTENT) {
			const uint64_t *mapped = map_get(&last, mapping_key(r));

			if (mapped)
				numbers[*mapped] = r->size;
		}
	}
	map_free(&last);
}

static void take_from_others(const struct code_records *records, const struct boots *boots, uint64_t *numbers)
{
	struct map files = { 0 }; /* file → its number, or SEVERAL */

	for (size_t i = 0; i < records->count; i++) {
		const uint64_t *known =
			numbers[i] ? map_put(&files, file_key(&records->records[i], boots), numbers[i]) : NULL;

		if (known && *known != numbers[i])
			*map_put(&files, file_key(&records->records[i], boots), 0) = SEVERAL;
	}
	for (size_t i = 0; i < records->count; i++) {
		const struct code_record *r = &records->records[i];
		const uint64_t *known =
			r->change == CODE_MAPPED && !numbers[i] ? map_get(&files, file_key(r, boots)) : NULL;

		numbers[i] = known ? *known : numbers[i];
	}
	map_free(&files);
}

uint64_t *mapped_contents(const struct code_records *records, const struct boots *boots)
{
	uint64_t *numbers = xcalloc(records->count, sizeof *numbers);

	take_own(records, numbers);
	take_from_others(records, boots, numbers);
	return numbers;
}
