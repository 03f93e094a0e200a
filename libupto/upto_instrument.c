/* SPDX-License-Identifier: MIT */
#include "upto_instrument.h"

/* Declared here, since no header has them. */
void __cyg_profile_func_enter(void *function, void *caller) UPTO_NOT_INSTRUMENTED;
void __cyg_profile_func_exit(void *function, void *caller) UPTO_NOT_INSTRUMENTED;

static struct {
	const struct upto_instrument *config;
	enum { OFF, AWAITS_START, ON, OVER } state;
	volatile int busy;
	uint32_t used;       /* calls that were begun, of which the last `count` are there */
	uint64_t began;      /* ticks */
	uint64_t ended;
	uintptr_t started_by, stopped_by;
	int start_is_exit, stop_is_exit;
	uint64_t too_short, not_found, in_hook;
} log_;

static UPTO_NOT_INSTRUMENTED struct upto_call *call_at(uint32_t n)
{
	return &log_.config->calls[n % log_.config->count];
}

/* The earliest call that is still there. */
static UPTO_NOT_INSTRUMENTED uint32_t first_call(void)
{
	return log_.used > log_.config->count ? log_.used - log_.config->count : 0;
}

static UPTO_NOT_INSTRUMENTED uint64_t ticks_of(uint32_t us)
{
	return (uint64_t)us * (log_.config->ticks_per_us ? log_.config->ticks_per_us : 1);
}

void UPTO_NOT_INSTRUMENTED upto_instrument_begin(const struct upto_instrument *config)
{
	log_.state = OFF;
	log_.config = config;
	log_.used = 0;
	log_.too_short = log_.not_found = log_.in_hook = 0;
	log_.started_by = log_.stopped_by = 0;
	log_.began = config->clock();
	log_.state = config->start_entry || config->start_exit ? AWAITS_START : ON;
}

static UPTO_NOT_INSTRUMENTED void start(uintptr_t by, int is_exit)
{
	log_.began = log_.config->clock();
	log_.started_by = by;
	log_.start_is_exit = is_exit;
	log_.state = ON;
}

static UPTO_NOT_INSTRUMENTED void stop(uintptr_t by, int is_exit)
{
	log_.ended = log_.config->clock() - log_.began;
	log_.stopped_by = by;
	log_.stop_is_exit = is_exit;
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

	if (log_.used == log_.config->count && !log_.config->ring) {
		stop(0, 0);
		return;
	}
	c = call_at(log_.used++);
	c->function = function;
	c->caller = caller;
	c->ticks = UPTO_NO_END;
	c->begin = log_.config->clock() - log_.began;
}

/* The last one of that function that has not ended: of the last few, nearly always. */
static UPTO_NOT_INSTRUMENTED void end_call(uintptr_t function)
{
	uint64_t now = log_.config->clock() - log_.began;
	struct upto_call *c;

	for (uint32_t n = log_.used, first = first_call(); n > first; n--) {
		c = call_at(n - 1);
		if (c->function != function || c->ticks != UPTO_NO_END)
			continue;
		c->ticks = now - c->begin;
		if (c->ticks < ticks_of(log_.config->min_us)) {
			log_.too_short++;
			c->function = 0;
			/* and those before it that were left out */
			while (log_.used > first && !call_at(log_.used - 1)->function)
				log_.used--;
		}
		return;
	}
	log_.not_found++;
}

/* An interrupt may come into a hook, and call others. */
static UPTO_NOT_INSTRUMENTED int enter_hook(void)
{
	if (log_.state != AWAITS_START && log_.state != ON)
		return 0;
	if (log_.busy) {
		log_.in_hook++;
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
	put_moment(put, "Logging started at ", log_.began, log_.started_by, log_.start_is_exit, "system call");
	put_moment(put, "Logging stopped at ", log_.began + log_.ended, log_.stopped_by, log_.stop_is_exit,
		   log_.used == log_.config->count && !log_.config->ring ? "log full" : "system call");
	put_text(put, "\nFilters:\n");
	if (log_.config->min_us) {
		put_text(put, "\t");
		put_number(put, log_.config->min_us, 0);
		put_text(put, " usecs minimum execution time\n");
	}
	put_text(put, "\nFilter Counters:\n\n");
	put_count(put, "Execution time filter count = ", log_.too_short);
	put_count(put, "Total entries filtered = ", log_.too_short);
	put_count(put, "Entries not found = ", log_.not_found + log_.in_hook);
	put_count(put, "\nNumber of entries after filters = ", rows);
	put_text(put, "\n Entry      Delta       PID      Function    Caller\n--------   --------   --------   --------   --------\n");
}

void UPTO_NOT_INSTRUMENTED upto_instrument_log(void (*put)(char c))
{
	uint32_t rows = 0;

	upto_instrument_stop();
	if (log_.state != OVER)
		return;
	for (uint32_t n = first_call(); n < log_.used; n++)
		rows += call_at(n)->function != 0;
	put_header(put, rows);
	for (uint32_t n = first_call(); n < log_.used; n++) {
		const struct upto_call *c = call_at(n);

		if (!c->function)
			continue;
		put_number(put, us_of(c->begin), 8);
		put_text(put, "   ");
		if (c->ticks == UPTO_NO_END)
			put_text(put, "      -1");
		else
			put_number(put, us_of(c->ticks), 8);
		put_text(put, "          0   ");
		put_address(put, c->function);
		put_text(put, " ");
		put_address(put, c->caller);
		put_text(put, "\n");
	}
}
