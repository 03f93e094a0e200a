/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of the kernel at whose entry, or return, a fact is told. */
#include "base/clock.h"
#include "recorder/kernel/hooks.h"
#include "recorder/qemu/guest_time.h"
#include "recorder/spans/waiting.h"
#include "watch_put.h"

/* It has its time. `counts`: it does as a start condition, also where it is not kept beside events. */
static void put_timed(struct vcpu *v, struct fact *fact, bool counts)
{
	struct buf out = { 0 };

	fact->cpu = v->index;
	fact->task = v->task;
	fact_put(&out, fact);
	if (counts)
		drain_put(CHUNK_FACTS, &out);
	else
		drain_put_beside(CHUNK_FACTS, &out, fact->ns);
	buf_free(&out);
}

static void put_fact(struct vcpu *v, const struct hook *hook, struct fact *fact, bool counts)
{
	fact->insns = v->live->insns;
	fact->ns = hook->has_clock ? watch_clock(v->index) : guest_time(v);
	put_timed(v, fact, counts);
}

void watch_tell(struct vcpu *v, struct fact *fact)
{
	put_fact(v, &(struct hook){ .kind = fact->kind }, fact, true);
}

void watch_tell_beside(struct vcpu *v, struct fact *fact, bool has_clock)
{
	put_fact(v, &(struct hook){ .kind = fact->kind, .has_clock = has_clock }, fact, false);
}

static void count_fact(struct vcpu *v, enum fact_kind kind, uint64_t begun)
{
	v->facts[kind]++;
	v->fact_ns[kind] += clock_ns() - begun;
}

void watch_tell_within(struct vcpu *v, struct fact *fact, uint64_t uncounted)
{
	fact->insns = v->live->insns - uncounted;
	fact->ns = guest_time_within(v);
	put_timed(v, fact, false);
}

void watch_fact(unsigned cpu, void *data)
{
	const struct hook *hook = data;
	struct vcpu *v = vcpu_get(cpu);
	struct fact fact = { .kind = hook->kind };
	uint64_t begun = clock_ns();
	bool counts;

	if (hook->fact(v, &fact) && waiting_fact(v, &fact, &counts))
		put_fact(v, hook, &fact, counts);
	count_fact(v, hook->kind, begun);
}

void watch_result(unsigned cpu, void *data)
{
	const struct hook *hook = data;
	struct vcpu *v = vcpu_get(cpu);
	uint64_t begun = clock_ns();

	put_fact(v, hook, &(struct fact){
		.kind = FACT_RESULT, .n_numbers = 2, .numbers = { hook->kind, registers_read(&v->regs, REG_RESULT) },
	}, false);
	count_fact(v, FACT_RESULT, begun);
}
