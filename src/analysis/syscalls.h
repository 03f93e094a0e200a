/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The system calls that userspace makes, each with its result once it returned. */
#ifndef UPTO_ANALYSIS_SYSCALLS_H
#define UPTO_ANALYSIS_SYSCALLS_H

#include "replay/walk.h"

struct syscall_record {
	uint64_t ns, insns;     /* at entry */
	uint64_t end_ns;        /* valid if returned */
	uint64_t cpu_ns;        /* of the time between, that its task ran: valid if returned */
	uint64_t nr, args[6];
	uint64_t task;          /* address of the caller's task_struct; 0: not known */
	int64_t result;         /* valid if has_result; -errno for failures */
	uint64_t from;          /* address that the call returns to; 0: not known */
	uint16_t cpu;
	bool returned;
	bool has_result;        /* returned, and not to be started again after a signal's handler */
};

struct syscalls {
	struct syscall_record *calls; /* in the order of entry */
	size_t count, cap;
};

int syscalls_analyse(const struct reader *r, const struct span *span, struct syscalls *ret, struct error *err);
void syscalls_deinit(struct syscalls *s);

/* Linux returns errors as -4095 … -1 (include/linux/err.h). */
static inline bool syscall_failed(const struct syscall_record *c)
{
	return c->has_result && c->result < 0 && c->result >= -4095;
}

/* All calls of one number. */
struct syscall_sum {
	uint64_t nr, count, errors, total_ns, longest_ns;
	uint64_t returned; /* calls that the times are of */
};

/* Sums by number, rising; the caller frees *ret. */
size_t syscalls_sum(const struct syscalls *s, struct syscall_sum **ret);

#endif
