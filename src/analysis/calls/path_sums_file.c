/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "path_sums_file.h"

#include "base/alloc.h"
#include "path_sums_made.h"
#include "replay/kept_file.h"

enum { ROOT = 0, CUTS_MAX = 1 << 16 };

static const struct kept_file kept = { ".sums", "\x89uptosum", PATH_SUMS_VERSION };

void path_sums_encode(const struct path_sums *p, struct buf *out)
{
	buf_put_varint(out, p->n_cuts);
	for (size_t i = 0; i < p->n_cuts; i++)
		buf_put_varint(out, p->cuts[i] - (i ? p->cuts[i - 1] : 0));
	buf_put_varint(out, p->insns);
	buf_put_varint(out, p->ns);
	buf_put_varint(out, p->count);
	for (size_t i = 1; i < p->count; i++) {
		buf_put_varint(out, i - p->paths[i].parent);
		buf_put_varint(out, p->paths[i].function);
		buf_put_varint(out, p->paths[i + 1].at - p->paths[i].at);
	}
	buf_put(out, p->records.data, p->records.len);
}

/* Below the root is what calls are told apart by, and nowhere else. */
static bool is_function(uint64_t function, bool below_root, size_t functions, uint32_t whose)
{
	return below_root ? function >= CALL_TREE_WHOSE && function - CALL_TREE_WHOSE < whose : function < functions;
}

static void take_paths(struct cursor *in, size_t functions, uint32_t whose, struct path_sums *p)
{
	uint64_t at = 0;

	for (size_t i = 1; i < p->count && !in->bad; i++) {
		uint64_t up = cursor_varint(in), function = cursor_varint(in), bytes = cursor_varint(in);

		in->bad |=
			!up || up > i || bytes > cursor_left(in) || !is_function(function, up == i, functions, whose);
		p->paths[i] = (struct path){ .parent = (uint32_t)(i - up), .function = (uint32_t)function, .at = at };
		at += bytes;
	}
	p->paths[p->count].at = at;
	in->bad |= at != cursor_left(in);
}

int path_sums_decode(struct cursor *in, size_t functions, uint32_t whose, struct path_sums **ret, struct error *err)
{
	struct path_sums *p = xcalloc(1, sizeof *p);
	uint64_t n = cursor_varint(in), ns = 0, count;

	in->bad |= n > CUTS_MAX || n > cursor_left(in);
	p->cuts = xcalloc(in->bad ? 1 : n + 1, sizeof *p->cuts);
	for (; !in->bad && p->n_cuts < n; p->n_cuts++)
		p->cuts[p->n_cuts] = ns += cursor_varint(in);
	p->insns = cursor_varint(in);
	p->ns = cursor_varint(in);
	count = cursor_varint(in);
	in->bad |= !count || count > cursor_left(in) + 1 || count > UINT32_MAX - 1;
	p->count = in->bad ? 1 : count;
	p->paths = xcalloc(p->count + 1, sizeof *p->paths);
	take_paths(in, functions, whose, p);
	if (in->bad) {
		path_sums_free(p);
		return error_set(err, "damaged sums of paths");
	}
	buf_put(&p->records, in->p, cursor_left(in));
	*ret = p;
	return 0;
}

int path_sums_open(const struct session *session, const struct call_tree_apart *apart, bool keep,
		   struct path_sums **ret, struct error *err)
{
	struct buf data;
	int r = -1;

	if (kept_file_load(&kept, session, &data)) {
		struct cursor in = cursor_over(data.data, data.len);
		struct error ignored;

		r = path_sums_decode(&in, names_count(session->names), apart->count, ret, &ignored);
	}
	buf_free(&data);
	if (r == 0)
		return 0;
	if (path_sums_make(session, apart, ret, err) < 0)
		return -1;
	if (keep) {
		path_sums_encode(*ret, &data);
		kept_file_store(&kept, session, &data);
		buf_free(&data);
	}
	return 0;
}
