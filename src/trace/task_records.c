/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "task_records.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "text.h"

void task_record_put(struct buf *out, const struct task_record *r)
{
	buf_put_u8(out, (uint8_t)r->change);
	buf_put_varint(out, r->cpu);
	buf_put_varint(out, r->ns);
	buf_put_varint(out, r->insns);
	buf_put_varint(out, r->task);
	buf_put_varint(out, r->maker);
	buf_put_varint(out, r->mm);
	buf_put_svarint(out, r->pid);
	buf_put_svarint(out, r->tgid);
	buf_put_svarint(out, r->ppid);
	buf_put_str(out, r->comm, strlen(r->comm));
	buf_put_str(out, r->exe, strlen(r->exe));
}

static void decode(struct cursor *in, struct task_record *r)
{
	r->change = cursor_u8(in);
	r->cpu = (uint32_t)cursor_varint(in);
	r->ns = cursor_varint(in);
	r->insns = cursor_varint(in);
	r->task = cursor_varint(in);
	r->maker = cursor_varint(in);
	r->mm = cursor_varint(in);
	r->pid = (int32_t)cursor_svarint(in);
	r->tgid = (int32_t)cursor_svarint(in);
	r->ppid = (int32_t)cursor_svarint(in);
	r->comm = take_string(in);
	r->exe = take_string(in);
}

int task_records_decode(struct cursor *in, size_t max, struct task_records *ret, struct error *err)
{
	while (cursor_left(in) && !in->bad) {
		struct task_record *r;

		if (!max--)
			return error_set(err, "more tasks than so few bytes can hold");
		ret->records = array_grow(ret->records, ret->count, &ret->cap, sizeof *ret->records);
		r = &ret->records[ret->count++];
		*r = (struct task_record){ 0 };
		decode(in, r);
		if (r->change < TASK_SEEN || r->change >= TASK_CHANGES)
			in->bad = true;
	}
	return in->bad ? error_set(err, "damaged tasks") : 0;
}

void task_records_deinit(struct task_records *r)
{
	for (size_t i = 0; i < r->count; i++) {
		free((char *)r->records[i].comm);
		free((char *)r->records[i].exe);
	}
	free(r->records);
	*r = (struct task_records){ 0 };
}

uint8_t *task_records_named(const struct task_records *r)
{
	uint8_t *ret = xcalloc(r->count + 1, sizeof *ret);
	struct map last = { 0 }; /* task_struct → number of its last record + 1 */

	for (size_t i = 0; i < r->count; i++) {
		const struct task_record *t = &r->records[i];
		uint64_t *number = map_put(&last, t->task, 0);
		const struct task_record *before = *number ? &r->records[*number - 1] : NULL;

		if (t->change == TASK_EXEC)
			ret[i] = TASK_NAMED_BY_EXEC;
		else if (t->change == TASK_NAME && t->mm && t->pid == t->tgid && before && before->pid == t->pid &&
			 strcmp(before->comm, t->comm) != 0)
			ret[i] = TASK_NAMED_ANEW;
		*number = i + 1;
	}
	map_free(&last);
	return ret;
}
