/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/search.h"
#include "words.h"

enum { WORDS_MAX = 16 };
#define US_MAX ((uint64_t)INT64_MAX / 1000)

/*
 * Lines of the header. # stands for a number, also with letters behind it. The lines that end in a # behind "=" are
 * counters.
 */
static const char *const filters[KFI_FILTERS] = {
	[KFI_MIN_TIME] = "# usecs minimum execution time", [KFI_MAX_TIME] = "# usecs maximum execution time",
	[KFI_LIST] = "#-entry function list", [KFI_NO_INTERRUPTS] = "no functions in interrupt context",
	[KFI_ONLY_INTERRUPTS] = "no functions NOT in interrupt context",
};

static const char *const counters[KFI_COUNTERS] = {
	[KFI_TIME_FILTERED] = "Execution time filter count = #",
	[KFI_NO_INTERRUPT_FILTERED] = "No Interrupt functions filter count = #",
	[KFI_ONLY_INTERRUPT_FILTERED] = "Only Interrupt functions filter count = #",
	[KFI_LIST_FILTERED] = "Function List filter count = #",
	[KFI_ALL_FILTERED] = "Total entries filtered = #",
	[KFI_NOT_FOUND] = "Entries not found = #",
	[KFI_LEFT] = "Number of entries after filters = #",
};

/* Behind "Logging started at # usec by"; @ stands for a function. */
static const struct { enum kfi_by by; const char *text;
} reasons[] = {
	{ KFI_BY_ENTRY, "entry to function @" },
	{ KFI_BY_EXIT, "exit from function @" },
	{ KFI_BY_TIME_FROM_BOOT, "time at # usec from boot" },
	{ KFI_BY_TIME_FROM_START, "time at # usec from start trigger" },
	{ KFI_BY_SYSTEM_CALL, "system call" },
	{ KFI_BY_LOG_FULL, "log full" },
};

static int wrong(const struct kfi_parser *p, struct error *err, const char *what, struct word at, const char *expected)
{
	return error_set(err, "%s:%" PRIu64 ": %s '%.*s': expected %s", p->path, p->line, what, WORD_SHOWN(at),
			 expected);
}

/* What a line that is like a pattern has in the places of # and @. */
struct filled {
	struct word bad;      /* in the place of #, and no number; NULL: none */
	struct word function;
	uint64_t number;
};

static bool fill(struct word pattern, struct word w, struct filled *ret)
{
	if (pattern.p[0] == '@') {
		ret->function = w;
		return true;
	}
	if (pattern.p[0] == '#') {
		size_t more = pattern.len - 1;

		if (w.len < more || memcmp(w.p + w.len - more, pattern.p + 1, more))
			return false;
		w.len -= more;
		if (!word_number(w, UINT64_MAX, &ret->number))
			ret->bad = w;
		return true;
	}
	return w.len == pattern.len && !memcmp(w.p, pattern.p, w.len);
}

/* Is the line like the pattern, but perhaps for its numbers? */
static bool is_like(const struct word *words, size_t n, const char *pattern, struct filled *ret)
{
	struct word parts[WORDS_MAX];

	*ret = (struct filled){ .bad = { NULL, 0 } };
	if (words_split(pattern, strlen(pattern), parts, WORDS_MAX) != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!fill(parts[i], words[i], ret))
			return false;
	return true;
}

/* Look through a list of patterns. Returns 1 if the line is one of them, 0 if not. */
static int read_number(const struct kfi_parser *p, const struct word *words, size_t n, const char *const *patterns,
		       size_t n_patterns, struct kfi_number *ret, struct error *err)
{
	struct filled f;

	for (size_t i = 0; i < n_patterns; i++) {
		if (!is_like(words, n, patterns[i], &f))
			continue;
		if (f.bad.p)
			return wrong(p, err, "", f.bad, "a number");
		ret[i] = (struct kfi_number){ .has = true, .value = f.number };
		return 1;
	}
	return 0;
}

/* "6785045 usec by entry to function 0xc000877c" */
static int read_moment(const struct kfi_parser *p, const struct word *words, size_t n, struct kfi_log *log,
		       struct kfi_moment *ret, struct error *err)
{
	struct kfi_moment m = { 0 };
	struct filled f;

	if (n < 4 || !word_number(words[0], US_MAX, &m.at_us) || !word_is(words[1], "usec") || !word_is(words[2], "by"))
		return error_set(err, "%s:%" PRIu64 ": expected 'at N usec by' and what logging began or ended by",
				 p->path, p->line);
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
		if (!is_like(words + 3, n - 3, reasons[i].text, &f))
			continue;
		if (f.bad.p)
			return wrong(p, err, "", f.bad, "a number");
		m.by = reasons[i].by;
		m.usecs = f.number;
		if (f.function.p)
			m.function = name_table_put(&log->names, f.function.p, f.function.len);
		*ret = m;
		return 0;
	}
	return wrong(
		p, err, "by", words[3],
		"entry to function F, exit from function F, time at N usec from boot (or start trigger), system call or log full");
}

static bool starts(const struct word *words, size_t n, const char *first, const char *second, const char *third)
{
	return n >= 3 && word_is(words[0], first) && word_is(words[1], second) && word_is(words[2], third);
}

static int read_header(struct kfi_parser *p, const struct word *words, size_t n, struct kfi_log *log, struct error *err)
{
	struct kfi_header *h = &log->header;
	int r;

	if (n && words[0].len >= 8 && !memcmp(words[0].p, "--------", 8)) {
		p->in_rows = true;
		return 0;
	}
	if (starts(words, n, "Logging", "started", "at"))
		return read_moment(p, words + 3, n - 3, log, &h->start, err);
	if (starts(words, n, "Logging", "stopped", "at"))
		return read_moment(p, words + 3, n - 3, log, &h->stop, err);
	if (n >= 3 && word_is(words[n - 3], "Run") && word_is(words[n - 2], "ID")) {
		h->run_id.has = word_number(words[n - 1], UINT64_MAX, &h->run_id.value);
		return h->run_id.has ? 0 : wrong(p, err, "Run ID", words[n - 1], "a number");
	}
	r = read_number(p, words, n, filters, KFI_FILTERS, h->filters, err);
	if (r == 0)
		r = read_number(p, words, n, counters, KFI_COUNTERS, h->counters, err);
	return r < 0 ? -1 : 0;
}

static int read_times(struct kfi_parser *p, struct word entry, struct word delta, struct kfi_call *ret,
		      struct error *err)
{
	uint64_t at = 0, took = 0;

	if (!word_number(entry, US_MAX, &at))
		return wrong(p, err, "Entry", entry, "a number of microseconds");
	ret->no_exit = word_is(delta, "-1") || word_is(delta, "-2") || word_is(delta, "no");
	if (!ret->no_exit && !word_number(delta, US_MAX, &took))
		return wrong(p, err, "Delta", delta, "a number of microseconds, -1, -2 or 'no exit'");
	/* neither term is above US_MAX, so that their sum does not overflow */
	if (at + took > US_MAX || p->all_us + took > US_MAX)
		return wrong(p, err, "Delta", delta, "times of not more than 292 years together");
	p->all_us += took;
	ret->entry_ns = at * 1000;
	ret->duration_ns = (int64_t)(took * 1000);
	return 0;
}

/* "-1", "12", "12i" */
static int read_pid(const struct kfi_parser *p, struct word w, struct kfi_call *ret, struct error *err)
{
	struct word digits = w;
	uint64_t pid;

	ret->interrupt = true;
	ret->pid = -1;
	if (word_is(w, "-1"))
		return 0;
	ret->interrupt = w.len && w.p[w.len - 1] == 'i';
	digits.len -= ret->interrupt;
	if (!word_number(digits, INT32_MAX, &pid))
		return wrong(p, err, "PID", w, "a number, a number with an i, or -1");
	ret->pid = (int32_t)pid;
	return 0;
}

/* "c000882c", "0xc000882c", "init", "init+0x4c" */
static int read_caller(const struct kfi_parser *p, struct word w, struct kfi_log *log, struct kfi_call *ret,
		       struct error *err)
{
	const char *plus = memchr(w.p, '+', w.len);
	struct word name = { w.p, plus ? (size_t)(plus - w.p) : w.len };
	uint64_t addr;

	if (!name.len || (plus && !word_hex((struct word){ plus + 1, w.len - name.len - 1 }, &ret->offset)))
		return wrong(p, err, "Caller", w, "an address, FUNCTION or FUNCTION+0xOFFSET");
	ret->caller = name_table_put(&log->names, name.p, name.len);
	ret->from = word_address(name, &addr) ? KFI_UNKNOWN : ret->caller;
	return 0;
}

static int read_row(struct kfi_parser *p, const struct word *words, size_t n, struct kfi_log *log, struct kfi_call *ret,
		    struct error *err)
{
	bool two = n > 2 && word_is(words[1], "no") && word_is(words[2], "exit"); /* words in the column Delta */
	const struct word *rest = words + 2 + two;

	*ret = (struct kfi_call){ 0 };
	if (n > 1 && word_is(words[1], "no") && !two)
		return wrong(p, err, "Delta", words[1], "a number of microseconds, -1, -2 or 'no exit'");
	if (n < 5 + (size_t)two)
		return error_set(err, "%s:%" PRIu64 ": %zu columns: expected Entry, Delta, PID, Function and Caller",
				 p->path, p->line, n - two);
	if (read_times(p, words[0], words[1], ret, err) < 0 || read_pid(p, rest[0], ret, err) < 0)
		return -1;
	ret->function = name_table_put(&log->names, rest[1].p, rest[1].len);
	return read_caller(p, rest[2], log, ret, err) < 0 ? -1 : 1;
}

/* Says how it is to be read, if it is the begin of a file that was packed. */
static int refuse_packed(const struct kfi_parser *p, const char *line, size_t len, struct error *err)
{
	static const struct { struct word magic; const char *tool;
	} formats[] = {
		{ { "\x1f\x8b", 2 }, "zcat" },
		{ { "\xfd"
		    "7zXZ",
		    5 },
		  "xzcat" },
		{ { "\x28\xb5\x2f\xfd", 4 }, "zstdcat" },
		{ { "BZh", 3 }, "bzcat" },
	};

	for (size_t i = 0; p->line == 1 && i < sizeof formats / sizeof *formats; i++)
		if (len >= formats[i].magic.len && !memcmp(line, formats[i].magic.p, formats[i].magic.len))
			return error_set(err, "%s: is compressed: unpack it, or read it from a pipe: %s %s | upto … -",
					 p->path, formats[i].tool, p->path);
	return 0;
}

int kfi_parse_line(struct kfi_parser *p, const char *line, size_t len, struct kfi_log *log, struct kfi_call *ret,
		   struct error *err)
{
	struct word words[WORDS_MAX];
	size_t n;

	p->line++;
	if (refuse_packed(p, line, len, err) < 0)
		return -1;
	if (len > KFI_LINE_MAX)
		return error_set(err, "%s:%" PRIu64 ": expected a line of not more than %d bytes", p->path, p->line,
				 KFI_LINE_MAX);
	if (len && memchr(line, '\0', len))
		return error_set(err, "%s:%" PRIu64 ": expected text, not a NUL byte", p->path, p->line);
	n = words_split(line, len, words, WORDS_MAX);
	if (!p->in_rows)
		return read_header(p, words, n, log, err);
	return n ? read_row(p, words, n, log, ret, err) : 0;
}

int kfi_parse_end(const struct kfi_parser *p, struct error *err)
{
	if (p->in_rows)
		return 0;
	return error_set(err,
			 "%s:%" PRIu64 ": expected a line of dashes and rows before the end: not a log of KFI or KFT",
			 p->path, p->line ? p->line : 1);
}

void kfi_log_add(struct kfi_log *log, const struct kfi_call *call)
{
	log->calls = array_grow(log->calls, log->n, &log->cap, sizeof *log->calls);
	log->calls[log->n++] = *call;
}

int kfi_log_parse(const char *path, const char *data, size_t len, struct kfi_log *ret, struct error *err)
{
	struct kfi_parser p = { .path = path };
	const char *end = len ? data + len : data;

	*ret = (struct kfi_log){ 0 };
	while (data < end) {
		const char *nl = memchr(data, '\n', (size_t)(end - data)), *stop = nl ? nl : end;
		struct kfi_call call;
		int r = kfi_parse_line(&p, data, (size_t)(stop - data), ret, &call, err);

		if (r < 0)
			return -1;
		if (r && ret->n == KFI_ROWS_MAX)
			return error_set(err, "%s:%" PRIu64 ": expected not more than %d rows", path, p.line,
					 KFI_ROWS_MAX);
		if (r)
			kfi_log_add(ret, &call);
		data = nl ? nl + 1 : end;
	}
	if (kfi_parse_end(&p, err) < 0)
		return -1;
	kfi_log_sort(ret);
	return 0;
}

void kfi_log_deinit(struct kfi_log *log)
{
	name_table_deinit(&log->names);
	free(log->calls);
	*log = (struct kfi_log){ 0 };
}

/* Merge two sorted runs that lie one behind the other. */
static void merge(const struct kfi_call *from, size_t start, size_t middle, size_t end, struct kfi_call *to)
{
	size_t a = start, b = middle;

	for (size_t i = start; i < end; i++)
		to[i] = a < middle && (b >= end || from[a].entry_ns <= from[b].entry_ns) ? from[a++] : from[b++];
}

static bool is_sorted(const struct kfi_log *log)
{
	for (size_t i = 1; i < log->n; i++)
		if (log->calls[i].entry_ns < log->calls[i - 1].entry_ns)
			return false;
	return true;
}

/* A merge sort, since qsort() may change the order of equal calls. */
static void sort(struct kfi_log *log)
{
	struct kfi_call *from = log->calls, *to = xcalloc(log->n, sizeof *to), *other;

	for (size_t width = 1; width < log->n; width *= 2) {
		for (size_t i = 0; i < log->n; i += 2 * width)
			merge(from, i, i + width < log->n ? i + width : log->n,
			      i + 2 * width < log->n ? i + 2 * width : log->n, to);
		other = from;
		from = to;
		to = other;
	}
	free(to);
	log->calls = from;
	log->cap = log->n;
}

struct place {
	uint64_t addr;
	uint32_t function;
};

static int by_address(const void *va, const void *vb)
{
	const struct place *a = va, *b = vb;

	return a->addr != b->addr          ? (a->addr < b->addr ? -1 : 1)
	       : a->function < b->function ? -1
					   : a->function > b->function;
}

static bool name_address(const struct kfi_log *log, uint32_t number, uint64_t *ret)
{
	const char *text = kfi_log_name(log, number);

	return word_address((struct word){ text, strlen(text) }, ret);
}

/* The functions whose names are addresses, sorted, each once. */
static size_t list_places(const struct kfi_log *log, struct place *places)
{
	bool *seen = xcalloc(log->names.count, sizeof *seen);
	size_t n = 0;

	for (size_t i = 0; i < log->n; i++) {
		uint32_t f = log->calls[i].function;

		if (!seen[f] && name_address(log, f, &places[n].addr))
			places[n++].function = f;
		seen[f] = true;
	}
	free(seen);
	qsort(places, n, sizeof *places, by_address);
	return n;
}

/* The function that the address is in; `caller` itself, which no function of the log is: it is in none. */
static uint32_t function_at(const struct place *places, size_t n, uint64_t addr, uint32_t caller)
{
	size_t low = first_not(i, 0, n, places[i].addr <= addr);

	return low && addr - places[low - 1].addr < KFI_FUNCTION_MAX ? places[low - 1].function : caller;
}

static void find_callers(struct kfi_log *log)
{
	struct place *places = xcalloc(log->names.count, sizeof *places);
	size_t n = list_places(log, places);

	for (size_t i = 0; i < log->n; i++) {
		struct kfi_call *c = &log->calls[i];
		uint64_t addr;

		if (c->from == KFI_UNKNOWN && name_address(log, c->caller, &addr))
			c->from = function_at(places, n, addr, c->caller);
	}
	free(places);
}

void kfi_log_sort(struct kfi_log *log)
{
	if (!is_sorted(log))
		sort(log);
	find_callers(log);
}
