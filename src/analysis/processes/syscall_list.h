/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists the system calls that user code makes, with their results. */
#ifndef UPTO_ANALYSIS_SYSCALL_LIST_H
#define UPTO_ANALYSIS_SYSCALL_LIST_H

#include "replay/threads.h"
#include "replay/walk.h"
#include "trace/facts.h"

struct syscall_record {
	uint64_t ns, insns;     /* at entry */
	uint64_t end_ns;        /* valid if returned; so are … */
	uint64_t end_insns;     /* … the counter … */
	uint64_t cpu_ns;        /* how long its task ran between entry and return; valid if returned */
	uint64_t nr, args[6];
	const struct syscall_abi *abi; /* the interface by which the call was made */
	uint64_t task;          /* address of the caller's task_struct; 0: not known */
	uint64_t gaps;          /* how many there were before */
	int64_t result;         /* valid if has_result; -errno for failures */
	uint64_t from;          /* address that the call returns to; 0: not known */
	uint16_t cpu;
	uint16_t end_cpu;       /* … and the vCPU that it returned on */
	bool returned;
	bool has_result;        /* it returned, and will not be made again after a signal's handler */
};

struct syscalls {
	const struct arch *arch;
	struct syscall_record *calls; /* in the order of entry */
	size_t count, cap;
	bool filtered; /* calls were left out, or may have been */
};

int syscalls_analyse(const struct reader *r, const struct threads *threads, const struct span *span,
		     struct syscalls *ret, struct error *err);
void syscalls_deinit(struct syscalls *s);

static inline bool syscall_failed(const struct syscall_record *c)
{
	return c->has_result && syscall_is_error(c->result);
}

/* What a call that began a program gave to it: its fact ARGUMENTS. NULL: it did not begin one, or that is not known. */
const struct fact *syscall_arguments(const struct syscall_record *c, const struct facts *facts);

/* The call that began with that event of a vCPU, at that time; NULL: there is none. */
const struct syscall_record *syscalls_find(const struct syscalls *s, unsigned cpu, uint64_t insns, uint64_t ns);

/* The sum of all calls with one number, made by one interface. */
struct syscall_sum {
	const struct syscall_abi *abi;
	uint64_t nr, count, errors, total_ns, longest_ns;
	uint64_t returned; /* how many calls returned; the times are theirs */
};

/* Make sums, in the order of interface and number. Returns how many. The caller frees *ret. */
size_t syscalls_sum(const struct syscalls *s, struct syscall_sum **ret);

#endif
