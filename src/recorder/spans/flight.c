/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flight.h"

#include "hold.h"

static struct {
	const struct condition *start, *stop;
	struct function_events starts, stops;
	bool awaits;
	bool on;             /* what comes is written */
	uint64_t start_ns;   /* the start condition held, last … */
	bool clocked;        /* … start_ns is known: no earlier than it did */
	unsigned start_cpu;
	uint64_t n_stops;    /* … and the stop condition so often since */
	bool start_timed, stop_timed; /* its time has come: that happens once */
	bool ends;           /* … as often as it has to: at that vCPU's next clock what is written ends */
	unsigned end_cpu;
} flight;

void flight_await(const struct condition *start, const struct functions *starts, const struct condition *stop,
		  const struct functions *stops)
{
	flight.start = start;
	flight.stop = stop;
	flight.starts = (struct function_events){ .condition = start, .functions = starts };
	flight.stops = (struct function_events){ .condition = stop, .functions = stops };
	flight.awaits = true;
}

bool flight_awaits(void)
{
	return flight.awaits;
}

void flight_start(unsigned cpu, uint64_t ns)
{
	hold_release();
	flight.on = true;
	flight.ends = false;
	flight.n_stops = 0;
	flight.start_ns = ns;
	flight.start_cpu = cpu;
	flight.clocked = true;
}

/* A call whose exit is a start has to be in the file from its entry on. */
static bool may_start(void)
{
	return flight.starts.n_open || flight.starts.missed;
}

/* Other vCPUs' events are drained in any order: what may be older than the start does not count. */
static void stop(unsigned cpu, uint64_t not_before_ns)
{
	if (!flight.on || (cpu != flight.start_cpu && (!flight.clocked || not_before_ns < flight.start_ns)))
		return;
	if (++flight.n_stops < flight.stop->nth || may_start())
		return;
	flight.on = false;
	flight.ends = true;
	flight.end_cpu = cpu;
}

static void end_at(unsigned cpu, uint64_t ns)
{
	if (!flight.ends || cpu != flight.end_cpu)
		return;
	flight.ends = false;
	hold_again(ns);
}

void flight_stop(unsigned cpu, uint64_t ns)
{
	stop(cpu, ns);
	end_at(cpu, ns);
}

static bool is_of_function(const struct condition *c)
{
	return c->kind == CONDITION_ENTRY || c->kind == CONDITION_EXIT;
}

static void see_clock(unsigned cpu, uint64_t ns)
{
	const struct condition *c = flight.stop;

	if (cpu == flight.start_cpu && !flight.clocked) {
		flight.start_ns = ns;
		flight.clocked = true;
	}
	/* the vCPU that told of it looked ahead */
	if (flight.start->kind == CONDITION_TIME && !flight.start_timed && ns >= flight.start->ns) {
		flight.start_timed = true;
		flight_start(cpu, ns);
	}
	if (c->kind == CONDITION_TIME && c->relative && flight.clocked && ns >= flight.start_ns + c->ns)
		stop(cpu, ns);
	if (c->kind == CONDITION_TIME && !c->relative && !flight.stop_timed && ns >= c->ns) {
		flight.stop_timed = true;
		stop(cpu, ns);
	}
	end_at(cpu, ns);
}

void flight_event(unsigned cpu, const struct event *e, uint64_t last_ns)
{
	if (is_of_function(flight.stop) && function_events_hold(&flight.stops, e))
		stop(cpu, last_ns);
	/* its entry was told of */
	if (flight.start->kind == CONDITION_EXIT && function_events_hold(&flight.starts, e)) {
		flight_start(cpu, last_ns);
		flight.clocked = false;
	}
	if (event_has_clock(e->kind))
		see_clock(cpu, e->ns);
}
