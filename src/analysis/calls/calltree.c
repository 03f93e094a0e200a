/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "calltree.h"

#include "base/alloc.h"
#include "tree_phrases.h"

enum { ROOT = 0 };

/*
 * The node of the innermost function that is inlined at the place of the frame's call. If none is, the caller's node.
 */
static uint32_t inlined_node(struct call_tree *t, const struct stacks *s, const struct stack *stack,
			     const struct frame *f, uint32_t caller)
{
	uint64_t place = frame_call_place(f->kind, f->from), key, *known;
	const struct inline_chain *chain;
	const struct thread *thread = threads_at(s->threads, stack->thread);
	struct space_view view = { 0 };

	if (!addr_is_kernel(place) && thread)
		spaces_view(&s->names->spaces, thread->task, thread_time(thread, f->entry_ns), &view);
	key = inlines_key(t->inlines, place, f->entry_ns, view.version);
	known = map_put(&t->chains, key, 0);
	if (!*known)
		*known = (uintptr_t)inlines_at(t->inlines, key, place, f->entry_ns, view.version);
	chain = (const struct inline_chain *)(uintptr_t)*known;
	for (size_t i = 0; i < chain->count; i++)
		caller = call_tree_child_of(t, caller, chain->functions[i]);
	return caller;
}

/* The node that a thread's outermost calls are below. */
static uint32_t base_of(struct call_tree *t, const struct stack *stack)
{
	const struct call_tree_apart *a = t->apart;

	return a ? call_tree_child_of(t, ROOT,
				      CALL_TREE_WHOSE | (t->part * a->count + a->whose[stack->thread + 1]))
		 : ROOT;
}

/* The node of frame number `i` of a stack. The frames below it have their nodes. `args`: what it was given, or NULL. */
static uint32_t node_of(struct call_tree *t, const struct stacks *s, const struct stack *stack, size_t i,
			const struct fact *args)
{
	uint32_t parent = i ? stack->frames[i - 1].data : base_of(t, stack), function = stack->frames[i].function;

	if (!t->inlines && !args)
		return call_tree_child(t, s->names, parent, function);
	if (parent != ROOT && t->nodes[parent].function == function && names_is_group(s->names, function))
		return parent;
	if (t->inlines && parent != ROOT && frame_call_place(stack->frames[i].kind, stack->frames[i].from))
		parent = inlined_node(t, s, stack, &stack->frames[i], parent);
	return call_tree_child_given(t, parent, function, args ? given_number(t->given, args) : GIVEN_NONE);
}

static bool is_on_cpu(const struct call_tree *t, const struct stack *stack)
{
	return t->span->cpu < 0 || t->span->cpu == stack->cpu;
}

/* Does a call that is entered now count? */
static inline bool is_within(const struct call_tree *t, const struct stacks *s, const struct stack *stack)
{
	return !t->span || (s->ns >= t->span->from_ns && s->ns < t->span->to_ns && is_on_cpu(t, stack));
}

/* Frames from before the span get their nodes where it begins. */
static inline bool is_before(const struct call_tree *t, const struct stacks *s)
{
	return t->span && s->ns < t->span->from_ns;
}

static void enter(void *state, struct stacks *s, struct stack *stack, struct frame *frame)
{
	struct call_tree *t = state;
	const struct fact *args = NULL;
	bool counts = frame_is_entered(s, frame) && is_within(t, s, stack);

	if (!threads_is_chosen(s->threads, stack->thread) || is_before(t, s)) {
		frame->data = ROOT;
		return;
	}
	if (t->given)
		args = call_values_at_entry(t->given->values, frame, (unsigned)stack->cpu, s->insns);
	frame->data = node_of(t, s, stack, stack->depth - 1, args);
	t->nodes[frame->data].calls += counts;
	t->nodes[frame->data].tail_calls += counts && frame->kind == FRAME_TAIL;
}

/* What a frame of a checkpoint was given. */
static const struct fact *args_before(const struct call_tree *t, const struct stacks *s, const struct stack *stack,
				      const struct frame *frame)
{
	uint64_t task = stack->thread == THREAD_NONE ? 0 : s->threads->list[stack->thread].task;

	return t->given ? call_values_entered(t->given->values, frame, task) : NULL;
}

/* Set the nodes of frames that were entered before. */
static void set_nodes(struct call_tree *t, const struct stacks *s, struct stack *stack)
{
	bool chosen = threads_is_chosen(s->threads, stack->thread);

	for (size_t i = 0; i < stack->depth; i++)
		stack->frames[i].data =
			chosen ? node_of(t, s, stack, i, args_before(t, s, stack, &stack->frames[i])) : ROOT;
}

/* What was a vCPU's is a thread's from here on: it is below that one's node, and may be asked for now. */
static void move(void *state, struct stacks *s, const struct stack *from, const struct stack *to)
{
	struct call_tree *t = state;

	(void)from;
	if (!is_before(t, s))
		set_nodes(t, s, &s->list[to - s->list]);
}

/* Sets which part of the time it is. Returns when the next one begins. */
static uint64_t enter_part(struct call_tree *t, uint64_t ns)
{
	const struct call_tree_apart *a = t->apart;

	while (a && t->part < a->n_cuts && a->cuts[t->part] <= ns)
		t->part++;
	return a && t->part < a->n_cuts ? a->cuts[t->part] : UINT64_MAX;
}

/* What was given away is not there any more. */
static void empty(struct call_tree *t)
{
	map_free(&t->children);
	t->nodes[ROOT] = (struct call_node){ .function = CALL_TREE_NO_FUNCTION };
	t->count = 1;
	landings_free(t->landings);
	t->landings = landings_new();
}

/* Another segment may have begun. */
static void pass_cuts(struct call_tree *t, uint64_t ns)
{
	size_t segment = t->segment;

	while (segment < t->cuts->n && t->cuts->ns[segment] <= ns)
		segment++;
	if (segment == t->segment)
		return;
	t->cuts->give(t->cuts->context, t->segment, t);
	empty(t);
	t->segment = segment;
}

/* When the nodes of all frames are to be set next. */
static uint64_t next_due(struct call_tree *t, const struct stacks *s)
{
	uint64_t next = enter_part(t, s->ns);

	/* so that no phrase is gone past that reaches over an end of the span */
	if (is_before(t, s))
		return t->span->from_ns;
	if (t->cuts && t->segment < t->cuts->n && t->cuts->ns[t->segment] < next)
		next = t->cuts->ns[t->segment];
	return t->span && s->ns < t->span->to_ns && t->span->to_ns < next ? t->span->to_ns : next;
}

/*
 * Before the first event: set the nodes of a checkpoint's frames, which were entered before. Likewise where a part of
 * the time begins, or the span.
 */
static void due(void *state, struct stacks *s)
{
	struct call_tree *t = state;
	uint64_t next;

	if (t->cuts)
		pass_cuts(t, s->ns);
	next = next_due(t, s);

	for (size_t i = 0; i < s->count && !is_before(t, s); i++)
		set_nodes(t, s, &s->list[i]);
	s->due_ns = next;
}

static void add_spent(struct call_tree *t, struct stacks *s, struct stack *stack, const struct spent *spent)
{
	struct call_node *node;
	uint32_t number;

	if (!threads_is_chosen(s->threads, stack->thread) || (!spent->insns && !spent->ns))
		return;
	number = stack->depth ? stack->frames[stack->depth - 1].data
			      : call_tree_child_of(t, base_of(t, stack), stacks_function(s, stack));
	node = &t->nodes[number];
	node->self_insns += spent->insns;
	node->self_ns += spent->ns;
}

/* The part of it that passed in an earlier segment is that one's. */
static void give_to(struct call_tree *t, size_t segment, const struct stacks *s, const struct stack *stack,
		    const struct spent *spent)
{
	struct call_tree path;
	uint32_t at;

	if (!threads_is_chosen(s->threads, stack->thread) || (!spent->insns && !spent->ns))
		return;
	call_tree_init(&path);
	path.apart = t->apart;
	at = base_of(&path, stack);
	for (size_t i = 0; i < stack->depth; i++)
		at = call_tree_child(&path, s->names, at, stack->frames[i].function);
	if (!stack->depth)
		at = call_tree_child_of(&path, at, stacks_function(s, stack));
	path.nodes[at].self_insns = spent->insns;
	path.nodes[at].self_ns = spent->ns;
	t->cuts->give(t->cuts->context, segment, &path);
	call_tree_deinit(&path);
}

static struct spent clipped(const struct span *span, uint64_t from_ns, uint64_t to_ns, const struct spent *spent)
{
	return (struct spent){
		.insns = meter_clip(span, from_ns, to_ns, spent->insns),
		.ns = meter_clip(span, from_ns, to_ns, spent->ns),
	};
}

/* What passed since an event that was in an earlier segment. */
static void divide(struct call_tree *t, struct stacks *s, struct stack *stack, const struct spent *spent,
		   uint64_t from_ns)
{
	const uint64_t *cuts = t->cuts->ns;
	struct span span = { .cpu = -1 };
	size_t k = t->segment;
	struct spent part;

	while (k > 0 && cuts[k - 1] > from_ns)
		k--;
	for (; k < t->segment; k++) {
		span.from_ns = k ? cuts[k - 1] : 0;
		span.to_ns = cuts[k];
		part = clipped(&span, from_ns, s->ns, spent);
		give_to(t, k, s, stack, &part);
	}
	span.from_ns = cuts[k - 1];
	span.to_ns = UINT64_MAX;
	part = clipped(&span, from_ns, s->ns, spent);
	add_spent(t, s, stack, &part);
}

static void spend(void *state, struct stacks *s, struct stack *stack, const struct spent *spent)
{
	uint64_t ns = spent->ns + spent->halted_ns;
	struct call_tree *t = state;

	if (t->cuts && t->segment && s->ns - ns < t->cuts->ns[t->segment - 1]) {
		divide(t, s, stack, spent, s->ns - ns);
	} else if (!t->span) {
		add_spent(t, s, stack, spent);
	} else if (!is_before(t, s) && is_on_cpu(t, stack)) {
		struct spent part = clipped(t->span, s->ns - ns, s->ns, spent);

		add_spent(t, s, stack, &part);
	}
}

/* Behind the span, a replay goes on for as long as some vCPU's time in it is not known. */
static void run(void *state, struct stacks *s, const struct stacks_run *run)
{
	const struct call_tree *t = state;

	if (run->events->ns >= t->span->to_ns && stacks_are_past(run, t->span->to_ns))
		s->stop = true;
}

static void phrase(void *state, struct stacks *s, struct stack *stack, const struct stacks_phrase *p)
{
	const struct frame *call = &stack->frames[stack->depth - 1];
	struct call_tree *t = state;

	if (threads_is_chosen(s->threads, stack->thread) && is_within(t, s, stack))
		tree_add_phrase(t, t->landings, s->names, call->data,
				stack->depth > 1 ? call[-1].data : base_of(t, stack), p);
}

/* Each part has a tree of its own. Merging them in order keeps the order in which nodes came. */
static void *begin(void *context, void *before, size_t part)
{
	const struct call_tree_options *options = context;
	struct call_tree *t = xmalloc(sizeof *t);

	(void)before;
	(void)part;
	call_tree_init(t);
	t->inlines = options->inlines;
	t->given = options->given;
	t->apart = options->apart;
	t->span = options->span;
	t->cuts = options->cuts;
	t->landings = landings_new();
	return t;
}

static void end(void *state, struct stacks *s)
{
	struct call_tree *t = state;

	if (t->cuts) {
		t->cuts->give(t->cuts->context, t->segment, t);
		empty(t);
	}
	landings_free(t->landings);
	t->landings = NULL;
	t->unmatched = s->unmatched; /* counted from the start of the trace, since checkpoints keep the counts */
}

void call_tree_member(const struct call_tree_options *options, struct parts_member *ret)
{
	*ret = (struct parts_member){
		.analysis = {
			.visitor = {
				.enter = enter, .spend = spend, .move = move, .due = due, .phrase = phrase,
			},
			.begin = begin,
			.end = end,
		},
		.context = (void *)options,
	};
	if (options->span)
		ret->analysis.visitor.run = run;
	/* what is inlined depends on each call's place, and what was given on each call */
	if (options->inlines || options->given)
		ret->analysis.visitor.phrase = NULL;
}

void call_tree_collect(struct parts_member *member, bool failed, struct call_tree *ret)
{
	void **parts = member->states;

	for (size_t i = 1; i < PARTS_MAX && parts[i]; i++) {
		if (!failed)
			call_tree_add(parts[0], parts[i]);
		call_tree_deinit(parts[i]);
		free(parts[i]);
	}
	*ret = *(struct call_tree *)parts[0];
	free(parts[0]);
	if (failed)
		call_tree_deinit(ret);
	else
		call_tree_add_up(ret);
}

int call_tree_analyse(const struct session *session, const struct call_tree_options *options, struct call_tree *ret,
		      struct error *err)
{
	struct parts_member member;
	int result;

	call_tree_member(options, &member);
	result = parts_replay(session, options->make_index, options->span, &member, 1, err);
	call_tree_collect(&member, result < 0, ret);
	return result < 0 ? result : 0;
}

uint32_t *call_tree_processes(const struct threads *all)
{
	uint32_t *whose = xcalloc(all->count + 1, sizeof *whose);
	struct map leaders = { 0 };

	for (size_t i = 0; i < all->count; i++) {
		const struct thread *t = &all->list[i];
		bool leads = t->pid == t->tgid && !(t->kernel && t->pid);
		uint64_t *leader =
			map_put(&leaders, t->kernel && t->pid ? UINT64_MAX : (uint64_t)(uint32_t)t->tgid + 1, 0);

		if (leads || !*leader)
			*leader = i + 1;
		whose[i + 1] = (uint32_t)*leader;
	}
	map_free(&leaders);
	return whose;
}

uint32_t *call_tree_threads(const struct threads *all)
{
	uint32_t *whose = xcalloc(all->count + 1, sizeof *whose);

	for (uint32_t i = 0; i <= all->count; i++)
		whose[i] = i;
	return whose;
}
