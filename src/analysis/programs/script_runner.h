/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of script_run() have in common: the moment at which a probe fires, and what is kept between moments.
 */
#ifndef UPTO_ANALYSIS_SCRIPT_RUNNER_H
#define UPTO_ANALYSIS_SCRIPT_RUNNER_H

#include "base/map.h"
#include "base/name_table.h"
#include "script_places.h"
#include "script_run.h"
#include "script_stacks.h"
#include "script_state.h"

/* What is known of the moment at which a probe fires. */
struct moment {
	const struct stack *stack; /* of the thread; NULL: nobody's */
	const struct frame *frame; /* of the call that begins or ends, if it is one */
	uint32_t function;         /* whose that is */
	bool has_function;
	uint64_t ns, insns;
	unsigned cpu;
	uint32_t id; /* of the function, the event, the system call */
	struct script_place at;
	const struct event_record *record;
	const uint64_t *args; /* of a system call */
	uint64_t result;
	bool exits;              /* it is the end of a system call */
	bool faults;             /* it is that of the code that the frame cut into */
	uint64_t text_insns;     /* of a system call: the counter at its begin */
	const struct fact *line; /* of the log */
	const struct span_of *span;
	const struct away *away;
	bool ends; /* something ends that has a duration: */
	uint64_t duration_ns, duration_insns, self_ns, self_insns;
};

/* What a stack's frames have spent in calls of theirs that have returned. */
struct spending {
	struct {
		uint64_t ns, insns;
	} * of;
	size_t cap;
};

struct script_runner {
	const struct script_run_options *o;
	struct script_places places;
	struct script_stacks stacks;
	struct machine *machine;
	struct moment now;
	uint32_t *name_of;       /* by function: number of its name … */
	struct name_table names; /* … here, which is the same for all parts of the trace */
	struct map probe_names;  /* what `probe` is, by place in the program and what is there */
	long *fields;            /* by field and event: its number in the event; -1: it has none */
	long *probed;            /* by event: number of the field that has the function; -1: none */
	struct buf text;         /* of an event's field */
	size_t next_fact, next_span, next_away;
	const struct stack **running; /* by vCPU */
	unsigned vcpus;
	uint32_t *parents;            /* by thread: number + 1 of its parent's, as found last; 0: not found yet */
	uint32_t overtaken;           /* the data of the call that a signal's handler comes before; 0: none does */
	struct spending *spending;    /* by stack; NULL: nobody asks */
	size_t n_spending;
	uint64_t *counted; /* by vCPU, and place of places.others: how many since it fired */
	size_t n_counted;
	uint32_t *spans; /* numbers of the history's spans, by end */
	uint32_t *aways; /* likewise */
	size_t n_spans, n_aways;
	uint64_t random;
	struct script_state state; /* where it goes on */
	bool over;
	bool began;   /* BEGIN has fired */
	/* it replays a part of the trace beside others: r->now fires its handler r->now.at; false: it is over */
	bool (*fire)(struct script_runner *r);
	/* while the trace is replayed by its index (script_replay.c): */
	bool *functions;  /* marks of those whose entries or returns fire */
	bool skips_parts; /* what nothing fires in is not replayed */
	size_t entry;     /* number of the index's entry that replay is in */
	bool skips;       /* nothing fires behind it for a while */
	bool replays;     /* it has begun */
};

/* What the machine asks of the moment; context: struct script_runner (script_values.c). */
struct machine_host script_host(struct script_runner *r);

/* The function that holds an address at the moment; `user`: of a program. */
uint32_t script_function_at(const struct script_runner *r, uint64_t address, bool user);

/* Run the handlers of number n that are at the moment r->now; `s` then ends its replay if the program is over. */
void script_fire(struct script_runner *r, struct stacks *s, const struct script_index *x, size_t n);

/* Hears the replay (script_visitor.c); its state: struct script_runner. */
struct stacks_visitor script_visitor(void);

/* What is known where a replay begins, once it is there: who runs, and what goes on from the part before. */
void script_begin_replay(struct script_runner *r, struct stacks *s);

/* Replay the trace, or as much of it as something may fire in (script_replay.c). */
int script_replay(struct script_runner *r, struct error *err);

/*
 * All from before that time that is beside the events: facts, spans, waits, timers (script_beside.c). Returns the time
 * of the next. `s`: NULL behind the trace's end.
 */
uint64_t script_tell_beside(struct script_runner *r, struct stacks *s, uint64_t ns);
/* When the next of that is. *ret_is_timer: it needs nothing that replay knows. */
uint64_t script_next_beside(struct script_runner *r, bool *ret_is_timer);
/* Choose and sort what of the history the program hears of. */
void script_sort_history(struct script_runner *r);

#endif
