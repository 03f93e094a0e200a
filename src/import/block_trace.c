/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "block_trace.h"

#include <string.h>

#include "block_lines.h"
#include "made_trace.h"

static const struct made_facts facts = {
	.of = "a text trace", .absent = "instructions,stacks,exits,tasks,interrupts,syscalls,facts,addresses",
};

struct block_trace {
	struct made_trace *made;
	struct block_lines lines;
	uint32_t function;      /* of the last block; UINT32_MAX: there was none */
	uint32_t bare_site;     /* for addresses that are not kept */
	uint64_t blocks;
};

static uint64_t address_of(const struct block_place *place)
{
	if (place->function < BLOCK_FIRST_FUNCTION)
		return place->address;
	return made_function_address(place->function - BLOCK_FIRST_FUNCTION) + place->address;
}

/* The places that are kept are fewer than a trace can have sites. */
static void make_site(struct block_trace *t, struct block_place *place, uint64_t address)
{
	static_assert((uint64_t)BLOCK_PLACES_MAX + BLOCK_BARE_MAX < SITES_MAX - SITE_FIRST - 1,
		      "there is a site for each place");

	if (place == &t->lines.places.unkept && t->bare_site)
		place->site = t->bare_site;
	else
		place->site = sites_add(&t->made->sites, &(struct site){ .kind = EVENT_ARRIVE, .addr = address });
	if (place == &t->lines.places.unkept)
		t->bare_site = place->site;
}

static inline void add_block(struct block_trace *t, const struct block *b)
{
	uint64_t address;

	if (!t->blocks++)
		made_trace_begin_at(t->made, b->ns);
	if (b->place->function == t->function)
		return;
	t->function = b->place->function;
	address = address_of(b->place);
	if (__builtin_expect(!b->place->site, 0))
		make_site(t, b->place, address);
	made_trace_move(t->made, b->ns, b->place->site, address);
}

/* What there is, but for a line that is not whole yet, which is kept for the next time. */
static int add_data(struct block_trace *t, struct buf *data, bool last, struct error *err)
{
	const char *at = (char *)data->data, *end = at + data->len;
	struct block block;
	int r;

	while ((r = block_lines_next(&t->lines, &at, end, last, &block, err)) > 0)
		add_block(t, &block);
	data->len = (size_t)(end - at);
	memmove(data->data, at, data->len);
	return r;
}

static int add_all(struct block_trace *t, struct import_input *in, struct error *err)
{
	ssize_t n = 1;

	while (n > 0) {
		if (add_data(t, &in->data, false, err) < 0)
			return -1;
		n = import_read(in, err);
	}
	return n < 0 ? -1 : add_data(t, &in->data, true, err);
}

static void add_functions(struct block_trace *t)
{
	const struct block_places *p = &t->lines.places;

	for (size_t i = 0; i < p->n_sections; i++)
		made_trace_add_section(t->made, p->sections[i]);
	for (size_t i = 0; i < p->n_functions; i++)
		made_trace_add_function(t->made, &(struct symtab_function){
			.addr = made_function_address(i), .size = FUNCTION_ROOM, .name = p->functions[i].name,
			.section = (uint16_t)(p->functions[i].section + 1),
		});
}

int block_trace_write(struct import_input *in, const struct builder_sink *sink, struct block_trace_counts *ret,
		      struct error *err)
{
	struct block_trace t = { .lines = { .path = in->path }, .function = UINT32_MAX };
	int r;

	t.made = made_trace_new(sink, &facts);
	r = add_all(&t, in, err);
	if (r == 0) {
		add_functions(&t);
		made_trace_end(t.made, t.lines.ns);
	}
	*ret = (struct block_trace_counts){ .blocks = t.blocks, .functions = t.lines.places.n_functions };
	made_trace_free(t.made);
	block_lines_deinit(&t.lines);
	return r;
}
