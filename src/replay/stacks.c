/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replays a trace's events, in order of time, on the stacks that they are of. */
#include "fold.h"
#include "stacks_frames.h"

static void apply_event(struct replay *r, struct lane *lane, const struct event *e, unsigned cpu)
{
	struct stack *stack = lane->stack;

	if (__builtin_expect(lane->stage < STAGE_KERNEL, 0) && e->target && replay_enter_stage(r, lane, e->target)) {
		/* firmware may go on by a return */
		r->stacks->unmatched.returns += e->kind == EVENT_RETURN;
		r->stacks->unmatched.firmware += e->kind == EVENT_RETURN;
		lane->place = stack->place = e->target;
		return;
	}
	switch (e->kind) {
	case EVENT_INTERRUPT:
	case EVENT_SYSCALL:
		replay_enter_kernel(r, stack, e);
		break;
	case EVENT_SYSCALL_RETURN:
		replay_entry_return(r, stack, e);
		break;
	case EVENT_HALT:
	case EVENT_RESUME:
		if (r->visitor->halt)
			r->visitor->halt(r->state, r->stacks, stack, e->kind == EVENT_RESUME);
		break;
	case EVENT_TASK_SWITCH:
		replay_switch_task(r, lane, e, cpu);
		break;
	default:
		replay_plain(r, stack, e);
		break;
	}
	if (e->target)
		lane->place = lane->stack->place = e->target;
}

size_t stacks_count(const struct session *session)
{
	return session->threads->count + reader_vcpus(session->reader) + STACKS_FOREIGN;
}

static void init(struct stacks *s, const struct session *session)
{
	*s = (struct stacks){ .names = session->names, .threads = session->threads, .count = stacks_count(session) };
	s->list = xcalloc(s->count, sizeof *s->list);
	for (size_t i = 0; i < s->count; i++) {
		s->list[i].thread = i < session->threads->count ? (long)i : THREAD_NONE;
		s->list[i].cpu = -1;
	}
}

static void begin(struct replay *r, const struct reader *reader)
{
	static const struct span all = { .to_ns = UINT64_MAX, .cpu = -1 };
	struct stacks *s = r->stacks;
	const struct names *names = s->names;
	unsigned vcpus = reader_vcpus(reader);

	r->cache = xmalloc(sizeof *r->cache);
	name_cache_init(r->cache, names);
	r->dead = names_find(names, "do_task_dead");
	r->switches = names_find(names, reader->arch->switch_function);
	for (unsigned i = 0; i < 2; i++)
		r->new_thread[i] = names_find(names, reader->arch->new_thread[i]);
	for (unsigned i = 0; i < RETURN_TRAMPOLINES; i++)
		r->return_trampolines[i] = names_find(names, reader->arch->return_trampolines[i]);
	r->lanes = xcalloc(vcpus, sizeof *r->lanes);
	r->n_lanes = vcpus;
	for (unsigned i = 0; i < vcpus; i++) {
		r->lanes[i].stack = &s->list[s->threads->count + i];
		r->lanes[i].stack->cpu = (int)i;
		r->lanes[i].meter.span = &all;
	}
}

static void end(struct replay *r)
{
	free(r->cache);
	for (unsigned i = 0; i < r->n_lanes; i++)
		free(r->lanes[i].shapes);
	free(r->lanes);
	r->stacks->replay = NULL;
}

static inline bool boot_is_due(const struct replay *r, uint64_t ns)
{
	const struct boots *b = r->stacks->names->boots;

	return r->next_boot < b->count && ns >= b->list[r->next_boot].start_ns;
}

/* All but the last, if nothing has to be asked of each. */
static size_t count_plain(const struct lane *lane, const struct event *events, size_t n)
{
	return lane->stage == STAGE_KERNEL && !lane->meter.halted && events[n - 1].insns < lane->record_insns ? n - 1
													      : 0;
}

/* Can its phrases be gone past: with one version of an address space, and nothing due? */
static bool can_go_past(struct replay *r, struct lane *lane, const struct batch *batch)
{
	enum { LANES_MAX = 4 }; /* shapes take 5 MB for each vCPU, of each of 8 threads */
	const struct event *last = &batch->events[batch->count - 1];

	name_cache_set_time(r->cache, batch->events->ns);
	if (batch->events->kind == EVENT_GAP || lane - r->lanes >= LANES_MAX)
		return false;
	if (!count_plain(lane, batch->events, batch->count) || last->ns >= r->stacks->due_ns)
		return false;
	spaces_at(&r->stacks->names->spaces, &lane->view, r->task, batch->events->ns);
	if (last->ns >= lane->view.to_ns)
		return false;
	if (!lane->shapes)
		lane->shapes = xcalloc_aligned(HUGE_PAGE, 1, sizeof *lane->shapes);
	return true;
}

static void go_through(struct replay *r, const struct event *events, size_t n, unsigned cpu, struct batch *batch)
{
	struct lane *lane = &r->lanes[cpu];
	size_t plain = count_plain(lane, events, n);

	r->view = &lane->view;
	if (batch)
		replay_brief(r, lane, batch, events + plain);
	else if (plain)
		replay_written(r, lane, events, events + plain);
	for (const struct event *e = events + plain; e < events + n && go_on(r, e->ns); e++) {
		if (__builtin_expect(e->insns >= lane->record_insns, 0)) {
			r->stacks->event = NULL;
			replay_inherit_until(r, lane, cpu, e->insns);
		}
		r->stacks->insns = e->insns;
		r->stacks->event = e;
		spend(r, lane->stack, meter_step(&lane->meter, e));
		apply_event(r, lane, e, cpu);
	}
}

static void tell_run(struct replay *r, const struct merged *merged, const struct event *events, size_t n, unsigned cpu,
		     struct batch *batch)
{
	const struct lane *lane = &r->lanes[cpu];

	r->visitor->run(r->state, r->stacks, &(struct stacks_run){
		.events = events, .n = n, .cpu = cpu, .task = r->task, .place = lane->place, .meter = &lane->meter,
		.timebase = merged_timebase(merged), .cache = r->cache, .batch = batch, .replay = r,
	});
}

static bool is_given_up(struct replay *r)
{
	enum { OFTEN = 64 }; /* runs of up to some hundred events each */

	return r->session->is_given_up && r->runs++ % OFTEN == 0 &&
	       r->session->is_given_up(r->session->given_up_context);
}

static int go(struct replay *r, struct merged *merged, struct error *err)
{
	struct stacks *s = r->stacks;
	const struct event *events;
	unsigned cpu;
	int more = 0;
	size_t n;

	if (r->visitor->phrase)
		merged_set_brief(merged);
	while (!s->stop && (more = merged_run(merged, &events, &n, &cpu, err)) > 0) {
		struct batch *batch = merged_batch(merged);

		if (__builtin_expect(is_given_up(r), 0))
			return error_set(err, "given up");
		while (__builtin_expect(boot_is_due(r, events->ns), 0))
			replay_begin_boot(r);
		r->task = merged_task(merged, cpu);
		if (batch && !can_go_past(r, &r->lanes[cpu], batch)) {
			batch_complete(batch);
			batch = NULL;
		}
		if (!s->due_ns) /* the visitor's due() comes first of all */
			go_on(r, events->ns);
		if (__builtin_expect(events->kind == EVENT_GAP, 0))
			replay_go_past_gap(r, &r->lanes[cpu], events, cpu);
		if (r->visitor->run)
			tell_run(r, merged, events, n, cpu, batch);
		go_through(r, events, n, cpu, batch);
	}
	return s->stop ? 0 : more;
}

/* Everything as the checkpoint has it; without one, as before the first event. Call end() also after an error. */
static int start(struct replay *r, const struct session *session, const struct checkpoint *from, struct error *err)
{
	init(r->stacks, session);
	r->stacks->replay = r;
	begin(r, session->reader);
	r->next_boot = 1;
	/* a checkpoint at the very moment may be from before its stacks were left */
	while (from && r->next_boot < session->reader->boots.count &&
	       session->reader->boots.list[r->next_boot].start_ns < from->ns)
		r->next_boot++;
	if (from && stacks_restore(r->stacks, from, err) < 0)
		return error_set(err, "%s.index: damaged: remove it", session->reader->path);
	return 0;
}

int stacks_replay(struct stacks *ret, const struct session *session, const struct checkpoint *from, uint64_t to_ns,
		  const struct stacks_visitor *visitor, void *state, struct error *err)
{
	struct span span = { .from_ns = from ? from->ns : 0, .to_ns = to_ns, .cpu = -1 };
	struct replay r = { .stacks = ret, .visitor = visitor, .state = state, .reader = session->reader,
		.session = session, .finds = !session->thins };
	struct merged *merged;
	int result;

	if (session->fold)
		return fold_replay(ret, session, from, to_ns, visitor, state, err);
	merged = merged_new(session->reader, &span);
	result = start(&r, session, from, err);
	if (result == 0) {
		ret->due_ns = visitor->due ? 0 : UINT64_MAX;
		/*
		 * a gap or another boot at the checkpoint's very moment leaves frames that the visitor does not know
		 * yet
		 */
		if (from)
			go_on(&r, from->ns);
		result = go(&r, merged, err);
	}
	end(&r);
	merged_free(merged);
	return result;
}

int stacks_at(struct stacks *ret, const struct session *session, const struct checkpoint *from, struct error *err)
{
	static const struct stacks_visitor none = { 0 };
	struct replay r = { .stacks = ret, .visitor = &none, .reader = session->reader };
	int result = start(&r, session, from, err);

	end(&r);
	return result;
}

uint32_t stacks_function_at(const struct stacks *s, const struct stack *stack, uint64_t addr)
{
	struct space_view view = { 0 };

	if (!addr_is_kernel(addr) && stack->thread != THREAD_NONE)
		spaces_view(&s->names->spaces, s->threads->list[stack->thread].task, s->ns, &view);
	return names_place(s->names, addr, s->ns, view.version).function;
}

uint32_t stacks_function(const struct stacks *s, const struct stack *stack)
{
	uint64_t place = stack->place;

	if (__builtin_expect(stack->depth > 0, 1))
		return stack->frames[stack->depth - 1].function;
	if (!place && s->replay)
		place = replay_last_place(s->replay, stack);
	if (!place)
		return s->names->groups + GROUP_UNKNOWN;
	return stacks_function_at(s, stack, place);
}

bool stacks_are_past(const struct stacks_run *run, uint64_t ns)
{
	for (unsigned i = 0; i < run->replay->n_lanes; i++) {
		const struct lane *lane = &run->replay->lanes[i];

		/* without a first event, it has not begun */
		if (lane->meter.insns && lane->meter.ns < ns && !lane->meter.halted)
			return false;
	}
	return true;
}

bool stacks_is_halted(const struct stacks_run *run, unsigned cpu, size_t *ret_stack, uint64_t *ret_since_ns)
{
	const struct replay *r = run->replay;
	const struct lane *lane = &r->lanes[cpu];

	if (!lane->meter.halted)
		return false;
	*ret_stack = (size_t)(lane->stack - r->stacks->list);
	*ret_since_ns = lane->meter.ns;
	return true;
}

void stacks_deinit(struct stacks *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->list[i].frames);
		free(s->list[i].thunk_calls.list);
	}
	free(s->list);
	*s = (struct stacks){ 0 };
}
