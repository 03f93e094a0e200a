/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One reading of a trace for a page that is served: what was found, and the answers that are given from it. */
#ifndef UPTO_CLI_PAGE_PAGE_READING_H
#define UPTO_CLI_PAGE_PAGE_READING_H

#include "cli/command.h"
#include "serve/page_answers.h"

struct page_reading;

/* Is the answer not wanted any more? As in struct session. */
typedef bool page_is_over(void *context);

/*
 * Open the trace; the first version says on standard error what it lacks. Its answers can be asked at once, and wait
 * for page_reading_read(). `args` must live as long. NULL: *err is set.
 */
struct page_reading *page_reading_open(const struct args *args, unsigned version, struct error *err);
/* Nobody may be asking. */
void page_reading_free(struct page_reading *r);

struct page_answers *page_reading_answers(struct page_reading *r);

/* Does the trace have its end? */
bool page_reading_is_whole(const struct page_reading *r);
/* The bytes of the trace when it was opened. */
uint64_t page_reading_size(const struct page_reading *r);

/* Read all that the page shows. On failure those who wait are told why. */
int page_reading_read(struct page_reading *r, page_is_over *is_over, void *context, struct error *err);

/*
 * Read what flame graphs of much of the trace are made of. The page is used meanwhile; without them, its answers take
 * longer.
 */
void page_reading_sums(struct page_reading *r, page_is_over *is_over, void *context);

#endif
