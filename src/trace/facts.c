/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "facts.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/search.h"

const char *fact_kind_name(enum fact_kind kind)
{
	static const char *const names[FACT_KINDS] = {
		[FACT_WAKE] = "wake",         [FACT_LOG] = "log",
		[FACT_INITCALL] = "initcall", [FACT_LEVEL] = "level",
		[FACT_PROBE] = "probe",       [FACT_MOUNT] = "mount",
		[FACT_FIRMWARE] = "firmware", [FACT_ISSUE] = "issue",
		[FACT_COMPLETE] = "complete", [FACT_QUEUE] = "queue",
		[FACT_WORK] = "work",         [FACT_ARGUMENTS] = "arguments",
		[FACT_CGROUP] = "cgroup",     [FACT_RESULT] = "result",
		[FACT_GROUP] = "group",       [FACT_GROUP_GONE] = "group-gone",
		[FACT_AUDIT] = "audit",       [FACT_TIMER] = "timer",
		[FACT_LOCK] = "lock",         [FACT_DUE] = "due",
		[FACT_TEST] = "test",         [FACT_LOG_EARLIER] = "log-earlier",
		[FACT_ARGS] = "args",         [FACT_RETURNS] = "returns",
		[FACT_EVENT] = "event",       [FACT_FLOATS] = "floats",
		[FACT_STACK] = "stack",
	};

	return names[kind];
}

void fact_put(struct buf *out, const struct fact *f)
{
	buf_put_u8(out, (uint8_t)f->kind);
	buf_put_varint(out, f->cpu);
	buf_put_varint(out, f->ns);
	buf_put_varint(out, f->insns);
	buf_put_varint(out, f->task);
	buf_put_u8(out, (uint8_t)f->n_numbers);
	for (unsigned i = 0; i < f->n_numbers; i++)
		buf_put_varint(out, f->numbers[i]);
	buf_put_u8(out, (uint8_t)f->n_texts);
	for (unsigned i = 0; i < f->n_texts; i++)
		buf_put_str(out, f->texts[i], f->lens[i]);
}

/* Texts are offsets for now, since the buffer moves. */
static void decode_texts(struct cursor *in, struct facts *all, struct fact *f)
{
	for (unsigned i = 0; i < f->n_texts && !in->bad; i++) {
		uint64_t len = cursor_varint(in);
		const void *bytes = cursor_take(in, len);

		if (!bytes)
			return;
		f->texts[i] = (const char *)(uintptr_t)all->bytes.len;
		f->lens[i] = len;
		buf_put(&all->bytes, bytes, len);
		buf_put_u8(&all->bytes, 0);
	}
}

static void decode(struct cursor *in, struct facts *all, struct fact *f)
{
	*f = (struct fact){
		.kind = cursor_u8(in), .cpu = (uint32_t)cursor_varint(in), .ns = cursor_varint(in),
		.insns = cursor_varint(in),
		.task = cursor_varint(in), .n_numbers = cursor_u8(in),
	};
	in->bad |= !f->kind || f->n_numbers > FACT_NUMBERS;
	for (unsigned i = 0; i < f->n_numbers && !in->bad; i++)
		f->numbers[i] = cursor_varint(in);
	f->n_texts = cursor_u8(in);
	in->bad |= f->n_texts > FACT_TEXTS;
	decode_texts(in, all, f);
}

int facts_decode(struct cursor *in, struct facts *all, struct error *err)
{
	while (cursor_left(in) && !in->bad) {
		size_t left = cursor_left(in);
		struct fact f;

		decode(in, all, &f);
		/* later versions may tell of more */
		if (in->bad || f.kind >= FACT_KINDS)
			continue;
		all->list = array_grow(all->list, all->count, &all->cap, sizeof *all->list);
		all->list[all->count++] = f;
		all->sums[f.kind].count++;
		all->sums[f.kind].bytes += left - cursor_left(in);
	}
	return in->bad ? error_set(err, "damaged facts") : 0;
}

static uint64_t key_of(enum fact_kind kind, uint32_t cpu, uint64_t insns)
{
	return hash64(insns * 64 + kind) ^ hash64(cpu + 1u);
}

static int by_time(const void *va, const void *vb)
{
	const struct fact *a = va, *b = vb;

	if (a->ns != b->ns)
		return a->ns < b->ns ? -1 : 1;
	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	return a->insns < b->insns ? -1 : a->insns > b->insns;
}

void facts_sort(struct facts *all)
{
	if (all->count)
		qsort(all->list, all->count, sizeof *all->list, by_time);
}

void facts_index(struct facts *all)
{
	for (size_t i = 0; i < all->count; i++) {
		const struct fact *f = &all->list[i];

		*map_put(&all->index, key_of(f->kind, f->cpu, f->insns), 0) = i + 1;
	}
}

void facts_settle(struct facts *all)
{
	facts_sort(all);
	for (size_t i = 0; i < all->count; i++) {
		struct fact *f = &all->list[i];

		for (unsigned k = 0; k < f->n_texts; k++)
			f->texts[k] = (const char *)all->bytes.data + (uintptr_t)f->texts[k];
	}
	facts_index(all);
}

static int take(void *state, struct cursor *in, struct error *err)
{
	return facts_decode(in, state, err);
}

int facts_read(const struct reader *r, struct facts *ret, struct error *err)
{
	int result;

	*ret = (struct facts){ 0 };
	result = reader_chunks_of(r, CHUNK_FACTS, take, ret, err);
	facts_settle(ret);
	return result;
}

void facts_deinit(struct facts *f)
{
	free(f->list);
	buf_free(&f->bytes);
	map_free(&f->index);
	*f = (struct facts){ 0 };
}

const struct fact *facts_find(const struct facts *all, enum fact_kind kind, uint32_t cpu, uint64_t insns)
{
	const uint64_t *i = map_get(&all->index, key_of(kind, cpu, insns));
	const struct fact *f = i && *i ? &all->list[*i - 1] : NULL;

	return f && f->kind == kind && f->cpu == cpu && f->insns == insns ? f : NULL;
}

size_t facts_at(const struct facts *all, uint64_t ns)
{
	return first_not(i, 0, all->count, all->list[i].ns < ns);
}
