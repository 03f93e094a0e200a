/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What stands beside a trace. The first byte says what the rest is:
 *   odd    a checkpoint, that replay goes on from, and what its frames' callees ran
 *   even   an index's table, unpacked; or, with bit 1, the whole file
 */
#include "fuzz.h"

#include <unistd.h>

#include "base/alloc.h"
#include "base/crc32.h"
#include "base/file.h"
#include "replay/fold.h"
#include "replay/index.h"
#include "trace/writer.h"

/* As in replay/index.c. */
struct header {
	char magic[8];
	uint32_t version, table_stored, table_unpacked, crc;
	uint64_t trace_size, table_offset;
};

static struct reader *open_trace(char *path)
{
	struct chunk_header meta = { .type = CHUNK_META }, tail = { .type = CHUNK_END };
	struct buf text = { 0 };
	struct reader *r;
	struct writer w;
	struct error err;
	int fd = mkstemp(path);

	must(fd >= 0 && writer_init(&w, fd) == 0);
	buf_printf(&text, "vcpus=1\n");
	must(writer_put(&w, &meta, &text, 1) == 0 && writer_put(&w, &tail, &text, 1) == 0);
	writer_deinit(&w);
	buf_free(&text);
	close(fd);
	must(reader_open(path, &r, &err) == 0);
	return r;
}

static void write_index(const char *path, const struct reader *r, const uint8_t *data, size_t size, bool whole)
{
	struct header h = {
		.magic = "\x89uptoidx", .version = INDEX_VERSION, .table_unpacked = (uint32_t)size,
		.trace_size = r->size,
	};
	size_t bound = ZSTD_compressBound(size);
	uint8_t *packed = xmalloc(bound);
	FILE *f = fopen(path, "w");

	h.crc = crc32_of(&r->chunks[r->n_chunks - 1].header, sizeof(struct chunk_header));
	h.table_offset = sizeof h;
	h.table_stored = (uint32_t)ZSTD_compress(packed, bound, data, size, 1);
	must(f != NULL);
	if (whole) {
		fwrite(data, 1, size, f);
	} else {
		fwrite(&h, 1, sizeof h, f);
		fwrite(packed, 1, h.table_stored, f);
	}
	fclose(f);
	free(packed);
}

static void use(struct index *x, const struct names *names)
{
	bool *marks = xcalloc(names_count(names), sizeof *marks);
	struct callees callees;
	struct checkpoint c;

	for (size_t i = 0; x && i < x->count && i < 16; i++) {
		must(index_at(x, x->entries[i].ns) >= i);
		must(!index_has(x, i, marks));
		if (index_checkpoint(x, i, &c))
			index_callees(x, i, i, &callees);
	}
	free(marks);
	index_free(x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct stacks_visitor none = { 0 };
	static const struct fold folds = { .depth = 1 };
	char path[] = "/tmp/fuzz-index-XXXXXX", beside[64];
	struct threads threads;
	struct stacks stacks;
	struct reader *r;
	struct names names;
	struct error err;

	if (!size)
		return 0;
	r = open_trace(path);
	snprintf(beside, sizeof beside, "%s.index", path);
	must(names_init(&names, r, &err) == 0);
	threads_init(&threads, r);
	if (data[0] & 1) {
		struct guarded g = guarded_copy(data + 1, size - 1, 1);
		struct checkpoint from = { .data = g.data, .len = size - 1 };
		struct callees callees;

		stacks_replay(&stacks, &(struct session){ .reader = r, .names = &names, .threads = &threads }, &from,
			      UINT64_MAX, &none, NULL, &err);
		stacks_deinit(&stacks);
		stacks_replay(&stacks,
			      &(struct session){ .reader = r, .names = &names, .threads = &threads, .fold = &folds },
			      &from, UINT64_MAX, &none, NULL, &err);
		stacks_deinit(&stacks);
		callees_find(cursor_over(g.data, size - 1), 0, 2, &callees);
		guarded_free(&g);
	} else {
		write_index(beside, r, data + 1, size - 1, data[0] & 2);
		use(index_open(r, &names), &names);
		unlink(beside);
	}
	threads_deinit(&threads);
	names_deinit(&names);
	reader_free(r);
	unlink(path);
	return 0;
}
