/* SPDX-License-Identifier: MIT */
#include "upto_instrument.h"

/* Declared here, since no header has them. */
void __cyg_profile_func_enter(void *function, void *caller) UPTO_NOT_INSTRUMENTED;
void __cyg_profile_func_exit(void *function, void *caller) UPTO_NOT_INSTRUMENTED;

static struct {
	const struct upto_instrument *config;
	struct upto_instrument_head *head; /* in the buffer */
	struct upto_call *calls;           /* behind it */
	enum { OFF, AWAITS_START, ON, OVER } state;
	volatile int busy;
} log_;

static UPTO_NOT_INSTRUMENTED struct upto_call *call_at(uint32_t n)
{
	return &log_.calls[n % log_.head->count];
}

/* The earliest call that is still there. */
static UPTO_NOT_INSTRUMENTED uint32_t first_call(void)
{
	return log_.head->used > log_.head->count ? log_.head->used - log_.head->count : 0;
}

static UPTO_NOT_INSTRUMENTED uint64_t ticks_of(uint32_t us)
{
	return (uint64_t)us * (log_.config->ticks_per_us ? log_.config->ticks_per_us : 1);
}

/* The head is there as a whole once its magic is. */
static UPTO_NOT_INSTRUMENTED void make_head(const struct upto_instrument *config)
{
	static const char magic[] = UPTO_INSTRUMENT_MAGIC;
	struct upto_instrument_head *h = (struct upto_instrument_head *)config->calls;
	volatile char *to = h->magic;

	for (unsigned i = 0; i < sizeof *h; i++)
		to[i] = 0;
	h->order = UPTO_INSTRUMENT_ORDER;
	h->version = UPTO_INSTRUMENT_VERSION;
	h->address_size = sizeof(uintptr_t);
	h->call_size = sizeof(struct upto_call);
	h->calls_at = UPTO_HEAD_CALLS * sizeof(struct upto_call);
	h->count = config->count - UPTO_HEAD_CALLS;
	h->ticks_per_us = config->ticks_per_us ? config->ticks_per_us : 1;
	h->min_us = config->min_us;
	h->flags = config->ring ? UPTO_RING : 0;
	for (unsigned i = 0; i < sizeof h->magic; i++)
		to[i] = magic[i];
	log_.head = h;
	log_.calls = config->calls + UPTO_HEAD_CALLS;
}

void UPTO_NOT_INSTRUMENTED upto_instrument_begin(const struct upto_instrument *config)
{
	log_.state = OFF;
	log_.config = config;
	if (config->count <= UPTO_HEAD_CALLS)
		return;
	make_head(config);
	log_.head->began = config->clock();
	log_.state = config->start_entry || config->start_exit ? AWAITS_START : ON;
}

static UPTO_NOT_INSTRUMENTED void start(uintptr_t by, int is_exit)
{
	log_.head->began = log_.config->clock();
	log_.head->started_by = by;
	log_.head->flags |= is_exit ? UPTO_STARTED_BY_EXIT : 0;
	log_.state = ON;
}

static UPTO_NOT_INSTRUMENTED void stop(uintptr_t by, int is_exit)
{
	log_.head->ended = log_.config->clock() - log_.head->began;
	log_.head->stopped_by = by;
	log_.head->flags |= UPTO_STOPPED | (is_exit ? UPTO_STOPPED_BY_EXIT : 0);
	log_.state = OVER;
}

void UPTO_NOT_INSTRUMENTED upto_instrument_stop(void)
{
	if (log_.state == ON)
		stop(0, 0);
	else if (log_.state == AWAITS_START)
		log_.state = OFF;
}

static UPTO_NOT_INSTRUMENTED void begin_call(uintptr_t function, uintptr_t caller)
{
	struct upto_call *c;

	if (log_.head->used == log_.head->count && !(log_.head->flags & UPTO_RING)) {
		stop(0, 0);
		return;
	}
	c = call_at(log_.head->used++);
	c->function = function;
	c->caller = caller;
	c->ticks = UPTO_NO_END;
	c->begin = log_.config->clock() - log_.head->began;
}

/* The last one of that function that has not ended: of the last few, nearly always. */
static UPTO_NOT_INSTRUMENTED void end_call(uintptr_t function)
{
	uint64_t now = log_.config->clock() - log_.head->began;
	struct upto_call *c;

	for (uint32_t n = log_.head->used, first = first_call(); n > first; n--) {
		c = call_at(n - 1);
		if (c->function != function || c->ticks != UPTO_NO_END)
			continue;
		c->ticks = now - c->begin;
		if (c->ticks < ticks_of(log_.config->min_us)) {
			log_.head->too_short++;
			c->function = 0;
			/* and those before it that were left out */
			while (log_.head->used > first && !call_at(log_.head->used - 1)->function)
				log_.head->used--;
		}
		return;
	}
	log_.head->not_found++;
}

/* An interrupt may come into a hook, and call others. */
static UPTO_NOT_INSTRUMENTED int enter_hook(void)
{
	if (log_.state != AWAITS_START && log_.state != ON)
		return 0;
	if (log_.busy) {
		log_.head->in_hook++;
		return 0;
	}
	log_.busy = 1;
	return 1;
}

void __cyg_profile_func_enter(void *function, void *caller)
{
	uintptr_t address = (uintptr_t)function;

	if (!enter_hook())
		return;
	if (log_.state == AWAITS_START && address == log_.config->start_entry)
		start(address, 0);
	if (log_.state == ON && address == log_.config->stop_entry)
		stop(address, 0);
	if (log_.state == ON)
		begin_call(address, (uintptr_t)caller);
	log_.busy = 0;
}

void __cyg_profile_func_exit(void *function, void *caller)
{
	uintptr_t address = (uintptr_t)function;

	(void)caller;
	if (!enter_hook())
		return;
	if (log_.state == ON)
		end_call(address);
	if (log_.state == AWAITS_START && address == log_.config->start_exit)
		start(address, 1);
	else if (log_.state == ON && address == log_.config->stop_exit)
		stop(address, 1);
	log_.busy = 0;
}

/* The output. */

static UPTO_NOT_INSTRUMENTED void put_text(void (*put)(char c), const char *text)
{
	while (*text)
		put(*text++);
}

/* Without a division of 64 bits, for which some compilers want a library: digits by subtraction. */
static UPTO_NOT_INSTRUMENTED void put_number(void (*put)(char c), uint64_t n, int width)
{
	char digits[20];
	int used = 0;

	for (uint64_t power = UINT64_C(10000000000000000000); power; ) {
		char digit = '0';
		uint64_t next = 0;

		while (n >= power)
			n -= power, digit++;
		if (used || digit != '0' || power == 1)
			digits[used++] = digit;
		/* power / 10 */
		for (uint64_t bit = UINT64_C(1) << 60; bit; bit >>= 1)
			if (next + bit <= UINT64_MAX / 10 && (next + bit) * 10 <= power)
				next += bit;
		power = power == 1 ? 0 : next;
	}
	for (; width > used; width--)
		put(' ');
	for (int i = 0; i < used; i++)
		put(digits[i]);
}

static UPTO_NOT_INSTRUMENTED void put_address(void (*put)(char c), uintptr_t address)
{
	put_text(put, "0x");
	for (int shift = (int)sizeof address * 8 - 4; shift >= 0; shift -= 4)
		put("0123456789abcdef"[address >> shift & 15]);
}

static UPTO_NOT_INSTRUMENTED uint64_t us_of(uint64_t ticks)
{
	uint64_t unit = log_.config->ticks_per_us ? log_.config->ticks_per_us : 1, us = 0;

	for (int shift = 63; shift >= 0; shift--)
		if (unit <= UINT64_MAX >> shift && ticks >= unit << shift) {
			ticks -= unit << shift;
			us |= UINT64_C(1) << shift;
		}
	return us;
}

static UPTO_NOT_INSTRUMENTED void put_moment(void (*put)(char c), const char *what, uint64_t ticks, uintptr_t by, int is_exit,
					     const char *otherwise)
{
	put_text(put, what);
	put_number(put, us_of(ticks), 0);
	put_text(put, " usec by ");
	if (by) {
		put_text(put, is_exit ? "exit from function " : "entry to function ");
		put_address(put, by);
	} else {
		put_text(put, otherwise);
	}
	put_text(put, "\n");
}

static UPTO_NOT_INSTRUMENTED void put_count(void (*put)(char c), const char *what, uint64_t n)
{
	put_text(put, what);
	put_number(put, n, 0);
	put_text(put, "\n");
}

static UPTO_NOT_INSTRUMENTED void put_header(void (*put)(char c), uint32_t rows)
{
	put_text(put, "\nKernel Instrumentation Run ID 0\n\n");
	put_moment(put, "Logging started at ", log_.head->began, log_.head->started_by, log_.head->flags & UPTO_STARTED_BY_EXIT, "system call");
	put_moment(put, "Logging stopped at ", log_.head->began + log_.head->ended, log_.head->stopped_by, log_.head->flags & UPTO_STOPPED_BY_EXIT,
		   log_.head->used == log_.head->count && !(log_.head->flags & UPTO_RING) ? "log full" : "system call");
	put_text(put, "\nFilters:\n");
	if (log_.config->min_us) {
		put_text(put, "\t");
		put_number(put, log_.config->min_us, 0);
		put_text(put, " usecs minimum execution time\n");
	}
	put_text(put, "\nFilter Counters:\n\n");
	put_count(put, "Execution time filter count = ", log_.head->too_short);
	put_count(put, "Total entries filtered = ", log_.head->too_short);
	put_count(put, "Entries not found = ", log_.head->not_found + log_.head->in_hook);
	put_count(put, "\nNumber of entries after filters = ", rows);
	put_text(put, "\n Entry      Delta       PID      Function    Caller\n--------   --------   --------   --------   --------\n");
}

void UPTO_NOT_INSTRUMENTED upto_instrument_log(void (*put)(char c))
{
	uint32_t rows = 0;

	upto_instrument_stop();
	if (log_.state != OVER)
		return;
	for (uint32_t n = first_call(); n < log_.head->used; n++)
		rows += call_at(n)->function != 0;
	put_header(put, rows);
	for (uint32_t n = first_call(); n < log_.head->used; n++) {
		const struct upto_call *c = call_at(n);

		if (!c->function)
			continue;
		put_number(put, us_of(c->begin), 8);
		put_text(put, "   ");
		if (c->ticks == UPTO_NO_END)
			put_text(put, "      -1");
		else
			/* to where its end is rounded to, so that what lies in it does in the log, too */
			put_number(put, us_of(c->begin + c->ticks) - us_of(c->begin), 8);
		put_text(put, "          0   ");
		put_address(put, c->function);
		put_text(put, " ");
		put_address(put, c->caller);
		put_text(put, "\n");
	}
}
