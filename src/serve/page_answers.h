/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a served page asks for: itself at once, how far the trace is read, and, once it is read, its data, single calls,
 * flame graphs and lanes of parts of the time. Who asks for these before waits.
 */
#ifndef UPTO_SERVE_PAGE_ANSWERS_H
#define UPTO_SERVE_PAGE_ANSWERS_H

#include "report/report_data.h"
#include "web_server.h"

struct page_answers;

/*
 * `end_ns`: when the trace ends. `version`: how often it was read before; a page that has another one is told so. The
 * session must live as long.
 */
struct page_answers *page_answers_new(const struct session *session, uint64_t end_ns, unsigned version);
/* The server must have been stopped. */
void page_answers_free(struct page_answers *a);

/* web_server_options.answer */
bool page_answers_answer(void *answers, const char *path, const struct web_request *r, struct web_answer *ret);

/* reader->progress, while the trace is read */
void page_answers_progress(void *answers, size_t chunks);

/* All is read: whoever waits is answered. `report` must live as long. Its sums are not needed any more behind that. */
int page_answers_give(struct page_answers *a, const struct report *report, struct error *err);
/* From now on flame graphs of much of the trace are made of these, which are taken. */
void page_answers_give_sums(struct page_answers *a, struct path_sums *sums);
/* Is all of it read? */
bool page_answers_are_there(struct page_answers *a);
/* The trace cannot be read: whoever waits is told why. */
void page_answers_fail(struct page_answers *a, const char *why);

#endif
