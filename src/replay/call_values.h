/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What functions were given and gave back, if it was recorded: facts ARGS and RETURNS, and their prototypes. */
#ifndef UPTO_REPLAY_CALL_VALUES_H
#define UPTO_REPLAY_CALL_VALUES_H

#include "stacks.h"
#include "trace/facts.h"
#include "trace/prototypes.h"

struct call_values {
	struct facts facts;
	struct prototype *prototypes; /* by number */
	size_t count;
	struct map functions;         /* addresses that have one */
	struct map named;             /* functions of programs, by number, that have one */
	struct map beside;            /* by kind, vCPU and counter: number of a fact FLOATS or STACK, + 1 */
	const struct names *names;
};

/* All of a trace; it may have none. `names` must outlive it. Call call_values_deinit() also after an error. */
int call_values_read(const struct reader *r, const struct names *names, struct call_values *ret, struct error *err);
void call_values_deinit(struct call_values *c);

/*
 * Give calls what is told of beside their arguments: texts that were not in memory when they were entered, and floating
 * numbers. The facts have their times, and are in that order.
 */
void call_values_complete(struct call_values *c);

/* The value that parameter `i` of the call had, which is no floating number. False: that was not recorded. */
bool call_values_number(const struct call_values *c, const struct fact *args, unsigned i, uint64_t *ret);
/* The floating number that it had. */
bool call_values_float(const struct call_values *c, const struct fact *args, unsigned i, double *ret);
/* The same of what a call gave back. */
bool call_values_float_result(const struct call_values *c, const struct fact *result, double *ret);

/*
 * What a function was given that is entered there, and what it gives back that is left there: by the vCPU, and its
 * counter at the event; `task` is the thread's task_struct. NULL: that was not recorded. `frame` is its frame.
 */
const struct fact *call_values_args(const struct call_values *c, const struct frame *frame, uint64_t task, unsigned cpu,
				    uint64_t insns);
const struct fact *call_values_result(const struct call_values *c, const struct frame *frame, unsigned cpu,
				      uint64_t insns);

/*
 * The same as the first, but only what was read right at the entry, where no interrupt came before the function's first
 * instruction: so it is that call's, whatever comes later.
 */
const struct fact *call_values_at_entry(const struct call_values *c, const struct frame *frame, unsigned cpu,
					uint64_t insns);
/* … of a call that is under way, by the thread's task_struct: the same one. */
const struct fact *call_values_entered(const struct call_values *c, const struct frame *frame, uint64_t task);

/* The same of a call that is under way at that time, by the thread's task_struct. */
const struct fact *call_values_open(const struct call_values *c, const struct frame *frame, uint64_t task, uint64_t ns);

/* Is a program's function, by number, the prototype's? */
bool call_values_is_named(const struct call_values *c, const struct prototype *p, uint32_t function);

/* A fact's prototype. */
const struct prototype *call_values_prototype(const struct call_values *c, const struct fact *fact);

#endif
