/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A page of a trace that may still be recorded: as it grows it is read anew, and what was found takes the place of what
 * was found before. A page asks which version there is (/progress), and then loads itself anew.
 */
#ifndef UPTO_CLI_PAGE_PAGE_VERSIONS_H
#define UPTO_CLI_PAGE_PAGE_VERSIONS_H

#include "page_reading.h"

struct page_versions;

/* `args` must live as long. NULL: the trace cannot be opened, *err is set. */
struct page_versions *page_versions_open(const struct args *args, struct error *err);
/* The server must have been stopped. */
void page_versions_free(struct page_versions *v);

/*
 * Read the trace, and follow it up to its end. To be called once, in a thread of its own; it comes back early if
 * is_over() says so. An error is one of the first reading; those of later ones leave what is there.
 */
int page_versions_read(struct page_versions *v, page_is_over *is_over, void *context, struct error *err);

/* Is the first reading done? */
bool page_versions_are_there(struct page_versions *v);

/* web_server_options.answer */
bool page_versions_answer(void *versions, const char *path, const struct web_request *r, struct web_answer *ret);

#endif
