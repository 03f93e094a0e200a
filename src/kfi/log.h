/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The calls in a log of KFI or KFT: a header, a line of dashes, then a row for
 * each call. Lines of the header that are not known are passed over; rows must
 * be right. The same structure can be filled from elsewhere.
 */
#ifndef UPTO_KFI_LOG_H
#define UPTO_KFI_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/name_table.h"

enum {
	KFI_LINE_MAX = 4096,        /* bytes; a longer line is none of a log */
	KFI_ROWS_MAX = 1 << 26,
	KFI_FUNCTION_MAX = 1 << 16, /* bytes that a function may have: how far from its start an address can be in it */
};
#define KFI_UNKNOWN UINT32_MAX

/* What logging was started or stopped by. */
enum kfi_by {
	KFI_BY_NOTHING,
	KFI_BY_ENTRY,
	KFI_BY_EXIT,
	KFI_BY_TIME_FROM_BOOT,
	KFI_BY_TIME_FROM_START,
	KFI_BY_SYSTEM_CALL,
	KFI_BY_LOG_FULL,
};

struct kfi_moment {
	enum kfi_by by;      /* NOTHING: the log does not say */
	uint64_t at_us;
	uint64_t usecs;      /* TIME_… */
	uint32_t function;   /* ENTRY, EXIT */
};

enum kfi_filter { KFI_MIN_TIME, KFI_MAX_TIME, KFI_LIST, KFI_NO_INTERRUPTS, KFI_ONLY_INTERRUPTS, KFI_FILTERS };
enum kfi_counter {
	KFI_TIME_FILTERED,
	KFI_NO_INTERRUPT_FILTERED,
	KFI_ONLY_INTERRUPT_FILTERED,
	KFI_LIST_FILTERED,
	KFI_ALL_FILTERED,
	KFI_NOT_FOUND,
	KFI_LEFT,
	KFI_COUNTERS,
};

struct kfi_number {
	bool has;
	uint64_t value;
};

struct kfi_header {
	struct kfi_number run_id;
	struct kfi_moment start, stop;
	struct kfi_number filters[KFI_FILTERS];    /* microseconds; length of the list; 0 for those without a number */
	struct kfi_number counters[KFI_COUNTERS];
};

struct kfi_call {
	uint64_t entry_ns;
	int64_t duration_ns;  /* 0 if it is not known */
	uint64_t offset;      /* into the caller, of the place that it was called at, if the log has that */
	uint32_t function;    /* number in names */
	uint32_t caller;      /* the same: as the log has it, which can be an address */
	/* the function that it was called from; KFI_UNKNOWN: it is an address, of which kfi_log_sort() finds it */
	uint32_t from;
	/* its thread's number, from 1 on, of a recorded trace: idle threads have one PID; 0: pid tells */
	uint32_t thread;
	int32_t pid;          /* -1: an interrupt, of which the log does not say what it cut into */
	uint16_t cpu;         /* logs do not have it: 0 */
	/*
	 * The exit was not seen: -1, "no exit", or -2, a call that a watch of the stack found. The 0 that stands there
	 * in the oldest logs cannot be told from a duration, and is one.
	 */
	bool no_exit;
	bool interrupt;       /* ran in an interrupt */
};

/* All durations together are not above INT64_MAX ns, nor is any end of a call. So no sum of them overflows. */
struct kfi_log {
	struct kfi_header header;
	struct name_table names;
	struct kfi_call *calls;
	size_t n, cap;
};

static inline const char *kfi_log_name(const struct kfi_log *log, uint32_t number)
{
	return name_table_text(&log->names, number);
}

/*
 * Can a filter have left out a call whose callees are in the log? If only short calls were left out, all their callees
 * were, too.
 */
static inline bool kfi_log_lacks_callers(const struct kfi_log *log)
{
	return log->header.filters[KFI_MAX_TIME].has || log->header.filters[KFI_LIST].has;
}

/* Reads a log line by line. Zeroed at first but for `path`, which is for messages. */
struct kfi_parser {
	const char *path;
	uint64_t line;
	bool in_rows;
	uint64_t all_us;
};

/*
 * Read the next line, without its end, into the header and the names of *log. Returns 1 if it is a call, which is put
 * into *ret only, 0 if not, or -1: "FILE:LINE: what was expected".
 */
int kfi_parse_line(struct kfi_parser *p, const char *line, size_t len, struct kfi_log *log, struct kfi_call *ret,
		   struct error *err);
/* At the end: was it a log? */
int kfi_parse_end(const struct kfi_parser *p, struct error *err);

/* Read a whole log. The calls are sorted. The caller deinitialises *ret also after an error. */
int kfi_log_parse(const char *path, const char *data, size_t len, struct kfi_log *ret, struct error *err);
void kfi_log_add(struct kfi_log *log, const struct kfi_call *call);
void kfi_log_deinit(struct kfi_log *log);

/*
 * Order the calls by entry; those of the same moment stay as they are. For callers that are addresses, find the
 * function: the nearest one below in the log. An address that is in none of them, or farther off than a function is
 * long, is itself where it was called from.
 */
void kfi_log_sort(struct kfi_log *log);

#endif
