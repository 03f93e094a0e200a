/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A history is made by one replay. */
#include "making.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "trace/thinned.h"
#include "wait_kinds.h"

enum { STACK_MAX = 32 /* functions of a stack that are kept */ };

/* The functions on a stack, innermost first; `kernel_only`: up to where the kernel was entered. */
static size_t take_functions(const struct stack *stack, size_t depth, uint32_t *functions, bool kernel_only,
			     const struct names *names)
{
	size_t n = 0;

	for (size_t i = depth; i-- > 0 && n < STACK_MAX;) {
		const struct frame *f = &stack->frames[i];

		if (kernel_only && f->kind != FRAME_SYSCALL && f->kind != FRAME_INTERRUPT &&
		    !names_is_kernel(names, f->function))
			break;
		functions[n++] = f->function;
		if (kernel_only && f->kind == FRAME_SYSCALL)
			break;
	}
	return n;
}

static struct history_stack keep_stack(struct making *m, const uint32_t *functions, size_t n)
{
	struct history *h = m->history;
	uint64_t key = n;
	uint64_t *known;

	for (size_t i = 0; i < n; i++)
		key = hash64(key + functions[i] + 1);
	known = map_put(&m->stacks, key, 0);
	if (!*known) {
		*known = h->n_functions + 1;
		for (size_t i = 0; i < n; i++) {
			h->functions =
				array_grow(h->functions, h->n_functions, &m->functions_cap, sizeof *h->functions);
			h->functions[h->n_functions++] = functions[i];
		}
	}
	return (struct history_stack){ .first = (uint32_t)*known - 1, .count = (uint32_t)n };
}

/* Absences */

/* The last fact of a lock that the thread waited for, up to now; NULL: there is none. */
static const struct fact *last_lock(struct making *m, const struct stacks *s, uint32_t thread)
{
	const struct facts *facts = &m->history->facts;
	const uint64_t *number;

	for (; m->next_fact < facts->count && facts->list[m->next_fact].ns <= s->ns; m->next_fact++)
		if (facts->list[m->next_fact].kind == FACT_LOCK)
			*map_put(&m->lock_of, facts->list[m->next_fact].task, 0) = m->next_fact + 1;
	number = thread < s->threads->count ? map_get(&m->lock_of, s->threads->list[thread].task) : NULL;
	return number && *number ? &facts->list[*number - 1] : NULL;
}

/*
 * Who has the lock that the thread waits for: a fact told so since it called the outermost of the functions that wait
 * for that.
 */
static uint32_t holder_of(struct making *m, const struct stacks *s, const struct stack *stack)
{
	const struct fact *f = last_lock(m, s, stacks_number(s, stack));
	size_t i = stack->depth;
	long holder;

	while (i > 0 && (m->kinds.kinds[stack->frames[i - 1].function] & WAIT_KIND_MASK) != WAIT_LOCK)
		i--;
	while (i > 1 && (m->kinds.kinds[stack->frames[i - 2].function] & WAIT_KIND_MASK) == WAIT_LOCK)
		i--;
	if (!f || !i || stack->frames[i - 1].entry_ns > f->ns)
		return HISTORY_NONE;
	holder = threads_find(s->threads, f->numbers[1], f->ns);
	return f->numbers[1] && holder != THREAD_NONE ? (uint32_t)holder : HISTORY_NONE;
}

/* An absence of which nothing else is known yet. It stays where it is until the next is added. */
static struct away *add_away(struct making *m, uint32_t thread, uint64_t since_ns)
{
	struct history *h = m->history;

	h->aways = array_grow(h->aways, h->n_aways, &m->aways_cap, sizeof *h->aways);
	h->aways[h->n_aways] = (struct away){
		.thread = thread, .span = m->open[thread].span, .start_ns = since_ns, .wake_ns = UINT64_MAX,
		.end_ns = UINT64_MAX,
		.function = HISTORY_NONE, .caller = HISTORY_NONE, .holder = HISTORY_NONE, .waker = HISTORY_NONE,
		.waker_function = HISTORY_NONE,
		.timer = { .function = HISTORY_NONE, .in = HISTORY_NONE, .by = HISTORY_NONE },
	};
	m->open[thread].away = (uint32_t)h->n_aways;
	return &h->aways[h->n_aways++];
}

static void begin_away(struct making *m, const struct stacks *s, const struct stack *stack, uint64_t since_ns)
{
	uint32_t functions[STACK_MAX];
	size_t n = take_functions(stack, stack->depth, functions, true, s->names), at;
	struct away *a = add_away(m, stacks_number(s, stack), since_ns);

	m->away_ns = since_ns;
	a->kind = wait_kind_of(&m->kinds, functions, n, &at);
	if (at == n)
		for (at = 0; at < n && m->kinds.scheduler[functions[at]];)
			at++;
	if (at < n)
		a->function = functions[at];
	if (at + 1 < n)
		a->caller = functions[at + 1];
	a->stack = keep_stack(m, functions, n);
	if (a->kind == WAIT_LOCK)
		a->holder = holder_of(m, s, stack);
}

static uint64_t latest(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* A thread that has not run up to now was ready since it was made, if that is recorded. Idle ones are nobody's wait. */
static void add_birth(struct making *m, const struct stacks *s, uint32_t thread)
{
	const struct thread *t = threads_at(s->threads, thread);
	const struct task_record *record = t ? threads_record(s->threads, t->task, t->start_ns) : NULL;
	struct away *a;
	long maker;

	if (!record || t->seen || !t->pid || t->start_ns < m->begins_ns || t->start_ns >= s->ns ||
	    m->open[thread].ran || m->open[thread].away != HISTORY_NONE)
		return;
	maker = record->maker ? threads_find(s->threads, record->maker, t->start_ns) : THREAD_NONE;
	a = add_away(m, thread, t->start_ns);
	a->wake_ns = a->start_ns;
	a->context = WAKE_FORK;
	if (maker != THREAD_NONE)
		a->waker = (uint32_t)maker;
	m->moved = true;
}

/*
 * It may have been woken up in the gap: up to where that begins it was asleep, and from its end on ready. Returns the
 * number of the latter.
 */
static uint32_t split_away(struct making *m, uint32_t number)
{
	struct history *h = m->history;
	struct away rest = h->aways[number];

	if (rest.start_ns < m->lost_ns) {
		h->aways[number].end_ns = m->lost_ns;
		h->aways = array_grow(h->aways, h->n_aways, &m->aways_cap, sizeof *h->aways);
		number = (uint32_t)h->n_aways++;
	}
	rest.start_ns = m->found_ns;
	h->aways[number] = rest;
	m->moved = true;
	return number;
}

/* The thread runs again. Returns the number of its absence; HISTORY_NONE: there is none. */
static uint32_t end_away(struct making *m, const struct stacks *s, uint32_t thread)
{
	uint32_t number = m->open[thread].away;
	struct away *a;

	if (number == HISTORY_NONE)
		return HISTORY_NONE;
	a = &m->history->aways[number];
	if (a->wake_ns == UINT64_MAX && a->start_ns < m->found_ns) {
		number = split_away(m, number);
		a = &m->history->aways[number];
	}
	a->end_ns = s->ns;
	if (a->wake_ns == UINT64_MAX) { /* it was ready all the time: another one was to run */
		a->wake_ns = a->start_ns;
		a->context = WAKE_NONE;
	}
	m->open[thread].away = HISTORY_NONE;
	return number;
}


/* The absence of a thread that is woken up now; NULL: it was woken up before, or does not sleep. */
static struct away *sleep_of(struct making *m, const struct stacks *s, uint64_t task, uint64_t ns)
{
	long found = threads_find(s->threads, task, ns);
	uint32_t thread = (uint32_t)found;
	struct away *a = NULL;

	if (found == THREAD_NONE)
		return NULL;
	if (m->open[thread].away != HISTORY_NONE)
		a = &m->history->aways[m->open[thread].away];
	/* it went to sleep before what is recorded begins */
	else if (!m->open[thread].ran && m->begins_ns && s->threads->list[thread].start_ns < m->begins_ns)
		a = add_away(m, thread, m->begins_ns), m->moved = true;
	return !a || a->wake_ns != UINT64_MAX || a->start_ns > ns ? NULL : a;
}

/* Note who was woken up until then by calls that were left out. Who did that, and in which function, is not known. */
static void wakes_told(struct making *m, const struct stacks *s, uint64_t until_ns)
{
	const struct facts *facts = &m->history->facts;

	if (!m->lacks_calls)
		return;
	for (; m->next_wake < facts->count && facts->list[m->next_wake].ns <= until_ns; m->next_wake++) {
		const struct fact *f = &facts->list[m->next_wake];
		struct away *a = f->kind == FACT_WAKE && f->ns >= m->begins_ns
					 ? sleep_of(m, s, f->numbers[0], f->ns) : NULL;

		if (a)
			a->wake_ns = f->ns;
	}
}

/*
 * A gap ends now, before which all is known up to m->lost_ns: who was away then may have come back in it. Whose stack
 * is found behind it, says whether it did.
 */
static void lose_aways(struct making *m, const struct stacks *s)
{
	wakes_told(m, s, m->lost_ns);
	for (size_t i = 0; i < m->history->n_threads; i++) {
		struct open_thread *t = &m->open[i];
		struct away *a = t->away == HISTORY_NONE ? NULL : &m->history->aways[t->away];

		t->lost = t->away;
		t->away = HISTORY_NONE;
		t->ran = false;
		if (!a)
			continue;
		a->end_ns = latest(m->lost_ns, a->start_ns);
		if (a->wake_ns != UINT64_MAX)
			a->end_ns = latest(a->end_ns, a->wake_ns);
	}
}

/* do_task_dead(), kernel/sched/core.c: it will not run again. */
static bool is_dead(const struct making *m, const struct stack *stack)
{
	enum { NEAR_TOP = 6 };

	for (size_t i = stack->depth; i-- > 0 && stack->depth - i <= NEAR_TOP;)
		if (stack->frames[i].function == m->dead)
			return true;
	return false;
}

static void switched(void *state, struct stacks *s, const struct stack *from, const struct stack *to, unsigned cpu)
{
	struct making *m = state;
	uint32_t next = stacks_number(s, to);

	/* where a boot begins, the vCPU's own stack is there already, and what ran before is over */
	if (m->running[cpu].plain.slice.thread == next &&
	    (from == to || (from->thread == THREAD_NONE && to->thread == THREAD_NONE)))
		return;
	wakes_told(m, s, s->ns);
	if (from->thread != THREAD_NONE && !is_dead(m, from))
		begin_away(m, s, from, s->ns);
	add_birth(m, s, next);
	m->open[next].ran = true;
	slices_cut(m, s, cpu, next, m->open[next].span, end_away(m, s, next));
}

/* Wake-ups */

/* In what the vCPU is as it wakes a thread up, and the function that stands for it. */
static enum wake_context context_of(const struct making *m, const struct stack *stack, uint32_t *ret_function)
{
	enum wake_context context = WAKE_TASK;

	*ret_function = HISTORY_NONE;
	for (size_t i = stack->depth; i-- > 0;) {
		const struct frame *f = &stack->frames[i];

		if (frame_is_called(f) || f->kind == FRAME_BASE) {
			if (m->kinds.contexts[f->function] && context == WAKE_TASK) {
				context = m->kinds.contexts[f->function];
				*ret_function = f->function;
			}
			continue;
		}
		if (f->kind != FRAME_INTERRUPT || f->role < m->reader->arch->first_interrupt)
			break;
		if (context == WAKE_TASK) {
			context = WAKE_DEVICE;
			*ret_function = f->function;
		}
		break;
	}
	return context;
}

/* Of each boot, the last one is kept. */
static void keep_host_word(struct making *m, const struct boots *boots, struct host_word word)
{
	struct history *h = m->history;
	struct host_word *last = h->n_host_words ? &h->host_words[h->n_host_words - 1] : NULL;

	if (last && boots_at(boots, last->ns) == boots_at(boots, word.ns)) {
		*last = word;
		return;
	}
	h->host_words = array_grow(h->host_words, h->n_host_words, &m->host_words_cap, sizeof *h->host_words);
	h->host_words[h->n_host_words++] = word;
}

static void wake(struct making *m, struct stacks *s, const struct stack *stack, struct frame *frame)
{
	const struct fact *f = facts_find(&m->history->facts, FACT_WAKE, (uint32_t)stack->cpu, s->insns);
	uint32_t functions[STACK_MAX];
	struct away *a;
	size_t n;

	frame->data = f ? 0 : FRAME_UNTOLD;
	a = f ? sleep_of(m, s, f->numbers[0], s->ns) : NULL;
	if (!a)
		return;
	a->wake_ns = s->ns;
	a->waker = stacks_number(s, stack);
	a->context = context_of(m, stack, &a->waker_function);
	if (a->context == WAKE_TIMER)
		handovers_tell(m, s, stack, a);
	/* a queue that is frozen waits for requests, or, if it has none, for a grace period: block/blk-mq.c */
	if (a->context == WAKE_RCU && a->kind == WAIT_DISK)
		a->kind = WAIT_RCU;
	n = take_functions(stack, stack->depth, functions, false, s->names);
	a->waker_stack = keep_stack(m, functions, n);
}

static void spend(void *state, struct stacks *s, struct stack *stack, const struct spent *spent)
{
	slices_spend(state, s, stack, spent);
}

static void note_syscall(struct making *m, const struct stacks *s)
{
	uint64_t *first = &m->syscall_ns[boots_at(s->names->boots, s->ns)];

	if (s->ns < *first)
		*first = s->ns;
}

static void enter(void *state, struct stacks *s, struct stack *stack, struct frame *frame)
{
	struct making *m = state;
	uint8_t role = s->event ? m->roles[frame->function] : ROLE_NONE; /* what no event enters was entered before */
	uint32_t ignored;

	frame->data = 0; /* one that ends in a jump has the next function's frame */
	slices_enter(m, s, stack, frame);
	if (frame->kind == FRAME_SYSCALL && s->event) {
		note_syscall(m, s);
		if (__builtin_expect(m->texts.count, 0) && stack->cpu >= 0)
			tap_written(m, s, stack);
	}
	if (__builtin_expect(m->consoles, 0) && stack->cpu >= 0)
		spans_enter_callee(m, s, stack, frame);
	if (__builtin_expect(!role, 1) || stack->cpu < 0) {
		/* firmware, loader and kernel follow each other */
		if (frame->kind == FRAME_BASE && stack->cpu >= 0 && stack->thread == THREAD_NONE)
			slices_cut(m, s, (unsigned)stack->cpu, stacks_number(s, stack),
				   m->open[stacks_number(s, stack)].span, HISTORY_NONE);
		return;
	}
	if (role == ROLE_WAKE)
		wake(m, s, stack, frame);
	else if (role == ROLE_TIMER)
		handovers_set(m, s, stack, context_of(m, stack, &ignored));
	else if (role == ROLE_QUEUE)
		handovers_queue(m, s, stack, context_of(m, stack, &ignored));
	else if (role == ROLE_HOST)
		keep_host_word(m, s->names->boots,
			       (struct host_word){ .ns = s->ns, .thread = stacks_number(s, stack) });
	else
		spans_enter(m, s, stack, frame, role);
}

/* The interrupt on top of the stack came right before a function that was entered, or behind one that returned. */
static void tell_late(struct making *m, struct stacks *s, struct stack *stack)
{
	struct frame *under = &stack->frames[stack->depth - 2];
	uint8_t role = m->roles[under->function];

	stack->depth--;
	if (under->data & FRAME_UNTOLD && role == ROLE_WAKE)
		wake(m, s, stack, under);
	else if (under->data & FRAME_UNTOLD && role >= ROLE_SPANS)
		spans_tell(m, s, stack, under, role);
	spans_tell_result(m, s, stack);
	stack->depth++;
}

static void leave(void *state, struct stacks *s, struct stack *stack, const struct frame *frame)
{
	struct making *m = state;
	uint8_t role = m->roles[frame->function];

	if (__builtin_expect(s->end == FRAME_LOST, 0))
		m->lost_ns = s->ns;
	slices_leave(m, s, stack, frame);
	if (__builtin_expect(m->callee.depth, 0) && stack->cpu >= 0)
		spans_leave_callee(m, s, stack, frame);
	if (frame->kind == FRAME_INTERRUPT && stack->depth > 1 && stack->cpu >= 0)
		tell_late(m, s, stack);
	if (__builtin_expect(role >= ROLE_SPANS, 0))
		spans_leave(m, s, stack, frame, role);
}

static const struct open_thread nothing_open = {
	.span = HISTORY_NONE, .away = HISTORY_NONE, .lost = HISTORY_NONE, .unresolved = HISTORY_NONE,
};

/* What was a vCPU's is a thread's: it was that all the time. */
static void move(void *state, struct stacks *s, const struct stack *from, const struct stack *to)
{
	struct making *m = state;
	uint32_t before = stacks_number(s, from), now = stacks_number(s, to);
	struct history *h = m->history;

	for (size_t i = 0; i < h->n_slices; i++)
		making_rename(&h->slices[i].thread, before, now);
	for (size_t i = 0; i < h->n_spans; i++)
		making_rename(&h->spans[i].thread, before, now);
	for (size_t i = 0; i < h->n_aways; i++) {
		making_rename(&h->aways[i].thread, before, now);
		making_rename(&h->aways[i].waker, before, now);
		making_rename(&h->aways[i].timer.by, before, now);
	}
	handovers_rename(m, before, now);
	for (size_t i = 0; i < h->n_host_words; i++)
		making_rename(&h->host_words[i].thread, before, now);
	for (unsigned i = 0; i < m->n_cpus; i++)
		slices_rename(&m->running[i], before, now);
	m->open[now] = m->open[before];
	m->open[before] = nothing_open;
}

/* Who slept meanwhile, and up to when, is not known. */
static void found(void *state, struct stacks *s, const struct stack *stack, uint64_t since_ns)
{
	struct making *m = state;
	struct history *h = m->history;
	struct open_thread *t = &m->open[stacks_number(s, stack)];

	if (s->ns != m->found_ns)
		lose_aways(m, s);
	m->found_ns = s->ns;
	if (is_dead(m, stack))
		return;
	if (t->lost != HISTORY_NONE && h->aways[t->lost].start_ns >= since_ns) { /* it did not run in the gap */
		h->aways[t->lost].end_ns = UINT64_MAX;
		t->away = t->lost;
		return;
	}
	/* what is between spans is left out */
	begin_away(m, s, stack, latest(since_ns, latest(m->away_ns, m->lost_ns)));
}

static void gap(void *state, struct stacks *s, const struct stack *stack, uint64_t from_ns)
{
	struct making *m = state;
	bool first = s->event->args[GAP_NUMBER] != m->gap;

	m->gap = s->event->args[GAP_NUMBER];
	if (first && s->ns != m->found_ns) { /* nobody was found */
		m->lost_ns = latest(m->lost_ns, from_ns);
		lose_aways(m, s);
	}
	if (first)
		m->begins_ns = s->ns;
	slices_gap(m, s, (unsigned)stack->cpu, stacks_number(s, stack), from_ns);
	end_away(m, s, stacks_number(s, stack));
	m->open[stacks_number(s, stack)].ran = true;
}

static bool ran_linux(const struct session *session)
{
	const struct boots *boots = session->names->boots;

	for (size_t i = 0; i < boots->count; i++)
		if (boots->list[i].kernel_ns != UINT64_MAX)
			return true;
	return meta_get(&session->reader->meta, "imported");
}

static void begin(struct making *m, const struct session *session)
{
	size_t n = session->threads->count + reader_vcpus(session->reader), functions = names_count(session->names);

	m->n_cpus = reader_vcpus(session->reader);
	m->lacks_calls = thinned_is_filtered(&session->reader->meta);
	m->open = xcalloc(n, sizeof *m->open);
	for (size_t i = 0; i < n; i++)
		m->open[i] = nothing_open;
	m->syscall_ns = xmalloc((session->names->boots->count + 1) * sizeof *m->syscall_ns);
	for (size_t i = 0; i <= session->names->boots->count; i++)
		m->syscall_ns[i] = UINT64_MAX;
	slices_begin(m, session->threads, functions);
	m->dead = names_find(session->names, "do_task_dead");
	wait_kinds_init(&m->kinds, session->names);
	m->roles = spans_roles(session->names);
	if (!ran_linux(session)) /* functions of other kernels mean something else by such names */
		memset(m->roles, 0, functions * sizeof *m->roles);
}

static void end(struct making *m)
{
	slices_end(m);
	texts_deinit(&m->texts);
	free(m->tap);
	free(m->open);
	free(m->syscall_ns);
	free(m->roles);
	handovers_deinit(&m->handovers);
	map_free(&m->stacks);
	map_free(&m->lock_of);
	wait_kinds_deinit(&m->kinds);
}

static int by_start(const void *va, const void *vb)
{
	const struct slice *a = va, *b = vb;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

static int by_away_start(const void *va, const void *vb, void *aways)
{
	const struct away *all = aways;
	uint32_t a = *(const uint32_t *)va, b = *(const uint32_t *)vb;

	if (all[a].start_ns != all[b].start_ns)
		return all[a].start_ns < all[b].start_ns ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void sort_aways(struct history *h)
{
	uint32_t *order = xcalloc(h->n_aways + 1, sizeof *order), *now = xcalloc(h->n_aways + 1, sizeof *now);
	struct away *sorted = xcalloc(h->n_aways + 1, sizeof *sorted);

	for (uint32_t i = 0; i < h->n_aways; i++)
		order[i] = i;
	qsort_r(order, h->n_aways, sizeof *order, by_away_start, h->aways);
	for (uint32_t i = 0; i < h->n_aways; i++) {
		sorted[i] = h->aways[order[i]];
		now[order[i]] = i;
	}
	for (size_t i = 0; i < h->n_slices; i++)
		if (h->slices[i].away != HISTORY_NONE)
			h->slices[i].away = now[h->slices[i].away];
	free(h->aways);
	free(order);
	free(now);
	h->aways = sorted;
}

/* It had begun to exit, and never came back: it is over then, though do_task_dead() was left out. */
static bool was_its_last(const struct threads *threads, const struct away *a)
{
	const struct thread *t = threads_at(threads, a->thread);

	return t && a->end_ns == UINT64_MAX && a->wake_ns == UINT64_MAX && t->end_ns <= a->start_ns;
}

/* Who never ran again slept to the end, or was ready; and what ran last did so up to the end. */
static void finish(struct making *m, struct stacks *s)
{
	struct history *h = m->history;

	for (unsigned i = 0; i < m->n_cpus; i++)
		slices_cut(m, s, i, HISTORY_NONE, HISTORY_NONE, HISTORY_NONE);
	h->end_ns = s->ns;
	wakes_told(m, s, s->ns);
	for (size_t i = 0; i < s->threads->count; i++)
		add_birth(m, s, (uint32_t)i);
	if (m->moved)
		sort_aways(h);
	for (size_t i = 0; i < h->n_aways; i++) {
		const struct boots *boots = s->names->boots;
		size_t boot = boots_at(boots, h->aways[i].start_ns);

		if (h->aways[i].end_ns == UINT64_MAX && boot + 1 < boots->count)
			h->aways[i].end_ns = boots->list[boot + 1].start_ns;
		if (m->lacks_calls && was_its_last(s->threads, &h->aways[i]))
			h->aways[i].end_ns = h->aways[i].start_ns;
	}
}

int history_make(const struct session *session, struct history *ret, struct error *err)
{
	static const struct stacks_visitor visitor = { .enter = enter,
						       .leave = leave,
						       .spend = spend,
						       .move = move,
						       .switched = switched,
						       .gap = gap,
						       .found = found };
	struct making m = { .history = ret, .reader = session->reader };
	struct stacks stacks;
	int result;

	*ret = history_empty(session);
	if (facts_read(session->reader, &ret->facts, err) < 0)
		return -1;
	if (tap_read(session->reader, &m.texts, err) < 0)
		return -1;
	begin(&m, session);
	result = stacks_replay(&stacks, session, NULL, UINT64_MAX, &visitor, &m, err);
	if (result == 0) {
		finish(&m, &stacks);
		if (ret->n_slices)
			qsort(ret->slices, ret->n_slices, sizeof *ret->slices, by_start);
		history_index(ret);
		spans_finish(&m, &stacks);
	}
	stacks_deinit(&stacks);
	end(&m);
	return result;
}
