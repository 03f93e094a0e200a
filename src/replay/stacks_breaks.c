/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where stacks end all at once: another stage of a boot, another boot, a gap. */
#include "stacks_frames.h"

static int stage_of(const struct names *names, uint32_t function, uint64_t ns)
{
	const struct boot *boot = &names->boots->list[boots_at(names->boots, ns)];

	/*
	 * a kernel of one's own that a boot loader starts may be such an object, too: nothing tells one from the other
	 */
	if (names_is_outside(names, function))
		return ns >= boot->kernel_ns         ? STAGE_KERNEL
		       : ns >= boot->decompressor_ns ? STAGE_DECOMPRESSOR
						     : STAGE_FIRMWARE;
	if (function == names->groups + GROUP_FIRMWARE)
		return STAGE_FIRMWARE;
	return function == names->groups + GROUP_DECOMPRESSOR ? STAGE_DECOMPRESSOR : STAGE_KERNEL;
}

bool replay_enter_stage(struct replay *r, struct lane *lane, uint64_t target)
{
	int stage = stage_of(r->stacks->names, place_of(r, target).function, r->stacks->ns);

	if (stage <= lane->stage)
		return false;
	lane->stage = stage;
	replay_end_foreign(r, lane);
	while (lane->stack->depth)
		pop_without_return(r, lane->stack, FRAME_JUMPED);
	push_base(r, lane->stack, target);
	return true;
}

void replay_begin_boot(struct replay *r)
{
	struct stacks *s = r->stacks;

	s->event = NULL;
	s->ns = s->names->boots->list[r->next_boot++].start_ns;
	for (size_t i = 0; i < s->count; i++) {
		struct stack *stack = &s->list[i];

		while (stack->depth)
			pop_without_return(r, stack, FRAME_DIED);
		stack->thunk_calls.count = 0;
		stack->place = 0;
		stack->cpu = -1;
	}
	for (unsigned i = 0; i < r->n_lanes; i++) {
		r->lanes[i].stack = &s->list[s->threads->count + i];
		r->lanes[i].stack->cpu = (int)i;
		r->lanes[i].stage = 0;
	}
}

/* What any thread was in the middle of when a gap began is not known any more. */
static void forget_stacks(struct replay *r)
{
	struct stacks *s = r->stacks;

	for (size_t i = 0; i < s->count; i++) {
		struct stack *stack = &s->list[i];

		while (stack->depth)
			pop_without_return(r, stack, FRAME_LOST);
		stack->thunk_calls.count = 0;
		stack->place = 0;
		stack->cpu = -1;
		stack->behind_gap = true;
	}
	for (unsigned i = 0; i < r->n_lanes; i++) {
		r->lanes[i].stack = &s->list[s->threads->count + i];
		r->lanes[i].stack->cpu = (int)i; /* it may have events yet before its own gap */
		r->lanes[i].place = 0;
	}
}

void replay_go_past_gap(struct replay *r, struct lane *lane, const struct event *e, unsigned cpu)
{
	uint64_t kernel_ns = names_kernel_ns(r->stacks->names, e->ns);
	uint64_t from_ns = lane->meter.ns, last_ns = 0;
	bool first = e->args[GAP_NUMBER] != r->gap;

	for (unsigned i = 0; i < r->n_lanes; i++)
		if (r->lanes[i].meter.ns > last_ns && r->lanes[i].meter.ns <= e->ns)
			last_ns = r->lanes[i].meter.ns;
	r->stacks->event = NULL;
	r->stacks->ns = last_ns;
	if (first)
		forget_stacks(r);
	r->gap = e->args[GAP_NUMBER];
	r->stacks->ns = e->ns;
	if (e->ns >= kernel_ns)
		lane->stage = STAGE_KERNEL;
	lane->stack->cpu = -1;
	if (first)
		replay_find_stacks(r, r->gap, cpu);
	replay_pass_tasks(r, lane, cpu, e->insns);
	lane->stack = replay_stack_of(r->stacks, e->args[GAP_TASK], cpu, e->ns);
	replay_take_from_others(r, lane->stack, cpu);
	lane->stack->cpu = (int)cpu;
	lane->stack->place = e->args[GAP_PLACE];
	lane->meter.halted = false;
	set_lane(lane, e->insns, e->ns, e->args[GAP_PLACE]);
	if (r->visitor->gap) {
		r->stacks->event = e;
		r->visitor->gap(r->state, r->stacks, lane->stack, from_ns);
		r->stacks->event = NULL;
	}
}
