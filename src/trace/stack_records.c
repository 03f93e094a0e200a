/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stack_records.h"

#include <stdlib.h>

#include "base/alloc.h"

static bool has_number(const struct stack_call *c)
{
	return c->kind == STACK_INTERRUPT || c->kind == STACK_SYSCALL;
}

void stack_call_put(struct buf *out, const struct stack_call *c)
{
	buf_put_u8(out, (uint8_t)c->kind);
	buf_put_varint(out, c->slot);
	buf_put_varint(out, c->from);
	buf_put_varint(out, c->target);
	buf_put_varint(out, c->ns);
	if (has_number(c))
		buf_put_varint(out, c->number);
}

void stack_record_put(struct buf *out, const struct stack_record *r)
{
	buf_put_varint(out, r->gap);
	buf_put_varint(out, r->task);
	buf_put_varint(out, r->since_ns + 1);
	buf_put_varint(out, r->on);
	buf_put_varint(out, r->place);
	buf_put_varint(out, r->n_calls);
}

static void decode_call(struct cursor *in, struct stack_call *c)
{
	c->kind = cursor_u8(in);
	c->slot = cursor_varint(in);
	c->from = cursor_varint(in);
	c->target = cursor_varint(in);
	c->ns = cursor_varint(in);
	if (c->kind < STACK_BASE || c->kind >= STACK_CALL_KINDS)
		in->bad = true;
	else if (has_number(c))
		c->number = cursor_varint(in);
}

static void decode(struct cursor *in, struct stack_record *r)
{
	uint64_t n;

	r->gap = cursor_varint(in);
	r->task = cursor_varint(in);
	r->since_ns = cursor_varint(in) - 1;
	r->on = (unsigned)cursor_varint(in);
	r->place = cursor_varint(in);
	n = cursor_varint(in);
	if (in->bad || n > cursor_left(in)) {
		in->bad = true;
		return;
	}
	r->calls = xcalloc(n, sizeof *r->calls);
	while (r->n_calls < n && !in->bad)
		decode_call(in, &r->calls[r->n_calls++]);
}

int stack_records_decode(struct cursor *in, struct stack_records *ret, struct error *err)
{
	while (cursor_left(in) && !in->bad) {
		ret->records = array_grow(ret->records, ret->count, &ret->cap, sizeof *ret->records);
		ret->records[ret->count] = (struct stack_record){ 0 };
		decode(in, &ret->records[ret->count++]);
		if (ret->count > 1 && ret->records[ret->count - 1].gap < ret->records[ret->count - 2].gap)
			in->bad = true;
	}
	return in->bad ? error_set(err, "damaged stacks") : 0;
}

void stack_records_deinit(struct stack_records *r)
{
	for (size_t i = 0; i < r->count; i++)
		free(r->records[i].calls);
	free(r->records);
	*r = (struct stack_records){ 0 };
}
