/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "calls_blocks.h"

bool calls_blocks_are_those(const void *data, size_t len)
{
	return len >= sizeof(struct calls_header) && !memcmp(data, CALLS_MAGIC, sizeof CALLS_MAGIC - 1);
}

int calls_blocks_init(struct calls_blocks *b, const void *data, size_t len, const char *path, struct error *err)
{
	struct calls_header h = { 0 };

	*b = (struct calls_blocks){ .in = cursor_over(data, len) };
	if (len >= sizeof h)
		memcpy(&h, cursor_take(&b->in, sizeof h), sizeof h);
	if (h.order != CALLS_ORDER)
		return error_set(err, "%s: was written by a machine of another byte order, which is not read", path);
	if (h.version != CALLS_VERSION)
		return error_set(err, "%s: is of version %u; this upto reads version %d", path, h.version,
				 CALLS_VERSION);
	b->pid = h.pid;
	return 0;
}

bool calls_blocks_next(struct calls_blocks *b, struct calls_block_found *ret)
{
	struct calls_block head;
	const void *payload;

	if (!cursor_left(&b->in) || b->why_cut)
		return false;
	if (cursor_left(&b->in) < sizeof head) {
		b->why_cut = "it ends within a block";
		return false;
	}
	memcpy(&head, cursor_take(&b->in, sizeof head), sizeof head);
	if (head.magic != CALLS_BLOCK || head.number != b->next) {
		b->why_cut = "a block is damaged, or missing";
		b->is_damaged = true;
		return false;
	}
	payload = cursor_take(&b->in, head.bytes);
	if (!payload && head.bytes) {
		b->why_cut = "it ends within a block";
		return false;
	}
	b->next++;
	*ret = (struct calls_block_found){ .kind = head.kind, .payload = cursor_over(payload, head.bytes) };
	return true;
}

bool calls_decoder_begin(struct calls_decoder *d, struct cursor payload, unsigned shift)
{
	const void *head = cursor_take(&payload, sizeof d->head);

	if (!head)
		return false;
	memcpy(&d->head, head, sizeof d->head);
	d->in = payload;
	memset(&d->model, 0, sizeof d->model);
	d->shift = shift;
	d->time = d->head.ticks >> shift;
	d->left = d->head.events;
	return true;
}

static void put_unwound(struct calls_decoder *d, struct calls_event *ret)
{
	uint64_t n = cursor_varint(&d->in);

	*ret = (struct calls_event){ .kind = CALLS_UNWOUND, .ticks = d->time << d->shift, .calls = n };
	if (n)
		d->model.last = 0;
	d->model.depth -= n < d->model.depth ? (unsigned)n : d->model.depth;
	d->left--;
}

static uint64_t other_function(struct calls_decoder *d)
{
	uint64_t n = cursor_varint(&d->in);

	d->model.last_other += n & 1 ? ~(n >> 1) : n >> 1;
	return d->model.last_other;
}

bool calls_decoder_next(struct calls_decoder *d, struct calls_event *ret)
{
	uint8_t token = d->left ? cursor_u8(&d->in) : 0;
	bool ends = token & CALLS_EXIT;

	if (!d->left || d->in.bad)
		return false;
	if ((token & CALLS_TIME) == CALLS_UNWIND) {
		put_unwound(d, ret);
		return !d->in.bad;
	}
	d->time += token & CALLS_TIME;
	if ((token & CALLS_TIME) == CALLS_LONG)
		d->time += cursor_varint(&d->in);
	*ret = (struct calls_event){ .kind = ends ? CALLS_ENDS : CALLS_BEGIN, .ticks = d->time << d->shift };
	ret->function = token & CALLS_OTHER ? other_function(d)
			: ends              ? calls_top(&d->model)
					    : *calls_expected(&d->model);
	if (ends) {
		calls_pop(&d->model, ret->function);
	} else {
		*calls_expected(&d->model) = ret->function;
		calls_push(&d->model, ret->function);
	}
	d->left--;
	return !d->in.bad;
}

bool calls_rest_next(const void *data, size_t len, size_t *at, struct calls_rest *ret)
{
	const struct calls_ring *r;
	uint64_t bytes;

	for (; len - *at >= sizeof *r; *at += (size_t)bytes) {
		r = (const void *)((const char *)data + *at);
		/* there was no room for a ring here, or it was just being made */
		bytes = CALLS_RING_UNIT;
		if (!r->records && bytes <= len - *at)
			continue;
		bytes = sizeof *r + (uint64_t)r->records * sizeof *r->record;
		bytes = (bytes + CALLS_RING_UNIT - 1) / CALLS_RING_UNIT * CALLS_RING_UNIT;
		if (!r->records || (r->records & (r->records - 1)) || bytes > len - *at)
			return false;
		if (r->state != CALLS_RING_USED && r->state != CALLS_RING_LEFT && r->homeless == r->homeless_told)
			continue;
		*ret = (struct calls_rest){
			.thread = r->thread,
			.tid = r->tid,
			.taken = r->taken,
			.end = r->reserved,
			.lost = r->lost - r->lost_told,
			.homeless = r->homeless - r->homeless_told,
			.records = r->record,
			.count = r->records,
		};
		*at += (size_t)bytes;
		return true;
	}
	return false;
}
