/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "why_make.h"

#include <stdlib.h>

#include "base/alloc.h"

const char *link_kind_name(enum link_kind kind)
{
	static const char *const names[LINK_KINDS] = {
		"run", "ready", "timer", "disk", "lock", "child", "peer", "rcu", "work", "device", "halt", "unknown",
	};

	return names[kind];
}

static enum link_kind kind_of_wait(enum wait_kind kind)
{
	static const enum link_kind kinds[WAIT_KINDS] = {
		[WAIT_UNKNOWN] = LINK_UNKNOWN, [WAIT_TIMER] = LINK_TIMER, [WAIT_DISK] = LINK_DISK,
		[WAIT_LOCK] = LINK_LOCK,       [WAIT_CHILD] = LINK_CHILD, [WAIT_PEER] = LINK_PEER,
		[WAIT_RCU] = LINK_RCU,         [WAIT_WORK] = LINK_WORK,   [WAIT_DEVICE] = LINK_DEVICE,
		[WAIT_IDLE] = LINK_WORK,
	};

	return kinds[kind];
}

static void put_link(struct walking *w, enum link_kind kind, uint32_t thread, uint64_t start, uint64_t end,
		     uint32_t slice, uint32_t away)
{
	struct why *why = w->why;

	if (end <= start)
		return;
	w->turns = 0;
	why->links = array_grow(why->links, why->n_links, &w->cap, sizeof *why->links);
	why->links[why->n_links++] = (struct link){
		.kind = kind, .thread = thread, .start_ns = start, .end_ns = end, .slice = slice, .away = away,
		.work = HISTORY_NONE,
	};
}

/* The thread was ready, and others had the vCPU on which it ran then. */
static void put_ready(struct walking *w, uint32_t thread, unsigned cpu, uint64_t start, uint64_t end, uint32_t away)
{
	const struct history *h = w->h;
	uint32_t i = history_on_cpu(h, cpu, end), first = h->first_on_cpu[cpu], none = h->first_on_cpu[cpu + 1];

	while (end > start && i < none) {
		const struct slice *x = &h->slices[h->by_cpu[i]];
		uint64_t from = x->start_ns > start ? x->start_ns : start;

		put_link(w, LINK_READY, thread, from, end, h->by_cpu[i], away);
		end = from < end ? from : end;
		i = i > first ? i - 1 : none;
	}
	put_link(w, LINK_READY, thread, start, end, HISTORY_NONE, away);
}

/* What a sleep is that nobody but an interrupt ended. */
static enum link_kind kind_of_sleep(const struct away *a)
{
	switch (a->context) {
	case WAKE_TIMER:
		return a->kind == WAIT_RCU ? LINK_RCU : LINK_TIMER;
	case WAKE_DISK:
		return LINK_DISK;
	case WAKE_RCU:
		return LINK_RCU;
	case WAKE_DEVICE:
		return a->kind == WAIT_DISK || a->kind == WAIT_RCU ? kind_of_wait(a->kind) : LINK_DEVICE;
	default:
		return kind_of_wait(a->kind);
	}
}

/* To be walked before all that was put off up to now: what comes earlier in time is put off first. */
static void put_off(struct walking *w, const struct stretch *stretch)
{
	if (stretch->to <= stretch->from)
		return;
	w->stretches = array_grow(w->stretches, w->n_stretches, &w->stretches_cap, sizeof *w->stretches);
	w->stretches[w->n_stretches++] = *stretch;
}

static void put_off_thread(struct walking *w, uint32_t thread, uint64_t from, uint64_t to, uint32_t away)
{
	put_off(w, &(struct stretch){
		.kind = LINK_RUN, .thread = thread, .from = from, .to = to, .away = away,
		.work = HISTORY_NONE,
	});
}

/*
 * May another thread be followed? In a damaged trace threads may hand over to each other in a circle, in no time: each
 * had its turn then.
 */
static bool may_hand_over(struct walking *w)
{
	return w->turns++ <= w->h->n_threads;
}

/* The thread slept in that time, and was woken up, if it was, at its end. */
static void walk_sleep(struct walking *w, const struct away *a, uint32_t number, uint64_t from, uint64_t to)
{
	if (a->context == WAKE_TASK && a->waker != HISTORY_NONE && a->waker != a->thread && a->wake_ns == to &&
	    may_hand_over(w)) {
		put_off_thread(w, a->waker, from, to, number);
	} else if (a->timer.by != HISTORY_NONE && a->timer.ns > from && a->timer.ns < to && a->wake_ns == to) {
		/* before somebody set the timer, there was that one */
		put_link(w, kind_of_sleep(a), a->thread, a->timer.ns, to, HISTORY_NONE, number);
		put_off_thread(w, a->timer.by, from, a->timer.ns, number);
	} else {
		put_link(w, kind_of_sleep(a), a->thread, from, to, HISTORY_NONE, number);
	}
}

/* What told first of the thread; NULL: nothing did. */
static const struct task_record *first_record(const struct walking *w, uint32_t thread)
{
	const struct thread *t = thread < w->threads->count ? &w->threads->list[thread] : NULL;

	return t ? threads_record(w->threads, t->task, t->start_ns) : NULL;
}

/* Was a process there before anybody saw it? The idle thread is there before all. */
static bool was_there(const struct walking *w, uint32_t thread)
{
	const struct task_record *record = first_record(w, thread);

	return record && record->change == TASK_SEEN && record->pid > 0;
}

/* Who made the thread: the one that ran then. HISTORY_NONE: it was there before the kernel could be asked. */
static uint32_t maker_of(const struct walking *w, uint32_t thread)
{
	const struct task_record *record = first_record(w, thread);
	const struct history *h = w->h;
	uint32_t maker, at;

	if (!record || record->change != TASK_NEW || record->cpu >= h->n_cpus)
		return HISTORY_NONE;
	at = history_on_cpu(h, record->cpu, w->threads->list[thread].start_ns);
	if (at == h->first_on_cpu[record->cpu + 1])
		return HISTORY_NONE;
	maker = h->slices[h->by_cpu[at]].thread;
	return maker == thread ? HISTORY_NONE : maker;
}

/* Before a thread was made, there was its maker. */
static void walk_birth(struct walking *w, uint32_t thread, uint64_t from, uint64_t to, uint32_t away)
{
	uint64_t made = thread < w->threads->count ? w->threads->list[thread].start_ns : 0;
	uint32_t maker = maker_of(w, thread);

	/* it is not known what it did before it was recorded */
	if (made < w->begins_ns || was_there(w, thread)) {
		put_link(w, LINK_UNKNOWN, thread, from, to, HISTORY_NONE, HISTORY_NONE);
		return;
	}
	made = made < from ? from : made < to ? made : to;
	put_link(w, LINK_UNKNOWN, thread, made, to, HISTORY_NONE, HISTORY_NONE);
	if (maker != HISTORY_NONE && may_hand_over(w))
		put_off_thread(w, maker, from, made, away);
	else
		put_link(w, LINK_UNKNOWN, thread, from, made, HISTORY_NONE, HISTORY_NONE);
}

/* The vCPU on which an absence ends; if it never does, the last that the thread ran on. */
static unsigned cpu_of(const struct history *h, const struct away *a)
{
	uint32_t slice = history_slice(h, a->thread, a->end_ns);

	return slice == HISTORY_NONE ? 0 : h->slices[slice].cpu;
}

/* The absence behind a slice, up to `to`. */
static void walk_away(struct walking *w, uint32_t number, uint64_t from, uint64_t to, uint32_t via)
{
	const struct away *a = &w->h->aways[number];
	uint64_t woken, end = a->end_ns < from ? from : a->end_ns;

	if (end < to) { /* in a gap, or where a boot ends */
		put_link(w, LINK_UNKNOWN, a->thread, end, to, HISTORY_NONE, HISTORY_NONE);
		to = end;
	}
	woken = a->wake_ns < to ? a->wake_ns : to;
	if (woken < from)
		woken = from;
	put_ready(w, a->thread, cpu_of(w->h, a), woken, to, via);
	if (woken > from)
		walk_sleep(w, a, number, from, woken);
}

/* The last absence of a list that begins before the moment; HISTORY_NONE: there is none. */
static uint32_t away_before(const struct walking *w, uint32_t last, uint64_t ns)
{
	while (last != HISTORY_NONE && w->h->aways[last].start_ns >= ns)
		last = w->earlier[last];
	return last;
}

/* The work that a slice begins with; HISTORY_NONE: it begins with something else, or nobody knows who queued that. */
static uint32_t work_begun(const struct history *h, const struct slice *x)
{
	uint32_t span = x->span;

	while (span != HISTORY_NONE && h->spans[span].kind != SPAN_WORK)
		span = h->spans[span].parent;
	if (span == HISTORY_NONE || h->spans[span].start_ns != x->start_ns || h->spans[span].queued == HISTORY_NONE)
		return HISTORY_NONE;
	return h->queued[h->spans[span].queued].ns <= x->start_ns ? span : HISTORY_NONE;
}

/* A link up to when the work was queued, by an interrupt. */
static void put_queued(struct walking *w, const struct stretch *stretch)
{
	put_link(w, stretch->kind, stretch->thread, stretch->from, stretch->to, HISTORY_NONE, HISTORY_NONE);
	w->why->links[w->why->n_links - 1].work = stretch->work;
}

/*
 * Before a worker begins the work there was, in [from, to), what it did since that was queued; before that, who queued
 * it, or set the timer that did: what the worker did for others is no part of it.
 */
static void walk_queued(struct walking *w, uint32_t thread, uint32_t work, uint64_t from, uint64_t to, uint32_t away)
{
	const struct work_queued *q = &w->h->queued[w->h->spans[work].queued];
	struct stretch wait = { .kind = LINK_DEVICE, .thread = thread, .from = from, .work = work };

	wait.to = q->ns > from ? q->ns : from;
	if (q->by != HISTORY_NONE) {
		put_off_thread(w, q->by, from, wait.to, away);
	} else {
		if (q->timer.function != HISTORY_NONE) {
			wait.kind = LINK_TIMER;
			if (q->timer.by != HISTORY_NONE && q->timer.ns > from)
				wait.from = q->timer.ns < wait.to ? q->timer.ns : wait.to;
		}
		put_off_thread(w, q->timer.by, from, wait.from, away);
		put_off(w, &wait);
	}
	put_off_thread(w, thread, wait.to, to, away);
}

/* It was off the CPU, or is not known to have been on it, where the stretch ends. */
static void walk_off(struct walking *w, struct stretch x, uint32_t number)
{
	const struct history *h = w->h;
	const struct slice *slice = number == HISTORY_NONE ? NULL : &h->slices[number];
	uint32_t off = away_before(w, slice ? w->away_at[number] : w->found[x.thread], x.to);
	uint64_t to = x.to, start = off != HISTORY_NONE ? h->aways[off].start_ns : 0;

	if (!slice && off == HISTORY_NONE) {
		walk_birth(w, x.thread, x.from, to, x.away);
		return;
	}
	if (slice && start < slice->end_ns)
		start = slice->end_ns;
	if (start < x.from)
		start = x.from;
	x.to = start;
	put_off(w, &x);
	if (off != HISTORY_NONE)
		walk_away(w, off, start, to, x.away);
	else
		put_link(w, LINK_UNKNOWN, x.thread, start, to, HISTORY_NONE, HISTORY_NONE);
}

/* It was on the CPU where the stretch ends. */
static void walk_slice(struct walking *w, struct stretch x, uint32_t number)
{
	const struct slice *slice = &w->h->slices[number];
	bool halted = slice->halted_ns > (slice->end_ns - slice->start_ns) / 2, begins = slice->start_ns > x.from;
	uint64_t start = begins ? slice->start_ns : x.from;
	uint32_t work = begins ? work_begun(w->h, slice) : HISTORY_NONE;

	put_link(w, halted ? LINK_HALT : LINK_RUN, x.thread, start, x.to, number, x.away);
	if (work != HISTORY_NONE) {
		walk_queued(w, x.thread, work, x.from, start, x.away);
		return;
	}
	x.to = start;
	put_off(w, &x);
}

/* Tile the stretches that were put off with what their threads did, or waited for. */
static void walk(struct walking *w)
{
	while (w->n_stretches) {
		struct stretch x = w->stretches[--w->n_stretches];
		uint32_t number;

		if (x.work != HISTORY_NONE) {
			put_queued(w, &x);
			continue;
		}
		number = history_slice(w->h, x.thread, x.to - 1);
		if (number == HISTORY_NONE || w->h->slices[number].end_ns < x.to)
			walk_off(w, x, number);
		else
			walk_slice(w, x, number);
	}
}

/* Find the absences behind each slice. */
static void prepare(struct walking *w)
{
	const struct history *h = w->h;
	uint32_t *list;

	w->away_at = xcalloc(h->n_slices + 1, sizeof *w->away_at);
	for (size_t i = 0; i < h->n_slices; i++)
		w->away_at[i] = HISTORY_NONE;
	w->earlier = xcalloc(h->n_aways + 1, sizeof *w->earlier);
	w->begins_ns = h->n_slices ? h->slices[0].start_ns : 0;
	w->found = xmalloc((h->n_threads + 1) * sizeof *w->found);
	for (size_t i = 0; i <= h->n_threads; i++)
		w->found[i] = HISTORY_NONE;
	for (size_t i = 0; i < h->n_aways; i++) {
		const struct away *a = &h->aways[i];
		uint32_t last = history_slice(h, a->thread, a->start_ns);

		/* that is the slice behind it, if it took no time, or the one before, if that took none */
		if (last != HISTORY_NONE && h->slices[last].end_ns != a->start_ns)
			last = a->start_ns ? history_slice(h, a->thread, a->start_ns - 1) : HISTORY_NONE;
		/* more than one is behind it only if a gap is between them */
		list = last == HISTORY_NONE ? &w->found[a->thread] : &w->away_at[last];
		w->earlier[i] = *list;
		*list = (uint32_t)i;
		if (!w->idle_ns && a->context != WAKE_FORK && a->start_ns >= w->why->from_ns)
			w->idle_ns = a->start_ns;
	}
}

static void turn(struct why *why)
{
	for (size_t i = 0; i < why->n_links / 2; i++) {
		struct link other = why->links[i];

		why->links[i] = why->links[why->n_links - 1 - i];
		why->links[why->n_links - 1 - i] = other;
	}
}

void why_make(const struct history *h, const struct names *names, const struct threads *threads, uint64_t from_ns,
	      const struct milestone *to, struct why *ret)
{
	struct walking w = { .h = h, .threads = threads, .why = ret };

	*ret = (struct why){ .from_ns = from_ns, .to_ns = to->ns, .memory = xcalloc(1, sizeof *ret->memory) };
	prepare(&w);
	put_off_thread(&w, to->thread, from_ns, to->ns, HISTORY_NONE);
	walk(&w);
	turn(ret);
	why_make_causes(&w, names);
	free(w.stretches);
	free(w.away_at);
	free(w.earlier);
	free(w.found);
}

void why_deinit(struct why *w)
{
	for (size_t i = 0; w->memory && i < w->memory->count; i++)
		free(w->memory->list[i]);
	if (w->memory)
		free(w->memory->list);
	free(w->memory);
	free(w->links);
	free(w->causes);
	*w = (struct why){ 0 };
}
