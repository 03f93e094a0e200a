/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is learnt of a kernel from memory that a hostile guest wrote: the input is that memory, over and over again,
 * with holes, at kernel addresses. What comes of it must be a layout that can be kept and read again.
 */
#include "fuzz.h"

#include "guest/learn.h"

enum { MEMORY_PAGE = 4096, HOLES = 8, STEPS = 32 };

static const uint8_t *memory;
static size_t memory_size;

static bool read_memory(void *context, uint64_t addr, void *data, size_t n)
{
	(void)context;
	if (addr / MEMORY_PAGE % HOLES == HOLES - 1 || (addr + n) / MEMORY_PAGE % HOLES == HOLES - 1)
		return false;
	for (size_t done = 0, at = addr % memory_size, part; done < n; done += part, at = 0) {
		part = n - done < memory_size - at ? n - done : memory_size - at;
		memcpy((uint8_t *)data + done, memory + at, part);
	}
	return true;
}

static uint64_t word(size_t i)
{
	uint64_t value = 0;

	read_memory(NULL, i * sizeof value, &value, sizeof value);
	return value;
}

static void through_text(const struct layout *l)
{
	struct layout again, told = *l;
	struct buf text = { 0 }, btf = { 0 };
	struct error err;

	told.whole = true;
	layout_put_text(&told, &text);
	buf_put_u8(&text, 0);
	layout_from_text((char *)text.data, &again);
	must(again.whole && !memcmp(again.offset, l->offset, sizeof l->offset) &&
	     !memcmp(again.size, l->size, sizeof l->size));
	for (int i = 0; i < MEMBERS; i++)
		must(l->offset[i] == MEMBER_UNKNOWN || again.from[i] == l->from[i]);
	if (layout_any(l)) {
		must(layout_put_btf(l, &btf, &err) == 0 && layout_from_btf(btf.data, btf.len, &again, &err) == 0);
		must(!memcmp(again.offset, l->offset, sizeof l->offset) && !again.whole);
	}
	buf_free(&text);
	buf_free(&btf);
}

/* A task, work, a line of the log … that the memory has at one place or two. */
static void learn_one(struct learner *l, const struct learn_memory *m, unsigned kind, uint64_t a, uint64_t b)
{
	switch (kind) {
	case 0:
		learn_switch(l, m, a, b);
		break;
	case 1:
		learn_exec(l, m, a, b);
		break;
	case 2:
		learn_mapping(l, m, a, b);
		break;
	case 3:
		learn_arguments(l, m, a);
		break;
	case 4:
		learn_log(l, m, a);
		break;
	case 5:
		learn_probe(l, m, a, b);
		break;
	case 6:
		learn_request(l, m, a);
		break;
	case 7:
		learn_work(l, m, a);
		break;
	case 8:
		learn_timer(l, m, b);
		break;
	default:
		learn_group(l, m, a);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum { KINDS = 10 };
	const struct learn_memory m = { .read = read_memory };
	struct learner l;
	struct layout layout;
	struct guarded g;

	if (size < 8)
		return 0;
	g = guarded_copy(data, size, 1);
	memory = g.data;
	memory_size = size;
	layout_init(&layout);
	learn_begin(&l, &layout);
	for (size_t i = 0; i < STEPS; i++)
		for (unsigned kind = 0; kind < KINDS; kind++)
			/* one kind a step, but many of each, as they come: most is learnt from several */
			if (&fuzz_replays || kind == memory[size - 1 - i % size] % KINDS)
				learn_one(&l, &m, kind, word(2 * i), word(2 * i + 1));
	for (int i = 0; i < MEMBERS; i++)
		must(layout.offset[i] == MEMBER_UNKNOWN || (layout.offset[i] >= 0 && layout.offset[i] < 1 << 15));
	through_text(&layout);
	guarded_free(&g);
	return 0;
}
