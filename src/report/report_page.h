/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page about a trace: one file of HTML that needs nothing else (web/), with the data of report_data.h in it. */
#ifndef UPTO_REPORT_REPORT_PAGE_H
#define UPTO_REPORT_REPORT_PAGE_H

#include "report_data.h"

/* Was upto built with the page? It takes Node.js. */
bool report_page_is_there(void);

/* Put the page, which must be there. */
int report_page_put(const struct report *r, const struct sink *to, struct error *err);

/* Append the page without data: it asks whoever serves it for that, as "data". */
void report_page_put_empty(struct buf *out);

#endif
