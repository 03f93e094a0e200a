/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "pack.h"
#include "recorder/boot.h"
#include "recorder/cpu.h"
#include "recorder/limits.h"
#include "recorder/spans/flight.h"
#include "recorder/spans/hold.h"
#include "recorder/spans/span_end.h"
#include "recorder/spans/waiting.h"
#include "symbols/symtab_codec.h"
#include "trace/boots.h"
#include "trace/builder.h"

enum {
	CHUNK_EVENTS_MAX = 6 << 20,
	/* What kill -9 can cost, with a margin to the second promised: a chunk this old ends with its next clock … */
	CHUNK_MS = 400,
	/* … and one this old without */
	CHUNK_MS_MAX = 550,
	POLL_US = 2000,
	POLL_WAITS_US = 10000,    /* rings are far from full then */
	LAST_LEVEL = 3,           /* somebody waits for the last chunk */
	TABLES_LEVEL = BUILDER_TABLES_LEVEL,
};

/* One vCPU's events on their way. */
struct stream {
	struct encoder *encoder;  /* the builder's */
	uint64_t begun_ms;        /* when the chunk's first event came */
	bool ended;               /* the guest was powered off */
	bool due;                 /* the chunk is to end with the next clock */
	bool clocked;             /* the last event has one */
	uint64_t insns;           /* of the last record */
	/* what comes is outside the spans that were asked for: only what it leads to is kept … */
	bool waits;
	struct cpu_state state;   /* … here */
	uint64_t span;            /* number of the last one whose mark it had */
	uint64_t target;          /* where the last event that tells it led to, while a span's end is looked for */
};

static struct {
	pthread_t thread;
	bool stop;
	bool asked;               /* somebody waits until all that was written is drained */
	struct stream *streams[VCPUS_MAX];
	struct builder builder;
	uint64_t events, lost;
	struct {
		uint64_t n;
		/*
		 * of the first: which record, its vCPU's clock before it, and by how many instructions its counter went
		 * back
		 */
		unsigned cpu;
		enum event_kind kind;
		uint64_t addr, ns, insns;
	} odd_clocks;             /* more was taken back than had been counted since */
	uint64_t spans;           /* number of the last one that began */
	uint64_t span_ns;         /* when it did */
	uint64_t put_ms;          /* when the tables that others queue went to the file */
	uint64_t loader;          /* struct cpu_ops */
	bool awaits_end;          /* its end is looked for … */
	bool flies;               /* … by a flight recorder */
	pthread_mutex_t lock;     /* for what other threads queue: */
	struct buf queued[CHUNK_TYPES]; /* by type */
	struct {
		struct buf payload;
		uint64_t first_ns, last_ns;
	} beside[CHUNK_TYPES];    /* a flight recorder's: likewise, of what it forgets */
	struct {
		uint64_t insns;       /* vCPU 0's, as it began */
		bool told;            /* when the kernel image's own loader began */
	} *boots;                 /* the first one, of index 0, included */
	size_t n_boots, boots_cap;
} drain = { .lock = PTHREAD_MUTEX_INITIALIZER };

void drain_put(enum chunk_type type, const struct buf *payload)
{
	pthread_mutex_lock(&drain.lock);
	buf_put(&drain.queued[type], payload->data, payload->len);
	pthread_mutex_unlock(&drain.lock);
}

void drain_put_beside(enum chunk_type type, const struct buf *payload, uint64_t ns)
{
	if (!drain.builder.apart) {
		drain_put(type, payload);
		return;
	}
	pthread_mutex_lock(&drain.lock);
	if (!drain.beside[type].payload.len || ns < drain.beside[type].first_ns)
		drain.beside[type].first_ns = ns;
	if (ns > drain.beside[type].last_ns)
		drain.beside[type].last_ns = ns;
	buf_put(&drain.beside[type].payload, payload->data, payload->len);
	pthread_mutex_unlock(&drain.lock);
}

void drain_symbols(const struct symtab *tab)
{
	pthread_mutex_lock(&drain.lock);
	drain.queued[CHUNK_SYMBOLS].len = 0;
	symtab_encode(tab, &drain.queued[CHUNK_SYMBOLS]);
	pthread_mutex_unlock(&drain.lock);
}

void drain_boot(bool told)
{
	uint64_t insns = vcpu_get(0) ? vcpu_get(0)->live->insns : 0;

	pthread_mutex_lock(&drain.lock);
	drain.boots = array_grow(drain.boots, drain.n_boots, &drain.boots_cap, sizeof *drain.boots);
	drain.boots[drain.n_boots].insns = insns;
	drain.boots[drain.n_boots++].told = told;
	pthread_mutex_unlock(&drain.lock);
}

static void put_queued(void)
{
	static const enum chunk_type types[] = {
		CHUNK_META, CHUNK_SYMBOLS, CHUNK_TASKS, CHUNK_CODE, CHUNK_FILES, CHUNK_TEXTS, CHUNK_FACTS, CHUNK_STACKS,
	};
	struct buf queued[CHUNK_TYPES];

	pthread_mutex_lock(&drain.lock);
	memcpy(queued, drain.queued, sizeof queued);
	memset(drain.queued, 0, sizeof drain.queued);
	drain.put_ms = clock_ms();
	pthread_mutex_unlock(&drain.lock);
	if (queued[CHUNK_SYMBOLS].len && !pack_failed())
		recorder.stats->names = 1;
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		builder_put_table(&drain.builder, types[i], &queued[types[i]], TABLES_LEVEL);
		buf_free(&queued[types[i]]);
	}
}

static void put_beside(enum chunk_type type)
{
	struct chunk_header header = { .type = type };
	struct buf payload;

	pthread_mutex_lock(&drain.lock);
	payload = drain.beside[type].payload;
	header.first_ns = drain.beside[type].first_ns;
	header.last_ns = drain.beside[type].last_ns;
	memset(&drain.beside[type], 0, sizeof drain.beside[type]);
	pthread_mutex_unlock(&drain.lock);
	if (payload.len)
		pack_put(&header, &payload, TABLES_LEVEL);
}

static void put_events(unsigned cpu, struct stream *s)
{
	s->due = false;
	if (!s->encoder->events)
		return;
	put_queued();
	put_beside(CHUNK_TEXTS);
	put_beside(CHUNK_FACTS);
	builder_end_chunk(&drain.builder, cpu, drain.stop ? LAST_LEVEL : 0);
	s->begun_ms = clock_ms();
}

__attribute__((noinline, cold)) static void odd_clock(const struct stream *s, uint64_t back, const struct site *site)
{
	if (drain.odd_clocks.n++)
		return;
	drain.odd_clocks.kind = site->kind;
	drain.odd_clocks.addr = site->addr;
	drain.odd_clocks.ns = s->encoder->now.ns;
	drain.odd_clocks.insns = back;
	for (unsigned i = 0; i < recorder.n_vcpus; i++)
		if (drain.streams[i] == s)
			drain.odd_clocks.cpu = i;
}

/* The counter's high bits come from the record before. */
static inline uint64_t whole_insns(struct stream *s, uint64_t low, const struct site *site)
{
	const uint64_t wrap = UINT64_C(1) << RAW_INSNS_BITS;
	uint64_t before = s->insns, insns = (before & ~(wrap - 1)) | low;

	if (__builtin_expect(insns < before, 0)) {
		if (before - insns < wrap / 2) {
			odd_clock(s, before - insns, site);
			insns = before;
		} else {
			insns += wrap;
		}
	}
	return s->insns = insns;
}

/*
 * The event that a record makes. Returns the record's end: from branches, which are predicted, and not from a table,
 * so that the next record is looked at before this one's site is there.
 */
static inline const uint64_t *fill_event(struct event *e, struct stream *s, const struct site *site, uint32_t number,
					 const uint64_t *w)
{
	bool kernel = addr_is_kernel(site->addr);

	*e = (struct event){
		.kind = site->kind, .site = number,
		.insns = whole_insns(s, w[0] & ((UINT64_C(1) << RAW_INSNS_BITS) - 1), site),
	};

	switch (e->kind) {
	case EVENT_CALL:
		e->slot = w[1];
		e->from = site->addr + site->length;
		e->target = site->target;
		if (kernel)
			return w + 2;
		e->from = w[2];
		e->target += e->from - site->addr - site->length;
		return w + 3;
	case EVENT_CALL_INDIRECT:
		e->slot = w[1];
		e->from = w[2];
		e->target = w[3];
		return w + 4;
	case EVENT_RETURN:
		e->slot = w[1];
		e->target = w[2];
		return w + 3;
	case EVENT_JUMP:
		e->from = site->addr;
		e->target = site->target;
		if (kernel)
			return w + 1;
		e->from = w[1];
		e->target += e->from - site->addr;
		return w + 2;
	case EVENT_JUMP_INDIRECT:
		e->from = site->addr;
		e->target = w[1];
		if (kernel)
			return w + 2;
		e->from = w[1];
		e->target = w[2];
		return w + 3;
	case EVENT_ARRIVE:
		e->from = e->target = site->addr;
		if (kernel)
			return w + 1;
		e->from = e->target = w[1];
		return w + 2;
	case EVENT_INTERRUPT_RETURN:
		e->slot = w[1];
		e->target = w[2];
		e->args = w + 3;
		break;
	case EVENT_INTERRUPT:
		e->slot = w[1];
		e->from = w[2];
		e->target = w[3];
		e->ns = w[4];
		e->args = w + 5;
		break;
	case EVENT_SYSCALL:
		e->target = w[1];
		e->ns = w[2];
		e->from = w[3];
		e->args = w + 4;
		break;
	case EVENT_SYSCALL_RETURN:
		e->target = w[1];
		e->ns = w[2];
		e->args = w + 3;
		break;
	case EVENT_ADDRESS_SPACE:
	case EVENT_GAP:
		e->args = w + 1;
		break;
	default:
		e->ns = w[1];
		e->args = w + 2;
		break;
	}
	return e->args + event_n_args(e->kind);
}

/* Of the boot that was under way then; true the first time. */
static bool decompressor_begins(uint64_t insns, size_t *ret_boot)
{
	bool first;
	size_t i;

	pthread_mutex_lock(&drain.lock);
	for (i = drain.n_boots - 1; i && drain.boots[i].insns > insns; i--)
		;
	first = !drain.boots[i].told;
	drain.boots[i].told = true;
	pthread_mutex_unlock(&drain.lock);
	*ret_boot = i;
	return first;
}

void drain_decompressor(uint64_t insns, uint64_t ns)
{
	struct buf lines = { 0 };
	char key[BOOT_KEY];
	size_t boot;

	if (!decompressor_begins(insns, &boot))
		return;
	meta_put_u64(&lines, boot_key(boot, "decompressor_ns", key), ns);
	drain_put(CHUNK_META, &lines);
	buf_free(&lines);
}

/*
 * Show the event to whoever looks for the span's end. Another vCPU's events may be drained late, and be older than the
 * span: those that may be are not shown. An arrival at a place that an event has just led to is the same entry once
 * more.
 */
static void look_for_end(unsigned cpu, struct stream *s, const struct event *e)
{
	bool older = s->span != drain.spans && s->encoder->now.ns < drain.span_ns;
	bool again = e->kind == EVENT_ARRIVE && e->target == s->target;

	if (drain.flies && !again)
		flight_event(cpu, e, s->encoder->now.ns);
	else if (!older && !again)
		span_end_event(e);
	if (e->target)
		s->target = e->target;
}

static inline void heed_loader(unsigned cpu, const struct stream *s, const struct event *e)
{
	if (__builtin_expect(e->target == drain.loader, 0) && e->kind == EVENT_JUMP_INDIRECT && cpu == 0)
		/* a little early, but never late: the last clock before the jump */
		drain_decompressor(e->insns, s->encoder->now.ns);
}

static inline const uint64_t *add(unsigned cpu, struct stream *s, const uint64_t *w, const struct site *site,
				  uint32_t number)
{
	struct event *e = encoder_next(s->encoder);
	const uint64_t *end = fill_event(e, s, site, number, w);

	heed_loader(cpu, s, e);
	if (__builtin_expect(drain.awaits_end, 0))
		look_for_end(cpu, s, e);
	encoder_added(s->encoder);
	drain.events++;
	s->clocked = event_has_clock(site->kind);
	/* a chunk that ends with a clock tells the time of all its events */
	if (s->clocked && (s->due || s->encoder->events >= CHUNK_EVENTS_MAX))
		put_events(cpu, s);
	return end;
}

/* Of a vCPU that was, or is, powered off: returns the record's end. */
static const uint64_t *pass(struct stream *s, const uint64_t *w, const struct site *site)
{
	s->ended |= site->kind == EVENT_NONE;
	return w + raw_words(site);
}

/* An event that was asked for and cannot be written. */
static const uint64_t *lose(const uint64_t *w, const struct site *site)
{
	drain.lost++;
	drain.events++;
	return w + raw_words(site);
}

/* A span begins, in all vCPUs' streams: a gap tells that there was something before which is not here. */
static void begin_span(unsigned cpu, struct stream *s, const uint64_t *mark)
{
	if (mark[MARK_SPAN] > drain.spans) {
		drain.awaits_end = span_end_begin(mark[MARK_NS], s->waits || mark[MARK_PLACE], recorder.n_vcpus == 1);
		drain.span_ns = mark[MARK_NS];
	}
	drain.spans = s->span = mark[MARK_SPAN];
	s->target = 0;
	if (!s->waits)
		return;
	s->waits = false;
	s->state.ns = mark[MARK_NS];
	s->state.place = mark[MARK_PLACE];
	s->state.insns = s->insns;
	builder_put_gap(&drain.builder, cpu, &s->state, GAP_NOT_ASKED, mark[MARK_SPAN], 0);
	drain.events += s->encoder->events;
	s->begun_ms = clock_ms();
}

/* The last events have their times by a clock. */
static void end_span(unsigned cpu, struct stream *s, const uint64_t *mark)
{
	*encoder_next(s->encoder) = (struct event){
		.kind = EVENT_CLOCK, .site = EVENT_CLOCK, .insns = s->insns, .ns = mark[MARK_NS],
	};
	encoder_added(s->encoder);
	drain.events++;
	s->state = s->encoder->now;
	s->waits = true;
	put_events(cpu, s);
}

/* A mark, or a record outside the spans. Returns its end. */
static const uint64_t *wait(unsigned cpu, struct stream *s, const uint64_t *w, const struct site *site, uint32_t number)
{
	struct event e;

	if (number != EVENT_GAP) {
		const uint64_t *end = fill_event(&e, s, site, number, w);

		cpu_state_advance(&s->state, &e);
		return end;
	}
	whole_insns(s, w[0] & ((UINT64_C(1) << RAW_INSNS_BITS) - 1), site);
	switch (w[1 + MARK_KIND]) {
	case MARK_BEGINS:
		begin_span(cpu, s, w + 1);
		break;
	case MARK_ENDS:
		end_span(cpu, s, w + 1);
		break;
	case MARK_STARTS:
		flight_start(cpu, w[1 + MARK_NS]);
		break;
	case MARK_STOPS:
		flight_stop(cpu, w[1 + MARK_NS]);
		break;
	}
	return w + 1 + MARK_WORDS;
}

/*
 * Records of sites, which are nearly all, while nothing is asked of their events: no clock, no mark, no span's end.
 * Returns the first that is another one.
 */
static const uint64_t *add_sited(unsigned cpu, struct stream *s, const uint64_t *w, const uint64_t *end)
{
	struct encoder *enc = s->encoder;
	uint64_t n = 0;

	for (; w < end; n++) {
		uint32_t number = (uint32_t)(*w >> RAW_INSNS_BITS);
		struct event *e;

		if (__builtin_expect(number < SITE_FIRST, 0))
			break;
		e = encoder_next(enc);
		w = fill_event(e, s, sites_get(&recorder.sites, number), number, w);
		heed_loader(cpu, s, e);
		encoder_added_sited(enc);
	}
	drain.events += n;
	s->clocked &= !n;
	return w;
}

static void consume(unsigned cpu, struct stream *s, struct vcpu *v)
{
	uint64_t n;
	const uint64_t *w = ring_peek(&v->ring, &n), *end = w + n;
	bool failed = pack_failed() && !hold_holds();

	while (w < end) {
		const struct site *site;
		uint32_t number;

		if (__builtin_expect(!s->ended && !s->waits && !failed && !drain.awaits_end, 1))
			w = add_sited(cpu, s, w, end);
		if (w == end)
			break;
		number = (uint32_t)(*w >> RAW_INSNS_BITS);
		site = sites_get(&recorder.sites, number);
		if (__builtin_expect(s->ended || number == EVENT_NONE, 0))
			w = pass(s, w, site);
		else if (__builtin_expect(s->waits || number == EVENT_GAP, 0))
			w = wait(cpu, s, w, site, number);
		else if (__builtin_expect(failed, 0))
			w = lose(w, site);
		else
			w = add(cpu, s, w, site, number);
	}
	encoder_flush(s->encoder); /* their arguments are in the ring */
	ring_release(&v->ring, n);
}

static struct stream *stream_of(unsigned cpu)
{
	struct stream *s = drain.streams[cpu];

	if (!s) {
		s = drain.streams[cpu] = xcalloc(1, sizeof *s);
		s->encoder = builder_encoder(&drain.builder, cpu);
		s->waits = vcpu_get(cpu)->waited;
	}
	return s;
}

static void update_stats(void)
{
	struct stats *stats = recorder.stats;
	uint64_t insns = 0, ns = 0;

	for (unsigned i = 0; i < recorder.n_vcpus; i++)
		if (drain.streams[i]) {
			const struct stream *s = drain.streams[i];
			const struct cpu_state *now = s->waits ? &s->state : &s->encoder->now;

			insns += now->insns;
			if (now->ns > ns)
				ns = now->ns;
		}
	for (int k = 0; k < FACT_KINDS; k++) {
		stats->facts[k] = stats->fact_ns[k] = 0;
		for (unsigned i = 0; i < recorder.n_vcpus; i++) {
			const struct vcpu *v = vcpu_get(i); /* numbers may have gaps */

			stats->facts[k] += v ? v->facts[k] : 0;
			stats->fact_ns[k] += v ? v->fact_ns[k] : 0;
		}
	}
	stats->events = drain.events - (uint64_t)hold_forgotten();
	stats->waits = waiting_state();
	stats->insns = insns;
	stats->guest_ns = ns;
	stats->bytes = pack_size();
	stats->lost = drain.lost + pack_lost();
	for (unsigned i = 0; i < recorder.n_vcpus; i++)
		stats->lost += vcpu_get(i) ? vcpu_get(i)->live->unwatched : 0;
	stats->limits = limits_sum();
	if (pack_failed())
		stats->write_error = pack_failed();
}

/* One round over all vCPUs; true when there was much to do. */
static bool round_once(bool flush)
{
	bool busy = false, asked = __atomic_load_n(&drain.asked, __ATOMIC_ACQUIRE), all = flush || asked;

	for (unsigned i = 0; i < recorder.n_vcpus; i++) {
		struct vcpu *v = vcpu_get(i);
		struct stream *s;
		uint64_t now;
		bool empty;

		if (!v)
			continue;
		s = stream_of(i);
		empty = !s->encoder->events;
		now = clock_ms();
		do
			consume(i, s, v);
		while (all && ring_backlog(&v->ring));
		busy |= ring_backlog(&v->ring) > 0;
		if (empty)
			s->begun_ms = now;
		now = clock_ms();
		s->due = s->encoder->events && now - s->begun_ms > CHUNK_MS;
		/* what no clock ends has no time: where it is then would depend on the host */
		if (flush || (s->due && now - s->begun_ms > CHUNK_MS_MAX && (!recorder.cuts_blocks || s->clocked)))
			put_events(i, s);
	}
	/* with chunks of events, but they may not come for long: memory would fill, and kill -9 cost all of it */
	if (recorder_waits() && clock_ms() - drain.put_ms > CHUNK_MS_MAX)
		put_queued();
	if (asked)
		__atomic_store_n(&drain.asked, false, __ATOMIC_RELEASE);
	update_stats();
	return busy;
}

void drain_catch_up(void)
{
	__atomic_store_n(&drain.asked, true, __ATOMIC_RELEASE);
	while (__atomic_load_n(&drain.asked, __ATOMIC_ACQUIRE))
		usleep(100);
}

static void put_end(void)
{
	struct buf lines = { 0 };
	uint64_t unwatched = 0, lost;

	put_queued();
	put_beside(CHUNK_TEXTS);
	put_beside(CHUNK_FACTS);
	pack_flush();
	pack_let_go();
	for (unsigned i = 0; i < recorder.n_vcpus; i++) {
		const struct vcpu *v = vcpu_get(i);
		const struct stream *s = drain.streams[i];
		uint64_t insns = v ? v->end_insns : 0;

		if (s && s->waits) /* it counts no more, or on, behind its last event */
			insns = s->encoder->now.insns;
		hold_last_insns(i, &insns);
		/* as the vCPU counted, not as its events do: `upto check` holds one against the other */
		buf_printf(&lines, "insns.%u=%llu\n", i, (unsigned long long)insns);
		unwatched += v ? v->live->unwatched : 0;
	}
	lost = drain.lost + pack_lost();
	meta_put_u64(&lines, "events", drain.events - lost - (uint64_t)hold_forgotten());
	meta_put_u64(&lines, "lost", lost + unwatched);
	meta_put_u64(&lines, "finished", (uint64_t)time(NULL));
	if (recorder.stats->end_asked)
		meta_put_u64(&lines, "end_asked", 1);
	meta_put_u64(&lines, "late_arrivals", recorder.late_arrivals);
	meta_put_u64(&lines, "odd_clocks", drain.odd_clocks.n);
	if (drain.odd_clocks.n)
		buf_printf(&lines, "odd_clock=%llu at a %s at 0x%llx on CPU %u, behind %llu ns\n",
			   (unsigned long long)drain.odd_clocks.insns, event_kind_name(drain.odd_clocks.kind),
			   (unsigned long long)drain.odd_clocks.addr, drain.odd_clocks.cpu,
			   (unsigned long long)drain.odd_clocks.ns);
	meta_put_u64(&lines, "stores_dropped", recorder.stores_dropped);
	limits_put(&lines);
	if (recorder.counts_time) {
		meta_put_u64(&lines, "time_strays", recorder.time_strays);
		buf_printf(&lines, "time_drift=%lld\n", (long long)recorder.time_drift);
	}
	if (pack_failed()) {
		meta_put(&lines, "stopped", strerror(pack_failed()));
		recorder.stats->write_error = pack_failed();
		pack_retry();
	}
	builder_put_table(&drain.builder, CHUNK_END, &lines, TABLES_LEVEL);
	buf_free(&lines);
}

static void *drain_thread(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&drain.stop, __ATOMIC_ACQUIRE))
		if (!round_once(false))
			usleep(recorder_waits() ? POLL_WAITS_US : POLL_US);
	round_once(true);
	put_end();
	pack_finish();
	update_stats();
	return NULL;
}

static void put_chunk(void *context, const struct chunk_header *header, struct buf *payload, int level)
{
	(void)context;
	pack_put(header, payload, level);
}

bool drain_start(int fd, const struct meta *config)
{
	struct buf lines = { 0 };

	if (!pack_start(fd))
		return false;
	builder_init(&drain.builder, &recorder.sites, &(struct builder_sink){ .put = put_chunk });
	drain_boot(false);
	drain.builder.apart = meta_get(config, "before");
	drain.loader = recorder.cpu->loader;
	drain.flies = flight_awaits();
	drain.awaits_end = drain.flies || (!recorder_waits() && !hold_holds() && span_end_begin(0, false, false));
	for (size_t i = 0; i < meta_count(config); i++)
		if (!strncmp(meta_key(config, i), "meta.", 5))
			meta_put(&lines, meta_key(config, i) + 5, meta_value(config, i));
	meta_put(&lines, "qemu_inside", recorder.inside);
	builder_put_table(&drain.builder, CHUNK_META, &lines, TABLES_LEVEL);
	buf_free(&lines);
	pack_flush();
	if (pack_failed())
		return false;
	return pthread_create(&drain.thread, NULL, drain_thread, NULL) == 0;
}

void drain_finish(void)
{
	__atomic_store_n(&drain.stop, true, __ATOMIC_RELEASE);
	pthread_join(drain.thread, NULL);
	recorder.stats->finished = 1;
}
