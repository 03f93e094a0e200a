/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "span_end.h"

#include "select/trigger.h"

static struct {
	const struct condition *start, *stop;
	const struct functions *starts;
	struct function_events stops;
	struct trigger trigger;
	uint64_t begun_ns;       /* the next clock's, where it began again: no earlier than it did */
	bool clocked;            /* begun_ns is known */
	bool ordered;            /* the events are those of one vCPU */
	bool timed;              /* the stop condition's time has come: that happens once */
	bool first;              /* the event by which it began has not been seen … */
	bool to_come;            /* … and is still to come: else it may have been before the span */
	bool maybe;              /* the start condition held again, maybe after the stop condition */
	bool ended;
} span;

void span_end_await(const struct condition *start, const struct functions *starts, const struct condition *stop,
		    const struct functions *stops, bool again)
{
	span.start = start;
	span.stop = stop;
	span.starts = starts;
	span.stops = (struct function_events){ .condition = stop, .functions = stops };
	span.trigger = (struct trigger){
		.has_start = true, .has_stop = true, .every = again, .start_nth = 1, .stop_nth = stop->nth,
	};
}

static void set_ended(bool ended)
{
	__atomic_store_n(&span.ended, ended, __ATOMIC_RELEASE);
}

bool span_ended(void)
{
	return __atomic_load_n(&span.ended, __ATOMIC_ACQUIRE);
}

bool span_end_begin(uint64_t ns, bool to_come, bool ordered)
{
	if (!span.stop)
		return false;
	trigger_init(&span.trigger);
	trigger_start(&span.trigger);
	span.begun_ns = ns;
	span.clocked = true;
	span.stops.n_open = 0;
	span.ordered = ordered;
	span.timed |= !span.stop->relative && ns >= span.stop->ns;
	span.first = span.start->kind == CONDITION_ENTRY;
	span.to_come = to_come && span.first;
	span.maybe = false;
	set_ended(false);
	return true;
}

static bool is_time(const struct event *e)
{
	if (!event_has_clock(e->kind))
		return false;
	if (span.stop->relative)
		return span.clocked && e->ns >= span.begun_ns + span.stop->ns;
	if (span.timed || e->ns < span.stop->ns)
		return false;
	return span.timed = true;
}

/* Does the stop condition hold there? */
static bool stops(const struct event *e)
{
	switch (span.stop->kind) {
	case CONDITION_ENTRY:
	case CONDITION_EXIT:
		return function_events_hold(&span.stops, e);
	case CONDITION_TIME:
		return is_time(e);
	default:
		return false;
	}
}

/* It may already be another span: that goes on. */
static void end(const struct event *e)
{
	if (span.maybe && trigger_start(&span.trigger)) {
		span.maybe = false;
		span.begun_ns = e->ns;
		return;
	}
	set_ended(true);
}

static void go_on(void)
{
	span.clocked = false;
	set_ended(false);
}

/* Each vCPU's events come together, and a time is known at the next clock only: was the span over then? */
static void start_again(void)
{
	if (span.trigger.on)
		span.maybe = span.trigger.every && (!span.ordered || span.stop->kind == CONDITION_TIME);
	else if (trigger_start(&span.trigger))
		go_on();
}

static void see_clock(uint64_t ns)
{
	if (!span.clocked)
		span.begun_ns = ns;
	span.clocked = true;
	if (span.ordered)
		span.maybe = false; /* it was not over */
}

/*
 * What begins the span does not end it, also where both are the same function, nor does what is before it. Where control has run into the function,
 * the mark was a little earlier (waiting_for_inner()).
 */
static void see_first(const struct event *e)
{
	span.first = span.to_come = false;
	span.clocked = e->kind != EVENT_ARRIVE;
}

void span_end_taken(void)
{
	set_ended(false);
}

void span_end_event(const struct event *e)
{
	if (span.first && functions_have(span.starts, e->target))
		see_first(e);
	else if (span.to_come)
		;
	else if (stops(e) && trigger_stop(&span.trigger))
		end(e);
	else if (span.start->kind == CONDITION_ENTRY && functions_have(span.starts, e->target))
		start_again();
	else if (event_has_clock(e->kind))
		see_clock(e->ns);
}
