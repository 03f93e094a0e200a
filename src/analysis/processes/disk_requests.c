/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "disk_requests.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "trace/thinned.h"

enum { ISSUE_REQUEST, ISSUE_OPERATION, ISSUE_SECTOR, ISSUE_BYTES }; /* numbers of ISSUE */
enum { DONE_REQUEST, DONE_ERROR, DONE_BYTES };                      /* of COMPLETE */

const char *disk_operation_name(unsigned operation)
{
	static const char *const names[] = {
		[0] = "read",
		[1] = "write",
		[2] = "flush",
		[3] = "discard",
		[5] = "secure-erase",
		[7] = "zone-append",
		[9] = "write-zeroes",
		[10] = "zone-open",
		[11] = "zone-close",
		[12] = "zone-finish",
		[13] = "zone-reset",
		[15] = "zone-reset",
		[17] = "zone-reset-all",
		[34] = "driver-in",
		[35] = "driver-out",
	};

	return operation < sizeof names / sizeof *names ? names[operation] : NULL;
}

const char *disk_error_name(unsigned error)
{
	/* block/blk-core.c, blk_errors[] */
	static const char *const names[] = {
		[1] = "operation not supported",   [2] = "timeout",
		[3] = "critical space allocation", [4] = "recoverable transport",
		[5] = "critical target",           [6] = "reservation conflict",
		[7] = "critical medium",           [8] = "protection",
		[9] = "kernel resource",           [10] = "I/O",
	};

	return error < sizeof names / sizeof *names ? names[error] : NULL;
}

static void issue(struct disk_requests *d, struct map *open, const struct fact *f)
{
	uint64_t *number = map_put(open, f->numbers[ISSUE_REQUEST], 0);
	const struct disk_request *r = *number ? &d->list[*number - 1] : NULL;

	/* its driver had no place for it, and put it back: it waits since it was issued first */
	if (r && r->end_ns == UINT64_MAX && r->operation == f->numbers[ISSUE_OPERATION] &&
	    r->sector == f->numbers[ISSUE_SECTOR] && r->bytes == f->numbers[ISSUE_BYTES])
		return;
	d->list = array_grow(d->list, d->count, &d->cap, sizeof *d->list);
	d->list[d->count++] = (struct disk_request){
		.ns = f->ns, .end_ns = UINT64_MAX, .insns = f->insns, .cpu = f->cpu, .task = f->task,
		.operation = (unsigned)f->numbers[ISSUE_OPERATION],
		.sector = f->numbers[ISSUE_SECTOR], .bytes = f->numbers[ISSUE_BYTES], .device = fact_text(f, 0),
	};
	*number = d->count;
}

/* A request may be done in parts: it ends with the last of them. One whose device wants it later is issued again. */
static void complete(struct disk_requests *d, struct map *open, uint64_t request, uint64_t ns, unsigned error,
		     uint64_t bytes)
{
	uint64_t *number = map_get(open, request);
	struct disk_request *r;

	if (!number || !*number)
		return;
	r = &d->list[*number - 1];
	r->end_ns = ns;
	if (!r->error)
		r->error = error;
	r->done = bytes > r->bytes - r->done ? r->bytes : r->done + bytes;
	if (r->done == r->bytes) /* another may come to where it was */
		*number = 0;
}

/* One, or a batch of them, which are done as a whole. */
static void complete_all(struct disk_requests *d, struct map *open, const struct fact *f)
{
	uint64_t request;

	if (!f->n_texts)
		complete(d, open, f->numbers[DONE_REQUEST], f->ns, (unsigned)f->numbers[DONE_ERROR],
			 f->numbers[DONE_BYTES]);
	for (size_t at = 0; f->n_texts && at + sizeof request <= f->lens[0]; at += sizeof request) {
		memcpy(&request, f->texts[0] + at, sizeof request);
		complete(d, open, request, f->ns, 0, UINT64_MAX);
	}
}

void disk_requests_init(struct disk_requests *ret, const struct facts *facts, const struct reader *reader)
{
	struct map open = { 0 }; /* address of a request → its number + 1; 0: it is done */
	struct kept_span *spans;
	size_t n_spans = thinned_spans(&reader->meta, &spans), span = 0, boot = 0, first;

	*ret = (struct disk_requests){ 0 };
	for (size_t i = 0; i < facts->count; i++) {
		const struct fact *f = &facts->list[i];

		for (first = span; span + 1 < n_spans && f->ns >= spans[span + 1].start_ns;)
			span++;
		if (span != first || boots_at(&reader->boots, f->ns) != boot) {
			boot = boots_at(&reader->boots, f->ns);
			map_free(&open);
			open = (struct map){ 0 };
		}
		if (f->kind == FACT_ISSUE && f->n_numbers > ISSUE_BYTES)
			issue(ret, &open, f);
		else if (f->kind == FACT_COMPLETE && f->n_numbers > DONE_BYTES)
			complete_all(ret, &open, f);
	}
	map_free(&open);
	free(spans);
}

void disk_requests_deinit(struct disk_requests *d)
{
	free(d->list);
	*d = (struct disk_requests){ 0 };
}
