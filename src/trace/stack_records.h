/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What threads were in the middle of where a gap ends: the calls of each that had not returned, though what made them
 * is not in the trace (docs/format.md, chunk STACKS).
 */
#ifndef UPTO_TRACE_STACK_RECORDS_H
#define UPTO_TRACE_STACK_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/error.h"

enum stack_call_kind {
	STACK_BASE = 1,     /* where the thread began, or was first seen: nothing returns from it */
	STACK_CALL,
	STACK_TAIL,         /* the call below jumped there, maybe by a thunk */
	STACK_INTERRUPT,
	STACK_SYSCALL,
	STACK_SIGNAL,       /* a signal's handler */
	STACK_CALL_KINDS,
};

/* A call, or what else entered a function, under way; slot and addresses as those of its event (event.h). */
struct stack_call {
	enum stack_call_kind kind;
	uint64_t slot, from, target;
	uint64_t ns;        /* when it was made */
	uint64_t number;    /* INTERRUPT: the vector; SYSCALL: enum syscall_role (arch/arch.h) */
};

struct stack_record {
	uint64_t gap;       /* number of the gaps (GAP_NUMBER), of which the first one that ends is meant */
	uint64_t task;      /* task_struct of the thread */
	uint64_t since_ns;  /* when it left its vCPU; UINT64_MAX: it runs … */
	unsigned on;        /* … on that one */
	uint64_t place;     /* where control is; 0: not known */
	struct stack_call *calls; /* the outermost first */
	size_t n_calls;
};

/* Append the record, of which `calls` are not looked at: n_calls calls have to be put behind it. */
void stack_record_put(struct buf *out, const struct stack_record *record);
void stack_call_put(struct buf *out, const struct stack_call *call);

struct stack_records {
	struct stack_record *records;
	size_t count, cap;
};

/* Add the records of a chunk. *ret owns their calls. */
int stack_records_decode(struct cursor *in, struct stack_records *ret, struct error *err);
void stack_records_deinit(struct stack_records *r);

#endif
