/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "span_end.h"

static struct {
	const struct awaited *list;
	size_t n;
	size_t at;               /* what has begun, or is waited for */
	struct function_events starts, stops;
	bool on;                 /* it has begun */
	bool over;               /* nothing is waited for any more */
	uint64_t n_stops;        /* how often the stop condition held since */
	uint64_t early;          /* how often the start condition is still to hold: it was begun before that */
	uint64_t begun_ns;       /* the next clock's, where it began again: no earlier than it did */
	bool clocked;            /* begun_ns is known */
	bool ordered;            /* the events are those of one vCPU */
	bool timed;              /* the stop condition's time has come: that happens once */
	bool first;              /* the event by which it began has not been seen … */
	bool to_come;            /* … and is still to come: else it may have been before the span */
	bool maybe;              /* what is next may have begun, maybe after the stop condition held … */
	/* … which may have been long ago, as when a call that it ends with is from before the span */
	bool late;
	bool ended;
} span;

static const struct awaited *now(void)
{
	return &span.list[span.at];
}

static void go_to(size_t at)
{
	const struct awaited *a = &span.list[at];

	span.at = at;
	span.timed = false;
	span.starts = (struct function_events){ .condition = &a->start, .functions = &a->starts };
	span.stops = (struct function_events){ .condition = &a->stop, .functions = &a->stops };
}

void span_end_await(const struct awaited *list, size_t n)
{
	span.list = list;
	span.n = n;
	go_to(0);
}

static void set_ended(bool ended)
{
	__atomic_store_n(&span.ended, ended, __ATOMIC_RELEASE);
}

bool span_ended(void)
{
	return __atomic_load_n(&span.ended, __ATOMIC_ACQUIRE);
}

/* Its number; span.n: nothing is. */
static size_t next(void)
{
	return span.at + 1 < span.n ? span.at + 1 : now()->every ? span.at : span.n;
}

size_t span_end_next(void)
{
	return span.over ? SIZE_MAX : span.at;
}

static bool is_looked_for(const struct awaited *a)
{
	return a->ends && !a->unknown;
}

/* `exactly`: the start condition holds there. */
static void begin(bool exactly)
{
	const struct condition *start = &now()->start;

	span.on = true;
	span.n_stops = 0;
	span.early = exactly                         ? 0
		     : start->kind == CONDITION_EXIT ? start->nth
						     : start->kind == CONDITION_ENTRY || start->kind == CONDITION_TIME;
	span.late = !span.ordered || span.early || now()->stop.kind == CONDITION_EXIT;
	span.maybe = false;
	set_ended(false);
}

bool span_end_begin(uint64_t ns, bool to_come, bool ordered)
{
	const struct condition *stop;

	if (!span.n || !is_looked_for(now()))
		return false;
	stop = &now()->stop;
	span.ordered = ordered;
	begin(now()->start.kind == CONDITION_ENTRY);
	span.begun_ns = ns;
	span.clocked = true;
	span.starts.n_open = span.stops.n_open = 0;
	span.timed |= stop->kind == CONDITION_TIME && !stop->relative && ns >= stop->ns;
	span.first = now()->start.kind == CONDITION_ENTRY;
	span.to_come = to_come && span.first;
	return true;
}

static bool is_time(const struct event *e)
{
	const struct condition *stop = &now()->stop;

	if (!event_has_clock(e->kind))
		return false;
	if (stop->relative)
		return span.clocked && e->ns >= span.begun_ns + stop->ns;
	if (span.timed || e->ns < stop->ns)
		return false;
	return span.timed = true;
}

static bool is_of_function(const struct condition *c)
{
	return c->kind == CONDITION_ENTRY || c->kind == CONDITION_EXIT;
}

/* Does the stop condition hold there? */
static bool stops(const struct event *e)
{
	if (is_of_function(&now()->stop))
		return function_events_hold(&span.stops, e);
	return now()->stop.kind == CONDITION_TIME && is_time(e);
}

static bool starts(const struct awaited *a, const struct event *e)
{
	if (a->start.kind == CONDITION_TIME)
		return event_has_clock(e->kind) && e->ns + AHEAD_NS >= a->start.ns;
	return a->start.kind == CONDITION_ENTRY && functions_have(&a->starts, e->target);
}

/* Calls from before it may begin it, or that cannot be told. */
static bool begins_at_once(const struct awaited *a)
{
	return a->unknown || a->start.kind == CONDITION_NONE || a->start.kind == CONDITION_EXIT;
}

/* The next clock is no earlier than it began, so that its end may be found late. */
static void await_clock(void)
{
	span.clocked = false;
	span.late |= now()->stop.relative;
}

static void begin_here(bool exactly)
{
	begin(exactly);
	await_clock();
	span.first = span.to_come = false;
}

/* What is next may have begun already: that goes on. */
static void end(const struct event *e)
{
	bool maybe = span.maybe, again = next() == span.at;

	span.maybe = span.on = false;
	if (next() == span.n) {
		span.over = true;
		set_ended(true);
		return;
	}
	if (!again)
		go_to(next());
	if (maybe || begins_at_once(now()))
		begin_here(again);
	else if (!again && starts(now(), e))
		begin_here(now()->start.kind == CONDITION_ENTRY);
	else
		set_ended(true);
}

/* Where the same begins again, it ends with the same, too. */
static bool is_late(void)
{
	return span.late && next() != span.at;
}

/* Each vCPU's events come together, and a time is known at the next clock only: was the span over then? */
static void see_start(const struct event *e)
{
	if (!span.on && starts(now(), e))
		begin_here(now()->start.kind == CONDITION_ENTRY);
	else if (span.on && next() < span.n && starts(&span.list[next()], e))
		span.maybe = !span.ordered || now()->stop.kind == CONDITION_TIME || is_late();
}

static void see_clock(const struct event *e)
{
	if (!span.clocked)
		span.begun_ns = e->ns;
	span.clocked = true;
	if (span.ordered && !is_late())
		span.maybe = false; /* it was not over */
}

/* Of a call that begins here the end may be what stops. */
static void see_call(const struct event *e)
{
	if (is_of_function(&now()->stop))
		function_events_hold(&span.stops, e);
}

/*
 * What begins the span does not end it, also where both are the same function, nor does what is before it. Where
 * control has run into the function, the mark was a little earlier (waiting_for_inner()).
 */
static void see_first(const struct event *e)
{
	span.first = span.to_come = false;
	if (e->kind == EVENT_ARRIVE)
		await_clock();
	see_call(e);
}

/* Other vCPUs' events are shown in any order: some of what is seen before the first may be after it. */
static void see_before_first(const struct event *e)
{
	see_call(e);
	see_start(e);
}

/* Until the start condition holds nothing ends what has begun before it. */
static void see_early(const struct event *e)
{
	const struct condition *start = &now()->start;

	stops(e);
	see_start(e);
	if (start->kind == CONDITION_TIME ? !event_has_clock(e->kind) || e->ns < start->ns
					  : !function_events_hold(&span.starts, e))
		return;
	if (--span.early)
		return;
	span.n_stops = 0;
	span.clocked = event_has_clock(e->kind);
	span.begun_ns = e->ns;
}

void span_end_taken(void)
{
	set_ended(false);
}

void span_end_event(const struct event *e)
{
	if (span.over || (span.on && !is_looked_for(now())))
		return;
	if (span.first && functions_have(&now()->starts, e->target)) {
		see_first(e);
	} else if (span.to_come) {
		see_before_first(e);
	} else if (span.on && span.early) {
		see_early(e);
	} else if (stops(e) && span.on && ++span.n_stops >= now()->stop.nth) {
		end(e);
	} else {
		see_start(e);
		if (event_has_clock(e->kind))
			see_clock(e);
	}
}
