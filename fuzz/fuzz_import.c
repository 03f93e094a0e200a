/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `upto import` reads: a text trace, read whole or in two pieces, has the same blocks; and a trace that was made
 * of any log is one that `upto check` accepts.
 */
#include "made_check.h"

#include <unistd.h>

#include "import/block_lines.h"
#include "import/import.h"

struct sum {
	uint64_t blocks, hash;
};

static int add_piece(struct block_lines *lines, const char *at, const char *end, bool last, struct sum *sum,
		     const char **ret_at)
{
	struct block block;
	struct error err;
	int r;

	while ((r = block_lines_next(lines, &at, end, last, &block, &err)) > 0) {
		must(block.place->function < BLOCK_FIRST_FUNCTION + lines->places.n_functions);
		sum->blocks++;
		sum->hash = hash64(sum->hash ^ block.ns) + hash64(block.place->address ^ block.place->function);
	}
	if (r < 0)
		must(!strncmp(err.text, "log:", 4));
	*ret_at = at;
	return r;
}

static struct sum read_lines(const char *data, size_t size, size_t first)
{
	struct block_lines lines = { .path = "log" };
	const char *at = data;
	struct sum sum = { 0 };

	if (add_piece(&lines, data, data + first, false, &sum, &at) == 0)
		add_piece(&lines, at, data + size, true, &sum, &at);
	block_lines_deinit(&lines);
	return sum;
}

static void import(const uint8_t *data, size_t size)
{
	int in = memfd_create("log", MFD_CLOEXEC), out = memfd_create("trace", MFD_CLOEXEC), r;
	struct imported imported;
	struct writer w;
	struct error err;

	must(in >= 0 && out >= 0 && write(in, data, size) == (ssize_t)size && lseek(in, 0, SEEK_SET) == 0);
	must(writer_init(&w, out) == 0);
	r = import_log(in, "log", NULL, &(struct builder_sink){ .put = made_put, .context = &w }, &imported, &err);
	writer_deinit(&w);
	if (r == 0)
		made_check(out, 0, false);
	else
		must(!strncmp(err.text, "log:", 4));
	close(in);
	close(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct guarded g = guarded_copy(data, size, 1);
	const char *text = (char *)g.data;
	struct sum whole = read_lines(text, size, size), pieces = read_lines(text, size, size / 2);

	must(whole.blocks == pieces.blocks && whole.hash == pieces.hash);
	block_lines_are_those(text, size);
	guarded_free(&g);
	import(data, size);
	return 0;
}
