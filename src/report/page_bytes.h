/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page's HTML up to its data, and behind that. web/build.mjs makes the file that has them; no_page.c stands in. */
#ifndef UPTO_REPORT_PAGE_BYTES_H
#define UPTO_REPORT_PAGE_BYTES_H

#include <stddef.h>

extern const unsigned char page_head[], page_tail[];
extern const size_t page_head_size, page_tail_size; /* 0: upto was built without the page */

#endif
