/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/alloc.h"
#include "numbers.h"
#include "stacks_state.h"

enum { FRAMES_MAX = 1 << 16, COUNTS = 7 };

static void save_frame(const struct frame *f, struct buf *out)
{
	buf_put_u8(out, (uint8_t)(f->kind | (f->at_start ? 8u : 0u) | (f->found_at_start ? 16u : 0u)));
	buf_put_varint(out, f->slot);
	buf_put_varint(out, f->from);
	buf_put_varint(out, f->addr);
	buf_put_varint(out, f->entry_ns);
	buf_put_varint(out, f->insns);
	buf_put_varint(out, f->ns);
	buf_put_varint(out, f->function);
	buf_put_varint(out, f->role);
}

/* `functions`: how many there are. */
static int restore_frame(size_t functions, struct cursor *in, struct frame *f)
{
	uint8_t kind = cursor_u8(in);

	*f = (struct frame){ .kind = kind & 7, .at_start = kind & 8, .found_at_start = kind & 16 };
	f->slot = cursor_varint(in);
	f->from = cursor_varint(in);
	f->addr = cursor_varint(in);
	f->entry_ns = cursor_varint(in);
	f->insns = cursor_varint(in);
	f->ns = cursor_varint(in);
	f->function = (uint32_t)cursor_varint(in);
	f->role = (uint32_t)cursor_varint(in);
	return in->bad || f->kind > FRAME_SIGNAL || f->function >= functions ? -1 : 0;
}

static void save_thunk_calls(const struct thunk_calls *t, struct buf *out)
{
	buf_put_varint(out, t->count);
	for (size_t i = 0; i < t->count; i++) {
		const struct thunk_call *c = &t->list[i];

		buf_put_varint(out, c->slot);
		buf_put_varint(out, c->from);
		buf_put_varint(out, c->depth);
		buf_put_varint(out, c->frame_slot);
		buf_put_varint(out, c->frame_insns);
	}
}

static int restore_thunk_calls(struct cursor *in, struct thunk_calls *t)
{
	uint64_t n = cursor_varint(in);

	if (in->bad || n > FRAMES_MAX || n > cursor_left(in) || t->list)
		return -1;
	t->list = xcalloc(n, sizeof *t->list);
	for (t->cap = n; t->count < n; t->count++) {
		struct thunk_call *c = &t->list[t->count];

		c->slot = cursor_varint(in);
		c->from = cursor_varint(in);
		c->depth = cursor_varint(in);
		c->frame_slot = cursor_varint(in);
		c->frame_insns = cursor_varint(in);
	}
	return in->bad ? -1 : 0;
}

static void save_stack(const struct stack *stack, struct buf *out)
{
	buf_put_varint(out, stack->insns);
	buf_put_varint(out, stack->ns);
	buf_put_u8(out, (uint8_t)(stack->began | stack->behind_gap << 1 | stack->started << 2));
	buf_put_varint(out, stack->place);
	buf_put_svarint(out, stack->cpu);
	buf_put_varint(out, stack->depth);
	for (size_t i = 0; i < stack->depth; i++)
		save_frame(&stack->frames[i], out);
	save_thunk_calls(&stack->thunk_calls, out);
}

static int restore_stack(size_t functions, struct cursor *in, struct stack *stack)
{
	uint64_t depth;
	uint8_t bits;

	stack->insns = cursor_varint(in);
	stack->ns = cursor_varint(in);
	bits = cursor_u8(in);
	stack->began = bits & 1;
	stack->behind_gap = bits & 2;
	stack->started = bits & 4;
	stack->place = cursor_varint(in);
	stack->cpu = (int)cursor_svarint(in);
	depth = cursor_varint(in);
	if (in->bad || depth > FRAMES_MAX || depth > cursor_left(in) || stack->frames)
		return -1;
	stack->frames = xcalloc(depth, sizeof *stack->frames);
	stack->cap = depth;
	for (; stack->depth < depth; stack->depth++)
		if (restore_frame(functions, in, &stack->frames[stack->depth]) < 0)
			return -1;
	return restore_thunk_calls(in, &stack->thunk_calls);
}

static bool is_blank(const struct stack *stack)
{
	return !stack->depth && !stack->insns && !stack->ns && !stack->place && !stack->began && !stack->behind_gap;
}

static void save_lane(const struct lane *lane, uint64_t stack, struct buf *out)
{
	buf_put_varint(out, stack);
	buf_put_varint(out, lane->meter.insns);
	buf_put_varint(out, lane->meter.ns);
	buf_put_u8(out, lane->meter.halted);
	buf_put_varint(out, lane->place);
	buf_put_varint(out, lane->record);
	buf_put_u8(out, (uint8_t)lane->stage);
}

void stacks_save(const struct stacks *s, struct buf *out)
{
	const struct replay *r = s->replay;
	const struct unmatched *u = &s->unmatched;
	const uint64_t counts[COUNTS] = {
		u->returns, u->new_thread, u->firmware, u->gap, u->elsewhere, u->abandoned, r->gap
	};

	for (size_t i = 0; i < COUNTS; i++)
		buf_put_varint(out, counts[i]);
	for (unsigned i = 0; i < r->n_lanes; i++)
		save_lane(&r->lanes[i], (uint64_t)(r->lanes[i].stack - s->list), out);
	for (size_t i = 0; i < s->count; i++) {
		if (is_blank(&s->list[i]))
			continue;
		thunk_calls_last(&s->list[i]); /* takes off what has gone */
		buf_put_varint(out, i + 1);
		save_stack(&s->list[i], out);
	}
	buf_put_varint(out, 0);
}

/* Returns the number of the lane's stack. */
static uint64_t restore_lane(struct cursor *in, struct lane *lane)
{
	uint64_t stack = cursor_varint(in);

	lane->meter.insns = cursor_varint(in);
	lane->meter.ns = cursor_varint(in);
	lane->meter.halted = cursor_u8(in);
	lane->place = cursor_varint(in);
	lane->record = cursor_varint(in);
	lane->stage = cursor_u8(in);
	return stack;
}

/* False: another vCPU runs it already, and what this one would have in its place, too. */
static bool run_stack(struct stacks *s, unsigned cpu, struct stack *stack)
{
	if (stack->cpu >= 0)
		stack = &s->list[s->threads->count + cpu];
	if (stack->cpu >= 0)
		return false;
	s->replay->lanes[cpu].stack = stack;
	stack->cpu = (int)cpu;
	return true;
}

/* Which vCPU runs it was told before: a damaged index may have any number there. */
static int restore_running(const struct stacks *s, struct cursor *in, struct stack *stack)
{
	int cpu = stack->cpu, result = restore_stack(names_count(s->names), in, stack);

	stack->cpu = cpu;
	return result;
}

static int restore(struct stacks *s, struct cursor *in)
{
	struct unmatched *u = &s->unmatched;
	uint64_t *const counts[COUNTS] = { &u->returns,   &u->new_thread, &u->firmware,   &u->gap,
					   &u->elsewhere, &u->abandoned,  &s->replay->gap };
	uint64_t number;

	for (size_t i = 0; i < COUNTS; i++)
		*counts[i] = cursor_varint(in);
	/* what a vCPU had before it had threads is blank, and not in the checkpoint, unless it still runs */
	for (unsigned i = 0; i < s->replay->n_lanes; i++)
		s->replay->lanes[i].stack->cpu = -1;
	for (unsigned i = 0; i < s->replay->n_lanes; i++) {
		number = restore_lane(in, &s->replay->lanes[i]);
		if (in->bad || number >= s->count || !run_stack(s, i, &s->list[number]))
			return -1;
	}
	while ((number = cursor_varint(in)))
		if (number > s->count || restore_running(s, in, &s->list[number - 1]) < 0)
			return -1;
	return in->bad ? -1 : 0;
}

int stacks_restore(struct stacks *s, const struct checkpoint *from, struct error *err)
{
	struct cursor in = cursor_over(from->data, from->len);

	return restore(s, &in) < 0 ? error_set(err, "a damaged checkpoint") : 0;
}

/* The stack of one session is that of the other, whose stacks it goes behind. */
static bool renumber_stack(const struct numbers *n, uint64_t number, struct cursor *in, bool *taken, struct buf *ret)
{
	struct stack stack = { 0 };
	bool good = number < n->n_stacks && restore_stack(n->n_functions, in, &stack) == 0;
	size_t new = good ? n->stacks[number] : NUMBER_NONE;

	for (size_t i = 0; good && i < stack.depth; i++)
		stack.frames[i].function = n->functions[stack.frames[i].function];
	/* what cannot be found again is left as lost */
	if (new != NUMBER_NONE && !taken[new]) {
		taken[new] = true;
		buf_put_varint(ret, new + 1);
		save_stack(&stack, ret);
	}
	free(stack.frames);
	free(stack.thunk_calls.list);
	return good;
}

bool stacks_renumber(const struct numbers *n, const struct buf *checkpoint, struct buf *ret)
{
	struct cursor in = cursor_over(checkpoint->data, checkpoint->len);
	cleanup_free bool *taken = xcalloc(n->first_vcpu + n->vcpus + STACKS_FOREIGN, sizeof *taken);
	uint64_t number;

	for (int i = 0; i < COUNTS; i++)
		buf_put_varint(ret, cursor_varint(&in));
	for (unsigned i = 0; i < n->vcpus; i++) {
		struct lane lane = { 0 };

		number = restore_lane(&in, &lane);
		if (in.bad || number >= n->n_stacks)
			return false;
		save_lane(&lane, n->stacks[number] == NUMBER_NONE ? n->first_vcpu + i : n->stacks[number], ret);
	}
	while ((number = cursor_varint(&in)))
		if (!renumber_stack(n, number - 1, &in, taken, ret))
			return false;
	buf_put_varint(ret, 0);
	return !in.bad;
}
