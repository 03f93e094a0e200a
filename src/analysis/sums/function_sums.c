/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "function_sums.h"

#include "base/alloc.h"
#include "tallies.h"
#include "ticks.h"

struct function_sums {
	struct functions sums;
	struct tallies *tallies; /* NULL: no phrases came yet */
	unsigned ticks_shift;
	const struct threads *threads;
	/*
	 * of the threads that are not asked for, which nobody reads; NULL: all are asked for, or these are the others'
	 */
	struct function_sums *others;
	bool is_others;
} __attribute__((aligned(CACHE_LINE)));

/* What enters a function: where an event of the kind leads to, as enum place_at; or it depends. */
enum { DEPENDS = 4 };
static const uint8_t enters_by_kind[EVENT_KINDS] = {
	[EVENT_CALL] = AT_START | IN_GROUP,
	[EVENT_CALL_INDIRECT] = AT_START | IN_GROUP,
	[EVENT_JUMP] = AT_START | IN_GROUP,
	[EVENT_JUMP_INDIRECT] = AT_START | IN_GROUP,
	[EVENT_INTERRUPT] = DEPENDS,
	[EVENT_SYSCALL] = AT_START | IN_GROUP,
	/* a retpoline's jump, or a new thread's first step */
	[EVENT_RETURN] = AT_START,
	[EVENT_ARRIVE] = DEPENDS,
	[EVENT_INTERRUPT_RETURN] = DEPENDS,
};

void function_lane_cut_in(struct function_lane *lane, const struct cut_in *cut)
{
	enum { MAX = sizeof lane->cut_in / sizeof *lane->cut_in };

	if (lane->n_cut_in == MAX)
		memmove(lane->cut_in, lane->cut_in + 1, --lane->n_cut_in * sizeof *lane->cut_in);
	lane->cut_in[lane->n_cut_in++] = *cut;
}

/* Control comes back into the thunk of an orphan. An interrupt's begin, which ends a batch, is between two of those. */
static void come_back_to(struct function_sums *s, struct function_lane *lane, struct orphan *o, struct place *place)
{
	const struct function_stat *stat = &s->sums.stats[o->thunk];

	*place = (struct place){ .function = o->thunk };
	lane->returned = o;
	lane->returned_insns = stat->self_insns;
	lane->returned_ticks = stat->self_ns;
}

/* It is not known what the interrupt cut into: the time is the thunk's own until somebody finds out. */
static void come_back_unknown(struct function_sums *s, struct function_lane *lane, uint64_t target, struct place *place)
{
	struct orphan *o = lane->spare;

	*place = (struct place){ .function = place->function };
	if (!o)
		return;
	lane->spare = NULL;
	o->came_back = true;
	o->thunk = place->function;
	o->task = lane->task;
	o->from = target;
	come_back_to(s, lane, o, place);
}

/* The batch's events are all counted in which that was. */
static void settle_returned(struct function_sums *s, struct function_lane *lane)
{
	struct orphan *o = lane->returned;

	if (!s->is_others) {
		o->insns += s->sums.stats[o->thunk].self_insns - lane->returned_insns;
		o->ticks += s->sums.stats[o->thunk].self_ns - lane->returned_ticks;
	}
	lane->orphan = lane->function == o->thunk ? o : NULL;
	lane->returned = NULL;
}

/* Control comes back from an interrupt. In a thunk, it is the function's that the interrupt cut into. */
static void come_back(struct function_sums *s, struct function_lane *lane, const struct event *e, struct place *place)
{
	for (unsigned i = lane->n_cut_in; i-- > 0;) {
		const struct cut_in *c = &lane->cut_in[i];

		if (c->from != e->target || c->task != lane->task)
			continue;
		if (place->at & AT_START && c->function != place->function) {
			lane->unentered = place->function;
			lane->unentered_insns = e->insns;
			lane->unentered_from = c->function;
		}
		if (place->at & IN_THUNK && c->orphan)
			come_back_to(s, lane, c->orphan, place);
		else if (place->at & IN_THUNK)
			*place = (struct place){ .function = c->function };
		memmove(lane->cut_in + i, lane->cut_in + i + 1, (--lane->n_cut_in - i) * sizeof *lane->cut_in);
		return;
	}
	if (place->at & IN_THUNK)
		come_back_unknown(s, lane, e->target, place);
}

/*
 * Is what the interrupt cuts into of use when control comes back? In the kernel it may be a thunk; in a program, whose
 * thunks nobody folds, only a function that was about to be entered.
 */
static bool is_worth_knowing(struct function_lane *lane, const struct event *e, uint32_t from)
{
	struct place place;

	if (addr_is_kernel(e->from))
		return true;
	place = name_cache_place(lane->cache, &lane->view, lane->task, e->from, e->ns);
	return place.at & AT_START && place.function != from;
}

/* What of enum place_at an event has to lead to, that by itself may enter a function or not; from function `from`. */
static __attribute__((noinline)) unsigned enters_here(struct function_sums *s, struct function_lane *lane,
						      const struct event *e, struct place *place, uint32_t from)
{
	bool elsewhere, again = from == lane->unentered && e->insns == lane->unentered_insns;

	if (e->kind == EVENT_INTERRUPT) {
		from = again ? lane->unentered_from : from; /* another one comes before it is entered */
		if (is_worth_knowing(lane, e, from))
			function_lane_cut_in(lane, &(struct cut_in){ .task = lane->task,
								     .from = e->from,
								     .function = from,
								     .orphan = lane->orphan });
		return AT_START | IN_GROUP;
	}
	if (e->kind == EVENT_ARRIVE) {
		elsewhere = place->function != from || again;
	} else {
		/* those that begin a signal's handler, or a program */
		elsewhere = e->args[0] & IRET_ELSEWHERE;
		come_back(s, lane, e, place);
	}
	return elsewhere ? AT_START | IN_GROUP : 0;
}

/*
 * Whether the event enters the function that it leads to, from function `from`. *place is corrected where it is a
 * thunk's.
 */
static inline bool enters(struct function_sums *s, struct function_lane *lane, const struct event *e,
			  struct place *place, uint32_t from)
{
	unsigned by = enters_by_kind[e->kind];

	if (__builtin_expect(by == DEPENDS, 0))
		by = enters_here(s, lane, e, place, from);
	by &= place->at;
	/* a jump within code without names is one of a function, as far as anybody knows */
	if (__builtin_expect(by & IN_GROUP, 0) && (e->kind == EVENT_JUMP || e->kind == EVENT_JUMP_INDIRECT))
		return place->function != from;
	return by;
}

/* The function that control is in at a place: in a thunk, the one that it was in. */
static inline uint32_t function_at(struct place place, uint32_t before)
{
	return place.at & IN_THUNK ? before : place.function;
}

/*
 * The function that control came from. In a part of a trace it may have gone on elsewhere since the event before, but a
 * call or jump of the kernel's tells from where it leads. Of a thunk only what came before tells who called it.
 */
static uint32_t caller_of(struct function_lane *lane, const struct event *e, uint64_t ns, uint32_t before)
{
	bool is_call = e->kind == EVENT_CALL || e->kind == EVENT_CALL_INDIRECT;

	if (!addr_is_kernel(e->from) || !(is_call || e->kind == EVENT_JUMP || e->kind == EVENT_JUMP_INDIRECT))
		return before;
	return function_at(name_cache_place(lane->cache, &lane->view, lane->task, e->from - is_call, ns), before);
}

static __attribute__((noinline)) void enter_first(struct function_sums *s, struct function_lane *lane,
						  const struct event *e, uint64_t ns, uint32_t function,
						  uint32_t before)
{
	function_take_first(&s->sums.stats[function], &s->sums.firsts[function], ns,
			    &(struct function_first){ .insns = e->insns,
						      .task = lane->task,
						      .caller = caller_of(lane, e, ns, before),
						      .cpu = lane->cpu });
}

/* The last events had no following clock. Now that one came, add the time since the clock before them. */
static void set_pace(struct function_sums *s, struct function_lane *lane, const struct pace *pace)
{
	uint64_t now = pace_ticks(pace, lane->meter.insns);

	s->sums.stats[lane->function].self_ns += now - lane->meter.ns;
	lane->meter.ns = now;
}

/* Where control is between two events of a batch, and what does not change between them. */
struct running {
	uint64_t insns;
	uint32_t function;
	uint32_t version; /* of the address space */
	uint64_t ticks;   /* an instruction takes */
	struct timebase timebase;
};

/*
 * Events in the span none of which has a clock: what runs is not halted, nor will be, and the task has one version of
 * its address space.
 */
static inline void count_plain(struct function_sums *s, struct function_lane *lane, struct running *running,
			       const struct event *events, const struct event *end)
{
	const uint64_t ticks = running->ticks, first_ns = running->timebase.ns;
	struct function_stat *const stats = s->sums.stats;
	struct name_cache *const cache = lane->cache;
	uint64_t insns = running->insns;
	uint32_t function = running->function;

	for (const struct event *e = events; e < end; e++) {
		struct function_stat *stat = &stats[function];
		uint64_t run = e->insns - insns;
		uint32_t version = running->version;
		struct name_entry *entry;
		struct place place;
		bool entered;

		stat->self_insns += run;
		stat->self_ns += run * ticks;
		insns = e->insns;
		if (__builtin_expect(!e->target, 0))
			continue;
		entry = name_cache_entry(cache, e->target, &version);
		place = entry->place;
		if (!name_entry_is(entry, e->target, version))
			place = name_cache_miss(cache, entry, e->target, timebase_ns(&running->timebase, insns),
						version);
		entered = enters(s, lane, e, &place, function);
		stat = &stats[place.function];
		stat->calls += entered;
		/* none of these is earlier than the clock before */
		if (__builtin_expect(entered & (stat->first_ns >= first_ns), 0))
			enter_first(s, lane, e, timebase_ns(&running->timebase, insns), place.function, function);
		function = function_at(place, function);
	}
	running->insns = insns;
	running->function = function;
}

/*
 * Begin a tally for calls as this one, if its phrase's events, which are written, will always have the same names, and
 * all say where they lead. One that goes back in time, or from kernel code to user code or the other way, is damage.
 */
static __attribute__((noinline)) void begin_tally(struct function_sums *s, struct function_lane *lane,
						  const struct running *running, const struct batch *batch,
						  const struct phrase_use *use, uint32_t version)
{
	const struct event *call = &batch->events[use->call], *end = call + phrase_count(batch->phrases, use->phrase);
	struct tally *tally = tally_begin(s->tallies, use->phrase, s->sums.stats);
	uint64_t insns = call->insns;
	uint32_t function = running->function;

	for (const struct event *e = call + 1; e <= end; e++) {
		struct place place;
		bool entered;

		if (e->insns < insns || !e->target || addr_is_kernel(e->target) != addr_is_kernel(call->from) ||
		    !name_cache_lasting(lane->cache, e->target, timebase_ns(&running->timebase, e->insns),
					running->version, &place))
			return;
		entered = enters(s, lane, e, &place, function);
		function = function_at(place, function);
		tally_step(s->tallies, use->phrase, function, entered, e->insns - insns);
		insns = e->insns;
	}
	tally->serial = batch->phrases->places[use->phrase].serial;
	tally->from = call->from;
	tally->version = version;
	tally->callee = running->function;
}

/*
 * The phrase behind a call: in a tally, or written, as the first of one is. Returns how many events are counted by
 * that.
 */
static inline size_t count_phrase(struct function_sums *s, struct function_lane *lane, struct running *running,
				  struct batch *batch, struct phrase_use *use)
{
	const struct event *call = &batch->events[use->call];
	struct tally *tally = &s->tallies->tallies[use->phrase];
	uint32_t serial = batch->phrases->places[use->phrase].serial,
		 version = name_cache_version(lane->cache, call->from, running->version);

	if (__builtin_expect(!tally_is(tally, serial, call->from, version, running->function), 0)) {
		batch_write_phrase(batch, use);
		begin_tally(s, lane, running, batch, use, version);
		return 0;
	}
	running->function = tally_call(tally, running->ticks);
	running->insns = call->insns + phrase_insns(batch->phrases, use->phrase);
	return phrase_count(batch->phrases, use->phrase);
}

/* The events up to `end`, and of them, those that are phrases' of the batch; NULL: all are written. */
static void count_run(struct function_sums *s, struct function_lane *lane, const struct timebase *timebase,
		      const struct pace *pace, const struct event *events, const struct event *end, struct batch *batch)
{
	struct running running = {
		.insns = lane->meter.insns, .function = lane->function, .version = lane->view.version,
		.ticks = pace->mult,
		.timebase = *timebase,
	};

	for (size_t i = 0; batch && i < batch->n_uses; i++) {
		struct phrase_use *use = &batch->uses[i];
		const struct event *behind = &batch->events[use->call + 1];

		if (use->written)
			continue;
		count_plain(s, lane, &running, events, behind);
		events = behind + count_phrase(s, lane, &running, batch, use);
	}
	count_plain(s, lane, &running, events, end);
	lane->meter.insns = running.insns;
	lane->meter.ns = pace_ticks(pace, running.insns);
	lane->function = running.function;
}

/* The function that control is in behind the event. */
static uint32_t follow(struct function_sums *s, struct function_lane *lane, const struct event *e, uint64_t ns)
{
	struct place place;

	if (!e->target) {
		if (e->kind == EVENT_TASK_SWITCH)
			lane->task = e->args[1];
		return lane->function;
	}
	place = name_cache_place(lane->cache, &lane->view, lane->task, e->target, ns);
	if (enters(s, lane, e, &place, lane->function) && ns >= lane->span.from_ns && ns < lane->span.to_ns) {
		s->sums.stats[place.function].calls++;
		enter_first(s, lane, e, ns, place.function, lane->function);
	}
	return function_at(place, lane->function);
}

/* Any event. */
static void count_one(struct function_sums *s, struct function_lane *lane, const struct timebase *timebase,
		      const struct pace *pace, const struct event *e)
{
	struct function_stat *stat = &s->sums.stats[lane->function];
	bool clocked = event_has_clock(e->kind);
	uint64_t ns = clocked ? e->ns : timebase_ns(timebase, e->insns);
	struct spent spent = meter_step_at(&lane->meter, e,
					   clocked ? ns << s->ticks_shift : pace_ticks(pace, e->insns));

	stat->self_insns += spent.insns;
	stat->self_ns += spent.ns;
	s->sums.halted_ns += spent.halted_ns;
	lane->function = follow(s, lane, e, ns);
}

/* Events up to where control leaves the thunk that the lane began in, and the rest of them. */
static __attribute__((noinline)) void count_orphan(struct function_sums *s, struct function_lane *lane,
						   const struct timebase *timebase, const struct pace *pace,
						   const struct event *events, size_t n)
{
	const struct function_stat *stat = &s->sums.stats[lane->orphan->thunk];
	const struct event *e = events, *end = events + n;
	uint64_t insns = stat->self_insns, ticks = stat->self_ns;

	while (e < end && lane->function == lane->orphan->thunk)
		count_one(s, lane, timebase, pace, e++);
	if (!s->is_others) {
		lane->orphan->insns += stat->self_insns - insns;
		lane->orphan->ticks += stat->self_ns - ticks;
	}
	if (lane->function != lane->orphan->thunk)
		lane->orphan = NULL;
	while (e < end)
		count_one(s, lane, timebase, pace, e++);
}

/* Does nothing have to be asked of each event between these times? */
static bool is_plain(struct function_lane *lane, uint64_t from_ns, uint64_t last_ns)
{
	if (lane->meter.halted || lane->meter.ns < lane->ticks_span.from_ns || last_ns >= lane->span.to_ns)
		return false;
	name_cache_set_time(lane->cache, from_ns);
	spaces_at(&lane->cache->names->spaces, &lane->view, lane->task, from_ns);
	return last_ns < lane->view.to_ns;
}

static void count_events(struct function_sums *s, struct function_lane *lane, const struct timebase *timebase,
			 const struct event *events, size_t n, struct batch *batch)
{
	const struct pace pace = pace_of(timebase, s->ticks_shift);
	const struct event *last = &events[n - 1], *plain = events;

	s->sums.events += n;
	if (__builtin_expect(lane->orphan != NULL, 0)) {
		if (batch)
			batch_write_phrases(batch);
		count_orphan(s, lane, timebase, &pace, events, n);
		if (lane->returned)
			settle_returned(s, lane);
		return;
	}
	if (is_plain(lane, timebase_ns(timebase, events->insns), timebase_ns(timebase, last->insns))) {
		plain += n - event_has_clock(last->kind);
		set_pace(s, lane, &pace);
		count_run(s, lane, timebase, &pace, events, plain, batch);
	} else if (batch) {
		batch_write_phrases(batch);
	}
	for (const struct event *e = plain; e < events + n; e++)
		count_one(s, lane, timebase, &pace, e);
	if (__builtin_expect(lane->returned != NULL, 0))
		settle_returned(s, lane);
}

/* The sums that what comes next is added to. A switch to another task ends a batch. */
static struct function_sums *sums_of_task(struct function_sums *s, struct function_lane *lane)
{
	if (!s->others)
		return s;
	if (lane->known_task != lane->task) {
		long thread = lane->task ? threads_find(s->threads, lane->task, lane->meter.ns >> s->ticks_shift)
					 : THREAD_NONE;

		lane->is_other = !threads_is_chosen(s->threads, thread);
		lane->known_task = lane->task;
	}
	return lane->is_other ? s->others : s;
}

void function_sums_count(struct function_sums *s, struct function_lane *lane, const struct timebase *timebase,
			 const struct event *events, size_t n)
{
	count_events(sums_of_task(s, lane), lane, timebase, events, n, NULL);
}

void function_sums_count_batch(struct function_sums *s, struct function_lane *lane, struct batch *batch)
{
	s = sums_of_task(s, lane);
	if (!s->tallies)
		s->tallies = tallies_new();
	count_events(s, lane, &batch->timebase, batch->events, batch->count, batch);
}

static struct function_sums *new_sums(const struct session *session, unsigned ticks_shift)
{
	struct function_sums *s = xcalloc_aligned(CACHE_LINE, 1, sizeof *s);

	s->sums = functions_new(names_count(session->names));
	s->ticks_shift = ticks_shift;
	s->threads = session->threads;
	return s;
}

struct function_sums *function_sums_new(const struct session *session, unsigned ticks_shift)
{
	struct function_sums *s = new_sums(session, ticks_shift);

	if (session->of_chosen) {
		s->others = new_sums(session, ticks_shift);
		s->others->is_others = true;
	}
	return s;
}

void function_sums_settle(struct function_sums *s)
{
	if (s->tallies)
		tallies_settle(s->tallies, s->sums.stats);
	if (s->others)
		function_sums_settle(s->others);
}

void function_sums_add(struct function_sums *s, struct functions *sum)
{
	function_sums_settle(s);
	functions_add(sum, &s->sums);
}

void function_sums_free(struct function_sums *s)
{
	if (s->others)
		function_sums_free(s->others);
	functions_deinit(&s->sums);
	tallies_free(s->tallies);
	free(s);
}

void function_lane_begin(struct function_lane *lane, const struct function_sums *s, struct name_cache *cache,
			 unsigned cpu, uint64_t task, uint64_t place, const struct meter *meter,
			 const struct timebase *timebase)
{
	unsigned shift = s->ticks_shift;

	*lane = (struct function_lane){
		.cache = cache,
		.task = task,
		.meter = *meter,
		.cpu = (uint16_t)cpu,
		.span = *meter->span,
		.known_task = UINT64_MAX,
		.ticks_span = { .from_ns = ticks_of(meter->span->from_ns, shift),
				.to_ns = ticks_of(meter->span->to_ns, shift) },
	};
	lane->meter.span = &lane->ticks_span;
	lane->meter.ns = meter->ns << shift;
	if (timebase && timebase_ns(timebase, meter->insns) == meter->ns) {
		const struct pace pace = pace_of(timebase, shift);

		lane->meter.ns = pace_ticks(&pace, meter->insns);
	}
	lane->function = name_cache_place(cache, &lane->view, task, place, meter->ns).function;
}
