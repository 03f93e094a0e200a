/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report_data.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/history/history_file.h"
#include "base/alloc.h"
#include "tables/first_table.h"
#include "tables/log_table.h"
#include "tables/processes_table.h"
#include "tables/syscalls_table.h"
#include "tables/table_json.h"
#include "tables/top_table.h"
#include "tables/waits_table.h"
#include "trace/thinned.h"

enum {
	WAITS_MAX = 3000,   /* the longest */
	SPANS_MAX = 20000,  /* likewise */
	RECORDS_MAX = 20000, /* of more, some of them all over the time */
	RECORD_TEXT = 200,  /* bytes that are shown of one */
	JOIN_PARTS = 20000, /* runs with less than such a part of the whole time between them are one */
	RUNS_MAX = 40000,   /* of more, those that are short are joined further */
	NO_THREAD = -1,
};

static void explain(const struct session *session, struct report *r)
{
	const struct boots *boots = &session->reader->boots;
	const struct span all = SPAN_ALL;

	r->has_why = history_tells_wakes(&r->history, &session->reader->meta) &&
		     milestone_default(&r->history, session->names, session->threads, &session->reader->meta, &all,
				       &r->until);
	if (r->has_why)
		why_make(&r->history, session->names, session->threads,
			 thinned_from(&session->reader->meta, r->until.ns,
				      boots->list[boots_at(boots, r->until.ns ? r->until.ns - 1 : 0)].start_ns),
			 &r->until, &r->why);
}

/* What is added up over all calls hears one replay. */
static int add_up(const struct session *session, bool keep, struct report *r, struct error *err)
{
	enum { FLAME, TOTALS, MEMBERS };
	struct parts_member members[MEMBERS];
	int result;

	flame_member(session, &r->history, &r->flame, &members[FLAME]);
	totals_member(session, &members[TOTALS]);
	result = parts_replay(session, keep, NULL, members, MEMBERS, err);
	flame_collect(&r->flame, &members[FLAME], result < 0);
	totals_collect(&members[TOTALS], result < 0, &r->functions, &r->totals);
	return result;
}

int report_analyse(const struct session *session, bool keep, struct report *ret, struct error *err)
{
	const struct span all = SPAN_ALL;

	*ret = (struct report){
		.session = session, .title = session->reader->path, .ended = "",
		.records = ret->records, .records_of = ret->records_of,
	};
	if (history_open(session, keep, &ret->history, err) < 0)
		return -1;
	kernel_log_init(&ret->log, &ret->history.facts, &session->reader->boots);
	explain(session, ret);
	if (add_up(session, keep, ret, err) < 0)
		return -1;
	if (processes_analyse(session->reader, session->threads, &all, &ret->processes, err) < 0 ||
	    syscalls_analyse(session->reader, session->threads, &all, &ret->syscalls, err) < 0)
		return -1;
	return 0;
}

void report_forget_sums(struct report *r)
{
	functions_deinit(&r->functions);
	free(r->totals);
	r->totals = NULL;
	processes_deinit(&r->processes);
	syscalls_deinit(&r->syscalls);
	flame_deinit(&r->flame);
}

void report_deinit(struct report *r)
{
	if (r->has_why)
		why_deinit(&r->why);
	kernel_log_deinit(&r->log);
	history_deinit(&r->history);
	report_forget_sums(r);
}

/* HISTORY_NONE, as -1. */
static void put_thread(struct json *j, const char *key, uint32_t thread)
{
	json_signed(j, key, thread == HISTORY_NONE ? NO_THREAD : (int64_t)thread);
}

static void put_threads(const struct report *r, struct json *j)
{
	const struct threads *all = r->session->threads;

	json_rows(j, "threads");
	for (size_t i = 0; i < r->history.n_threads; i++) {
		const struct thread *t = threads_at(all, (long)i);

		json_array(j, NULL);
		json_text(j, NULL, threads_comm(all, t, t ? t->end_ns : 0));
		json_signed(j, NULL, t ? t->pid : 0);
		json_signed(j, NULL, t ? t->tgid : 0);
		json_flag(j, NULL, t && t->kernel);
		json_number(j, NULL, t ? t->start_ns : 0);
		json_known(j, NULL, t && t->end_ns != UINT64_MAX, t ? t->end_ns : 0);
		json_signed(j, NULL, t ? (int64_t)r->flame.whose[i + 1] - 1 : NO_THREAD);
		json_close(j);
	}
	json_close(j);
}

/* Runs on a vCPU, joined where hardly anything is between them. */
struct run {
	uint32_t cpu, thread;
	uint64_t start_ns, end_ns;
};

static bool is_in(const struct span *part, uint64_t start_ns, uint64_t end_ns)
{
	return end_ns >= part->from_ns && start_ns <= part->to_ns;
}

/* An idle thread shows by nothing else running. */
static bool is_idle(const struct threads *all, uint32_t thread)
{
	const struct thread *t = threads_at(all, (long)thread);

	return t && !t->pid && !strncmp(threads_comm(all, t, t->end_ns), "swapper", 7);
}

/*
 * Of runs that are one from now on, the thread that so far was told to run least of what it ran: so that of threads
 * that take turns, each is seen for as much as it ran.
 */
static uint32_t told_for(const struct run *runs, size_t n, int64_t *owed)
{
	uint32_t most = runs->thread;

	for (size_t i = 0; i < n; i++)
		owed[runs[i].thread] += (int64_t)(runs[i].end_ns - runs[i].start_ns);
	for (size_t i = 0; i < n; i++)
		most = owed[runs[i].thread] > owed[most] ? runs[i].thread : most;
	owed[most] -= (int64_t)(runs[n - 1].end_ns - runs->start_ns);
	return most;
}

/*
 * Runs that are within one gap, all of them, are one. Behind that, any two that follow each other on a vCPU are longer
 * than the gap: so there are as few as one likes, with a gap that is long enough.
 */
static size_t join_short(struct run *runs, size_t n, uint64_t gap, int64_t *owed)
{
	size_t joined = 0;

	for (size_t i = 0, end; i < n; i = end) {
		struct run run = runs[i], *last = joined && runs[joined - 1].cpu == run.cpu ? &runs[joined - 1] : NULL;

		for (end = i + 1; end < n && runs[end].cpu == run.cpu && runs[end].end_ns - run.start_ns <= gap; end++)
			;
		run.thread = told_for(&runs[i], end - i, owed);
		run.end_ns = runs[end - 1].end_ns;
		if (last && last->thread == run.thread && run.start_ns <= last->end_ns + gap)
			last->end_ns = run.end_ns;
		else
			runs[joined++] = run;
	}
	return joined;
}

static size_t join_to(struct run *runs, size_t n, uint64_t gap)
{
	uint32_t threads = 0;
	int64_t *owed;

	for (size_t i = 0; i < n; i++)
		threads = runs[i].thread >= threads ? runs[i].thread + 1 : threads;
	owed = xcalloc(threads, sizeof *owed);
	n = join_short(runs, n, gap, owed);
	free(owed);
	return n;
}

static struct run *join_runs(const struct report *r, const struct span *part, size_t *ret_n)
{
	const struct history *h = &r->history;
	struct run *runs = xcalloc(h->n_slices + 1, sizeof *runs);
	bool *idle = xcalloc(h->n_threads + 1, sizeof *idle);
	uint64_t gap = (part->to_ns - part->from_ns) / JOIN_PARTS;
	size_t n = 0;

	for (uint32_t i = 0; i < h->n_threads; i++)
		idle[i] = is_idle(r->session->threads, i);

	for (unsigned cpu = 0; cpu < h->n_cpus; cpu++) {
		size_t first = n;
		bool boots = true; /* before its vCPU switches for the first time, an idle thread does that */

		for (uint32_t i = h->first_on_cpu[cpu]; i < h->first_on_cpu[cpu + 1]; i++) {
			const struct slice *s = &h->slices[h->by_cpu[i]];
			struct run *last = n > first ? &runs[n - 1] : NULL;
			bool of_idle = s->thread < h->n_threads && idle[s->thread];
			bool idles = of_idle && (!boots || s->halted_ns);

			boots &= of_idle;
			if (s->handler != HISTORY_NONE || !is_in(part, s->start_ns, s->end_ns) || idles)
				continue;
			if (last && last->thread == s->thread && s->start_ns <= last->end_ns + gap)
				last->end_ns = s->end_ns;
			else
				runs[n++] = (struct run){ cpu, s->thread, s->start_ns, s->end_ns };
		}
	}
	while (n > RUNS_MAX)
		n = join_to(runs, n, gap += gap + 1);
	free(idle);
	*ret_n = n;
	return runs;
}

/* Times are told since the run before on the same vCPU ended: such numbers pack well. */
static void put_runs(const struct report *r, const struct span *part, struct json *j)
{
	static const char *const columns[] = { "cpu", "thread", "gap", "length" };
	size_t n;
	struct run *runs = join_runs(r, part, &n);

	json_object(j, "runs");
	for (size_t k = 0; k < 4; k++) {
		json_array(j, columns[k]);
		for (size_t i = 0; i < n; i++) {
			uint64_t before = i && runs[i - 1].cpu == runs[i].cpu ? runs[i - 1].end_ns : 0;
			const uint64_t values[] = {
				runs[i].cpu,
				runs[i].thread,
				runs[i].start_ns - before,
				runs[i].end_ns - runs[i].start_ns,
			};

			json_signed(j, NULL, (int64_t)values[k]);
		}
		json_close(j);
	}
	json_close(j);
	free(runs);
}

/* The shortest time that at most so many of the list have. */
static int downwards(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

static uint64_t at_least(uint64_t *lengths, size_t n, size_t most)
{
	uint64_t least = 0;

	qsort(lengths, n, sizeof *lengths, downwards);
	if (n > most)
		least = lengths[most] + 1;
	free(lengths);
	return least;
}

static uint64_t shortest_span(const struct history *h, const struct span *part)
{
	uint64_t *lengths = xcalloc(h->n_spans + 1, sizeof *lengths);
	size_t n = 0;

	for (size_t i = 0; i < h->n_spans; i++)
		if (is_in(part, h->spans[i].start_ns, h->spans[i].end_ns))
			lengths[n++] = h->spans[i].end_ns - h->spans[i].start_ns;
	return at_least(lengths, n, SPANS_MAX);
}

static void put_spans(const struct report *r, const struct span *part, struct json *j)
{
	const struct history *h = &r->history;
	uint64_t least = shortest_span(h, part);

	json_rows(j, "spans");
	for (size_t i = 0; i < h->n_spans; i++) {
		const struct span_of *x = &h->spans[i];

		if (!is_in(part, x->start_ns, x->end_ns) || (x->end_ns - x->start_ns < least && x->kind != SPAN_PHASE))
			continue;
		json_array(j, NULL);
		json_number(j, NULL, i);
		json_text(j, NULL, span_kind_name(x->kind));
		json_text(j, NULL, x->name);
		put_thread(j, NULL, x->parent);
		put_thread(j, NULL, x->thread);
		json_number(j, NULL, x->start_ns);
		json_number(j, NULL, x->end_ns);
		json_number(j, NULL, x->insns);
		json_number(j, NULL, x->cpu_ns);
		json_close(j);
	}
	json_close(j);
}

static bool is_long_wait(const struct history *h, const struct away *a, const struct span *part, uint64_t least)
{
	return a->kind != WAIT_IDLE && a->wake_ns != a->start_ns && is_in(part, a->start_ns, away_end(a, h->end_ns)) &&
	       away_end(a, h->end_ns) - a->start_ns >= least;
}

/* Marks of the longest waits. */
static bool *long_waits(const struct history *h, const struct span *part)
{
	uint64_t *lengths = xcalloc(h->n_aways + 1, sizeof *lengths), least;
	bool *marks = xcalloc(h->n_aways + 1, sizeof *marks);
	size_t n = 0;

	for (size_t i = 0; i < h->n_aways; i++)
		if (is_long_wait(h, &h->aways[i], part, 0))
			lengths[n++] = away_end(&h->aways[i], h->end_ns) - h->aways[i].start_ns;
	least = at_least(lengths, n, WAITS_MAX);
	for (size_t i = 0; i < h->n_aways; i++)
		marks[i] = is_long_wait(h, &h->aways[i], part, least);
	return marks;
}

/* For the picture: whose, from when, woken when and by whom, on when, what for. */
static void put_waits(const struct report *r, const bool *marks, struct json *j)
{
	const struct history *h = &r->history;

	json_rows(j, "waits");
	for (size_t i = 0; i < h->n_aways; i++) {
		const struct away *a = &h->aways[i];

		if (!marks[i])
			continue;
		json_array(j, NULL);
		json_number(j, NULL, a->thread);
		json_number(j, NULL, a->start_ns);
		json_known(j, NULL, a->wake_ns != UINT64_MAX, a->wake_ns);
		json_known(j, NULL, a->end_ns != UINT64_MAX, a->end_ns);
		json_text(j, NULL, wait_kind_name(a->kind));
		json_text(j, NULL, a->function == HISTORY_NONE ? "" : names_function(r->session->names, a->function));
		put_thread(j, NULL, a->context == WAKE_TASK ? a->waker : HISTORY_NONE);
		json_close(j);
	}
	json_close(j);
}

static bool is_record_in(const struct fact *f, const struct span *part)
{
	return f->kind == FACT_EVENT && is_in(part, f->ns, f->ns);
}

static void put_record(const struct report *r, const struct fact *f, struct buf *text, struct json *j)
{
	long thread = f->task ? threads_find(r->session->threads, f->task, f->ns) : THREAD_NONE;

	text->len = 0;
	event_put_line(r->records_of->decoder, r->records_of->formats, f, text);
	if (text->len > RECORD_TEXT)
		text->len = RECORD_TEXT;
	buf_put_u8(text, 0);
	json_array(j, NULL);
	json_number(j, NULL, f->ns);
	json_signed(j, NULL, thread == THREAD_NONE ? NO_THREAD : thread);
	json_text(j, NULL, (char *)text->data);
	json_close(j);
}

/* When, whose, and what it says. */
static void put_records(const struct report *r, const struct span *part, struct json *j)
{
	size_t from = r->records ? facts_at(r->records, part->from_ns) : 0, n = 0, at = 0;
	size_t end = r->records ? facts_at(r->records, part->to_ns + (part->to_ns < UINT64_MAX)) : 0;
	struct buf text = { 0 };

	for (size_t i = from; i < end; i++)
		n += is_record_in(&r->records->list[i], part);
	json_number(j, "record_of", n / RECORDS_MAX + 1); /* one of so many is there */
	json_array(j, "records");
	for (size_t i = from; i < end; i++)
		if (is_record_in(&r->records->list[i], part) && at++ % (n / RECORDS_MAX + 1) == 0)
			put_record(r, &r->records->list[i], &text, j);
	json_close(j);
	buf_free(&text);
}

static void put_why(const struct report *r, struct json *j)
{
	const struct why *w = &r->why;

	if (!r->has_why) {
		json_null(j, "why");
		return;
	}
	json_object(j, "why");
	json_text(j, "until", r->until.name);
	json_number(j, "from_ns", w->from_ns);
	json_number(j, "until_ns", w->to_ns);
	json_rows(j, "causes");
	for (size_t i = 0; i < w->n_causes; i++) {
		const struct cause *c = &w->causes[i];

		json_array(j, NULL);
		json_number(j, NULL, c->ns);
		json_text(j, NULL, link_kind_name(c->kind));
		json_text(j, NULL, c->name);
		json_text(j, NULL, c->what);
		json_array(j, NULL);
		for (uint32_t k = 0; k < c->stack.count; k++)
			json_text(j, NULL, names_function(r->session->names, r->history.functions[c->stack.first + k]));
		json_close(j);
		json_close(j);
	}
	json_close(j);
	json_rows(j, "chain");
	for (size_t i = 0; i < w->n_links; i++) {
		const struct link *l = &w->links[i];

		json_array(j, NULL);
		json_number(j, NULL, l->start_ns);
		json_number(j, NULL, l->end_ns);
		json_text(j, NULL, link_kind_name(l->kind));
		put_thread(j, NULL, l->thread);
		json_number(j, NULL, l->cause);
		json_close(j);
	}
	json_close(j);
	json_close(j);
}

static void put_table(struct json *j, struct table *table)
{
	table_put_json_whole(j, table);
	table_deinit(table);
}

static void put_tables(const struct report *r, const bool *waits, struct json *j)
{
	const struct session *s = r->session;
	struct table table;

	json_object(j, "tables");
	top_table_init(&table, s->names, &r->functions, r->totals,
		       &(struct top_choice){ .by_ns = reader_lacks(s->reader, "instructions") });
	put_table(j, &table);
	first_table_init(&table, s, &r->functions, NULL, &(struct first_values){ 0 });
	table.name = "first"; /* top's are "functions", too */
	put_table(j, &table);
	syscall_sums_table_init(&table, &r->syscalls, NULL);
	put_table(j, &table);
	processes_table_init(&table, s->threads, &r->processes, false, NULL);
	put_table(j, &table);
	wait_sums_table_init(&table, s, &r->history, NULL);
	table.name = "wait_sums";
	put_table(j, &table);
	waits_table_init(&table, s, &r->history, waits);
	put_table(j, &table);
	log_table_init(&table, s->threads, &r->log, NULL);
	put_table(j, &table);
	json_close(j);
}

static void put_head(const struct report *r, struct json *j)
{
	const struct boots *boots = &r->session->reader->boots;

	json_number(j, "version", REPORT_VERSION);
	json_number(j, "reading", r->reading);
	json_flag(j, "has_insns", !reader_lacks(r->session->reader, "instructions"));
	json_text(j, "title", strrchr(r->title, '/') ? strrchr(r->title, '/') + 1 : r->title);
	json_text(j, "kernel", boots->list[boots->count - 1].kernel);
	json_text(j, "ended", r->ended);
	json_number(j, "boots", boots->count);
	json_number(j, "cpus", r->history.n_cpus);
	json_number(j, "end_ns", r->history.end_ns);
	json_number(j, "insns", r->functions.insns);
	json_number(j, "ns", r->functions.ns);
	json_number(j, "halted_ns", r->functions.halted_ns);
	json_number(j, "events", r->functions.events);
}

void report_put(const struct report *r, struct json *j)
{
	const struct span all = { .to_ns = r->history.end_ns, .cpu = -1 };
	bool *waits = long_waits(&r->history, &all);

	json_object(j, NULL);
	put_head(r, j);
	put_why(r, j);
	put_threads(r, j);
	put_runs(r, &all, j);
	put_spans(r, &all, j);
	put_waits(r, waits, j);
	put_records(r, &all, j);
	put_tables(r, waits, j);
	flame_put(&r->flame, r->session, j);
	json_close(j);
	free(waits);
}

void report_put_part(const struct report *r, const struct span *part, struct json *j)
{
	bool *waits = long_waits(&r->history, part);

	json_object(j, NULL);
	put_runs(r, part, j);
	put_spans(r, part, j);
	put_waits(r, waits, j);
	put_records(r, part, j);
	json_close(j);
	free(waits);
}
