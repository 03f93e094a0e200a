/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "why_table.h"

#include <stdlib.h>

#include "base/alloc.h"

enum { CAUSE_NS, CAUSE_PCT, CAUSE_KIND, CAUSE_NAME, CAUSE_WHAT };

const struct column causes_columns[] = {
	[CAUSE_NS] = { "ns", "HELD", CELL_DURATION, "how much of the time it holds" },
	[CAUSE_PCT] = { "pct", "%", CELL_PERCENT, "per cent of the time" },
	[CAUSE_KIND] = { "kind", "KIND", CELL_TEXT,
			 "run, ready, timer, disk, lock, child, peer, rcu, work, device, halt or unknown" },
	[CAUSE_NAME] = { "name", "CAUSE", CELL_TEXT, "what was under way: an initcall, a module, a program" },
	[CAUSE_WHAT] = { "what", "WHAT", CELL_TEXT, "where the CPU was, or what was waited in" },
	{ 0 },
};

static struct cell cause_cell(const void *data, size_t row, unsigned column, struct buf *scratch)
{
	const struct why *why = data;
	const struct cause *c = &why->causes[row];

	(void)scratch;
	switch (column) {
	case CAUSE_NS:
		return cell_duration(c->ns);
	case CAUSE_PCT:
		return cell_share(c->ns, why->to_ns - why->from_ns);
	case CAUSE_KIND:
		return cell_text(link_kind_name(c->kind));
	case CAUSE_NAME:
		return cell_text(c->name);
	case CAUSE_WHAT:
		return cell_text(c->what);
	}
	return cell_none();
}

void causes_table_init(struct table *ret, const struct why *why)
{
	*ret = (struct table){
		.name = "causes", .what = "causes", .columns = causes_columns, .rows = why->n_causes,
		.cell = cause_cell, .data = (void *)why,
	};
}

enum { LINK_START, LINK_TOOK, LINK_KIND, LINK_PID, LINK_COMM, LINK_NAME, LINK_WHAT };

const struct column chain_columns[] = {
	[LINK_START] = { "start_ns", "FROM S", CELL_SECONDS, "guest time when it began, in seconds" },
	[LINK_TOOK] = { "duration_ns", "TOOK", CELL_DURATION, "how long it was" },
	[LINK_KIND] = { "kind", "KIND", CELL_TEXT, "as of causes" },
	[LINK_PID] = { "pid", "PID", CELL_NUMBER, "the thread that ran, or waited" },
	[LINK_COMM] = { "comm", "PROCESS", CELL_TEXT, "its name then" },
	[LINK_NAME] = { "name", "CAUSE", CELL_TEXT, "what was under way" },
	[LINK_WHAT] = { "what", "WHAT", CELL_TEXT,
			"where the CPU was, or what was waited in: of a wait with its stack, innermost first" },
	{ 0 },
};

struct rows {
	const struct session *session;
	const struct history *history;
	const struct why *why;
};

void link_put_what(const struct link *l, const struct names *names, const struct history *h, struct buf *out)
{
	bool runs = l->kind == LINK_RUN || l->kind == LINK_READY;

	if (runs && l->slice != HISTORY_NONE) {
		const struct slice *x = &h->slices[l->slice];

		for (int k = 0; k < HISTORY_HOT && x->hot[k].ns; k++)
			buf_printf(out, "%s%s", k ? ", " : "", names_function(names, x->hot[k].function));
	} else if (link_waits(l)) {
		const struct history_stack *s = &h->aways[l->away].stack;

		for (uint32_t i = 0; i < s->count; i++)
			buf_printf(out, "%s%s", i ? " < " : "", names_function(names, h->functions[s->first + i]));
	}
}

static struct cell link_cell(const void *data, size_t row, unsigned column, struct buf *scratch)
{
	const struct rows *rows = data;
	const struct threads *threads = rows->session->threads;
	const struct link *l = &rows->why->links[row];
	const struct thread *t = threads_at(threads, l->thread);

	switch (column) {
	case LINK_START:
		return cell_seconds(l->start_ns);
	case LINK_TOOK:
		return cell_duration(l->end_ns - l->start_ns);
	case LINK_KIND:
		return cell_text(link_kind_name(l->kind));
	case LINK_PID:
		return t ? cell_pid(t->pid) : cell_none();
	case LINK_COMM:
		return cell_text(threads_comm(threads, t, l->start_ns));
	case LINK_NAME:
		return cell_text(rows->why->causes[l->cause].name);
	case LINK_WHAT:
		link_put_what(l, rows->session->names, rows->history, scratch);
		return cell_scratch(CELL_TEXT, scratch);
	}
	return cell_none();
}

void chain_table_init(struct table *ret, const struct session *session, const struct history *h, const struct why *why)
{
	struct rows *rows = xcalloc(1, sizeof *rows);

	*rows = (struct rows){ .session = session, .history = h, .why = why };
	*ret = (struct table){
		.name = "chain", .what = "causes", .columns = chain_columns, .rows = why->n_links, .cell = link_cell,
		.data = rows, .free = free,
	};
}
