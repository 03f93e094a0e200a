/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "waiting.h"

#include "recorder/kernel/kernel_argument.h"

#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "flight.h"
#include "hold.h"
#include "recorder/boot.h"
#include "recorder/cpu.h"
#include "recorder/kernel/syscalls.h"
#include "recorder/kernel/tasks.h"
#include "recorder/qemu/guest_time.h"
#include "recorder/qemu/qemu_inside.h"
#include "recorder/watch/watch_put.h"
#include "recorder/x86/entry_call.h"
#include "snapshot.h"
#include "span_end.h"

enum {
	LINGER_MS = 20, /* translating anew costs as much, there and back */
};

static struct {
	pthread_mutex_t lock; /* for the begin of a span */
	pthread_mutex_t loaded_lock; /* who sees first that a snapshot was loaded ends what was before */
	unsigned stops_seen;         /* so many stops of all vCPUs have been looked into for that */
	pthread_mutex_t anew_lock; /* for what is done when QEMU has forgotten all code: */
	bool finished;       /* the recording ends, and nothing more is */
	/* some of the kernel was translated before it was found, without a look at which functions begin there */
	bool late;
	/* what is to be recorded, one after the other, and what of it has begun, or is waited for */
	struct awaited *list, *now;
	size_t n;
	bool asked;
	/* the guest goes on from one, and what is there is still to be read: nothing begins before */
	bool snapshot;
	bool object_there;   /* the module or file whose function is waited for was there before */
	bool from_snapshot;  /* it has been read, and other vCPUs have not been told */
	unsigned standing;   /* vCPUs that have not executed since, … */
	uint64_t stand_ns;   /* … up to which time they may have been in the middle of something */
	/* a flight recorder to which the start is to be told: it records all, and forgets what is old (hold.h) … */
	bool holds;
	bool holds_again;    /* … behind each span anew: each time that it holds is told */
	bool over;           /* no span will begin any more */
	uint64_t spans;      /* that have begun */
	uint64_t hits;       /* how often the start condition held while this span was awaited */
	uint64_t stop_hits;  /* the stop condition: a program, or a line of the log */
	/* which line held last, and 1; 0: none did. One that goes on (pr_cont) is told of again, and is one line */
	uint64_t start_line, stop_line;
	bool stopped;        /* … and it ended the span */
	uint64_t ended_ms;   /* when it was first seen that the span had ended; 0: it has not */
} waiting = { .lock = PTHREAD_MUTEX_INITIALIZER, .anew_lock = PTHREAD_MUTEX_INITIALIZER,
	      .loaded_lock = PTHREAD_MUTEX_INITIALIZER };

static bool is_of_function(const struct condition *c)
{
	return c->kind == CONDITION_ENTRY || c->kind == CONDITION_EXIT;
}

/* Or of no function. */
static bool is_of_kernel(const struct condition *c)
{
	return !is_of_function(c) || !c->object || !strcmp(c->object, CONDITION_KERNEL);
}

/* The recorder has but the plain names of the kernel's functions. */
static bool is_plain(const struct condition *c)
{
	return !is_of_function(c) || (!strpbrk(c->text, ",*?[( ") && (!c->object || !strpbrk(c->object, "[")));
}

/* Can the recorder tell where it begins, and so, what counts as its stop? */
static bool begins_exactly(const struct condition *start, const struct condition *stop)
{
	switch (start->kind) {
	case CONDITION_ENTRY:
		return is_of_kernel(start);
	case CONDITION_EXIT:
	case CONDITION_TIME: /* it begins before that */
		return is_of_kernel(start) && !condition_is_told(stop);
	default:
		return true;
	}
}

/* … and what ends it? A flight recorder's start is told, and what comes before it changes nothing. */
static bool ends(const struct awaited *a)
{
	const struct condition *stop = &a->stop;

	return stop->kind != CONDITION_NONE && is_plain(stop) && (!is_of_function(stop) || is_of_kernel(stop)) &&
	       (waiting.holds_again ? is_of_kernel(&a->start) : begins_exactly(&a->start, stop));
}

/* Can it tell that another one begins, also if that is soon? */
static bool begins_again(const struct awaited *a)
{
	return a->every && a->start.kind == CONDITION_ENTRY && a->start.nth == 1 && a->stop.nth == 1 &&
	       !condition_is_told(&a->stop);
}

static int read_awaited(const struct meta *config, size_t i, struct awaited *ret, struct error *err)
{
	char start_key[CONDITION_KEY], stop_key[CONDITION_KEY], every_key[CONDITION_KEY];
	const char *start = meta_get(config, condition_key("start", i, start_key)),
		   *stop = meta_get(config, condition_key("stop", i, stop_key));

	*ret = (struct awaited){ .every = meta_get(config, condition_key("every", i, every_key)) };
	if ((start && condition_parse("start", start, &ret->start, err) < 0) ||
	    (stop && condition_parse("stop", stop, &ret->stop, err) < 0))
		return -1;
	ret->unknown = start && !is_plain(&ret->start);
	waiting.asked |= start || stop;
	return 0;
}

int waiting_init(const struct meta *config, struct error *err)
{
	uint64_t before = meta_get_u64(config, "before", 0);
	struct awaited *first;

	waiting.n = meta_get_u64(config, "spans", 1);
	waiting.list = waiting.now = first = xcalloc(waiting.n, sizeof *waiting.list);
	for (size_t i = 0; i < waiting.n; i++)
		if (read_awaited(config, i, &waiting.list[i], err) < 0)
			return -1;
	waiting.holds = first->start.kind && before;
	waiting.holds_again = waiting.holds && first->every;
	waiting.snapshot = meta_get(config, "snapshot");
	recorder.waits = waiting.snapshot || (first->start.kind && !before);
	if (waiting.holds)
		hold_begin(before, &recorder.sites, waiting.holds_again);
	for (size_t i = 0; i < waiting.n; i++) {
		struct awaited *a = &waiting.list[i];

		a->ends = ends(a) && (!a->every || waiting.holds_again || begins_again(a));
	}
	waiting.holds_again &= first->ends && !first->unknown;
	if (waiting.holds_again)
		flight_await(&first->start, &first->starts, &first->stop, &first->stops);
	else if (waiting.asked && !(waiting.holds && first->every))
		span_end_await(waiting.list, waiting.n);
	return 0;
}

/* Is a span to begin? */
static bool awaits(void)
{
	if (__atomic_load_n(&waiting.snapshot, __ATOMIC_ACQUIRE))
		return false;
	return (recorder_waits() && !waiting.over) || __atomic_load_n(&waiting.holds, __ATOMIC_ACQUIRE);
}

/* All functions of that name. Too many: none. */
static void find_functions(const struct kernel *k, const struct condition *c, struct functions *ret)
{
	*ret = (struct functions){ 0 };
	if (!is_of_function(c) || !is_of_kernel(c))
		return;
	for (size_t i = 0; i < k->tab.count; i++)
		if (!strcmp(symtab_name(&k->tab, (long)i), c->text)) {
			if (ret->count == CONDITION_FUNCTIONS) {
				ret->count = 0;
				return;
			}
			ret->addr[ret->count++] = k->tab.symbols[i].addr + k->slide;
		}
}

void waiting_forget(void)
{
	for (size_t i = 0; i < waiting.n; i++)
		waiting.list[i].starts.count = waiting.list[i].stops.count = 0;
	waiting.start_line = waiting.stop_line = 0;
}

/* What tells of a condition of that kind; NULL: more than one function of the kernel's. */
static const char *teller_of(enum condition_kind kind)
{
	switch (kind) {
	case CONDITION_EXEC:
		return "perf_event_comm";
	case CONDITION_LOG:
		return "prb_final_commit";
	case CONDITION_TEST:
		return "kunit_try_run_case";
	default:
		return NULL;
	}
}

/*
 * Nothing would ever begin what was asked for: end the guest, rather than let it run for nothing. One that another
 * program started goes on: that program has its own use for it.
 */
static void give_up(const struct kernel *k, const char *teller)
{
	snprintf(recorder.stats->hopeless, sizeof recorder.stats->hopeless,
		 "what is to start it cannot be told of this kernel: it has no %s()%s%s", teller,
		 k->no_names ? ", for " : "", k->no_names ? k->no_names : "");
	if (!recorder.guest_goes_on)
		kill(getpid(), SIGTERM);
}

void waiting_found(const struct kernel *k)
{
	const char *teller = waiting.asked ? teller_of(waiting.list->start.kind) : NULL;

	if (teller && !kernel_has_hook(k, teller))
		give_up(k, teller);
	if (!waiting.asked)
		return;
	for (size_t i = 0; i < waiting.n; i++) {
		struct awaited *a = &waiting.list[i];

		find_functions(k, &a->start, &a->starts);
		find_functions(k, &a->stop, &a->stops);
		a->unknown |= is_of_function(&a->start) && is_of_kernel(&a->start) && !a->starts.count;
	}
	waiting.late = waiting.now->starts.count && k->asked > 1;
}

bool waiting_for_time(void)
{
	return recorder_waits() && !waiting.over && waiting.now->start.kind == CONDITION_TIME;
}

bool waiting_for_entry(uint64_t addr)
{
	return awaits() && functions_have(&waiting.now->starts, addr);
}

bool waiting_for_inner(uint64_t addr, uint64_t end)
{
	return awaits() && functions_within(&waiting.now->starts, addr + 1, end);
}

enum watching waiting_watches(uint64_t addr, uint64_t end, const struct hook *hook)
{
	if (!recorder_waits() || waiting_for_entry(addr) || waiting_for_inner(addr, end))
		return WATCH_EVENTS;
	if (hook && !waiting.over && ((waiting.now->start.kind == CONDITION_EXEC && hook->watch == watch_task_name) ||
				      (waiting.now->start.kind == CONDITION_LOG && hook->kind == FACT_LOG) ||
				      (waiting.now->start.kind == CONDITION_TEST && hook->kind == FACT_TEST)))
		return WATCH_EVENTS;
	return recorder.cuts_blocks ? WATCH_COUNTER : WATCH_STATE;
}

/* How user code was left, and which strings are still to be read, is not known of what was not watched. */
static void forget_left(struct vcpu *v)
{
	v->user_from = 0;
	v->user_left = LEFT_UNKNOWN;
	syscalls_forget(v);
}

static void mark(struct vcpu *v, uint64_t place)
{
	v->waits = recorder_waits();
	v->live->thunk = 0;
	PUT(v, EVENT_GAP, v->live->insns, guest_time(v), place, v->waits ? MARK_ENDS : MARK_BEGINS, waiting.spans);
}

static void put_task(struct vcpu *v)
{
	PUT(v, EVENT_TASK_SWITCH, v->live->insns, guest_time(v), 0, v->task);
}

static void mark_flight(struct vcpu *v, enum mark_kind kind)
{
	PUT(v, EVENT_GAP, v->live->insns, guest_time(v), 0, kind, 0);
}

/* Whether a vCPU that has not executed since a snapshot is halted shows when it does: watch_first(). */
static void stand(struct vcpu *v)
{
	put_task(v); /* a halt ends with it */
	PUT(v, EVENT_HALT, v->live->insns, guest_time(v));
	v->halted = v->begun = v->stands = true;
	waiting.standing++;
}

/*
 * All vCPUs are stopped, and QEMU has forgotten all code. A span that had ended when this was asked for may have begun
 * again since, in events that the drain thread had not seen: then it goes on.
 */
static void go_on(void)
{
	if (!recorder_waits() && (waiting.stopped || span_ended())) {
		drain_catch_up();
		waiting.over = waiting.stopped || span_end_next() == SIZE_MAX;
		if (span_end_next() < waiting.n)
			waiting.now = &waiting.list[span_end_next()];
		waiting.hits = waiting.start_line = waiting.stop_line = 0; /* of the next span */
		__atomic_store_n(&recorder.waits, waiting.stopped || span_ended(), __ATOMIC_RELEASE);
		waiting.stopped = false;
	}
	if (recorder_waits()) { /* else the next span would be taken for ended until the drain thread sees it begin */
		span_end_taken();
		waiting.ended_ms = 0;
		recorder.cpu->forget_cuts(); /* what they end with is not watched */
		tasks_forget_left();
		syscalls_forget_all();
	}
	recorder.puts_for_others = true;
	for (unsigned i = 0; i < recorder.n_vcpus; i++) {
		struct vcpu *v = vcpu_get(i);

		if (!v || v->waits == recorder_waits())
			continue;
		if (!v->begun && waiting.from_snapshot) {
			stand(v);
		} else if (i && !v->begun) { /* watch_start() would tell later, of a time before the mark */
			PUT(v, EVENT_HALT, 0, 0);
			v->halted = v->begun = true;
		}
		forget_left(v);
		mark(v, 0);
	}
	recorder.puts_for_others = false;
	waiting.from_snapshot = false;
}

/*
 * QEMU may do it while it exits, when the vCPUs count as stopped: not beside watch_finish(), and not without the drain
 * thread.
 */
static void translated_anew(void)
{
	pthread_mutex_lock(&waiting.anew_lock);
	/* a flight recorder that waits goes on as it is, whatever the stop condition did */
	if (!waiting.finished && !waiting.holds)
		go_on();
	pthread_mutex_unlock(&waiting.anew_lock);
}

void waiting_finish(void)
{
	pthread_mutex_lock(&waiting.anew_lock);
	waiting.finished = true;
	pthread_mutex_unlock(&waiting.anew_lock);
}

/* The flight recorder has what was before: only the moment is told. */
static void release(struct vcpu *v, uint64_t place)
{
	bool first;

	pthread_mutex_lock(&waiting.lock);
	first = waiting.holds;
	__atomic_store_n(&waiting.holds, false, __ATOMIC_RELEASE);
	waiting.spans += first;
	pthread_mutex_unlock(&waiting.lock);
	if (!first)
		return;
	mark(v, place);
	hold_release();
}

/* It goes on to wait, but for a time, which comes but once. */
static void release_again(struct vcpu *v)
{
	if (waiting.now->start.kind == CONDITION_TIME && !__atomic_exchange_n(&waiting.holds, false, __ATOMIC_ACQ_REL))
		return;
	mark_flight(v, MARK_STARTS);
	hold_release();
}

/*
 * `place`: where the event is to come with which it begins, or 0. False: another vCPU was first, or nothing has to be
 * put into the ring.
 */
static bool begin(struct vcpu *v, uint64_t place)
{
	bool first;

	if (__atomic_load_n(&waiting.holds, __ATOMIC_ACQUIRE)) {
		if (waiting.holds_again && !waiting.now->unknown)
			release_again(v);
		else
			release(v, place);
		return false;
	}
	pthread_mutex_lock(&waiting.lock);
	first = recorder_waits() && !waiting.over;
	if (first) {
		waiting.spans++;
		waiting.stop_hits = 0;
		__atomic_store_n(&recorder.waits, false, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&waiting.lock);
	if (!first)
		return false;
	forget_left(v);
	mark(v, place);
	qemu_translate_anew(translated_anew);
	return true;
}

/*
 * The start condition holds: is it the time that is asked for? Only then does a span begin. Another vCPU may be one
 * time further before that has come to begin(), and would begin with the wrong one. A flight recorder that holds again
 * is told each time from then on. `counted`: this time has been counted before.
 */
static bool is_hit(bool counted, bool *ret_first)
{
	uint64_t hits = __atomic_add_fetch(&waiting.hits, !counted, __ATOMIC_RELAXED);

	*ret_first = hits == waiting.now->start.nth;
	return *ret_first || (waiting.holds_again && hits > waiting.now->start.nth);
}

/* What is counted here, the recording cannot count: it does not have all before that time. */
static void tell_hits(uint64_t before, uint64_t ns)
{
	struct buf lines = { 0 };

	meta_put_u64(&lines, "start_hits", before);
	meta_put_u64(&lines, "start_ns", ns);
	drain_put(CHUNK_META, &lines);
	buf_free(&lines);
}

/* A function that is waited for is entered. Does the condition hold? `counted`: this entry has been counted before. */
static bool entry_holds(unsigned cpu, bool counted)
{
	bool first;

	if (waiting.now->start.kind != CONDITION_ENTRY)
		return true;
	if (!is_hit(counted, &first))
		return false;
	if (first && waiting.now->start.nth > 1)
		tell_hits(waiting.now->start.nth - 1, waiting.holds ? watch_clock(cpu) : 0);
	return true;
}

static void begin_at_entry(unsigned cpu, uint64_t function, bool arrival_told)
{
	struct vcpu *v = vcpu_get(cpu);
	struct entry_call call;

	if (!awaits() || !entry_holds(cpu, false))
		return;
	if (!recorder_waits()) { /* a flight recorder has it */
		begin(v, 0);
		return;
	}
	entry_call_find(v, &call);
	if (begin(v, call.known ? call.from : function))
		entry_call_put(v, function, &call, arrival_told);
}

void watch_awaited(unsigned cpu, void *data)
{
	begin_at_entry(cpu, (uintptr_t)data, false);
}

void watch_awaited_arrival(unsigned cpu, void *data)
{
	begin_at_entry(cpu, (uintptr_t)data, true);
}

/* If a fault keeps control from getting there, the block is begun once more for the same entry. */
void watch_awaited_ahead(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	bool counted = v->runs_into;

	v->runs_into = true;
	if (awaits() && entry_holds(cpu, counted))
		begin(v, (uintptr_t)data);
}

void watch_ran_into(unsigned cpu, void *data)
{
	(void)data;
	vcpu_get(cpu)->runs_into = false;
}

static void stop_at(bool holds)
{
	const struct awaited *a = waiting.now;

	if (holds && !a->every && a->ends && !a->unknown &&
	    __atomic_add_fetch(&waiting.stop_hits, 1, __ATOMIC_RELAXED) == a->stop.nth)
		waiting.stopped = true;
}

static bool start_at(struct vcpu *v, bool holds)
{
	bool first;

	return holds && is_hit(false, &first) && begin(v, guest_pointer(&v->regs, REG_IP));
}

bool waiting_exec(struct vcpu *v, const char *comm, const char *exe, bool renamed)
{
	if (waiting.holds_again && condition_is_program(&waiting.now->stop, comm, exe, renamed))
		mark_flight(v, MARK_STOPS);
	if (awaits())
		return start_at(v, condition_is_program(&waiting.now->start, comm, exe, renamed));
	stop_at(condition_is_program(&waiting.now->stop, comm, exe, renamed));
	return false;
}

/* Does the fact say that the condition holds? */
static bool is_told(const struct condition *c, const struct fact *fact)
{
	if (!fact->n_texts)
		return false;
	if (c->kind == CONDITION_LOG)
		return fact->kind == FACT_LOG && strstr(fact->texts[0], c->text);
	return fact->kind == FACT_TEST && condition_is_test(c, fact->texts[0]);
}

/* … for the first time? */
static bool is_told_anew(const struct condition *c, const struct fact *fact, uint64_t *line)
{
	uint64_t number = fact->numbers[0] + 1;

	return is_told(c, fact) &&
	       (fact->kind != FACT_LOG || __atomic_exchange_n(line, number, __ATOMIC_RELAXED) != number);
}

bool waiting_fact(struct vcpu *v, const struct fact *fact, bool *ret_starts)
{
	bool starts = is_told_anew(&waiting.now->start, fact, &waiting.start_line);
	bool stops = is_told_anew(&waiting.now->stop, fact, &waiting.stop_line);

	*ret_starts = is_told(&waiting.now->start, fact);
	if (waiting.holds_again && stops)
		mark_flight(v, MARK_STOPS);
	if (awaits())
		start_at(v, starts);
	else
		stop_at(stops);
	/* those before are counted again in the trace */
	return !recorder_waits() || *ret_starts;
}

void waiting_object(struct vcpu *v, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!waiting.now->start.object || waiting.now->unknown || is_of_kernel(&waiting.now->start) ||
	    fnmatch(waiting.now->start.object, slash ? slash + 1 : path, 0))
		return;
	if (awaits())
		begin(v, guest_pointer(&v->regs, REG_IP));
	else
		waiting.object_there |= waiting.snapshot;
}

bool waiting_snapshot(void)
{
	return waiting.snapshot;
}

bool waiting_for_snapshot(void)
{
	const struct kernel *k = &recorder.kernel;

	return waiting.snapshot && (kernel_found(k) || k->no_linux || kernel_given_up(k));
}

/* What the recording has, as thinning tells of a part: upto record has told by which option. */
static void tell_begin(uint64_t ns)
{
	struct buf lines = { 0 };

	meta_put_u64(&lines, "span.1.start_ns", ns);
	drain_put(CHUNK_META, &lines);
	buf_free(&lines);
}

/* Only the first vCPU that gets here does it. The others are told when QEMU has stopped them. */
void watch_snapshot(unsigned cpu, void *data)
{
	enum { STAND_NS = 1000000000 };
	struct vcpu *v = vcpu_get(cpu);
	bool records;

	pthread_mutex_lock(&waiting.lock);
	if (!waiting.snapshot) {
		pthread_mutex_unlock(&waiting.lock);
		return;
	}
	guest_time_begins(v, (uintptr_t)data);
	snapshot_tell(v, cpu, SNAPSHOT_ENTRIES);
	records = !waiting.list->start.kind || waiting.list->unknown || waiting.holds || waiting.object_there;
	v->begun = waiting.from_snapshot = true;
	waiting.stand_ns = guest_time(v) + STAND_NS;
	put_task(v);
	if (records) {
		waiting.spans += !waiting.holds;
		if (!waiting.holds)
			snapshot_tell_stacks(v, waiting.spans);
		__atomic_store_n(&recorder.waits, false, __ATOMIC_RELEASE);
		mark(v, 0);
		if (!recorder.boot)
			tell_begin(guest_time(v));
	}
	__atomic_store_n(&waiting.snapshot, false, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&waiting.lock);
	qemu_translate_anew(translated_anew);
}

/* What the vCPU was in the middle of is over. Its thread waits, or has not come to translate anything. */
static void leave(struct vcpu *v)
{
	v->begun = v->halted = v->stands = v->runs_into = false;
	v->task = v->space = v->single_insns = 0;
	forget_left(v);
	if (!v->waits)
		mark(v, 0);
}

/* The span that is under way ends where a snapshot is loaded: its condition may hold again behind that. */
static void await_again(void)
{
	if (recorder_waits() || waiting.holds)
		return;
	waiting.hits = waiting.stop_hits = waiting.ended_ms = 0;
	waiting.stopped = false;
}

void waiting_snapshot_loaded(void)
{
	unsigned stops = 0;
	bool tells = inside_stops(&stops);

	/* one can only have been loaded while vCPUs stood */
	if (tells && stops == __atomic_load_n(&waiting.stops_seen, __ATOMIC_ACQUIRE))
		return;
	pthread_mutex_lock(&waiting.loaded_lock);
	if (guest_time_goes_on()) {
		waiting.snapshot = true;
		waiting.object_there = false;
		waiting.standing = 0;
		await_again();
		__atomic_store_n(&recorder.waits, true, __ATOMIC_RELEASE);
		recorder.cpu->forget_cuts();
		recorder.puts_for_others = true;
		for (unsigned i = 0; i < recorder.n_vcpus; i++)
			if (vcpu_get(i))
				leave(vcpu_get(i));
		recorder.puts_for_others = false;
		boot_begin(guest_time(vcpu_get(0)), BOOT_SNAPSHOT);
	}
	__atomic_store_n(&waiting.stops_seen, stops, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&waiting.loaded_lock);
}

bool waiting_for_vcpus(void)
{
	return __atomic_load_n(&waiting.standing, __ATOMIC_RELAXED);
}

void watch_first(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);

	if (v->stands) {
		v->stands = false;
		__atomic_sub_fetch(&waiting.standing, 1, __ATOMIC_RELAXED);
		watch_resume(cpu, data);
	} else if (waiting_for_vcpus() && guest_time(v) > waiting.stand_ns) {
		__atomic_store_n(&waiting.standing, 0, __ATOMIC_RELAXED);
		qemu_translate_anew(translated_anew);
	}
}

/* Has the span ended, and does the next one not follow at once? */
static bool is_over(void)
{
	uint64_t none = 0, now;

	if (waiting.stopped || !span_ended()) {
		__atomic_store_n(&waiting.ended_ms, 0, __ATOMIC_RELAXED);
		return waiting.stopped;
	}
	now = clock_ms();
	__atomic_compare_exchange_n(&waiting.ended_ms, &none, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return !begins_again(waiting.now) || (none && now - none >= LINGER_MS);
}

void waiting_look(struct vcpu *v)
{
	if (awaits()) {
		if ((waiting.now->unknown && kernel_found(&recorder.kernel)) ||
		    (waiting.now->start.kind == CONDITION_TIME && guest_time(v) + AHEAD_NS >= waiting.now->start.ns))
			begin(v, 0);
		else if (__atomic_exchange_n(&waiting.late, false, __ATOMIC_RELAXED))
			qemu_translate_anew(translated_anew);
	} else if (!recorder_waits() && waiting.asked && is_over()) {
		qemu_translate_anew(translated_anew);
	}
}

unsigned waiting_state(void)
{
	return waiting.holds_again ? hold_holds() : awaits() || waiting.snapshot ? 1 : recorder_waits() ? 2 : 0;
}
