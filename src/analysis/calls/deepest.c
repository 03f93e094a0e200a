/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "deepest.h"

#include <stdlib.h>

#include "arch/arch.h"
#include "base/alloc.h"

/* that one thread's calls are seen in: its own stack, and a CPU's for interrupts and exceptions */
enum { AREAS_MAX = 4 };

/* Memory of a kernel stack's size and alignment. */
struct area {
	uint64_t base;
	struct deepest deepest;
};

struct thread_areas {
	struct area list[AREAS_MAX];
	unsigned count;
	uint64_t own;      /* the base of the thread's own stack; 0: not known yet */
};

struct deepest_run {
	uint64_t size;     /* of a kernel stack */
	uint32_t switches; /* number of the function that is always called on a task's own stack */
	struct thread_areas *threads;
};

static struct area *area_of(struct thread_areas *t, uint64_t base)
{
	for (unsigned i = 0; i < t->count; i++)
		if (t->list[i].base == base)
			return &t->list[i];
	if (t->count == AREAS_MAX)
		return NULL;
	t->list[t->count] = (struct area){ .base = base };
	return &t->list[t->count++];
}

static size_t count_frames(const struct stack *stack, uint64_t base, uint64_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < stack->depth; i++)
		n += stack->frames[i].slot - base < size && stack->frames[i].kind != FRAME_TAIL;
	return n;
}

static void enter(void *state, struct stacks *s, struct stack *stack, struct frame *frame)
{
	struct deepest_run *run = state;
	struct thread_areas *t = &run->threads[stack - s->list];
	uint64_t base = frame->slot & -run->size, bytes = base + run->size - frame->slot;
	struct area *area;

	if (!addr_is_kernel(frame->slot) || stack->thread == THREAD_NONE)
		return;
	if (frame->function == run->switches)
		t->own = base;
	area = area_of(t, base);
	if (area && bytes > area->deepest.bytes)
		area->deepest = (struct deepest){
			.stack = (size_t)(stack - s->list), .ns = s->ns, .slot = frame->slot, .bytes = bytes,
			.function = frame->function,
			.frames = count_frames(stack, base, run->size),
		};
}

static void choose(const struct deepest_run *run, const struct stacks *s, const bool *threads, struct deepest *ret)
{
	for (size_t i = 0; i < s->threads->count; i++) {
		struct thread_areas *t = &run->threads[i];
		const struct area *own = t->own ? area_of(t, t->own) : NULL;

		if (own && own->deepest.bytes > ret->bytes && (!threads || threads[i]))
			*ret = own->deepest;
	}
}

static int replay(const struct session *session, struct deepest_run *run, struct stacks *ret, struct error *err)
{
	static const struct stacks_visitor visitor = { .enter = enter };
	const struct arch *arch = session->reader->arch;

	*run = (struct deepest_run){
		.size = session->reader->kernel_stack, .switches = names_find(session->names, arch->switch_function),
	};
	run->threads = xcalloc(stacks_count(session), sizeof *run->threads);
	return stacks_replay(ret, session, NULL, UINT64_MAX, &visitor, run, err);
}

int deepest_of_each(const struct session *session, struct deepest **ret, struct error *err)
{
	struct deepest_run run;
	struct stacks stacks;
	int result = replay(session, &run, &stacks, err);

	*ret = xcalloc(session->threads->count + 1, sizeof **ret);
	for (size_t i = 0; result == 0 && i < session->threads->count; i++) {
		struct thread_areas *t = &run.threads[i];
		const struct area *own = t->own ? area_of(t, t->own) : NULL;

		if (own)
			(*ret)[i] = own->deepest;
	}
	stacks_deinit(&stacks);
	free(run.threads);
	return result;
}

int deepest_analyse(const struct session *session, const bool *threads,
		    struct deepest *ret, struct error *err)
{
	struct deepest_run run;
	struct stacks stacks;
	int result = replay(session, &run, &stacks, err);

	*ret = (struct deepest){ 0 };
	if (result == 0)
		choose(&run, &stacks, threads, ret);
	stacks_deinit(&stacks);
	free(run.threads);
	return result;
}

static void stop_there(void *state, struct stacks *s, struct stack *stack, struct frame *frame)
{
	const struct deepest *d = state;

	s->stop = s->ns >= d->ns && frame->slot == d->slot && (size_t)(stack - s->list) == d->stack;
}

const struct stacks_visitor deepest_reach = { .enter = stop_there };
