/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kd_recorded.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/calls/held_calls.h"
#include "analysis/sums/function_analysis.h"
#include "base/alloc.h"
#include "base/map.h"
#include "base/spill.h"
#include "kfi/log_meta.h"
#include "replay/story.h"
#include "trace/thinned.h"

/* A call in progress, by the story's number. */
struct recorded_call {
	uint32_t number;      /* of its function's name + 1; 0: it is none of the kernel's */
	uint32_t parent;      /* the innermost call that it lies in and that is one; STORY_NO_CALL */
	uint64_t row;         /* its number, if calls are listed, or their ends */
	uint64_t sub_ns;      /* from their entries to their exits */
	bool interrupt;
	bool within;          /* control came to another place of the function that it lies in: no call of its own */
};

struct pair {
	uint32_t function, callee;
	uint64_t count, total_ns;
};

enum { NO_END = -1 }; /* of a call, which is not known */
enum { ENDS_IN_MEMORY = 1 << 20 };

struct recorded_run {
	const struct names *names;
	struct kfi_log *log;
	struct error *err;
	struct held_calls held;
	/* what is made of the calls: sums; a list; when they end; what the listener hears */
	enum { RUN_SUMS, RUN_CALLS, RUN_ENDS, RUN_TELL } what;
	bool full;
	struct spill ends;    /* of each call: how long it took, or NO_END */
	uint64_t told;        /* calls that the listener has heard */
	const struct recorded_listener *listener;
	bool refused;         /* the listener wants no more */
	uint32_t *numbers;    /* of names, by function, + 1 */
	uint32_t *same;       /* how many functions of the same name come before it, by function */
	struct recorded_call *calls;
	size_t cap_calls;
	struct kd_sum *sums;  /* by number of name */
	size_t cap_sums;
	struct map pairs;     /* function << 32 | callee → number of the pair + 1 */
	struct pair *pair_list;
	size_t n_pairs, cap_pairs;
};

/* An imported trace has names in brackets for what its log does not tell. */
static bool is_shown(const struct names *names, uint32_t function)
{
	return names_is_kernel(names, function) && !names_is_group(names, function) &&
	       names_function(names, function)[0] != '[';
}

/* Without the module, in brackets: a log's words are separated by blanks. */
static size_t length_of(const char *name)
{
	return strcspn(name, " ");
}

/* In the order of all functions, so that names do not depend on which of them have calls. */
static uint32_t *count_same(const struct names *names)
{
	uint32_t *same = xcalloc(names_count(names), sizeof *same);
	struct map seen = { 0 };

	for (uint32_t i = 0; i < names_count(names); i++) {
		cleanup_free char *own = xstrndup(names_function(names, i), length_of(names_function(names, i)));

		if (is_shown(names, i))
			same[i] = (uint32_t)(*map_put(&seen, hash_text(0, own), 0))++;
	}
	map_free(&seen);
	return same;
}

static uint32_t number_of(struct recorded_run *st, uint32_t function)
{
	const char *name = names_function(st->names, function);
	struct buf text = { 0 };

	if (st->numbers[function])
		return st->numbers[function];
	if (!is_shown(st->names, function))
		return 0;
	buf_printf(&text, "%.*s", (int)length_of(name), name);
	if (st->same[function])
		buf_printf(&text, "#%" PRIu32, st->same[function] + 1);
	st->numbers[function] = name_table_put(&st->log->names, (char *)text.data, text.len) + 1;
	buf_free(&text);
	return st->numbers[function];
}

/* The function that the call returns to, if it is the kernel's, with its name's number; 0: it is none. */
static uint32_t caller_at(struct recorded_run *st, const struct story_moment *m, uint64_t *ret_offset)
{
	uint64_t from = m->frame->from, place = frame_call_place(m->frame->kind, from);
	uint32_t function = place ? names_place(st->names, place, m->ns, 0).function : 0;
	struct names_symbol symbol;

	if (place && !names_is_thunk(st->names, function)) {
		if (!number_of(st, function) || !names_symbol(st->names, place, m->ns, 0, &symbol))
			return 0;
		*ret_offset = symbol.offset + (from - place);
		return number_of(st, function);
	}
	/* a jump or a thunk led there: who did so called it */
	return m->caller ? number_of(st, m->frame[-1].function) : 0;
}

/* Of code that is not the kernel's, the address: a function of the same name is another one. */
static void set_caller(struct recorded_run *st, const struct story_moment *m, struct kfi_call *row)
{
	uint32_t number = caller_at(st, m, &row->offset);
	struct buf text = { 0 };

	if (number) {
		row->caller = number - 1;
		return;
	}
	buf_printf(&text, "0x%" PRIx64, m->frame->from);
	row->caller = name_table_put(&st->log->names, (char *)text.data, text.len);
	buf_free(&text);
}

static void set_end(struct kfi_call *row, int64_t duration_ns)
{
	row->no_exit = duration_ns == NO_END;
	row->duration_ns = row->no_exit ? 0 : duration_ns;
}

static void tell(struct recorded_run *st, const struct story_moment *m, struct kfi_call *row)
{
	const int64_t *end = spill_get(&st->ends, st->told++);

	set_end(row, end ? *end : NO_END);
	if (st->refused || st->listener->call(st->listener->data, st->log, row, st->err) < 0)
		st->refused = m->stacks->stop = true;
}

static void add_row(struct recorded_run *st, const struct story_moment *m, struct recorded_call *c)
{
	const struct recorded_call *parent = c->parent ? &st->calls[c->parent] : NULL;
	struct kfi_call row = {
		.entry_ns = m->ns, .function = c->number - 1, .cpu = (uint16_t)m->cpu, .thread = m->thread + 1,
		.pid = m->stack->thread == THREAD_NONE ? 0 : m->stacks->threads->list[m->stack->thread].pid,
		.no_exit = true, .interrupt = c->interrupt,
	};

	set_caller(st, m, &row);
	row.from = parent ? parent->number - 1 : row.caller;
	if (st->what == RUN_TELL) {
		tell(st, m, &row);
		return;
	}
	if (st->log->n == KFI_ROWS_MAX) {
		st->full = m->stacks->stop = true;
		return;
	}
	c->row = st->log->n;
	kfi_log_add(st->log, &row);
}

static bool is_listed(struct recorded_run *st, const struct story_moment *m)
{
	bool held = held_calls_enter(&st->held);

	return m->frame->at_start && !held;
}

static void enter(struct recorded_run *st, const struct story_moment *m)
{
	struct recorded_call *c;
	const struct recorded_call *caller;

	st->calls = array_reach(st->calls, m->call, &st->cap_calls, sizeof *st->calls);
	c = &st->calls[m->call];
	caller = m->caller ? &st->calls[m->caller] : NULL;
	*c = (struct recorded_call){
		.number = is_listed(st, m) ? number_of(st, m->frame->function) : 0,
		.parent = !caller ? STORY_NO_CALL : caller->number ? m->caller : caller->parent,
		.interrupt = m->frame->kind == FRAME_INTERRUPT || (caller && caller->interrupt),
		.within = caller && !m->frame->at_start && m->frame[-1].function == m->frame->function,
	};
	if (c->number && st->what == RUN_ENDS) {
		c->row = st->ends.count;
		spill_add(&st->ends, &(int64_t){ NO_END });
	} else if (c->number && st->what != RUN_SUMS) {
		add_row(st, m, c);
	}
}

static struct kd_sum *sum_of(struct recorded_run *st, uint32_t number)
{
	st->sums = array_reach(st->sums, number, &st->cap_sums, sizeof *st->sums);
	return &st->sums[number - 1];
}

static void add_pair(struct recorded_run *st, uint32_t function, uint32_t callee, uint64_t ns)
{
	uint64_t *number = map_put(&st->pairs, (uint64_t)function << 32 | callee, 0);

	if (!*number) {
		st->pair_list = array_grow(st->pair_list, st->n_pairs, &st->cap_pairs, sizeof *st->pair_list);
		st->pair_list[st->n_pairs++] = (struct pair){ .function = function, .callee = callee };
		*number = st->n_pairs;
	}
	st->pair_list[*number - 1].count++;
	st->pair_list[*number - 1].total_ns += ns;
}

static void add_sum(struct recorded_run *st, const struct recorded_call *c, uint64_t duration_ns, bool ended)
{
	struct kd_sum *s = sum_of(st, c->number);

	s->count++;
	if (!ended)
		return;
	if (!s->timed || duration_ns < s->min_ns)
		s->min_ns = duration_ns;
	if (duration_ns > s->max_ns)
		s->max_ns = duration_ns;
	s->timed++;
	s->total_ns += duration_ns;
	s->sub_ns += c->sub_ns;
}

static void leave(struct recorded_run *st, const struct story_moment *m)
{
	struct recorded_call *c = &st->calls[m->call], *parent = c->parent ? &st->calls[c->parent] : NULL;
	uint64_t duration_ns = m->ns - m->frame->entry_ns;
	bool ended = m->kind == STORY_LEAVE && (m->end == FRAME_RETURNED || m->end == FRAME_JUMPED);

	/* a call that is none of the kernel's passes on what was called in it */
	if (parent && (c->number || m->caller == c->parent) && !c->within)
		parent->sub_ns += duration_ns;
	if (!c->number)
		return;
	if (st->what != RUN_SUMS) {
		if (st->what == RUN_CALLS)
			set_end(&st->log->calls[c->row], ended ? (int64_t)duration_ns : NO_END);
		else if (st->what == RUN_ENDS)
			spill_set(&st->ends, c->row, &(int64_t){ ended ? (int64_t)duration_ns : NO_END });
		return;
	}
	add_sum(st, c, duration_ns, ended);
	if (parent)
		add_pair(st, parent->number, c->number, ended ? duration_ns : 0);
}

static void hear(void *state, const struct story_moment *m)
{
	struct recorded_run *st = state;

	if (m->kind == STORY_ENTER)
		enter(st, m);
	else if (!st->full)
		leave(st, m);
}

/*
 * What ran in each function, as top has it: with what was left out of the trace, and what ran in calls that did not
 * end.
 */
static int add_local(struct recorded_run *st, const struct session *session, struct error *err)
{
	struct functions f;

	if (functions_analyse(session, &SPAN_ALL, &f, err) < 0)
		return -1;
	for (size_t i = 0; i < f.count; i++)
		if (st->numbers[i])
			sum_of(st, st->numbers[i])->local_ns = (int64_t)f.stats[i].self_ns;
	functions_deinit(&f);
	return 0;
}

static const struct kfi_log *sorting;

static int by_time(const void *va, const void *vb)
{
	const struct pair *a = va, *b = vb;

	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	if (a->total_ns != b->total_ns)
		return a->total_ns > b->total_ns ? -1 : 1;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return strcmp(kfi_log_name(sorting, a->callee - 1), kfi_log_name(sorting, b->callee - 1));
}

/* The sums that have calls, each with its callees in a row. */
static void collect(struct recorded_run *st, struct kd_sums *ret)
{
	size_t n = st->log->names.count, at = 0;

	sorting = st->log;
	if (st->n_pairs)
		qsort(st->pair_list, st->n_pairs, sizeof *st->pair_list, by_time);
	*ret = (struct kd_sums){
		.list = xcalloc(n + 1, sizeof *ret->list), .subs = xcalloc(st->n_pairs + 1, sizeof *ret->subs),
	};
	for (size_t i = 0; i < st->n_pairs; i++)
		ret->subs[i] = (struct kd_sub){ st->pair_list[i].callee - 1, st->pair_list[i].count,
						st->pair_list[i].total_ns };
	for (uint32_t i = 0; i < n; i++) {
		struct kd_sum s = *sum_of(st, i + 1);

		s.function = i;
		s.average_ns = s.timed ? s.total_ns / s.timed : 0;
		s.subs = &ret->subs[at];
		for (; at < st->n_pairs && st->pair_list[at].function == i + 1; at++)
			s.n_subs++;
		if (s.count)
			ret->list[ret->count++] = s;
	}
}

/* What the trace tells of the spans and filters that it was made by, as a log's header does. */
static void set_header(const struct reader *r, struct kfi_log *log)
{
	static const struct { const char *reason; enum kfi_counter counter;
	} counters[] = {
		{ "duration", KFI_TIME_FILTERED },
		{ "interrupt", KFI_NO_INTERRUPT_FILTERED },
		{ "no_interrupt", KFI_ONLY_INTERRUPT_FILTERED },
		{ "function", KFI_LIST_FILTERED },
	};
	struct kfi_header *h = &log->header;
	uint64_t all = 0;

	kfi_meta_read(&r->meta, log);
	for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
		uint64_t n = thinned_left_out(&r->meta, counters[i].reason);

		all += n;
		if (n)
			h->counters[counters[i].counter] =
				(struct kfi_number){ true, n + h->counters[counters[i].counter].value };
	}
	if (all)
		h->counters[KFI_ALL_FILTERED] = (struct kfi_number){ true, all + h->counters[KFI_ALL_FILTERED].value };
}

static void begin(struct recorded_run *st, const struct session *session, struct kfi_log *log, struct error *err)
{
	*st = (struct recorded_run){ .names = session->names,
				     .log = log,
				     .err = err,
				     .same = count_same(session->names),
				     .numbers = xcalloc(names_count(session->names), sizeof *st->numbers) };
	*log = (struct kfi_log){ 0 };
	set_header(session->reader, log);
}

static void end(struct recorded_run *st)
{
	free(st->numbers);
	free(st->calls);
	free(st->sums);
	free(st->pair_list);
	free(st->same);
	map_free(&st->pairs);
}

/* Go through all calls. */
static int go_through(struct recorded_run *st, const struct session *session)
{
	static const struct story_listener listener = {
		.hear = hear, .kinds = 1u << STORY_ENTER | 1u << STORY_LEAVE | 1u << STORY_END,
	};
	static const struct story_part whole = { .to_ns = UINT64_MAX };
	void *states[] = { st };
	int result = held_calls_read(session->reader, &st->held, st->err);

	if (result == 0)
		result = story_tell(session, &whole, NULL, &listener, states, 1, st->err);
	held_calls_deinit(&st->held);
	if (result >= 0 && st->full)
		return error_set(
			st->err,
			"%s: more than %d calls of the kernel: choose some, by --start and --stop or --min-duration",
			session->reader->path, KFI_ROWS_MAX);
	return result < 0 || st->refused ? -1 : 0;
}

int kd_recorded_calls(const struct session *session, struct kfi_log *ret, struct error *err)
{
	struct recorded_run st;
	int result;

	begin(&st, session, ret, err);
	st.what = RUN_CALLS;
	result = go_through(&st, session);
	end(&st);
	return result;
}

static int ends_result(const struct recorded_run *st)
{
	return spill_result(&st->ends, "when calls end", st->err);
}

/* How many calls there are, and when each ends; then each is told. */
static int tell_all(struct recorded_run *st, const struct session *session)
{
	st->what = RUN_ENDS;
	if (go_through(st, session) < 0 || ends_result(st) < 0)
		return -1;
	st->log->n = st->ends.count;
	if (st->listener->begin(st->listener->data, st->log, st->err) < 0)
		return -1;
	st->what = RUN_TELL;
	if (go_through(st, session) < 0)
		return -1;
	return ends_result(st);
}

int kd_recorded_tell(const struct session *session, const struct recorded_listener *listener, struct error *err)
{
	struct kfi_log log;
	struct recorded_run st;
	int result;

	begin(&st, session, &log, err);
	st.listener = listener;
	spill_init(&st.ends, sizeof(int64_t), ENDS_IN_MEMORY);
	result = tell_all(&st, session);
	spill_deinit(&st.ends);
	end(&st);
	kfi_log_deinit(&log);
	return result;
}

int kd_recorded_sums(const struct session *session, bool as_kd, struct kfi_log *ret_log, struct kd_sums *ret,
		     struct error *err)
{
	struct recorded_run st;
	int result;

	begin(&st, session, ret_log, err);
	result = go_through(&st, session);
	if (result == 0)
		result = add_local(&st, session, err);
	if (result == 0)
		collect(&st, ret);
	end(&st);
	for (size_t i = 0; result == 0 && as_kd && i < ret->count; i++)
		ret->list[i].local_ns = (int64_t)(ret->list[i].total_ns - ret->list[i].sub_ns);
	return result;
}
