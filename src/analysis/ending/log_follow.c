/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "log_follow.h"

/*
 * Is there nothing that may come before line `i`, or be added to it? vCPUs store lines in another order than they
 * number them, but soon.
 */
static bool is_settled(const struct kernel_log *log, size_t i)
{
	enum { SOON_NS = 1000000000 };
	const struct log_line *line = &log->lines[i], *before = line - 1;

	if (i + 1 == log->count)
		return false;
	return log->lines[log->count - 1].ns > line->ns + SOON_NS || !i || before->boot != line->boot ||
	       before->number + 1 == line->number;
}

/* Its boot is no part of it: that may be known later than the line. */
static uint64_t key_of(const struct log_line *line)
{
	return line->insns * CPUS_MAX + line->cpu;
}

/* Returns how many lines were told, now or before: the first ones. */
static size_t tell_settled(struct log_follow *f, const struct kernel_log *log, bool ended, log_follow_tell *tell,
			   void *context)
{
	size_t i;

	for (i = 0; i < log->count && (ended || is_settled(log, i)); i++) {
		uint64_t *known = map_put(&f->told, key_of(&log->lines[i]), 0);

		if (!*known)
			tell(context, &log->lines[i]);
		*known = 1;
	}
	return i;
}

/* A line's number follows that of the one before, which is kept for that. */
static void keep_facts(struct log_follow *f, const struct facts *facts, const struct boots *boots,
		       const struct kernel_log *log, size_t n_told)
{
	const struct log_line *first = n_told ? &log->lines[n_told - 1] : NULL;

	f->facts.len = 0;
	for (size_t i = 0; i < facts->count; i++) {
		const struct fact *fact = &facts->list[i];
		size_t boot = boots_at(boots, fact->ns);

		if (fact->kind == FACT_LOG && fact->n_numbers &&
		    (!first || boot > first->boot || (boot == first->boot && fact->numbers[0] >= first->number)))
			fact_put(&f->facts, fact);
	}
}

static int take(void *state, struct cursor *in, struct error *err)
{
	return facts_decode(in, state, err);
}

int log_follow_take(struct log_follow *f, const struct reader *r, size_t first, log_follow_tell *tell, void *context,
		    struct error *err)
{
	struct cursor kept = cursor_over(f->facts.data, f->facts.len);
	struct facts facts = { 0 };
	struct kernel_log log;
	int result = facts_decode(&kept, &facts, err);

	if (result == 0)
		result = reader_chunks_since(r, first, CHUNK_FACTS, take, &facts, err);
	facts_settle(&facts);
	if (result == 0) {
		kernel_log_init(&log, &facts, &r->boots);
		keep_facts(f, &facts, &r->boots, &log, tell_settled(f, &log, r->ended, tell, context));
		kernel_log_deinit(&log);
	}
	facts_deinit(&facts);
	return result;
}

void log_follow_deinit(struct log_follow *f)
{
	buf_free(&f->facts);
	map_free(&f->told);
}
